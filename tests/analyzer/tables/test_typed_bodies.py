"""Bodies of chosen operations with types of their own: those of the Python package, as tables have types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[parquet] is not installed")

import pyarrow as pa

import wireanalyze as wa
from analyzer.decode import template_decoder
from analyzer.errors import UserError
from analyzer.session import Session
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins
from analyzer.tables.parquet_files import ParquetSink
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import build_schema
from analyzer.tables.typed_bodies import parse_bodies
from tests.documents import ROOT

CAPTURES = [
    ("kafka-4.4.pcap.zst", ["kafka.Produce", "kafka.Fetch.request", "kafka.Metadata"]),
    ("zookeeper.pcap.zst", ["zookeeper.create", "zookeeper.getData"]),
    ("pulsar.pcap.zst", ["pulsar.SEND", "pulsar.LOOKUP_RESPONSE", "pulsar.PRODUCER"]),
    ("rocketmq.pcap.zst", ["rocketmq.SEND_MESSAGE_V2", "rocketmq.PULL_MESSAGE"]),
]


def build(path: Path, names: Sequence[str]) -> pa.Table:
    options = Options(bodies=parse_bodies(names))
    with Session([path]) as session:
        found = build_tables(session.load(), CountingOrigins("c", ["f"]), options, named=["messages"])
        batches = [batch for table, batch in found if table == "messages"]
    return pa.Table.from_batches(batches, build_schema("messages", bodies=options.bodies)).sort_by("id")


@pytest.mark.parametrize("worth", [4, 1 << 30])
@pytest.mark.parametrize(("name", "names"), CAPTURES)
def test_bodies_are_those_of_the_python_package(
    name: str, names: Sequence[str], worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of alike messages together, and of each by itself."""
    path = ROOT / "captures" / name
    monkeypatch.setattr(template_decoder, "WORTH", worth)
    table = build(path, names)
    with wa.open(path, jobs=1) as capture:
        wanted = capture.to_arrow(columns=["id", "fields"]).sort_by("id")
    bodies = table["fields"].combine_chunks()
    asked = set()
    for field in bodies.type:
        raw = wanted["fields"].combine_chunks()
        there = field.name in raw.type.names
        expected = raw.field(field.name).cast(field.type, safe=False) if there else pa.nulls(len(raw), field.type)
        assert bodies.field(field.name).to_pylist() == expected.to_pylist(), field.name
        asked |= {row for row, is_valid in enumerate(expected.is_valid().to_pylist()) if is_valid}
    assert 0 < len(asked) < len(table)
    assert {row for row, is_valid in enumerate(bodies.is_valid().to_pylist()) if is_valid} == asked


def test_a_type_follows_from_names() -> None:
    assert parse_bodies([]) is None
    both = parse_bodies(["kafka.Produce"])
    assert both is not None
    assert both.names == ["kafka.Produce.request", "kafka.Produce.response"]
    one = parse_bodies(["kafka.Produce.response", "kafka.Produce.response"])
    assert one is not None
    assert one.names == ["kafka.Produce.response"]
    with pytest.raises(UserError, match=r"no operation 'kafka.Prodce'. Did you mean kafka.Produce.request"):
        parse_bodies(["kafka.Produce", "kafka.Prodce"])
    assert parse_bodies(["kafka.Produce.response", "kafka.Produce.request"]) == both
    assert parse_bodies([], fields=False) is None
    for fields in (True, False):
        with pytest.raises(UserError, match=r"\(fields\) and for some \(fields-of\) exclude each other"):
            parse_bodies(["kafka.Produce"], fields=fields)
    with pytest.raises(UserError, match=r"no operation '\?'. Give PROTOCOL.OPERATION"):
        parse_bodies(["?"])


def test_no_type_is_one_that_readers_do_not_have() -> None:
    bodies = parse_bodies([name for _, names in CAPTURES for name in names])
    for text in ("uint", "[ns", "duration"):
        assert text not in str(bodies)


def test_duckdb_and_polars_read_them(tmp_path: Path) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    with Session([ROOT / "captures" / "kafka.pcap"]) as session:
        options = Options(bodies=parse_bodies(["kafka.Fetch"]))
        sink = ParquetSink(str(tmp_path), "part")
        for found in build_tables(session.load(), CountingOrigins("c", ["f"]), options, named=["messages"]):
            sink.add(found)
        sink.close()
    asked = (
        f"SELECT max(fields['kafka.Fetch.request'].maxWaitMs), count(fields) FROM '{tmp_path}/messages/*/*/*.parquet'"
    )
    fields = polars.scan_parquet(tmp_path / "messages").collect()["fields"]
    longest = fields.struct.field("kafka.Fetch.request").struct.field("maxWaitMs").max()
    assert duckdb.sql(asked).fetchall() == [(500, 218)] == [(longest, 218)]
