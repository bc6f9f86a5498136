"""Clients: what they are and use, and whom an upgrade breaks."""

from __future__ import annotations

import pytest

from dissectors.kafka.reports.client_software import VersionRange, find_versions, list_releases
from dissectors.kafka.reports.clients import ClientReport, UpgradeReport
from dissectors.message import Role
from dissectors.report import ReportType, UnknownChoice
from dissectors.wire.secret import Secret
from tests.dissectors.kafka.reports.builder import ReportBuilder


def negotiate(found: ReportBuilder, most: int = 9, **more: int) -> None:
    """A client asks what the broker takes: Produce up to a version."""
    requested = {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": "4.0"}
    found.call(
        "ApiVersions", requested, {"apiKeys": [{"apiKey": 0, "minVersion": 0, "maxVersion": most}]}, version=3, **more
    )


def test_a_client() -> None:
    found = ReportBuilder(ClientReport)
    negotiate(found)
    found.send("SaslHandshake", {"mechanism": "SCRAM-SHA-512"}, version=1)
    found.send("Produce", {}, version=9)
    found.send("Produce", {}, version=7, client="c1")
    (row,) = found.finish()
    assert (row["client"], row["host"], row["software"]) == ("c1", "10.0.0.1", "apache-kafka-java 4.0")
    assert (row["mechanism"], row["connections"], row["requests"], row["negotiates"]) == ("SCRAM-SHA-512", 1, 4, "yes")
    assert row["apis"] == ["ApiVersions 3", "Produce 7-9", "SaslHandshake 1"]


def test_users() -> None:
    found = ReportBuilder(ClientReport)
    for user in ("alice", "bob", "alice"):
        found.send("SaslHandshake", {"mechanism": "PLAIN"}, version=1)
        found.send("SaslAuthenticate", {"authBytes": Secret(f"\0{user}\0pw".encode())}, version=2)
        found.send("SaslAuthenticate", {"authBytes": Secret(b"")}, role=Role.RESPONSE, version=2)
    assert found.only("users", "requests") == [(["alice", "bob"], 6)]


def to(release: str) -> ReportType:
    return UpgradeReport.choose(release)


@pytest.mark.parametrize(
    ("release", "negotiates", "offered", "version", "verdict", "why"),
    [
        ("4.0", True, 9, 9, "fine", []),
        ("4.0", True, 9, 2, "breaks", ["Produce 2, though 9 is offered; 3-12 are taken"]),
        ("4.0", True, 2, 2, "unsure", ["Produce 2; 3-12 are taken"]),
        ("4.0", False, 9, 2, "breaks", ["Produce 2; 3-12 are taken"]),
        ("3.9", True, 9, 2, "fine", []),
    ],
)
def test_whom_an_upgrade_breaks(
    release: str, negotiates: bool, offered: int, version: int, verdict: str, why: list[str]
) -> None:
    report = to(release)
    found = ReportBuilder(report)
    if negotiates:
        negotiate(found, offered)
    found.send("Produce", {}, version=version)
    (row,) = found.finish()
    assert (row["verdict"], row["why"]) == (verdict, why)
    assert report.is_fault(row) is (verdict == "breaks")


def test_what_only_brokers_use_breaks_nobody() -> None:
    found = ReportBuilder(to("4.0"))
    found.send("LeaderAndIsr", {}, version=1)
    assert found.only("verdict") == [("fine",)]


def test_an_unknown_release() -> None:
    with pytest.raises(UnknownChoice, match=r"Release 9\.9 is unknown. Releases are 2\.2, "):
        to("9.9")
    with pytest.raises(UnknownChoice):
        ClientReport.choose("4.0")


def test_versions_of_releases() -> None:
    assert find_versions("2.2")["Produce"] == VersionRange(0, 7)
    assert find_versions("4.0")["Produce"] == VersionRange(3, 12)
    assert find_versions("3.9")["LeaderAndIsr"] is not None
    assert find_versions("4.0")["LeaderAndIsr"] is None
    assert "ConsumerGroupHeartbeat" not in find_versions("2.2")
    assert [str(VersionRange(1, 1)), str(VersionRange(1, 3))] == ["1", "1-3"]
    assert all(find_versions(release) for release in list_releases())
