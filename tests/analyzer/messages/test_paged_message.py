"""Messages that nobody holds: the same bytes, and the same said of them, as if they were read whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.store import Store
from analyzer.decode import content as reading
from analyzer.decode.bodies import decode_body
from analyzer.decode.content import find_dissector, open_window, read_contents, read_header, read_message
from analyzer.decode.rows import RowReader
from analyzer.messages.paged_message import PagedMessage
from analyzer.session import Session
from benchmarks.captures import write
from benchmarks.snapshots import LOOPBACK, one_snapshot
from dissectors.api import Body, Context, Dissector, Window
from dissectors.wire.embedded import length_of
from tests.analyzer.reading import info_of
from tests.golden.truth import GOLDEN

CAPTURES = [GOLDEN / name for name in ("zookeeper/mtu_en395_snap.pcap.zst", "kafka/k4_py_kp.pcap.zst")]


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=12), st.integers(0, 500), st.integers(0, 500))
def test_any_part_of_any_pieces(parts: list[bytes], offset: int, length: int) -> None:
    store = Store()
    try:
        at = np.array([store.append(b"<" + part + b">") + 1 for part in parts[::-1]], np.int64)[::-1]
        window = PagedMessage(store, at, np.array(list(map(len, parts)), np.int32))
        whole = b"".join(parts)
        assert len(window) == len(whole)
        assert window.read_bytes(offset, length) == whole[offset : offset + length]
    finally:
        store.close()


def test_nothing_is_there() -> None:
    nothing = PagedMessage(Store(), np.zeros(0, np.int64), np.zeros(0, np.int32))
    assert len(nothing) == 0
    assert nothing.read_bytes(0, 9) == b""


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_rows_say_the_same(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("error", "info", "findings", "fields")
    with Session([capture]).load() as session:
        rows = np.arange(len(session.rows))
        whole = [read_message(session, row) for row in rows.tolist()]
        expected = list(RowReader(session).read_objects(keys, rows))
        monkeypatch.setattr(reading, "LONG", 0)
        windows = read_contents(session, rows)
        assert any(not isinstance(each, bytes) for each in windows)
        assert [each if isinstance(each, bytes) else each.read_bytes(0, len(each)) for each in windows] == whole
        assert list(RowReader(session).read_objects(keys, rows)) == expected


@pytest.mark.parametrize("segment", [1448, LOOPBACK])
def test_a_snapshot_is_one_row_that_is_never_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment: int
) -> None:
    write(tmp_path / "snapshot.pcap", one_snapshot(3 << 20, segment))
    with Session([tmp_path / "snapshot.pcap"]).load() as session:
        row = int(session.rows.column("length").argmax())
        names = [read_header(session, each).operation for each in range(len(session.rows))]
        assert names[3:6] == ["SNAP", "SNAPSHOT", "NEWLEADER"]
        assert session.engine.names.text(session.rows.cell("operation", row)) == "SNAPSHOT"
        dissector = find_dissector(session, row)
        assert dissector is not None
        monkeypatch.setattr(type(dissector), "values", _unread)
        body = decode_body(session, row)
        assert body.findings == ()
        assert length_of(body.values["nodes"]) > len(body.values["nodes"]) > 10_000
        assert info_of(session, row) == f"{length_of(body.values['nodes']):,} nodes, 500 sessions"


def test_a_message_that_lost_bytes_ends_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "whole.pcap", one_snapshot(3 << 20, LOOPBACK))
    data = (tmp_path / "whole.pcap").read_bytes()
    at, remaining, longest = 24, [data[:24]], 0
    while at < len(data):
        size = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        longest += size > LOOPBACK
        if size <= LOOPBACK or longest != 30:
            remaining.append(data[at : at + size])
        at += size
    (tmp_path / "lost.pcap").write_bytes(b"".join(remaining))
    with Session([tmp_path / "lost.pcap"]).load() as session:
        row = int(session.rows.column("length").argmax())
        monkeypatch.setattr(reading, "LONG", 1 << 30)
        whole, expected = read_message(session, row), decode_body(session, row)
        assert 1 << 20 < len(whole) < session.rows.cell("length", row)
        monkeypatch.setattr(reading, "LONG", 1 << 20)
        assert read_message(session, row) == whole
        assert len(open_window(session, row)) == len(whole)
        body = decode_body(session, row)
        assert body == expected
        assert length_of(body.values["nodes"]) == length_of(expected.values["nodes"]) > 5000
        assert "malformed-body" not in [finding.code for finding in body.findings]


def _unread(self: Dissector, message: bytes | Window, context: Context) -> Body:
    raise AssertionError
