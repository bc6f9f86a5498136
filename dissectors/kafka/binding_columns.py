"""Name bindings of Kafka's messages: a table of the structs that carry an id beside its name.

Theory. Since 2.8 topics have ids, and requests that move data carry only these. Metadata tells the name of an id, and
so do requests that create, delete or describe topics. Brokers are numbers; Metadata tells their addresses. A
producer's id belongs to a transaction if its InitProducerId names one, which only the request tells. The broker gives
a member its id; the member is known by the connection that uses the id, or by a description of its group.

Brokers in Produce's and Fetch's `nodeEndpoints` are not read, because all fetched records would have to be decoded for
a few rows. The metadata log is read: controllers and brokers fetch it as clients with a name of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dissectors.api import Role

REQUEST, RESPONSE = Role.REQUEST, Role.RESPONSE
_RAFT = "raft-client-"
"""How those who fetch the metadata log call themselves."""


class BindingRow(NamedTuple):
    """A struct that explains an id: where it is, which field is the id, and which are the name, in order.

    A field may lie deeper, in a struct or in the first of an array ("endpoints.host"). `holds`: only of a record of
    this name; `from_request`: the name stands in the request's body; `client`: see BindingSource.
    """

    kind: str
    api: str
    role: Role
    path: str
    key: str
    name: tuple[str, ...] = ()
    from_request: bool = False
    holds: str | None = None
    client: str = ""


_LOG = "responses.partitions.records.records.value"
_SNAPSHOT = "topics.partitions.unalignedRecords.records.value"
_ENDPOINT = ("endPoints.host", "endPoints.port")
DESCRIBED = ("clientId", "clientHost")

ROWS: Sequence[BindingRow] = (
    BindingRow("topic", "Metadata", RESPONSE, "topics", "topicId", ("name",)),
    BindingRow("topic", "LeaderAndIsr", REQUEST, "topicStates", "topicId", ("topicName",)),
    BindingRow("topic", "UpdateMetadata", REQUEST, "topicStates", "topicId", ("topicName",)),
    BindingRow("topic", "CreateTopics", RESPONSE, "topics", "topicId", ("name",)),
    BindingRow("topic", "DeleteTopics", RESPONSE, "responses", "topicId", ("name",)),
    BindingRow("topic", "DescribeTopicPartitions", RESPONSE, "topics", "topicId", ("name",)),
    *(
        BindingRow("topic", api, RESPONSE, f"groups.members.{of}.topicPartitions", "topicId", ("topicName",))
        for api, of in (
            ("ConsumerGroupDescribe", "assignment"),
            ("ConsumerGroupDescribe", "targetAssignment"),
            ("ShareGroupDescribe", "assignment"),
        )
    ),
    BindingRow("topic", "DescribeShareGroupOffsets", RESPONSE, "groups.topics", "topicId", ("topicName",)),
    BindingRow("topic", "AlterShareGroupOffsets", RESPONSE, "responses", "topicId", ("topicName",)),
    BindingRow("topic", "DeleteShareGroupOffsets", RESPONSE, "responses", "topicId", ("topicName",)),
    BindingRow("topic", "Fetch", RESPONSE, _LOG, "topicId", ("name",), holds="TopicRecord", client=_RAFT),
    BindingRow("topic", "FetchSnapshot", RESPONSE, _SNAPSHOT, "topicId", ("name",), holds="TopicRecord"),
    BindingRow("broker", "Metadata", RESPONSE, "brokers", "nodeId", ("host", "port")),
    BindingRow("broker", "LeaderAndIsr", REQUEST, "liveLeaders", "brokerId", ("hostName", "port")),
    BindingRow("broker", "UpdateMetadata", REQUEST, "liveBrokers", "id", ("v0Host", "v0Port")),
    BindingRow("broker", "UpdateMetadata", REQUEST, "liveBrokers", "id", ("endpoints.host", "endpoints.port")),
    BindingRow("broker", "FindCoordinator", RESPONSE, "", "nodeId", ("host", "port")),
    BindingRow("broker", "FindCoordinator", RESPONSE, "coordinators", "nodeId", ("host", "port")),
    BindingRow("broker", "DescribeCluster", RESPONSE, "brokers", "brokerId", ("host", "port")),
    BindingRow("broker", "DescribeQuorum", RESPONSE, "nodes", "nodeId", ("listeners.host", "listeners.port")),
    BindingRow("broker", "BrokerRegistration", REQUEST, "", "brokerId", ("listeners.host", "listeners.port")),
    BindingRow("broker", "ControllerRegistration", REQUEST, "", "controllerId", ("listeners.host", "listeners.port")),
    *(
        BindingRow("broker", api, RESPONSE, "nodeEndpoints", "nodeId", ("host", "port"))
        for api in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "ShareAcknowledge")
    ),
    BindingRow("broker", "Fetch", RESPONSE, _LOG, "brokerId", _ENDPOINT, holds="RegisterBrokerRecord", client=_RAFT),
    BindingRow("producer", "InitProducerId", RESPONSE, "", "producerId", ("transactionalId",), from_request=True),
    BindingRow(
        "producer", "InitProducerId", RESPONSE, "", "ongoingTxnProducerId", ("transactionalId",), from_request=True
    ),
    BindingRow("producer", "AddPartitionsToTxn", REQUEST, "", "v3AndBelowProducerId", ("v3AndBelowTransactionalId",)),
    BindingRow("producer", "AddPartitionsToTxn", REQUEST, "transactions", "producerId", ("transactionalId",)),
    BindingRow("producer", "AddOffsetsToTxn", REQUEST, "", "producerId", ("transactionalId",)),
    BindingRow("producer", "TxnOffsetCommit", REQUEST, "", "producerId", ("transactionalId",)),
    BindingRow("producer", "EndTxn", REQUEST, "", "producerId", ("transactionalId",)),
    BindingRow("producer", "EndTxn", RESPONSE, "", "producerId", ("transactionalId",), from_request=True),
    BindingRow("producer", "DescribeTransactions", RESPONSE, "transactionStates", "producerId", ("transactionalId",)),
    BindingRow("producer", "ListTransactions", RESPONSE, "transactionStates", "producerId", ("transactionalId",)),
    *(
        BindingRow("member", api, role, "", "memberId")
        for api in ("JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
        for role in (REQUEST, RESPONSE)
    ),
    BindingRow("member", "SyncGroup", REQUEST, "", "memberId"),
    BindingRow("member", "Heartbeat", REQUEST, "", "memberId"),
    *(
        BindingRow("member", api, RESPONSE, "groups.members", "memberId", DESCRIBED)
        for api in ("DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe")
    ),
)
"""Without a name, the one who sent the request is meant."""
