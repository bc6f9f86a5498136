"""What a broker is that answers a request without an error: a coordinator, a leader, the controller.

Facts. A broker answers NOT_COORDINATOR to what is for the coordinator of a group or of a transactional id, and
NOT_LEADER_OR_FOLLOWER to a Produce for a partition that it does not lead. Brokers register with the active controller
and send it their heartbeats (KIP-631). A request that any broker may answer, such as Metadata, shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

GROUP, TRANSACTIONS, CONTROLLER, LEADER = ("group coordinator", "transaction coordinator", "controller", "leader")

_OF_GROUPS = (
    *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "TxnOffsetCommit"),
    *("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
)
_OF_TRANSACTIONS = ("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn")
_OF_CONTROLLERS = ("BrokerRegistration", "BrokerHeartbeat", "AlterPartition", "AllocateProducerIds")


def list_server_roles() -> Mapping[str, str]:
    """Returns the role by operation."""
    return {
        "Produce": LEADER,
        **dict.fromkeys(_OF_GROUPS, GROUP),
        **dict.fromkeys(_OF_TRANSACTIONS, TRANSACTIONS),
        **dict.fromkeys(_OF_CONTROLLERS, CONTROLLER),
    }
