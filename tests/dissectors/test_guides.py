"""Pages of all protocols: every one of them at all, and what is said of those that there are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dissectors import registry

GUIDES: dict[str, Any] = {each.name: each.guide for each in registry.dissectors() if each.guide is not None}


@pytest.mark.parametrize("protocol", GUIDES)
def test_every_page(protocol: str) -> None:
    guide = GUIDES[protocol]
    assert len(set(guide.names())) == len(guide.names())
    for name in guide.names():
        page = guide.page(name, None)
        assert page.lines
        assert all(line == line.rstrip() for line in page.lines), name
        content = json.loads(json.dumps(page.data, default=dict))
        assert content == page.data or (protocol == "rocketmq" and content.keys() == page.data.keys()), name
        assert guide.versions(name) == () or protocol == "kafka"


@pytest.mark.parametrize(
    ("protocol", "name", "version", "said"),
    [
        ("kafka", "fecth", None, "Kafka has no API, structure or page called 'fecth'. Did you mean Fetch?"),
        ("kafka", "telemetry", None, "'telemetry'. Did you mean PushTelemetry or GetTelemetrySubscriptions?"),
        ("kafka", "zzzzzz", None, "called 'zzzzzz'"),
        ("kafka", "99", None, "called '99'"),
        ("kafka", "Fetch", 19, "Fetch has no version 19. It has 0-18"),
        ("kafka", "43", 3, "ElectLeaders has no version 3. It has 0-2"),
        ("kafka", "EndTxnMarker", 1, "EndTxnMarker has no version 1. It has 0"),
        ("kafka", "types", 0, "types has no versions"),
        ("pulsar", "SNED", None, "Pulsar has no page called 'SNED'. Did you mean SEND?"),
        ("pulsar", "get-last-id", None, "Pulsar has no page called 'get-last-id'. Did you mean GET_LAST_MESSAGE_ID"),
        ("pulsar", "69", None, "Pulsar has no page called '69'"),
        ("pulsar", "SEND", 1, "SEND has no versions"),
        ("rocketmq", "PULL_MESAGE", None, "RocketMQ has no page called 'PULL_MESAGE'. Did you mean PULL_MESSAGE"),
        ("rocketmq", "receipt", None, "RocketMQ has no page called 'receipt'. Did you mean receipt-handle"),
        ("rocketmq", "4711", None, "RocketMQ has no page called '4711'"),
        ("rocketmq", "PULL_MESSAGE", 1, "PULL_MESSAGE has no versions"),
        ("zookeeper", "getDate", None, "ZooKeeper has no page called 'getDate'. Did you mean getData"),
        ("zookeeper", "12345", None, "ZooKeeper has no page called '12345'"),
        ("zookeeper", "getData", 1, "getData has no versions"),
        (
            "zookeeper-quorum",
            "PROPSAL",
            None,
            "ZooKeeper's quorum has no page called 'PROPSAL'. Did you mean PROPOSAL?",
        ),
    ],
)
def test_no_such_page(protocol: str, name: str, version: int | None, said: str) -> None:
    with pytest.raises(KeyError) as error:
        GUIDES[protocol].page(name, version)
    assert said in error.value.args[0]
