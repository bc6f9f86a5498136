"""Fetch sessions (KIP-227) that are used out of step.

Facts. A fetch with session id 0 and epoch 0 asks for a session; the answer names it, or has id 0 where the broker has
no room for one more (max.incremental.fetch.session.cache.slots), and then each fetch names all its partitions again. In
a session the epoch counts 1, 2, ... and goes on at 1 behind 2^31 - 1; epoch -1 ends it. A fetch out of step is answered
by INVALID_FETCH_SESSION_EPOCH. An answer with an error, whatever it says, leaves the session as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding, Severity

FETCH = 1
MOST = 100_000
"""Sessions that are remembered."""

_OPENING = 0, 0
"""Session and epoch of a request for a session."""

_LAST = (1 << 31) - 1


class Sessions(Check):
    """See the module."""

    wants = frozenset({(FETCH, Role.REQUEST), (FETCH, Role.RESPONSE)})
    paths = frozenset({("sessionId",), ("sessionEpoch",), ("errorCode",)})

    def __init__(self) -> None:
        self._epochs: OrderedDict[tuple[int, int], tuple[int, int]] = OrderedDict()
        """By connection and session the epoch that is next, and Seen.losses of who said so."""
        self._without: set[int] = set()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A request whose epoch is not the next one, and a broker that gives no session."""
        if seen.context.role is Role.RESPONSE:
            yield from self._answer(seen)
            return
        session, epoch = _session(seen)
        if not session or epoch is None:
            return
        if epoch <= 0:
            self._epochs.pop((seen.stream, session), None)
            return
        expected, losses = self._epochs.get((seen.stream, session), (epoch, seen.losses))
        if epoch != expected and losses == seen.losses:  # else the capture may lack what came between
            text = f"session {session} is used with epoch {epoch} where {expected} is next"
            yield Finding(Severity.WARNING, "fetch-session", text)
        self._remember(seen, session, 1 if epoch == _LAST else epoch + 1)

    def kept(self, seen: Seen) -> object:
        """That a request asks for a session."""
        return _OPENING if _session(seen) == _OPENING else None

    def _answer(self, seen: Seen) -> Iterator[Finding]:
        session = seen.values.get("sessionId")
        if seen.request != _OPENING or seen.values.get("errorCode") or session is None:
            return
        if session:
            self._remember(seen, session, 1)
        elif seen.stream not in self._without:
            self._without.add(seen.stream)
            text = "the broker gives no fetch session, its cache of them may be full: each fetch names all partitions"
            yield Finding(Severity.NOTE, "fetch-session", text)

    def _remember(self, seen: Seen, session: int, epoch: int) -> None:
        self._epochs[seen.stream, session] = epoch, seen.losses
        self._epochs.move_to_end((seen.stream, session))
        if len(self._epochs) > MOST:
            self._epochs.popitem(last=False)


def _session(seen: Seen) -> tuple[int, int | None]:
    """Session id and epoch of a request; 0 and None where its version has none."""
    return seen.values.get("sessionId", 0), seen.values.get("sessionEpoch")
