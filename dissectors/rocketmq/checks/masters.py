"""Another master of a broker, and another leader of the controllers.

Facts (ReplicasManager, AlterSyncStateSet, Controller). Where controllers choose the masters, each choice raises
masterEpoch by one. The controllers tell it in the answer to an election and in NOTIFY_BROKER_ROLE_CHANGED, and brokers
ask for it every 5 s (CONTROLLER_GET_REPLICA_INFO), and for the controllers' leader as often. Older epochs are late.
"""

from __future__ import annotations

from dissectors.correlator import BoundedTable, MessageEvent, for_request
from dissectors.message import Role
from dissectors.rocketmq.checks.sentences import RocketmqCheck
from dissectors.rocketmq.reports.fields import ANSWERS, read_header, subscribe_to
from dissectors.values import number, text

_MASTERS, _LEADER = "CONTROLLER_ELECT_MASTER CONTROLLER_GET_REPLICA_INFO", "CONTROLLER_GET_METADATA_INFO"


class MasterChanges(RocketmqCheck):
    """See the module. Who is told of a change is the broker that asked, by its name."""

    def _begin(self) -> None:
        self.masters: BoundedTable[str, tuple[int, str]] = BoundedTable()
        """By name of a broker its master's epoch, and what it is called."""
        self.leaders: BoundedTable[str, str] = BoundedTable()

    def receive_question(self, event: MessageEvent) -> None:
        """A question, perhaps about a broker."""
        self.await_answer(event, text(read_header(event.values), "brokerName") or "")

    def receive_leader(self, _: str, event: MessageEvent) -> None:
        """The leader of the controllers."""
        said = read_header(event.values)
        group, address = text(said, "group") or "", text(said, "controllerLeaderAddress")
        if event.error is not None or address is None:
            return
        before = self.leaders.get(group)
        if before is not None and before != address:
            self.find("leader", now=address, before=before)
        self.leaders[group] = address

    def receive_master(self, broker: str, event: MessageEvent) -> None:
        """The master of a broker."""
        said = read_header(event.values)
        address, epoch = text(said, "masterAddress"), number(said, "masterEpoch", -1)
        before = self.masters.get(broker)
        if event.error is not None or not broker or address is None or epoch < 0 or (before and epoch <= before[0]):
            return
        master = f"{address}, broker id {said.get('masterBrokerId')}"
        if before and before[1] != master:
            self.find("master", broker=broker, now=master, epoch=epoch, before=before[1])
        self.masters[broker] = epoch, master

    on = (
        subscribe_to(f"{_MASTERS} {_LEADER}", (Role.REQUEST,), receive_question, "brokerName")
        | subscribe_to(
            *(_MASTERS, ANSWERS, for_request(receive_master), "masterBrokerId", "masterAddress", "masterEpoch"),
        )
        | subscribe_to(_LEADER, ANSWERS, for_request(receive_leader), "controllerLeaderAddress", "group")
    )
