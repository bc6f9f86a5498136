"""Frames in packets: large ones in many segments, odd ones between sound ones, and what stands before the first."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyzer.messages import defects
from analyzer.session import Session
from dissectors.api import LengthPrefixed
from dissectors.finding import Finding
from dissectors.pulsar import Pulsar, header
from dissectors.pulsar.expert_info import LIMIT
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Segment,
    Talk,
    capture,
    reordered,
    repeated_later,
    rows_of,
    segments,
    without_handshake,
)
from tests.dissectors.pulsar.frames import (
    CONNECT,
    CONNECTED,
    METADATA,
    base,
    field,
    frame,
    payload_part,
    produced,
    producer,
    receipt,
    send,
    sized,
)

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6650))
KEYS = ("operation", "role", "state", "length", "partner", "findings", "fields")
OPENING = ((CLIENT, CONNECT), (SERVER, CONNECTED), (CLIENT, producer(1)), (SERVER, produced(1)))
ENDING = ((CLIENT, send(sequence=4)), (SERVER, receipt(0, 4)))
Row = dict[str, Any]
Effect = Callable[[list[Segment]], list[Segment]]


def read(
    folder: Path,
    writes: Sequence[tuple[int, bytes]],
    cut: int = 1448,
    effect: Effect = list,
    use_fast_path: bool = True,
) -> tuple[list[Row], list[Finding]]:
    """Rows and findings of a connection, its writes cut into segments of so many bytes."""
    talk = Talk(tuple(writes), ENDS)
    packets = segments(talk, lambda data: [data[at : at + cut] for at in range(0, len(data), cut)])
    path = capture(folder / "a.pcap", effect(packets), talk)
    with Session([path], use_fast_path=use_fast_path).load() as session:
        return rows_of(session, KEYS), list(session.findings)


def codes(row: Row) -> list[str]:
    return [finding["code"] for finding in row["findings"]]


def lost(packets: list[Segment]) -> list[Segment]:
    """The hundredth segment of data is not in the capture."""
    data = [packet for packet in packets if len(packet.payload) == 1448]
    return [packet for packet in packets if packet is not data[100]]


LARGE = Random(12).randbytes(1 << 16) * 81
EFFECTS: dict[str, Effect] = {
    "in order": list,
    "reordered": lambda packets: reordered(packets, Random(1), 20),
    "retransmitted": lambda packets: repeated_later(packets, 5),
    "lost": lost,
}


@pytest.mark.parametrize("name", EFFECTS)
def test_a_frame_over_thousands_of_segments(tmp_path: Path, name: str) -> None:
    large = send(payload=LARGE)
    assert len(large) > LIMIT
    rows, _ = read(tmp_path, [*OPENING, (CLIENT, large), (SERVER, receipt(0, 3)), *ENDING], effect=EFFECTS[name])
    assert [row["operation"] for row in rows[4:]] == ["SEND", "SEND_RECEIPT"] * 2
    assert [row["partner"] for row in rows[4:]] == [6, 5, 8, 7]
    found = rows[4]
    assert found["length"] == len(large)
    if name == "lost":
        assert (found["state"], sorted(codes(found))) == ("partial", ["gap", "oversized-frame"])
    else:
        assert (found["state"], codes(found)) == ("complete", ["oversized-frame"])
        assert found["fields"]["payload"] == LARGE
        assert found["fields"]["checksum"]["valid"] is True


@pytest.mark.parametrize("use_fast_path", [True, False])
def test_a_frame_that_is_too_large_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_fast_path: bool
) -> None:
    monkeypatch.setattr(Pulsar, "framing", LengthPrefixed(4, 4, 100_000))
    monkeypatch.setattr(header, "MAXIMUM", 100_000)
    large = send(payload=LARGE[:100_000])
    rows, findings = read(tmp_path, [*OPENING, (CLIENT, large), *ENDING], use_fast_path=use_fast_path)
    assert [(row["role"], row["length"]) for row in rows[4:]] == [
        ("raw", len(large)),
        ("request", 39),
        ("response", 24),
    ]
    (finding,) = findings
    assert finding.code == "oversized-frame"
    assert f"{len(large)} bytes at offset 55 were passed over: they begin with a SEND frame of more" in finding.text


def test_other_bytes_are_not_named_so(tmp_path: Path) -> None:
    noise = b"\xff" * 300
    rows, findings = read(tmp_path, [*OPENING, (CLIENT, noise), *ENDING])
    assert rows[4]["role"] == "raw"
    assert [finding.code for finding in findings] == ["bytes-skipped"]


def test_a_defect_in_the_name_leaves_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.delenv(defects.DEBUG, raising=False)
    monkeypatch.setattr(Pulsar, "refused", fails)
    rows, findings = read(tmp_path, [*OPENING, (CLIENT, b"\xff" * 300), *ENDING])
    assert ([row["role"] for row in rows[4:]], [each.code for each in findings]) == (
        ["raw", "request", "response"],
        ["bytes-skipped"],
    )


# what comes between: operation, state, findings
ODD: dict[str, tuple[bytes, str | None, str, list[str]]] = {
    "no checksum": (send(checksum=0), "SEND", "complete", []),
    "an unknown magic": (frame(6, field(1, 0), field(2, 3), rest=b"\x0e\x07" + bytes(30)), "SEND", "complete",
                         ["malformed-body"]),
    "a command that says more than its frame": (sized((99).to_bytes(4) + base(6, field(1, 0) + field(2, 3))), "SEND",
                                                "complete", ["malformed-body"]),
    "a type that is in no table": (frame(300, field(1, 1)), None, "undecoded", ["unknown-operation"]),
    "an empty command": (sized(sized(b"")), None, "undecoded", []),
    "an empty frame": (sized(b""), None, "undecoded", []),
    "more than may be decompressed": (
        send(METADATA + field(8, 2) + field(9, 1 << 30), zlib.compress(bytes(1 << 20))), "SEND", "complete",
        ["limit-exceeded"]),
    "bytes behind a command": (frame(18, rest=b"\x0e\x01" + bytes(20)), "PING", "complete", ["trailing-bytes"]),
}  # fmt: skip


@pytest.mark.parametrize("cut", [1448, 7])
@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_harms_nothing_but_itself(tmp_path: Path, name: str, cut: int) -> None:
    odd, operation, state, found = ODD[name]
    rows, _ = read(tmp_path, [*OPENING, (CLIENT, odd), *ENDING], cut)
    assert (rows[4]["operation"], rows[4]["state"], rows[4]["length"]) == (operation, state, len(odd))
    assert codes(rows[4]) == found
    assert [(row["operation"], row["partner"]) for row in rows[5:]] == [("SEND", 7), ("SEND_RECEIPT", 6)]


def test_brokers_metadata_without_a_checksum(tmp_path: Path) -> None:
    part = payload_part(METADATA, b"text", broker=field(1, 5) + field(2, 7), checksum=0)
    message = frame(9, field(1, 0), field(2, field(1, 1) + field(2, 2)), rest=part)
    rows, _ = read(tmp_path, [*OPENING, (SERVER, message)])
    found = rows[4]["fields"]
    assert found["broker_entry_metadata"] == {"broker_timestamp": 5, "index": 7}
    assert (found["payload"], "checksum" in found, codes(rows[4])) == (b"text", False, [])


V1 = b"PROXY TCP4 192.0.2.7 192.0.2.8 60744 6650\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12)


@pytest.mark.parametrize("cut", [1448, 7, 1])
@pytest.mark.parametrize("joined", [True, False], ids=["in one segment", "alone"])
@pytest.mark.parametrize("preamble", [V1, V2], ids=["version 1", "version 2"])
def test_a_proxys_preamble(tmp_path: Path, preamble: bytes, joined: bool, cut: int) -> None:
    first = [(CLIENT, preamble + CONNECT)] if joined else [(CLIENT, preamble), (CLIENT, CONNECT)]
    rows, _ = read(tmp_path, [*first, *OPENING[1:]], cut)
    assert (rows[0]["role"], rows[0]["length"]) == ("raw", len(preamble))
    assert [row["operation"] for row in rows[1:]] == ["CONNECT", "CONNECTED", "PRODUCER", "PRODUCER_SUCCESS"]
    assert codes(rows[0]) == ["proxy-preamble"]


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (b"GET /admin/v2/clusters HTTP/1.1\r\nHost: a\r\n\r\n", "an HTTP request"),
        (b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03" + bytes(240), "a TLS ClientHello"),
    ],
)
def test_others_on_the_port_are_named(tmp_path: Path, begin: bytes, said: str) -> None:
    (row,), _ = read(tmp_path, [(CLIENT, begin)])
    assert (row["role"], codes(row)) == ("raw", ["wrong-protocol"])
    assert said in row["findings"][0]["text"]


@pytest.mark.parametrize("skipped", range(4, 20))
def test_a_capture_that_begins_inside_a_frame(tmp_path: Path, skipped: int) -> None:
    """Wherever it begins, the first frame that is whole is found."""
    sends = [(CLIENT, send(payload=b"text" * 20, sequence=each)) for each in range(20)]
    rows, _ = read(tmp_path, sends, 25, lambda packets: without_handshake(packets)[skipped:])
    sequences = [row["fields"]["sequence_id"] for row in rows if row["operation"] == "SEND"]
    size = len(sends[0][1])
    per_frame = -(-size // 25)
    assert sequences == list(range(-(-skipped // per_frame), 20))
