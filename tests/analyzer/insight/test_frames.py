"""The frames of messages: held against the messages themselves, made packets, and secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_message
from analyzer.decode.masking import find_secret_spans
from analyzer.decode.packets import list_packets
from analyzer.insight.frames import CapturedFrame, find_lost_bytes, frame_bytes, frames_of
from analyzer.insight.tls import read_carriers
from analyzer.session import Session
from analyzer.tls.key_files import KeyRing
from tests.analyzer.wire import ACK, CLIENT, ISN, PSH, SERVER, Segment, capture, opening

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))
ANSWER = bytes.fromhex("00000010 00000007 00000000 ffffffff 00000000".replace(" ", ""))


@pytest.mark.parametrize("path", ["captures/kafka.pcap", "captures/mixed.pcapng", "captures/kafka-0.10.pcap.zst"])
def test_frames_have_the_bytes_of_their_messages(path: str) -> None:
    with Session([ROOT / path]).load() as session:
        for row in range(0, len(session.rows), 7):
            frames = frames_of(session, row)
            message = bytearray(read_message(session, row))
            for frame in frames:
                data, masks = frame_bytes(session, row, frame, len(session.rows), show_secrets=True)
                assert masks == []
                assert frame.own is not None
                own = data[frame.own : frame.own + frame.length]
                assert own == message[frame.offset : frame.offset + frame.length]
            assert [each.number for each in frames] == [each["number"] for each in list_packets(session, row)]
            assert sum(frame.length for frame in frames if not frame.again) == len(message)


def test_what_tcp_says_and_what_is_missing(tmp_path: Path) -> None:
    segments = [
        *opening(),
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 10, REQUEST[10:]),
        Segment(SERVER, 0, ANSWER, acked=len(REQUEST)),
        Segment(CLIENT, 22, REQUEST[:8] + b"\x09", acked=len(ANSWER)),
        Segment(CLIENT, 35, REQUEST[13:], acked=len(ANSWER)),
        Segment(SERVER, 20, b"", acked=44, flags=ACK),
        *(Segment(SERVER, 20, b"", acked=44, flags=ACK, time=10**10 + at * 10**9) for at in range(70)),
    ]
    with Session([capture(tmp_path / "a.pcap", segments)]).load() as session:
        frames = frames_of(session, 0)
        assert [(each.number, each.offset, each.length, each.again) for each in frames] == [
            (4, 0, 10, False),
            (5, 0, 10, True),
            (6, 10, 12, False),
        ]
        (first, _, last) = (frame.tcp for frame in frames)
        assert first is not None and last is not None  # noqa: PT018
        assert (first.seq, first.flags, first.names) == (ISN[CLIENT] + 1, PSH | ACK, "PSH ACK")
        assert (last.seq - first.seq, last.payload, frames[2].begin) == (10, 12, 10)
        assert find_lost_bytes(session, 0) == []
        (lost,) = find_lost_bytes(session, 2)
        assert (lost.offset, lost.length, lost.cut) == (9, 4, False)
        assert [(each.offset, each.length) for each in frames_of(session, 2)] == [(0, 9), (13, 9)]


SECRETS = {"kafka/k24_sasl_v0": 1, "kafka/k4_sasl_java": 3}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_hidden_in_all_frames_that_have_them(name: str) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        seen = 0
        for row in range(len(session.rows)):
            tree = decode_tree(session, row)
            spans = find_secret_spans(tree).get(0, ())
            secrets = [tree.sources[0].data[first:end] for first, end in spans if end - first >= 4]
            seen += bool(secrets)
            for frame in frames_of(session, row) if secrets else ():
                shown = _shown(session, row, frame, len(session.rows))
                assert not any(secret in shown for secret in secrets), row
        assert seen >= SECRETS[name]


def test_ciphertext_is_not_hidden() -> None:
    name = GOLDEN / "tls" / "k_ossl_t12_etm_sha256"
    ring = KeyRing([str(name.with_suffix(".keylog"))])
    with Session([name.with_suffix(".pcap.zst")], secrets=ring).load() as session:
        (frame,) = frames_of(session, 0)
        data, masks = frame_bytes(session, 0, frame, len(session.rows), show_secrets=False)
        assert frame.tcp is not None
        assert masks == []
        records = data[frame.tcp.head : frame.tcp.head + frame.tcp.payload]
        assert records.startswith(b"\x17\x03\x03")
        assert read_carriers(session, 0) == (records, data)


def test_what_no_message_is_known_to_say_is_hidden(tmp_path: Path) -> None:
    segments = [*opening(), Segment(CLIENT, 0, REQUEST + REQUEST)]
    with Session([capture(tmp_path / "a.pcap", segments)]).load() as session:
        (frame,) = frames_of(session, 0)
        assert frame.tcp is not None
        _, masks = frame_bytes(session, 0, frame, 1, show_secrets=False)
        assert masks == [(frame.tcp.head + len(REQUEST), frame.tcp.head + 2 * len(REQUEST))]
        assert frame_bytes(session, 0, frame, 2, show_secrets=False)[1] == []


def test_what_came_again_with_other_contents_is_hidden(tmp_path: Path) -> None:
    segments = [*opening(), Segment(CLIENT, 0, REQUEST), Segment(CLIENT, 0, b"\x00" * 22)]
    with Session([capture(tmp_path / "a.pcap", segments)]).load() as session:
        first, again = frames_of(session, 0)
        assert frame_bytes(session, 0, first, 1, show_secrets=False)[1] == []
        (mask,) = set(frame_bytes(session, 0, again, 1, show_secrets=False)[1])
        assert mask[1] - mask[0] == 22


def _shown(session: Session, row: int, frame: CapturedFrame, rows: int) -> bytes:
    data, masks = frame_bytes(session, row, frame, rows, show_secrets=False)
    shown = bytearray(data)
    for first, end in masks:
        shown[first:end] = b"*" * (end - first)
    return bytes(shown)
