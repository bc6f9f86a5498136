"""The story of roles: what shows who somebody is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dissectors.rocketmq.reports.roles import RoleReport
from tests.dissectors.rocketmq.reports.command_report import BROKER, NAME_SERVER, CommandReportBuilder

REFUSED = (3, "REQUEST_CODE_NOT_SUPPORTED")
OWN: dict[str, Any] = {"brokerAddr": BROKER, "brokerName": "a", "clusterName": "c", "brokerId": 0}
HA = "10.0.2.1:10912"


def register(lines: CommandReportBuilder, **more: Any) -> None:
    wrapper = {"topicConfigTable": {"t": {}, "u": {}}, "dataVersion": {"counter": 7}}
    body = {"topicConfigSerializeWrapper": wrapper}
    lines.call("REGISTER_BROKER", stream=2, body=body, haServerAddr=HA, **{**OWN, **more})


def slave(lines: CommandReportBuilder) -> None:
    lines.tell("QUERY_DATA_VERSION", stream=2, **{**OWN, "brokerId": 1})


def client(lines: CommandReportBuilder) -> None:
    lines.call("GET_ROUTEINFO_BY_TOPIC", stream=1, topic="t")
    body = {"clientID": "c1", "consumerDataSet": [{"groupName": "g"}], "producerDataSet": [{"groupName": "h"}]}
    lines.call("HEART_BEAT", body=body)
    lines.call("PULL_MESSAGE")


def controllers(lines: CommandReportBuilder) -> None:
    text = {"controllerLeaderAddress": "10.0.1.1:9878", "peers": "n0:10.0.1.1:9878;"}
    lines.call("CONTROLLER_GET_METADATA_INFO", text, stream=3)
    lines.tell("BROKER_HEARTBEAT", stream=3, brokerAddr=BROKER, brokerName="a", clusterName="c", brokerId=2)


def routed(lines: CommandReportBuilder) -> None:
    data = {"brokerName": "a", "cluster": "c", "brokerAddrs": {"0": BROKER, "1": "fe80::1:10921", "x": 5}}
    lines.call("GET_ROUTEINFO_BY_TOPIC", stream=1, topic="t", answer={"brokerDatas": [data]})


def vip(lines: CommandReportBuilder) -> None:
    register(lines, brokerAddr="10.0.2.1:10913")
    lines.call("SEND_MESSAGE_V2", stream=11)


def proxy(lines: CommandReportBuilder) -> None:
    lines.call("GET_ROUTEINFO_BY_TOPIC", topic="t")
    lines.call("HEART_BEAT", body={"clientID": "c"})


def refused(lines: CommandReportBuilder) -> None:
    lines.call("GET_ROUTEINFO_BY_TOPIC", topic="t", error=REFUSED)


COLUMNS = ("address", "part", "name", "role", "known_by")
SERVER = (NAME_SERVER, "name server", None, None)
CASES: dict[str, tuple[Callable[[CommandReportBuilder], None], list[tuple[Any, ...]]]] = {
    "a broker that registers": (
        register,
        [(BROKER, "broker", "a", "master", "REGISTER_BROKER"), (*SERVER, "REGISTER_BROKER")],
    ),
    "a slave that is asked for its topics": (
        slave,
        [(BROKER, "broker", "a", "slave", "QUERY_DATA_VERSION")],
    ),
    "a client": (
        client,
        [
            ("10.0.0.1", "client", None, None, "GET_ROUTEINFO_BY_TOPIC"),
            (*SERVER, "GET_ROUTEINFO_BY_TOPIC"),
            ("10.0.0.1:50011", "client", "c1", None, "HEART_BEAT"),
            (BROKER, "broker", None, None, "HEART_BEAT"),
        ],
    ),
    "a controller": (
        controllers,
        [
            ("10.0.0.3", "client", None, None, "CONTROLLER_GET_METADATA_INFO"),
            (NAME_SERVER, "controller", None, None, "CONTROLLER_GET_METADATA_INFO"),
            (BROKER, "broker", "a", None, "BROKER_HEARTBEAT"),
        ],
    ),
    "brokers of a route": (
        routed,
        [
            ("10.0.0.1", "client", None, None, "GET_ROUTEINFO_BY_TOPIC"),
            (*SERVER, "GET_ROUTEINFO_BY_TOPIC"),
            (BROKER, "broker", "a", "master", "GET_ROUTEINFO_BY_TOPIC"),
            ("[fe80::1]:10921", "broker", "a", "slave", "GET_ROUTEINFO_BY_TOPIC"),
        ],
    ),
    "a broker's second port": (
        vip,
        [
            ("10.0.2.1:10913", "broker", "a", "master", "REGISTER_BROKER"),
            (*SERVER, "REGISTER_BROKER"),
            ("10.0.0.1", "client", None, None, "SEND_MESSAGE_V2"),
            (BROKER, "broker (VIP)", None, None, "SEND_MESSAGE_V2"),
        ],
    ),
    "a proxy": (
        proxy,
        [
            ("10.0.0.1", "client", None, None, "GET_ROUTEINFO_BY_TOPIC"),
            (BROKER, "proxy", None, None, "GET_ROUTEINFO_BY_TOPIC"),
            ("10.0.0.1:50011", "client", "c", None, "HEART_BEAT"),
        ],
    ),
    "a server that knows no such request": (
        refused,
        [("10.0.0.1", "client", None, None, "GET_ROUTEINFO_BY_TOPIC"), (BROKER, None, None, None, None)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_who_is_who(case: str) -> None:
    tell, expected = CASES[case]
    lines = CommandReportBuilder(RoleReport)
    tell(lines)
    assert lines.only(*COLUMNS) == expected


def test_what_a_broker_says_of_itself() -> None:
    lines = CommandReportBuilder(RoleReport)
    register(lines)
    register(lines, after=30_000)
    columns = ("registrations", "topics", "data_version", "ha", "asks", "servers", "broker_id", "version")
    assert lines.only(*columns)[0] == (2, 2, 7, HA, 2, [NAME_SERVER], 0, "JAVA V5_5_0")


def test_what_a_client_says_of_itself() -> None:
    lines = CommandReportBuilder(RoleReport)
    client(lines)
    assert lines.only("groups", "asks", "answers")[2:] == [(["h", "g"], 2, 0), ([], 0, 2)]


def test_what_is_reported_of_a_message() -> None:
    lines = CommandReportBuilder(RoleReport)
    register(lines)
    lines.finish()
    broker, server = lines.entries
    assert RoleReport.describe(broker, 0) == f"registers: broker a at {BROKER}, master, 1 registration"
    assert RoleReport.describe(server, 1) == f"shows to be name server: name server at {NAME_SERVER}"
