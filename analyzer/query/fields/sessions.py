"""Resolves requests that name only changes: follows the sessions of all connections, in the order of rows.

Theory. A dissector describes its sessions (dissectors.session_state). The follower applies the requests of each
connection in the order of rows, each once, when a caller first needs topics or partitions. A request sees the changes
of all requests before it, and its own. A change is undone if a response before the next request refuses it, so a row
has the same values in a stream and in a file. The request that opened a session is read only when the session is first
used, so requests of clients without sessions are never decoded. If a session began before the capture, only later
changes are known.

Each connection has a history, with an entry only where its topics or partition numbers change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.content import read_undecoded
from analyzer.decode.request_fields import read_fields
from analyzer.messages import defects
from analyzer.query.fields.session_columns import SessionRequestReader, SessionUse
from analyzer.query.fields.session_values import NOTHING, RequestHistory, SessionReach, SessionState, SessionTopics
from analyzer.session import Analysis
from dissectors.api import Dissector, Role
from dissectors.session_state import SessionKind
from dissectors.wire.fast_path import NULL

MOST_SESSIONS = 1000
"""Number of sessions of a connection that are kept. Above it, the oldest one is dropped."""

MOST_REMEMBERED = 4_000_000
"""Number of topics and partition numbers in all histories, above which no changes are recorded."""

WINDOW = 1 << 16
"""Number of rows that are read together."""


def follow_sessions(session: Analysis) -> SessionFollower:
    """Returns the follower of an analysis' sessions; the first call makes it."""
    found = session.eviction.listeners.get(SessionFollower)
    if not isinstance(found, SessionFollower):
        found = session.eviction.listeners[SessionFollower] = SessionFollower(session)
    return found


class SessionFollower:
    """Follows the sessions of an analysis. Thread-safe."""

    def __init__(self, session: Analysis) -> None:
        self._session, self._lock = session, Lock()
        self._read = 0
        self._kinds: list[tuple[int, Dissector, SessionKind]] = [
            (number, dissector, kind)
            for number, dissector in enumerate(session.engine.known.dissectors)
            for kind in defects.list_session_kinds(dissector)
        ]
        self._columns: dict[int, SessionRequestReader] = {}
        self._following: dict[tuple[int, int], RequestHistory] = {}
        self._resumed: dict[int, int] = {}
        self._known: dict[SessionTopics, SessionTopics] = {}
        self._remembered = 0

    # ---- asking

    def find_reach(self, part: str, rows: Ints, until: int) -> SessionReach:
        """Returns what requests also read because of their sessions: `topics` or `partitions`.

        rows: their row numbers, -1 for none. until: the row before which requests are read.
        """
        with self._lock:
            self._learn(until)
            numbers = np.zeros(len(rows), np.int64)
            lists: dict[tuple[Any, ...], int] = {(): 0}
            for place, found in self._find_places(rows):
                wanted = found.topics if part == "topics" else found.partitions
                numbers[place] = lists.setdefault(wanted, len(lists))
        return SessionReach(numbers, list(lists))

    def _find_places(self, rows: Ints) -> Iterator[tuple[int, SessionTopics]]:
        """Yields the indexes of rows whose request has a session."""
        if not self._following:
            return
        table, places = self._session.rows, np.flatnonzero(rows >= 0)
        codes = table.column("code")[rows[places]]
        for code in {code for _, code in self._following}:
            mine = places[codes == code]
            streams = table.column("stream")[rows[mine]].tolist()
            for place, row, stream in zip(mine.tolist(), rows[mine].tolist(), streams, strict=True):
                following = self._following.get((stream, code))
                if following is not None and (found := following.find_topics(row)) is not NOTHING:
                    yield place, found

    # ---- learning

    def _learn(self, until: int) -> None:
        first = max(self._read, self._session.rows.first)
        self._read = max(self._read, until)
        for begin in range(first, until, WINDOW):
            self._learn_window(begin, min(begin + WINDOW, until))

    def _learn_window(self, first: int, last: int) -> None:
        table = self._session.rows
        protocol, code, role = (table.column(name)[first:last] for name in ("protocol", "code", "role"))
        for number, dissector, kind in self._kinds:
            rows = np.flatnonzero((protocol == number) & (code == kind.code) & (role == Role.REQUEST)) + first
            rows = self._drop_applied(rows)
            for use in self._find_reader(dissector, kind).read_uses(rows) if len(rows) else ():
                following = self._following.get((use.stream, kind.code))
                if following is None:
                    if use.epoch < 0:
                        continue  # a connection that has used no session yet
                    following = self._following[use.stream, kind.code] = RequestHistory()
                self._follow(following, kind, use)

    def _drop_applied(self, rows: Ints) -> Ints:
        """Returns the rows without those that were applied before their connection was suspended."""
        if not self._resumed:
            return rows
        streams = self._session.rows.column("stream")[rows].tolist()
        begins = np.array([self._resumed.get(stream, 0) for stream in streams], np.int64)
        return rows[rows >= begins]

    def _find_reader(self, dissector: Dissector, kind: SessionKind) -> SessionRequestReader:
        found = self._columns.get(kind.code)
        if found is None:
            found = self._columns[kind.code] = SessionRequestReader(self._session, dissector, kind)
        return found

    def _follow(self, following: RequestHistory, kind: SessionKind, use: SessionUse) -> None:
        """Applies a request, and records which topics it reads."""
        session = following.sessions.get(use.key)
        if session is None and all(use.key):
            session = self._open_session(following, kind, use)
        if session is None or use.epoch <= 0:
            following.sessions.pop(use.key, None)
            if use.epoch == 0:
                following.openings.append((use.row, use.key))
            # it only closes the session, so it belongs to what the session contained
            is_bare = use.epoch < 0 and not use.named
            self._note_topics(following, use.row, session.requested if session is not None and is_bare else NOTHING)
            return
        if use.key not in following.sessions:
            while len(following.sessions) >= MOST_SESSIONS:
                del following.sessions[next(iter(following.sessions))]
            following.sessions[use.key] = session
        self._settle(session, kind, use.row)
        if use.change is not None:
            session.apply(use.row, use.change)
        self._note_topics(following, use.row, session.requested)

    def _settle(self, session: SessionState, kind: SessionKind, before: int) -> None:
        """Reads the responses to the changes of a session."""
        for row in session.unanswered:
            answer = self._read_answer(kind, row, before)
            if answer is not None:
                session.settle(row, failed=bool(defects.call_or_default(partial(kind.failed, answer), False)))

    def _open_session(self, following: RequestHistory, kind: SessionKind, use: SessionUse) -> SessionState:
        """Returns a session that is used for the first time, with the partitions of its opening request if known."""
        for row, key in reversed(following.openings):
            if row < self._session.rows.first:
                break
            answer = self._read_answer(kind, row, use.row)
            if defects.call_or_default(partial(kind.opens, key, answer), None) == use.key:
                following.openings.remove((row, key))
                return SessionState(self._columns[kind.code].read_change(row).added)
        return SessionState()

    def _read_answer(self, kind: SessionKind, row: int, before: int) -> Mapping[str, Any] | None:
        """Returns the response to a request, if it came before a row and both are in memory."""
        if row < self._session.rows.first:
            return None
        answer = self._session.rows.cell("partner", row)
        if answer == NULL or not self._session.rows.first <= answer < before:
            return None
        return read_fields(read_undecoded(self._session, np.array([answer]))[0], kind.answered)

    def _note_topics(self, following: RequestHistory, row: int, topics: SessionTopics) -> None:
        last = following.topics[-1] if following.topics else NOTHING
        if topics is last or topics == last:
            return
        known = self._known.get(topics)
        if known is None:
            known = topics if self._remembered < MOST_REMEMBERED and topics != NOTHING else NOTHING
            self._keep_topics(known)
        following.rows.append(row)
        following.topics.append(known)

    def _keep_topics(self, topics: SessionTopics) -> None:
        self._known[topics] = topics
        self._remembered += len(topics.topics) + len(topics.partitions)

    # ---- leaving, and going on elsewhere

    def evict(self, before: int, streams: Bools) -> None:
        """Prepares for the eviction of the rows before one. streams: those that stay."""
        if not self._read:
            return
        with self._lock:
            self._learn(before)
            self._following = {key: each for key, each in self._following.items() if streams[key[0]]}
            self._known, self._remembered = {}, 0
            for following in self._following.values():
                following.forget_before(before)
                for topics in following.topics:
                    if topics not in self._known:
                        self._keep_topics(topics)

    def list_openings(self, stream: int) -> list[int]:
        """Returns the rows of requests that may have opened a session that is used later."""
        with self._lock:
            self._learn(len(self._session.rows))
        return [row for _, following in self._list_followed(stream) for row, _ in following.openings]

    def suspend(self, stream: int, rows: Ints) -> Mapping[int, RequestHistory]:
        """Returns the state of a connection's sessions by code, to resume elsewhere. Call it once."""
        until = len(self._session.rows)
        for code, following in self._list_followed(stream):
            for session in following.sessions.values():
                self._settle(session, next(kind for _, _, kind in self._kinds if kind.code == code), until)
            following.forget_before(int(rows[0]) if len(rows) else until)
            following.renumber(lambda row: int(np.searchsorted(rows, row)))
        return dict(self._list_followed(stream))

    def resume(self, stream: int, known: Mapping[int, RequestHistory], first: int, until: int) -> None:
        """Continues suspended sessions; their rows are now those from `first` to before `until`."""
        for code, following in known.items():
            following.renumber(lambda row: row + first)
            self._following[stream, code] = following
        self._resumed[stream] = until

    def _list_followed(self, stream: int) -> list[tuple[int, RequestHistory]]:
        return [(code, each) for (other, code), each in self._following.items() if other == stream]
