"""Captures for programs: what the tools answer, how answers are bounded, and the SDK's own client."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import wireanalyze as wa
from tests.documents import ROOT
from wireanalyze import service as served
from wireanalyze.service import Service, make_server

CAPTURES = ROOT / "captures"
KAFKA = str(CAPTURES / "kafka.pcap")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    found = Service([str(CAPTURES), str(ROOT / "tests" / "golden")])
    assert found.open_capture(KAFKA)["capture"] == "c1"
    yield found
    found.close()


def test_a_capture_is_described(service: Service) -> None:
    found = service.open_capture(str(CAPTURES / "kafka.p?ap"))
    assert (found["messages"], found["protocols"]) == (648, {"kafka": 648})
    assert found["first"].startswith("2026-11-21T14:15:1")
    assert "kafka.groups" in found["reports"]
    assert service.close_capture(found["capture"]) == {"closed": found["capture"]}
    with pytest.raises(wa.UsageError, match=r"The capture c2 is not open\. These are: c1\. Use open_capture\."):
        service.list_messages(found["capture"])


def test_an_incident_is_worked_through(service: Service) -> None:
    found = service.list_messages("c1", "kafka.Fetch and role == response", "number,latency", "-latency", limit=2)
    assert found == {
        "messages": [{"number": 633, "latency_ns": 736970686}, {"number": 632, "latency_ns": 733647451}],
        "in_all": 109,
        "left_out": 107,
    }
    shown = service.show_message("c1", 633)
    assert (shown["partner"], shown["lines_left_out"]) == (603, 0)
    assert shown["text"].startswith("message 633")
    assert service.get_stats("c1", "kafka.topic", limit=1)["groups"][0]["kafka.topic"] == "jg"
    assert service.run_doctor("c1", "note")["problems"][0]["code"] == "error-answer"
    assert service.get_report("c1", "groups", limit=1)["left_out"] == 14
    assert service.find_fields("kafka.topic")["fields"][0]["type"] == "text"


def test_answers_are_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MOST_ROWS", 40)
    monkeypatch.setattr(served, "MOST_BYTES", 8_000)
    found = service.list_messages("c1", columns="fields,info,id", limit=100_000)
    assert len(found["messages"]) + found["left_out"] == found["in_all"] == 648
    assert len(found["messages"]) < served.MOST_ROWS
    assert len(orjson.dumps(found)) < served.MOST_BYTES + 1000
    assert len(service.find_fields("kafka.Fetch", limit=10**9)["fields"]) <= served.MOST_ROWS
    assert service.list_messages("c1", limit=-1)["messages"] == []


def test_the_oldest_capture_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MOST_OPEN", 1)
    service = Service([str(CAPTURES)])
    service.open_capture(KAFKA)
    assert service.open_capture(KAFKA)["capture"] == "c2"
    with pytest.raises(wa.UsageError):
        service.show_message("c1", 1)
    service.close()


def test_secrets_are_masked(service: Service) -> None:
    name = service.open_capture(str(ROOT / "tests" / "golden" / "kafka" / "k4_sasl_java.pcap.zst"))["capture"]
    chosen = service.list_messages(
        name, "kafka.SaslAuthenticate.request", "number,kafka.SaslAuthenticate.authBytes,fields"
    )
    assert chosen["in_all"]
    for row in chosen["messages"]:
        assert row["kafka.SaslAuthenticate.authBytes"]["redacted"]
        assert row["fields"]["authBytes"]["redacted"]
        assert "redacted" in service.show_message(name, row["number"])["text"]
    groups = service.get_stats(name, "kafka.SaslAuthenticate.authBytes")["groups"]
    assert [group["kafka.SaslAuthenticate.authBytes"] for group in groups] == [None, "(secret)"]


@pytest.mark.parametrize("path", ["/etc/passwd", str(ROOT / "README.md"), "captures/../README.md"])
def test_other_folders_are_closed(path: str, service: Service) -> None:
    with pytest.raises(wa.CaptureError, match="is outside of"):
        service.open_capture(path)


def test_a_link_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "link.pcap").symlink_to(KAFKA)
    with pytest.raises(wa.CaptureError, match="is outside of"):
        Service([str(tmp_path)]).open_capture(str(tmp_path / "link.pcap"))


async def converse(client: Any) -> None:
    """What an assistant does, with the SDK's client."""
    async with client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {"open_capture", "list_messages", "show_message", "run_doctor"}
        assert all(tool.description for tool in tools)
        opened = await client.call_tool("open_capture", {"path": KAFKA})
        assert opened.structured_content["messages"] == 648
        listed = await client.call_tool("list_messages", {"capture": "c1", "filter": "latency > 1 banana"})
        assert listed.is_error
        assert "Filter, character 13 at banana" in listed.content[0].text
        shown = await client.call_tool("show_message", {"capture": "c1", "number": 999})
        assert "There is no message 999." in shown.content[0].text


def test_the_clients_of_the_sdk_understand_it() -> None:
    """In this process, and over the pipes of the command."""
    mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
    asyncio.run(converse(mcp.Client(make_server(Service([str(CAPTURES)])))))
    command = ["-m", "analyzer.cli", "serve", "--stdio", str(CAPTURES)]
    pipes = mcp.StdioServerParameters(command=sys.executable, args=command, env={"PYTHONPATH": str(ROOT)})
    asyncio.run(converse(mcp.Client(mcp.stdio_client(pipes))))
