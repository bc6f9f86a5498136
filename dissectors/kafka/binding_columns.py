"""What Kafka's messages say of the ids in others: a table of the structs that carry an id beside its name.

Theory. Topics have had ids since 2.8, and what moves data carries these alone; Metadata names them, and so does what
creates, deletes or describes topics. Brokers are numbers that Metadata gives an address. A producer's id belongs to a
transaction if its InitProducerId had one, which only the request tells. A member's id is the broker's; who it is, is
known from the connection that uses it, or from a description of its group.

A broker that is followed by name (Produce's and Fetch's `nodeEndpoints`) is not among them: that would have all fetched
records decoded for a few rows. The metadata log is: controllers and brokers fetch it as clients of a name of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dissectors.api import Role

REQUEST, RESPONSE = Role.REQUEST, Role.RESPONSE
_RAFT = "raft-client-"
"""How those who fetch the metadata log call themselves."""


class Row(NamedTuple):
    """A struct that explains an id: where it is, which field is the id, and which are the name, in order.

    A field may lie deeper, in a struct or in the first of an array ("endpoints.host"). `holds`: only of a record of
    this name; `asked`: the name stands in the request's body; `client`: see BindingSource.
    """

    kind: str
    api: str
    role: Role
    path: str
    key: str
    name: tuple[str, ...] = ()
    asked: bool = False
    holds: str | None = None
    client: str = ""


_LOG = "responses.partitions.records.records.value"
_SNAPSHOT = "topics.partitions.unalignedRecords.records.value"
_ENDPOINT = ("endPoints.host", "endPoints.port")
DESCRIBED = ("clientId", "clientHost")

ROWS: Sequence[Row] = (
    Row("topic", "Metadata", RESPONSE, "topics", "topicId", ("name",)),
    Row("topic", "LeaderAndIsr", REQUEST, "topicStates", "topicId", ("topicName",)),
    Row("topic", "UpdateMetadata", REQUEST, "topicStates", "topicId", ("topicName",)),
    Row("topic", "CreateTopics", RESPONSE, "topics", "topicId", ("name",)),
    Row("topic", "DeleteTopics", RESPONSE, "responses", "topicId", ("name",)),
    Row("topic", "DescribeTopicPartitions", RESPONSE, "topics", "topicId", ("name",)),
    *(
        Row("topic", api, RESPONSE, f"groups.members.{of}.topicPartitions", "topicId", ("topicName",))
        for api, of in (
            ("ConsumerGroupDescribe", "assignment"),
            ("ConsumerGroupDescribe", "targetAssignment"),
            ("ShareGroupDescribe", "assignment"),
        )
    ),
    Row("topic", "DescribeShareGroupOffsets", RESPONSE, "groups.topics", "topicId", ("topicName",)),
    Row("topic", "AlterShareGroupOffsets", RESPONSE, "responses", "topicId", ("topicName",)),
    Row("topic", "DeleteShareGroupOffsets", RESPONSE, "responses", "topicId", ("topicName",)),
    Row("topic", "Fetch", RESPONSE, _LOG, "topicId", ("name",), holds="TopicRecord", client=_RAFT),
    Row("topic", "FetchSnapshot", RESPONSE, _SNAPSHOT, "topicId", ("name",), holds="TopicRecord"),
    Row("broker", "Metadata", RESPONSE, "brokers", "nodeId", ("host", "port")),
    Row("broker", "LeaderAndIsr", REQUEST, "liveLeaders", "brokerId", ("hostName", "port")),
    Row("broker", "UpdateMetadata", REQUEST, "liveBrokers", "id", ("v0Host", "v0Port")),
    Row("broker", "UpdateMetadata", REQUEST, "liveBrokers", "id", ("endpoints.host", "endpoints.port")),
    Row("broker", "FindCoordinator", RESPONSE, "", "nodeId", ("host", "port")),
    Row("broker", "FindCoordinator", RESPONSE, "coordinators", "nodeId", ("host", "port")),
    Row("broker", "DescribeCluster", RESPONSE, "brokers", "brokerId", ("host", "port")),
    Row("broker", "DescribeQuorum", RESPONSE, "nodes", "nodeId", ("listeners.host", "listeners.port")),
    Row("broker", "BrokerRegistration", REQUEST, "", "brokerId", ("listeners.host", "listeners.port")),
    Row("broker", "ControllerRegistration", REQUEST, "", "controllerId", ("listeners.host", "listeners.port")),
    *(
        Row("broker", api, RESPONSE, "nodeEndpoints", "nodeId", ("host", "port"))
        for api in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "ShareAcknowledge")
    ),
    Row("broker", "Fetch", RESPONSE, _LOG, "brokerId", _ENDPOINT, holds="RegisterBrokerRecord", client=_RAFT),
    Row("producer", "InitProducerId", RESPONSE, "", "producerId", ("transactionalId",), asked=True),
    Row("producer", "InitProducerId", RESPONSE, "", "ongoingTxnProducerId", ("transactionalId",), asked=True),
    Row("producer", "AddPartitionsToTxn", REQUEST, "", "v3AndBelowProducerId", ("v3AndBelowTransactionalId",)),
    Row("producer", "AddPartitionsToTxn", REQUEST, "transactions", "producerId", ("transactionalId",)),
    Row("producer", "AddOffsetsToTxn", REQUEST, "", "producerId", ("transactionalId",)),
    Row("producer", "TxnOffsetCommit", REQUEST, "", "producerId", ("transactionalId",)),
    Row("producer", "EndTxn", REQUEST, "", "producerId", ("transactionalId",)),
    Row("producer", "EndTxn", RESPONSE, "", "producerId", ("transactionalId",), asked=True),
    Row("producer", "DescribeTransactions", RESPONSE, "transactionStates", "producerId", ("transactionalId",)),
    Row("producer", "ListTransactions", RESPONSE, "transactionStates", "producerId", ("transactionalId",)),
    *(
        Row("member", api, role, "", "memberId")
        for api in ("JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
        for role in (REQUEST, RESPONSE)
    ),
    Row("member", "SyncGroup", REQUEST, "", "memberId"),
    Row("member", "Heartbeat", REQUEST, "", "memberId"),
    *(
        Row("member", api, RESPONSE, "groups.members", "memberId", DESCRIBED)
        for api in ("DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe")
    ),
)
"""Without a name, the one who sent the request is meant."""
