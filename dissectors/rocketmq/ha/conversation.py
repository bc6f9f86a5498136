"""One HA connection: which protocol it speaks, and how far both sides are.

Theory. A greeting and its answer are the only exchange. A report tells the length of the slave's log, independent of
single transfers, so it answers none. Only both directions together tell whether a master continues at another offset,
and whether a slave is far behind; so these facts are stored with the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dissectors.api import Conversation, Outcome, Role
from dissectors.rocketmq.ha.frames import HANDSHAKE, HEADERS, KIND, SLAVE_OFFSET, HAFrame, HAProtocol, find_frame

EXPECTED, BEHIND = "expected", "behind"
"""Keys of Context.extra: where the log was to go on, and how many bytes the slave had not reported."""

FAR = 256 * 1024 * 1024
"""Bytes behind which a slave counts as fallen behind (haSlaveFallbehindMax, later haMaxGapNotInSync)."""

_MOST_GREETINGS = 16


@dataclass(slots=True)
class HAConversation(Conversation):
    """`reached`: where the master's next transfer begins; None before the first, and behind lost bytes."""

    kind: HAProtocol | None = None
    reached: int | None = None
    is_reported: bool = False
    greetings: list[int] = field(default_factory=list)

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Notes a frame; the slave is the client of the connection."""
        seen = find_frame(prefix, from_client, self.kind)
        if seen is None:
            return Outcome(HEADERS[None])
        self.kind = seen.kind
        found, extra = seen.frame, {} if seen.kind is HAProtocol.CLASSIC else {KIND: seen.kind.name}
        header = HEADERS[found.form.operation, from_client]
        if found.form.operation == HANDSHAKE:
            return Outcome(header, self._pair_greeting(handle, header.role), extra or None)
        extra |= self._check_behind(found) if from_client else self._check_jump(found)
        return Outcome(header, None, extra or None)

    def _pair_greeting(self, handle: int, role: Role) -> int | None:
        if role is Role.RESPONSE:
            return self.greetings.pop(0) if self.greetings else None
        if len(self.greetings) < _MOST_GREETINGS:
            self.greetings.append(handle)
        return None

    def _check_jump(self, found: HAFrame) -> dict[str, str]:
        before, self.reached = self.reached, found.offset + found.data if found.offset >= 0 else None
        return {EXPECTED: str(before)} if before is not None and found.offset not in (before, -1) else {}

    def _check_behind(self, found: HAFrame) -> dict[str, str]:
        """Told once, until the slave is near again."""
        if found.form.operation != SLAVE_OFFSET or self.reached is None:
            return {}
        behind, before = self.reached - found.offset, self.is_reported
        self.is_reported = behind > FAR
        return {BEHIND: str(behind)} if self.is_reported and not before else {}

    def note_loss(self, from_client: bool) -> None:
        """Forgets how far the master has sent, because bytes are lost."""
        if not from_client:
            self.reached = None

    def handles(self) -> Iterable[int]:
        """Lists the handles of greetings that wait for their answer."""
        return list(self.greetings)

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the handles of waiting requests after rows were renumbered."""
        self.greetings = [numbers[handle] for handle in self.greetings]
