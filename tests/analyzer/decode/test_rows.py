"""The keys of a row: their values, their nulls, what they cost when nobody asks, and the same read for many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode import template_decoder
from analyzer.decode.content import read_context, read_messages
from analyzer.decode.many_values import ManyValues
from analyzer.decode.rows import ROW_KEYS, RowReader, list_keys
from analyzer.insight.reports import list_reports
from analyzer.messages import defects
from analyzer.session import Session
from dissectors.api import Context, Dissector
from dissectors.message import Path as FieldPath
from tests.analyzer.capture.writers import T0
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Segment, Talk, capture, opening, rows, segments


def framed(text: str) -> bytes:
    data = bytes.fromhex(text)
    return len(data).to_bytes(4) + data


REQUEST = framed("0003 0001 00000007 0002 6d65 00000001 0002 6869")
ANSWER = framed("00000007 00000000 00000002 00000001 0003 0002 6869 00 00000000")
EXCHANGE = Talk(((CLIENT, REQUEST), (SERVER, ANSWER)))
REQUEST_NUMBER, ANSWER_NUMBER = 4, 5


@pytest.fixture
def exchange(tmp_path: Path) -> Session:
    return Session([capture(tmp_path / "a.pcap", segments(EXCHANGE))]).load()


def values(session: Session, *keys: str) -> list[list[object]]:
    return RowReader(session).read_columns(keys, np.arange(len(session.rows)))


def test_all_keys_of_a_request_and_its_answer(exchange: Session) -> None:
    columns = dict(zip(ROW_KEYS, values(exchange, *ROW_KEYS), strict=True))
    stream = "10.0.0.1:40000>10.0.0.2:9092"
    expected = {
        "number": [1, 2],
        "id": [f"{stream}/c/0", f"{stream}/s/0"],
        "stream_id": [stream, stream],
        "partner_id": [f"{stream}/s/0", f"{stream}/c/0"],
        "time": ["2023-11-14T22:13:20.003000000Z", "2023-11-14T22:13:20.004000000Z"],
        "stream": [0, 0],
        "protocol": ["kafka", "kafka"],
        "source": ["10.0.0.1:40000", "10.0.0.2:9092"],
        "destination": ["10.0.0.2:9092", "10.0.0.1:40000"],
        "from_client": [True, False],
        "role": ["request", "response"],
        "operation": ["Metadata", "Metadata"],
        "code": [3, 3],
        "version": [1, 1],
        "correlation": [7, 7],
        "client": ["me", "me"],
        "length": [len(REQUEST), len(ANSWER)],
        "offset": [0, 0],
        "first_packet": [REQUEST_NUMBER, ANSWER_NUMBER],
        "last_packet": [REQUEST_NUMBER, ANSWER_NUMBER],
        "partner": [2, 1],
        "latency_ns": [None, STEP_NS],
        "state": ["complete", "complete"],
    }
    assert {key: columns[key] for key in expected} == expected
    assert columns.keys() - expected.keys() == {"error", "info", "findings"}


def test_nulls_of_what_nobody_can_read(tmp_path: Path) -> None:
    (row,) = rows(capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, b"\xff" * 20)]))
    nulls = ("partner_id", "operation", "code", "version", "correlation", "client", "partner", "latency_ns", "error")
    assert {key: row[key] for key in nulls} == dict.fromkeys(nulls)
    assert (row["protocol"], row["role"], row["state"], row["length"]) == ("unknown", "raw", "undecoded", 20)


def test_rows_in_any_order_and_number(exchange: Session) -> None:
    picked = RowReader(exchange).read_columns(("number", "id", "fields"), np.array([1, 0, 1]))
    assert picked[0] == [2, 1, 2]
    assert picked[2][0] == picked[2][2] != picked[2][1]
    assert RowReader(exchange).read_columns(ROW_KEYS, np.arange(0)) == [[] for _ in ROW_KEYS]


def test_an_unknown_key(exchange: Session) -> None:
    with pytest.raises(KeyError):
        values(exchange, "nonsense")
    assert set(ROW_KEYS) < set(list_keys())


def test_while_packets_come_a_row_knows_nothing_of_later_ones() -> None:
    path = Path(__file__).parents[2] / "golden" / "zookeeper" / "cl_java395_basic.pcap.zst"
    keys = ("operation", "role", "client", "partner")
    with Session([path]).load() as session:
        listed, live = (
            list(RowReader(session, streaming=streaming).read_objects(keys, np.arange(len(session.rows))))
            for streaming in (False, True)
        )
    connects = [(one, other) for one, other in zip(listed, live, strict=True) if one["operation"] == "connect"]
    assert {one["client"][:2] for one, _ in connects} == {"0x"}
    new = [other["client"] is None for _, other in connects if other["role"] == "request"]
    assert any(new)
    assert not all(new)  # one that comes back names its session itself
    for one, other in connects:
        if other["role"] == "response":
            assert other == one
        else:
            assert other["partner"] is None


def test_what_is_not_requested_is_not_decoded(exchange: Session) -> None:
    exchange.close()
    assert values(exchange, "operation", "length") == [["Metadata"] * 2, [len(REQUEST), len(ANSWER)]]


def test_times_are_those_of_the_completing_packet(tmp_path: Path) -> None:
    parts = [Segment(CLIENT, 0, REQUEST[:9]), Segment(CLIENT, 9, REQUEST[9:], time=T0 + 123)]
    (row,) = rows(capture(tmp_path / "a.pcap", [*opening(), *parts]))
    assert (row["first_packet"], row["last_packet"]) == (4, 5)
    assert row["time"] == "2023-11-14T22:13:20.000000000Z"  # pcap counts microseconds


# ---- what many rows say together is what each of them says decoded for itself, in the fields that reports read


ROOT = Path(__file__).parents[3]
CAPTURES = ("kafka-4.4", "pulsar", "rocketmq", "zookeeper")


def pick_path(value: Any, path: FieldPath) -> Any:
    """What stands at a path; of a list what stands there in each of its structs."""
    if isinstance(value, list) and path:
        return [pick_path(each, path) for each in value]
    return pick_path(value.get(path[0]), path[1:]) if isinstance(value, dict) and path else value


@pytest.mark.parametrize("name", CAPTURES)
def test_recorded_captures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_decoder, "WORTH", 2)
    with Session([ROOT / "captures" / f"{name}.pcap.zst"]).load() as session:
        known, _ = list_reports(session)

        def list_paths(dissector: Dissector, context: Context) -> frozenset[FieldPath]:
            what = dissector.name, context.code, context.role
            return frozenset(path for each in known.values() if what in each.on for path in each.on[what].paths)

        rows = np.arange(len(session.rows))
        found = ManyValues(session, list_paths).read_rows(rows)
        assert sum(each is not None for each in found) > len(rows) // 4
        for row, each, message in zip(rows.tolist(), found, read_messages(session, rows), strict=True):
            if each is not None:
                context = read_context(session, row)
                dissector = session.engine.dissector(session.rows.cell("protocol", row))
                assert dissector is not None
                body = defects.decode_values(dissector, message, context)
                for path in list_paths(dissector, context):
                    assert pick_path(each[0], path) == pick_path(body.values, path)
                assert each[1] == body.error
