"""Transactions that the quorum is slow to confirm.

Facts. A follower sends its ACK when the transaction is on its disk, so a late one is most often a slow fsync; a
server's own log warns of one from a second on (fsync.warningthresholdms). The leader commits when a majority has
acknowledged.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding, Severity
from dissectors.wire.times import lasting
from dissectors.zookeeper.quorum.packets import code_of

SLOW = 1_000_000_000
"""Nanoseconds that are worth saying."""

MOST = 65_536
"""Transactions that are remembered until they are committed."""

_PROPOSAL, _ACK = code_of("PROPOSAL"), code_of("ACK")
_COMMITS = ("COMMIT", "COMMITANDACTIVATE")


class Quorum(Check):
    """See the module."""

    wants = frozenset(
        {(_PROPOSAL, Role.REQUEST), (_ACK, Role.RESPONSE)} | {(code_of(name), Role.ONEWAY) for name in _COMMITS}
    )
    paths = frozenset({("zxid",)})

    def __init__(self) -> None:
        """Nothing proposed."""
        self._proposed: OrderedDict[tuple[str, int], int] = OrderedDict()
        """By leader and transaction when it was proposed first."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An ACK, and the first COMMIT, that come late."""
        zxid = seen.values.get("zxid")
        if not isinstance(zxid, int):
            return
        if seen.context.code == _PROPOSAL:
            self._proposed.setdefault((seen.server, zxid), seen.time)
            if len(self._proposed) > MOST:
                self._proposed.popitem(last=False)
            return
        acknowledged = seen.context.code == _ACK
        since = seen.request if acknowledged else self._proposed.pop((seen.server, zxid), None)
        if isinstance(since, int) and seen.time - since > SLOW:
            who = f"{seen.client} acknowledged" if acknowledged else f"{seen.server} committed"
            text = f"{who} transaction {zxid:#x} {lasting(seen.time - since)} after it was proposed"
            yield Finding(Severity.WARNING, "slow-quorum", text)

    def kept(self, seen: Seen) -> object:
        """When it was proposed to this learner."""
        return seen.time
