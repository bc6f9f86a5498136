"""Stories of routes, groups, queues and roles in recorded captures, held against what the vendor's classes read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.insight.reports import ReportReading
from analyzer.session import Session
from dissectors.rocketmq.reports.groups import GroupReport
from dissectors.rocketmq.reports.queues import QueueReport
from dissectors.rocketmq.reports.roles import RoleReport
from dissectors.rocketmq.reports.routes import RouteReport
from tests.dissectors.rocketmq.truth import GOLDEN
from tests.golden.truth import read_ndjson

NAMES = ["m326_send", "m494_acl_signed", "m550_bin_compress_lab_base", "m550_controller_start", "m550_json_bcq_lab_bcq"]

Row = dict[str, Any]


def lines(path: Path) -> list[list[Row]]:
    with Session([path]).load() as session:
        reading = ReportReading(session, [RouteReport, QueueReport, GroupReport, RoleReport])
        reported = [[chapter.report.cells(entry) for entry in chapter.entries] for chapter in reading.run()]
        assert not reading.problems
    return reported


@pytest.mark.parametrize("name", NAMES)
def test_what_is_counted_is_there(name: str) -> None:
    truth = read_ndjson(GOLDEN / f"{name}.expected.ndjson.zst")

    def count(operation: str, response: bool = False, error: str | None = None) -> int:
        return sum(
            row["operation"] == operation
            and (row["role"] == "response") is response
            and (error is None or (row["error"] or {}).get("name") == error)
            for row in truth
            if "role" in row and row["role"] != "raw"
        )

    def total(table: list[Row], *columns: str) -> int:
        return sum(line[column] for line in table for column in columns)

    routes, queues, groups, roles = lines(GOLDEN / f"{name}.pcap.zst")
    assert total(routes, "asked") == count("GET_ROUTEINFO_BY_TOPIC")
    assert total(routes, "missing") == count("GET_ROUTEINFO_BY_TOPIC", True, "TOPIC_NOT_EXIST")
    assert total(queues, "asked") == count("PULL_MESSAGE")
    assert total(queues, "found", "empty", "retry", "moved", "failed") == count("PULL_MESSAGE", True)
    assert total(queues, "moved") == count("PULL_MESSAGE", True, "PULL_OFFSET_MOVED")
    assert total(roles, "registrations") == count("REGISTER_BROKER")
    beaten = {line["client"] for line in groups}
    bodies = [row["fields"]["body"] for row in truth if row.get("operation") == "HEART_BEAT" and "fields" in row]
    assert beaten == {body["clientID"] for body in bodies if body}


def test_who_is_who_where_a_controller_chooses_the_master() -> None:
    *_, roles = lines(GOLDEN / "m550_controller_start.pcap.zst")
    known = {line["address"]: (line["part"], line["name"], line["role"], line["ha"]) for line in roles}
    assert known["127.0.0.1:10911"] == ("broker", "broker-a", "master", "127.0.0.1:10912")
    assert known["127.0.0.1:10921"] == ("broker", "broker-a", "slave", "127.0.0.1:10922")
    assert known["127.0.0.1:9876"][0] == "name server"
    assert known["127.0.0.1:9878"][0] == "controller"
