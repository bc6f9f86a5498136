"""Fetch sessions (KIP-227) that are used out of step.

Facts. A fetch with session id 0 and epoch 0 asks for a session; the answer names it, or has id 0 where the broker has
no room for one more (max.incremental.fetch.session.cache.slots), and then each fetch names all its partitions again. In
a session the epoch counts 1, 2, ... and goes on at 1 behind 2^31 - 1; epoch -1 ends it. A fetch out of step is answered
by INVALID_FETCH_SESSION_EPOCH. An answer with an error, whatever it says, leaves the session as it is.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, MessageEvent, NumberedKey, for_request, subscribe
from dissectors.kafka.checks.produced import KAFKA
from dissectors.message import Role

FETCH = 1
MOST_SESSIONS = 100_000
"""Sessions that are remembered."""

_OPENING = 0, 0
"""Session and epoch of a request for a session."""

_LAST = (1 << 31) - 1


class FetchSessionCheck(Check):
    """See the module."""

    def _begin(self) -> None:
        self.epochs: BoundedTable[NumberedKey, tuple[int, int]] = BoundedTable(MOST_SESSIONS)
        """By connection and session the epoch that is next, and the losses of who said so."""
        self.without: set[int] = set()

    def receive_fetch(self, event: MessageEvent) -> None:
        """A request whose epoch is not the next one, perhaps."""
        session, epoch = event.values.get("sessionId", 0), event.values.get("sessionEpoch")
        if (session, epoch) == _OPENING:
            self.await_answer(event, _OPENING)
        if not session or epoch is None:
            return
        if epoch <= 0:
            self.epochs.pop((event.stream, session))
            return
        expected, losses = self.epochs.get((event.stream, session)) or (epoch, event.losses)
        if epoch != expected and losses == event.losses:  # else the capture may lack what came between
            self.warn("fetch-session", f"session {session} is used with epoch {epoch} where {expected} is next")
        self.remember(event, session, 1 if epoch == _LAST else epoch + 1)

    def receive_answer(self, _: object, event: MessageEvent) -> None:
        """A broker gives a session, or none."""
        session = event.values.get("sessionId")
        if event.values.get("errorCode") or session is None:
            return
        if session:
            self.remember(event, session, 1)
        elif event.stream not in self.without:
            self.without.add(event.stream)
            text = "the broker gives no fetch session, its cache of them may be full: each fetch names all partitions"
            self.note("fetch-session", text)

    def remember(self, event: MessageEvent, session: int, epoch: int) -> None:
        """Which epoch is next."""
        self.epochs[event.stream, session] = epoch, event.losses
        self.epochs.renew((event.stream, session))

    on = subscribe([(KAFKA, FETCH, Role.REQUEST)], receive_fetch, {("sessionId",), ("sessionEpoch",)}) | subscribe(
        [(KAFKA, FETCH, Role.RESPONSE)], for_request(receive_answer), {("sessionId",), ("errorCode",)}
    )
