"""Transactions that the quorum is slow to confirm.

Facts. A follower sends its ACK when the transaction is on its disk, so a late one is most often a slow fsync; a
server's own log warns of one from a second on (fsync.warningthresholdms). The leader commits when a majority has
acknowledged.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, MessageEvent, for_request, subscribe
from dissectors.message import Role
from dissectors.wire.times import lasting
from dissectors.zookeeper.quorum.packets import code_of
from dissectors.zookeeper.reports.fields import QUORUM

SLOW = 1_000_000_000
"""Nanoseconds that are worth saying."""


class Quorum(Check):
    """See the module."""

    def _begin(self) -> None:
        self.proposed: BoundedTable[tuple[str, int], int] = BoundedTable()
        """By leader and transaction when it was proposed first, until it is committed."""

    def propose(self, event: MessageEvent) -> None:
        """PROPOSAL."""
        zxid = event.values.get("zxid")
        if isinstance(zxid, int) and (event.server, zxid) not in self.proposed:
            self.proposed[event.server, zxid] = event.time
        self.await_answer(event, event.time)

    def acknowledge(self, since: int, event: MessageEvent) -> None:
        """ACK, which may come late."""
        self.compare(since, f"{event.client} acknowledged", event)

    def commit(self, event: MessageEvent) -> None:
        """COMMIT, of which the first may come late."""
        zxid = event.values.get("zxid")
        since = self.proposed.pop((event.server, zxid)) if isinstance(zxid, int) else None
        self.compare(since, f"{event.server} committed", event)

    def compare(self, since: int | None, who: str, event: MessageEvent) -> None:
        """How long it took."""
        zxid = event.values.get("zxid")
        if since is not None and isinstance(zxid, int) and event.time - since > SLOW:
            took = lasting(event.time - since)
            self.warn("slow-quorum", f"{who} transaction {zxid:#x} {took} after it was proposed")

    on = (
        subscribe([(QUORUM, code_of("PROPOSAL"), Role.REQUEST)], propose, {("zxid",)})
        | subscribe([(QUORUM, code_of("ACK"), Role.RESPONSE)], for_request(acknowledge), {("zxid",)})
        | subscribe(
            [(QUORUM, code_of(name), Role.ONEWAY) for name in ("COMMIT", "COMMITANDACTIVATE")], commit, {("zxid",)}
        )
    )


def list_quorum_checks() -> tuple[type[Quorum], ...]:
    """What is checked here."""
    return (Quorum,)
