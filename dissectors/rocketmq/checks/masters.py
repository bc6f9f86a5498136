"""Another master of a broker, and another leader of the controllers.

Facts (ReplicasManager, AlterSyncStateSet, Controller). Where controllers choose the masters, each choice raises
masterEpoch by one. The controllers tell it in the answer to an election and in NOTIFY_BROKER_ROLE_CHANGED, and brokers
ask for it every 5 s (CONTROLLER_GET_REPLICA_INFO), and for the controllers' leader as often. Older epochs are late.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.rocketmq.checks.saying import Made, in_header, named, of, said
from dissectors.rocketmq.reports.fields import header
from dissectors.values import number, text

_ELECT, _ASK = "CONTROLLER_ELECT_MASTER", "CONTROLLER_GET_REPLICA_INFO"
_LEADER = "CONTROLLER_GET_METADATA_INFO"


class Masters(Check):
    """See the module. Who is told of a change is the broker that asked, by its name."""

    wants = of(Role.REQUEST, [_ELECT, _ASK, _LEADER]) | of(Role.RESPONSE, [_ELECT, _ASK, _LEADER])
    paths = in_header(
        *("brokerName", "masterBrokerId", "masterAddress", "masterEpoch"),
        *("controllerLeaderId", "controllerLeaderAddress", "group"),
    )

    def __init__(self) -> None:
        """Nobody is known."""
        self._masters: Made[str, list[tuple[int, str]]] = Made(list)
        """By name of a broker its master's epoch, and what it is called."""
        self._leaders: Made[str, list[str]] = Made(list)

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An answer."""
        if seen.context.role is not Role.RESPONSE or seen.error is not None:
            return
        told = header(seen.values)
        if named(seen.context.code) == _LEADER:
            yield from self._led(text(told, "group") or "", told.get("controllerLeaderAddress"))
        elif isinstance(seen.request, str) and seen.request:
            address, epoch = text(told, "masterAddress"), number(told, "masterEpoch", -1)
            if address is not None and epoch >= 0:
                yield from self._mastered(seen.request, epoch, f"{address}, broker id {told.get('masterBrokerId')}")

    def kept(self, seen: Seen) -> object:
        """The broker that is asked about."""
        return text(header(seen.values), "brokerName") or ""

    def _led(self, group: str, address: object) -> Iterator[Finding]:
        if not isinstance(address, str) or not address:
            return
        before = self._leaders.of(group)
        if before and before[0] != address:
            yield said("leader", now=address, before=before[0])
        before[:] = [address]

    def _mastered(self, broker: str, epoch: int, master: str) -> Iterator[Finding]:
        before = self._masters.of(broker)
        if before and epoch <= before[0][0]:
            return
        if before and before[0][1] != master:
            yield said("master", broker=broker, now=master, epoch=epoch, before=before[0][1])
        before[:] = [(epoch, master)]
