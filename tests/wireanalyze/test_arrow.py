"""Tables of messages: the same values as the messages have, with types that depend on the columns alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wireanalyze as wa
from analyzer.decode import template_decoder
from analyzer.decode.jsonable import JsonWriter
from analyzer.query.fields import FieldKind, list_fields
from tests.documents import ROOT

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow: the extra parquet")
from analyzer.tables.body_values import GroupConverter, ValueConverter  # noqa: E402
from wireanalyze import arrow  # noqa: E402
from wireanalyze.arrow import DEFAULT, TYPES  # noqa: E402

COLUMNS = ["time", "client", "kafka.topic", "latency"]


@pytest.fixture(scope="module")
def kafka() -> wa.Capture:
    return wa.open(ROOT / "captures" / "kafka.pcap", jobs=1)


@pytest.fixture(scope="module")
def mixed() -> wa.Capture:
    return wa.open(ROOT / "captures" / "mixed.pcapng", jobs=1)


def test_a_table_says_what_messages_say(mixed: wa.Capture) -> None:
    special: dict[str, Callable[[wa.Message], Any]] = {
        "time": lambda message: message.time_ns,
        "latency": lambda message: message.latency_ns,
        "partner": lambda message: message.partner and message.partner.number,
        "correlation": lambda message: None if message.correlation is None else str(message.correlation),
        "source_ip": lambda message: message.source.rpartition(":")[0],
        "source_port": lambda message: int(message.source.rpartition(":")[2]),
        "destination_ip": lambda message: message.destination.rpartition(":")[0],
        "destination_port": lambda message: int(message.destination.rpartition(":")[2]),
    }
    table, messages = mixed.to_arrow(), list(mixed)
    for name in DEFAULT:
        column = table[name].combine_chunks()
        values = (column.cast(pa.int64()) if name in ("time", "latency") else column).to_pylist()
        read = special.get(name, lambda message, name=name: getattr(message, name))
        assert values == [read(message) for message in messages], name


def test_bodies_and_fields_are_columns(kafka: wa.Capture) -> None:
    names = ["error", "findings", "info", "fields", "kafka.topic", "kafka.Fetch.maxWaitMs"]
    table = kafka.to_arrow(columns=names, head=40)
    for row, message in zip(table.to_pylist(), kafka.messages(head=40), strict=True):
        wanted = message.to_dict()
        assert (row["error"], row["findings"], row["info"]) == (wanted["error"], wanted["findings"], wanted["info"])
        bodies = {name: body for name, body in row["fields"].items() if body is not None}
        assert _differ(bodies, {_name_body(message): wanted["fields"]}) is None
        assert row["kafka.topic"] == list(message.read_field("kafka.topic"))
        assert row["kafka.Fetch.maxWaitMs"] == next(iter(message.read_field("kafka.Fetch.maxWaitMs")), None)


def _name_body(message: wa.Message) -> str:
    role = "response" if message.role == "response" else "request"
    return f"{message.protocol}.{message.operation}.{role}"


def _differ(body: Any, wanted: Any) -> str | None:
    """Where a typed body says another thing than JSON; what a body lacks is null in a column."""
    if isinstance(wanted, dict) and "redacted" in wanted:
        return None if body is None else "a secret"
    if isinstance(body, str | bytes) and not isinstance(wanted, str) and "hex" not in (wanted or {}):
        return None if json.loads(body) == wanted else f"{body!r} {wanted!r}"
    if isinstance(body, dict):
        if set(wanted or {}) - set(body):
            return f"{sorted(set(wanted) - set(body))} of {sorted(body)}"
        inside = ((name, _differ(each, (wanted or {}).get(name))) for name, each in body.items())
        return next((f"{name}.{found}" for name, found in inside if found), None)
    if isinstance(body, list):
        if len(body) != len(wanted):
            return f"{len(body)} items"
        return next(filter(None, map(_differ, body, wanted)), None)
    if isinstance(body, bytes):
        return None if body.hex().startswith(wanted["hex"]) and len(body) == wanted["length"] else "bytes"
    if isinstance(body, datetime):
        return None if round(body.timestamp() * 1000) == wanted else "time"
    return None if body == wanted else f"{body!r} {wanted!r}"


@pytest.mark.parametrize("protocol", ["kafka", "zookeeper", "pulsar", "rocketmq"])
def test_typed_bodies_say_what_json_says(mixed: wa.Capture, protocol: str) -> None:
    """Each body stands in the member of its operation."""
    wanted = f"protocol == {protocol}"
    bodies = mixed.to_arrow(wanted, columns="fields", head=90)["fields"].to_pylist()
    for row, message in zip(bodies, mixed.messages(wanted, head=90), strict=True):
        ((name, body),) = ((name, body) for name, body in row.items() if body is not None)
        assert name.startswith(f"{protocol}.{message.operation}") or name == "other"
        assert _differ(body, message.to_dict()["fields"]) is None


@pytest.mark.parametrize("path", sorted((ROOT / "captures").glob("*.pcap*")), ids=lambda path: path.name)
def test_bodies_of_alike_messages_are_those_of_each(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_decoder, "WORTH", 4)
    taken: list[int] = []
    convert = GroupConverter.convert
    monkeypatch.setattr(GroupConverter, "convert", lambda *of: taken.append(1) or convert(*of))
    with wa.open(path, jobs=1) as capture:
        together = capture.to_arrow(columns="fields")
        assert taken
        monkeypatch.setattr(template_decoder.TemplateDecoder, "find_groups", lambda *_: [])
        assert together.equals(capture.to_arrow(columns="fields"))


def test_structures_have_the_types_of_their_layout(kafka: wa.Capture, tmp_path: Path) -> None:
    name = "kafka.Fetch.request.topics"
    table = kafka.to_arrow("kafka.Fetch.request.topics.partitions.fetchOffset > 0", columns=[name, "fields"], head=3)
    topic = table.schema.field(name).type.value_type
    partition = topic.field("partitions").type.value_type
    assert (topic.field("topic").type, partition.field("fetchOffset").type) == (pa.string(), pa.int64())
    assert kafka.to_arrow("number > 9999", columns=[name]).schema.field(name) == table.schema.field(name)
    assert table["fields"][0].as_py()["kafka.Fetch.request"]["topics"] == table[name][0].as_py()
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    path = tmp_path / "messages.parquet"
    kafka.to_parquet(path, "kafka.Fetch", columns=[name, "fields"])
    asked = f"""select max(fields['kafka.Fetch.request'].maxWaitMs), max(len("{name}")) from '{path}'"""
    bodies = polars.read_parquet(path)["fields"].struct.field("kafka.Fetch.request")
    assert duckdb.sql(asked).fetchall()[0][0] == bodies.struct.field("maxWaitMs").max() == 500


def test_types_depend_on_columns_alone(kafka: wa.Capture, mixed: wa.Capture) -> None:
    short = [field for field in list_fields() if field.name.count(".") <= 1 and field.kind is not FieldKind.PRESENCE]
    names = list(dict.fromkeys([*TYPES, *(field.name for field in short)]))
    tables = [capture.to_arrow(columns=names, head=2) for capture in (kafka, mixed)]
    empty = kafka.to_arrow("number > 9999", columns=names)
    assert tables[0].schema == tables[1].schema == empty.schema
    assert (empty.num_rows, len(names)) == (0, len(empty.schema))
    for name, kind in TYPES.items():
        assert tables[0].schema.field(name).type == kind


def test_a_choice_of_rows(kafka: wa.Capture) -> None:
    table = kafka.to_arrow("kafka.Fetch", columns="number,latency,kafka.topic", sort="-latency", head=5)
    assert table["number"].to_pylist() == [m.number for m in kafka.messages("kafka.Fetch", sort="-latency", head=5)]
    assert kafka.to_arrow(columns=[]).column_names == []


@pytest.mark.parametrize("columns", [["nothing"], "kafka", ["kafka.nothing"]])
def test_unknown_columns(kafka: wa.Capture, columns: Any) -> None:
    with pytest.raises(wa.UsageError, match=r"^column "):
        kafka.to_arrow(columns=columns)


def test_numbers_that_do_not_fit() -> None:
    huge = 1 << 62
    values = [2, huge, -huge, 1.5, "x", float("nan")]
    assert arrow._make_nanoseconds(values, 10).to_pylist() == [20, None, None, 15, None, None]
    assert arrow._make_nanoseconds(np.array([2, huge, -huge - huge]), 10).to_pylist() == [20, None, None]
    parts = [pa.array([huge + 1]), pa.array([0.5])]
    assert arrow._join_chunks(parts).to_pylist() == [float(huge), 0.5]
    floats = ValueConverter(JsonWriter()).convert([1, 10**400, "x"], pa.float64())
    assert floats.to_pylist() == [1.0, None, None]


def test_text_that_is_no_unicode_is_escaped() -> None:
    for kind, wanted in ((pa.string(), r"\ud800"), (pa.binary(), rb"\ud800")):
        assert ValueConverter(JsonWriter()).convert(["\ud800"], kind).to_pylist() == [wanted]


def test_secrets_are_null() -> None:
    with wa.open(ROOT / "tests" / "golden" / "kafka" / "k4_sasl_java.pcap.zst") as capture:
        name = "kafka.SaslAuthenticate.authBytes"
        table = capture.to_arrow(name, columns=[name, "fields"])
        assert table.num_rows
        assert table[name].null_count == table.num_rows
        bodies = [body for row in table["fields"].to_pylist() for body in row.values() if body is not None]
        assert len(bodies) == table.num_rows
        assert all(body["authBytes"] is None for body in bodies)


def test_pandas_takes_it(kafka: wa.Capture) -> None:
    pandas = pytest.importorskip("pandas")
    frame = kafka.to_pandas("kafka.Fetch", columns=COLUMNS)
    assert [str(kind) for kind in frame.dtypes] == ["datetime64[ns, UTC]", "category", "object", "timedelta64[ns]"]
    assert frame.latency.max() == pandas.Timedelta(736970686, "ns")
    assert len(kafka.stats("version").to_pandas()) == len(kafka.stats("version"))


def test_polars_takes_it(kafka: wa.Capture) -> None:
    polars = pytest.importorskip("polars", reason="needs the extra polars")
    frame = kafka.to_polars("kafka.Fetch", columns=COLUMNS)
    assert frame.schema["time"] == polars.Datetime("ns", "UTC")
    assert frame.schema["kafka.topic"] == polars.List(polars.String)
    assert frame["latency"].dt.total_nanoseconds().max() == 736970686
    assert polars.DataFrame(kafka).height == len(kafka)
    assert len(kafka.stats("version").to_polars()) == len(kafka.stats("version"))


def test_duckdb_takes_it(kafka: wa.Capture, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    connection = duckdb.connect()
    kafka.register(connection)
    assert connection.sql("select count(*), max(number) from messages").fetchall() == [(648, 648)]
    path = tmp_path / "messages.parquet"
    assert kafka.to_parquet(path) == 648
    assert connection.sql(f"select count(distinct client) from '{path}'").fetchall() == [
        (len({message.client for message in kafka} - {None}),)
    ]
    assert duckdb.sql("select count(*) from kafka").fetchall() == [(648,)]


def test_what_is_absent_is_named(kafka: wa.Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for ask in (kafka.to_arrow, kafka.to_pandas):
        with pytest.raises(wa.MissingExtra, match=r"needs pyarrow, which is not installed\. Run: .*\[pa"):
            ask()
