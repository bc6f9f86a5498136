"""kio, an independent implementation made from Kafka's schemas, as a second oracle: it writes, we read."""

from __future__ import annotations

import datetime
import io
import uuid
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4.response import Coordinator, FindCoordinatorResponse
from kio.schema.metadata.v1.request import MetadataRequest as MetadataRequest1
from kio.schema.metadata.v1.request import MetadataRequestTopic as MetadataRequestTopic1
from kio.schema.metadata.v12.response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta

from dissectors.kafka.schemas import body_schema
from dissectors.wire import resolve
from dissectors.wire.budget import Budget
from dissectors.wire.emit import values_decoder

NODES = (BrokerId(1), BrokerId(2))
CASES: list[tuple[Any, dict[str, Any]]] = [
    (
        MetadataRequest1(topics=(MetadataRequestTopic1(name=TopicName("test1")),)),
        {"topics": [{"name": "test1"}]},
    ),
    (MetadataRequest1(topics=None), {"topics": None}),
    (
        MetadataResponse(
            throttle_time=i32Timedelta.parse(datetime.timedelta(milliseconds=123)),
            brokers=(
                MetadataResponseBroker(node_id=BrokerId(1), host="a.example", port=i32(9092), rack=None),
                MetadataResponseBroker(node_id=BrokerId(2), host="b", port=i32(9093), rack="r" * 200),
            ),
            cluster_id="cluster",
            controller_id=BrokerId(1),
            topics=(
                MetadataResponseTopic(
                    error_code=ErrorCode.leader_not_available,
                    name=TopicName("t"),
                    topic_id=uuid.UUID(int=1),
                    is_internal=True,
                    partitions=(
                        MetadataResponsePartition(
                            error_code=ErrorCode.none,
                            partition_index=i32(7),
                            leader_id=BrokerId(1),
                            leader_epoch=i32(-1),
                            replica_nodes=NODES,
                            isr_nodes=NODES[:1],
                            offline_replicas=(),
                        ),
                    ),
                    topic_authorized_operations=i32(-2147483648),
                ),
            ),
        ),
        {
            "throttleTimeMs": 123,
            "brokers": [
                {"nodeId": 1, "host": "a.example", "port": 9092, "rack": None},
                {"nodeId": 2, "host": "b", "port": 9093, "rack": "r" * 200},
            ],
            "clusterId": "cluster",
            "controllerId": 1,
            "topics": [
                {
                    "errorCode": 5,
                    "name": "t",
                    "topicId": "AAAAAAAAAAAAAAAAAAAAAQ",
                    "isInternal": True,
                    "partitions": [
                        {
                            "errorCode": 0,
                            "partitionIndex": 7,
                            "leaderId": 1,
                            "leaderEpoch": -1,
                            "replicaNodes": [1, 2],
                            "isrNodes": [1],
                            "offlineReplicas": [],
                        }
                    ],
                    "topicAuthorizedOperations": -2147483648,
                }
            ],
        },
    ),
    (
        FindCoordinatorResponse(
            throttle_time=i32Timedelta.parse(datetime.timedelta()),
            coordinators=(
                Coordinator(
                    key="g",
                    node_id=BrokerId(3),
                    host="h",
                    port=i32(1),
                    error_code=ErrorCode.none,
                    error_message=None,
                ),
            ),
        ),
        {
            "throttleTimeMs": 0,
            "coordinators": [{"key": "g", "nodeId": 3, "host": "h", "port": 1, "errorCode": 0, "errorMessage": None}],
        },
    ),
    (
        CreateTopicsRequest(
            topics=(
                CreatableTopic(
                    name=TopicName("t"),
                    num_partitions=i32(3),
                    replication_factor=i16(-1),
                    assignments=(),
                    configs=(CreatableTopicConfig(name="cleanup.policy", value=None),),
                ),
            ),
            timeout=i32Timedelta.parse(datetime.timedelta(seconds=30)),
            validate_only=True,
        ),
        {
            "topics": [
                {
                    "name": "t",
                    "numPartitions": 3,
                    "replicationFactor": -1,
                    "assignments": [],
                    "configs": [{"name": "cleanup.policy", "value": None}],
                }
            ],
            "timeoutMs": 30_000,
            "validateOnly": True,
        },
    ),
]


@pytest.mark.parametrize(("entity", "expected"), CASES, ids=[type(entity).__name__ for entity, _ in CASES])
def test_what_kio_writes_is_read(entity: Any, expected: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    data = buffer.getvalue()
    schema = body_schema(int(entity.__api_key__), type(entity).__name__.endswith("Response"))
    assert values_decoder(resolve(schema, int(entity.__version__)))(data, 0, Budget()) == (expected, len(data))
