"""Tokens in captures: what is lost around them, and a broker that answers by hanging up."""

from __future__ import annotations

import struct
from pathlib import Path

from analyzer.decode.bodies import decode_tree, list_row_findings
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.tree_json import make_node_object
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, FIN, SERVER, Segment, Talk, capture, data_segments, opening, segments

PASSWORD = b"xipj3plmq-tanstaaf"
TOKEN = b"\0kurt\0" + PASSWORD


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def asked(key: int, version: int, body: bytes) -> bytes:
    return framed(struct.pack(">hhih", key, version, 7, -1) + body)


HANDSHAKE = asked(17, 0, b"\0\5PLAIN"), framed(struct.pack(">ihi", 7, 0, 0))
AUTHENTICATE = asked(36, 0, struct.pack(">i", len(TOKEN)) + TOKEN)


def test_what_lies_behind_a_lost_segment_is_not_shown(tmp_path: Path) -> None:
    talk = Talk(((CLIENT, AUTHENTICATE * 2),))
    parts = segments(talk, lambda data: (data[i : i + 10] for i in range(0, len(data), 10)))
    lost = len(AUTHENTICATE) + (-len(AUTHENTICATE) % 10) + 10
    remaining = [each for each in parts if not (each.at == lost and each.payload)]
    with Session([capture(tmp_path / "lost.pcap", remaining)]).load() as session:
        tree = decode_tree(session, 1)
        spans = find_secret_spans(tree)[0]
        text = JsonWriter(Limits(bytes_limit=None)).format_line([make_node_object(node) for node in tree.fields])
        data = bytearray(tree.sources[0].data)
    assert any(node.spec.type == "gap" for node in tree.fields)
    assert PASSWORD[-8:] in data
    for start, stop in spans:
        data[start:stop] = bytes(stop - start)
    assert PASSWORD[-8:] not in data
    assert PASSWORD[-8:].hex().encode() not in text


def test_a_broker_that_hangs_up_has_refused(tmp_path: Path) -> None:
    writes = ((CLIENT, HANDSHAKE[0]), (SERVER, HANDSHAKE[1]), (CLIENT, framed(TOKEN)))
    sent = [*opening(), *data_segments(writes)]
    sent.append(Segment(SERVER, len(HANDSHAKE[1]), acked=len(HANDSHAKE[0]) + 4 + len(TOKEN), flags=FIN | 0x10))
    with Session([capture(tmp_path / "refused.pcap", sent)]).load() as session:
        assert [finding.code for finding in list_row_findings(session, 2)] == ["closed-unanswered"]
        assert [finding.code for finding in list_row_findings(session, 1)] == []
