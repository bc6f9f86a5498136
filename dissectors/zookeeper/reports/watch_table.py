"""The table of active watches: the request that set each, and the watches that an event fires.

Facts (DataTree, WatchManager). getData and getChildren set a watch if they succeed; exists sets one on an existing
node, or on its creation if it answers NONODE. These are removed when they fire; setting one again changes nothing.
addWatch sets a permanent one: on a node and its children, or on a whole subtree, for which there are no events about
children. A server keeps watches by connection, so a client that comes back sets them again (setWatches).

A deletion fires the watches on data and on children of the same node with one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.report import OpenRow, column
from dissectors.slotted import make_slotted
from dissectors.values import number

MOST = 200_000
"""Watches that are remembered."""

DATA, EXIST, CHILD, PERSISTENT, RECURSIVE = "data", "exist", "child", "persistent", "recursive"
ONCE = frozenset({DATA, EXIST, CHILD})

_NODE = "node"
"""Watches on data and on a node's coming are kept as one by the server."""

_FIRES: Mapping[str, tuple[str, ...]] = {
    "NodeCreated": (_NODE, PERSISTENT, RECURSIVE),
    "NodeDeleted": (_NODE, CHILD, PERSISTENT, RECURSIVE),
    "NodeDataChanged": (_NODE, PERSISTENT, RECURSIVE),
    "NodeChildrenChanged": (CHILD, PERSISTENT),
}
"""By event the watches that it fires."""

SET_AGAIN = {
    "dataWatches": DATA,
    "existWatches": EXIST,
    "childWatches": CHILD,
    "persistentWatches": PERSISTENT,
    "persistentRecursiveWatches": RECURSIVE,
}
"""The lists of setWatches and setWatches2."""

_REMOVES: Mapping[int, tuple[str, ...]] = {
    1: (CHILD,),
    2: (_NODE,),
    3: (_NODE, CHILD, PERSISTENT, RECURSIVE),
    4: (PERSISTENT,),
    5: (RECURSIVE,),
}
"""By WatcherType."""

_MODES = {0: PERSISTENT, 1: RECURSIVE}


FIRED, STANDS, REMOVED, CLOSED, LOST = "fired", "stands", "removed", "session closed", "lost"


@make_slotted(frozen=False, eq=False)
class WatchRow(OpenRow):
    """One watch. since: when the request that set it was answered; None where nobody saw it. at: when it fired last.

    broken: its connection ended, and it was not set again.
    """

    path: str = column("text", "the node", "")
    kind: str | None = column(
        "text", "data, exist, child, persistent or recursive; nothing where nobody saw it being set"
    )
    state: str = column("text", "fired, stands, removed, session closed, or lost: its connection ended", STANDS)
    event: str | None = column("text", "what fired it, of several the last")
    session: str = column("text", "whose watch it is", "")
    set: int | None = column("message", "the request that set it; nothing where that is not in the capture")
    fired: int | None = column("message", "the event")
    events: int = column("number", "how often it fired", 0)
    stood_ns: int | None = column("duration", "from the answer that it was set by to the event, or to its end")
    write: int | None = column("message", "the request of the write behind the event")
    delivery_ns: int | None = column("duration", "from that to the event, of several events the longest")
    since: int | None = None
    at: int | None = None
    broken: bool = False

    def end(self, state: str, time: int | None = None) -> None:
        """Sets the final state of the watch, and how long it stood."""
        self.state = state
        until = self.at if state == FIRED else time
        self.stood_ns = None if self.since is None or until is None else until - self.since
        times = [each for each in (self.since, self.at, time) if each is not None] or [0]
        self.first, self.last = times[0], max(times)


_Mine = dict[str, dict[str, WatchRow]]
"""A session's watches by kind and path."""


def _group(kind: str) -> str:
    return _NODE if kind in (DATA, EXIST) else kind


class WatchTable:
    """The watches of all sessions."""

    def __init__(self) -> None:
        self._of: dict[str, _Mine] = {}
        self._count = 0

    def of_session(self, session: str) -> list[WatchRow]:
        """Returns the watches of a session."""
        return [watch for group in self._of.get(session, {}).values() for watch in group.values()]

    def set(self, session: str, kind: str, path: str, row: int, time: int) -> bool:
        """Adds the watch that an answered request set; returns whether it is new."""
        known = self._of.get(session, {}).get(_group(kind), {}).get(path)
        if known is not None:
            known.add("again", row)
            known.broken = False
            return False
        if self._count >= MOST:
            return False
        watch = WatchRow(time, time, [("set", row)], path, kind, session=session, set=row, since=time)
        self._of.setdefault(session, {}).setdefault(_group(kind), {})[path] = watch
        self._count += 1
        return True

    def fire(self, session: str, event: str, path: str) -> list[WatchRow]:
        """Returns the watches that an event fires; those that fire once are gone."""
        found: list[WatchRow] = []
        for group in _FIRES.get(event, ()):
            known = self._of.get(session, {}).get(group, {})
            if group == RECURSIVE:
                found += (
                    watch for top, watch in known.items() if path == top or path.startswith(_make_subtree_prefix(top))
                )
            elif path in known:
                found.append(known[path])
                if known[path].kind in ONCE:
                    self._drop(session, group, path)
        return found

    def remove(self, session: str, what: int, path: str) -> list[WatchRow]:
        """Returns the watches that a removeWatches takes away."""
        found = [self._drop(session, group, path) for group in _REMOVES.get(what, ())]
        return [watch for watch in found if watch is not None]

    def close(self, session: str) -> list[WatchRow]:
        """Returns the watches of a session that is over."""
        removed = self.of_session(session)
        self._of.pop(session, None)
        self._count -= len(removed)
        return removed

    def lose(self, session: str) -> None:
        """Marks the watches of a session whose connection ended; those that the client does not set again are lost."""
        for watch in self.of_session(session):
            watch.broken = True

    def close_all(self) -> Iterator[WatchRow]:
        """Removes and returns all watches."""
        for session in list(self._of):
            yield from self.close(session)

    def _drop(self, session: str, group: str, path: str) -> WatchRow | None:
        mine = self._of.get(session, {})
        found = mine.get(group, {}).pop(path, None)
        if found is not None:
            self._count -= 1
            if not any(mine.values()):
                del self._of[session]
        return found


def _make_subtree_prefix(top: str) -> str:
    return top if top == "/" else top + "/"


def mode(values: Mapping[str, Any]) -> str | None:
    """Returns the kind of watch that an addWatch sets."""
    return _MODES.get(number(values, "mode", -1))
