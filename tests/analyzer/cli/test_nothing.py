"""What is said on stderr: of what passed no filter, of what nobody reads, and of files and connections."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from analyzer.cli.nothing import KEYS
from analyzer.session import Session
from tests.analyzer.cli.conftest import Call
from tests.analyzer.pipeline.house import EFFECTS, cut, golden_frames

KAFKA = str(Path(__file__).parents[3] / "captures" / "kafka.pcap")
NEVER = "kafka.Fetch and latency > 100s"


def frame(protocol: int, payload: bytes) -> bytes:
    """An Ethernet frame with an IPv4 packet from 10.0.0.1 to 10.0.0.2."""
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    return bytes(12) + b"\x08\0" + header + b"\x0a\0\0\1\x0a\0\0\2" + payload


def tcp(port: int, data: bytes, source: int = 40_000) -> bytes:
    return frame(6, struct.pack(">HHIIBBHHH", source, port, 1, 1, 0x50, 0x18, 1000, 0, 0) + data)


def udp(port: int) -> bytes:
    return frame(17, struct.pack(">HHHH", 50_000, port, 9, 0) + b"x")


def capture(path: Path, frames: Sequence[bytes]) -> str:
    records = [struct.pack("<IIII", 1000 + at, 0, len(data), len(data)) + data for at, data in enumerate(frames)]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1) + b"".join(records))
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", KAFKA, "-Y", NEVER],
        ["list", KAFKA, "-Y", NEVER, "--format", "ndjson"],
        ["list", KAFKA, "-Y", NEVER, "--sort", "time", "--tail", "3"],
        ["stats", KAFKA, "-Y", NEVER, "--counts"],
        ["doctor", KAFKA, "-Y", NEVER],
        ["export", KAFKA, "-Y", NEVER, "-o", "-", "--as", "ndjson"],
    ],
)
def test_a_filter_that_nothing_passes(arguments: list[str], call: Call) -> None:
    status, _, reported = call(*arguments)
    assert status == 0
    assert "wireanalyze: 0 of 648 messages pass the filter.\n" in reported


def test_of_those_that_were_read(call: Call) -> None:
    assert call("list", KAFKA, "-c", "9", "-Y", NEVER)[2] == "wireanalyze: 0 of 9 messages pass the filter.\n"
    status, _, reported = call("follow", KAFKA, "3", "-Y", NEVER)
    assert status == 0
    assert " messages pass the filter." in reported


def test_something_passes_and_nothing_is_reported(call: Call) -> None:
    assert call("list", KAFKA, "-Y", "kafka.Fetch")[2] == ""


@pytest.mark.parametrize("command", ["list", "stats", "doctor", "info"])
def test_what_a_capture_has_that_nobody_reads(command: str, call: Call, tmp_path: Path) -> None:
    frames = [udp(53)] * 5 + [frame(1, b"\x08\0\0\0")] * 2 + [bytes(12) + b"\x08\x06" + bytes(28)]
    frames += [tcp(8080, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), tcp(7777, b"\xde\xad\xbe\xef" * 30)]
    reported = call(command, capture(tmp_path / "odd.pcap", frames))[2].splitlines()
    assert reported[-3:] == [
        "wireanalyze: No message of a known protocol is in the 10 packets of the input.",
        (
            "wireanalyze: The capture has 1 connection to port 7777 (120B); 1 connection to port 8080 (HTTP, 27B);"
            " packets that are not TCP: 5 UDP port 53, 2 ICMP, 1 not IP."
        ),
        "wireanalyze: If one of these ports uses a known protocol, give it with -d, such as -d 7777=kafka.",
    ]


def test_tls(call: Call, tmp_path: Path) -> None:
    hello = b"\x16\x03\x01\x00\x40\x01\0\0\x3c" + bytes(60)
    frames = [tcp(9093, hello, source) for source in range(40_000, 40_400)]
    reported = call("list", capture(tmp_path / "tls.pcap", frames))[2].splitlines()
    assert reported == [
        "wireanalyze: No message of a known protocol is in the 400 packets of the input.",
        (
            "wireanalyze: 400 of 400 streams to port 9093 are TLS. It is not decrypted. Give its key log with --keylog"
            " FILE, or capture on a listener without TLS."
        ),
    ]


def test_strangers_next_to_messages(call: Call, tmp_path: Path) -> None:
    """TLS is told on any port but its own, others on ports of ours."""
    hello, get = b"\x16\x03\x01\x00\x40\x01\0\0\x3c" + bytes(60), b"GET / HTTP/1.1\r\n\r\n"
    ask = bytes.fromhex("0000001000120000000000010006636c69656e74")
    frames = [tcp(9092, ask, 40_000), tcp(9092, get, 40_001), tcp(9092, b"", 40_002), tcp(9093, hello), tcp(443, hello)]
    frames += [tcp(80, get), tcp(8080, get)]
    assert call("stats", capture(tmp_path / "a.pcap", frames))[2].splitlines() == [
        "wireanalyze: 1 of 1 stream to port 9093 is TLS. " + KEYS,
        (
            "wireanalyze: 1 of 3 streams to port 9092 is HTTP. A browser, a scrape or a health check may have the wrong"
            " port."
        ),
    ]


def test_no_packets(call: Call, tmp_path: Path) -> None:
    assert call("list", capture(tmp_path / "empty.pcap", []))[2] == "wireanalyze: The input has no packets.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("operation == Fech", "operation is never Fech. Did you mean Fetch?"),
        ("operation in {Fetch, Produc}", "operation is never Produc. Did you mean Produce"),
        ("operation != fetch", "operation is never fetch. Did you mean Fetch"),
        ("protocol == kafak", "Did you mean kafka?"),
        ("role == req", "Did you mean request?"),
        ("error == REBALANCE_IN_PROGRES", "Did you mean REBALANCE_IN_PROGRESS"),
        ("error.name == X", "error.name is never X"),
        ("findings == crc-mismach", "Did you mean crc-mismatch or tls-mismatch?"),
        ("findings.severity == warn", "Did you mean warning?"),
    ],
)
def test_a_value_that_no_message_has_is_an_error(text: str, said: str, call: Call) -> None:
    status, printed, reported = call("list", KAFKA, "-Y", text)
    assert (status, printed) == (2, "")
    assert said in reported


@pytest.mark.parametrize(
    "text",
    [
        *("operation == Fetch", "error == rebalance_in_progress", "error == 27", "error == UNKNOWN_77"),
        *("operation == ruok", "operation == SNAPSHOT", "operation >= M", "operation contains etch"),
        *("error == TopicNotFound", "error == SYSTEM_BUSY", "error == NONODE", "findings == crc-mismatch"),
    ],
)
def test_values_that_some_message_may_have(text: str, call: Call) -> None:
    assert call("list", KAFKA, "-c", "1", "-Y", text)[0] == 0


# ---- what is said on stderr of files and connections: alike findings in one sentence, with -v each of them


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS["lost"]), ["1.pcap"])
    return str(tmp_path / "captures" / "1.pcap")


@pytest.mark.parametrize("command", ["list", "stats", "info"])
def test_alike_findings_are_reported_once(command: str, call: Call, lossy: str) -> None:
    with Session([lossy]) as session:
        gaps = [each.text for each in session.load().findings if each.code == "gap"]
    first, second = [line for line in call(command, lossy)[2].splitlines() if "(gap" in line]
    assert f" in 4 of 4 streams to port 29092, first: {gaps[0]} (gap; -v prints each)" in first
    assert " in 4 of 4 streams to port 29192, first: " in second
    assert sum(int(line.split()[2]) for line in (first, second)) == len(gaps)
    assert [each for each in call(command, "-v", lossy)[2].splitlines() if "(gap)" in each] == [
        f"wireanalyze: warning: {text} (gap)" for text in gaps
    ]


def test_a_finding_that_is_alone_is_reported_as_it_is(call: Call, tmp_path: Path) -> None:
    data = (Path(__file__).parents[3] / "captures" / "kafka.pcap").read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(data[:-3])
    reported = call("list", str(path))[2]
    assert reported == call("list", "-v", str(path))[2]
    assert "(damaged-capture)" in reported


def test_doctor_tells_of_connections_by_port(call: Call, lossy: str) -> None:
    printed = call("doctor", lossy)[1].splitlines()
    first, second = [line for line in printed if line.startswith("warning  gap ") and " in 4 of 4 streams" in line]
    every = [json.loads(line) for line in call("doctor", lossy, "--format", "ndjson")[1].splitlines()]
    counts = [each["count"] for each in every if each["code"] == "gap" and each["number"] is None]
    assert [int(line.split()[2]) for line in (first, second)] == counts
    with Session([lossy]) as session:
        texts = [each.text for each in session.load().findings if each.code == "gap"]
    verbose = call("doctor", "-v", lossy)[1].lower()
    assert all(text.lower() in verbose for text in texts)
    assert sum(text.lower() in "\n".join(printed).lower() for text in texts) == 2
