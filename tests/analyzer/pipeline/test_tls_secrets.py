"""Key logs that stand in captures, wherever in them, and who makes rows of which connections."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("cryptography", reason="the extra wireanalyze[tls] is not installed")

import lz4.frame
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from analyzer.capture.pcapng_format import MAGIC, encode_secrets
from analyzer.capture.range_reader import RangeReader
from analyzer.capture.records import CaptureRange, ScanState
from analyzer.pipeline import job, tls_secrets
from analyzer.pipeline.capture_rows import Share, build_capture_rows
from analyzer.pipeline.partition_keys import find_partition_keys, hash_keys, repeat_notes
from analyzer.pipeline.pointers import SECRETS_KEY, SecretsPlace, build_note, build_secrets_note
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.options import Options
from tests.analyzer.pipeline.house import build_all_tables
from tests.golden.truth import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TLS = GOLDEN / "tls"
NAME = "k_t13_g256"
COMPRESSIONS = (bytes, gzip.compress, lz4.frame.compress, zstandard.compress)


def write_with_secrets(path: Path, *, at_end: bool = False) -> Path:
    """A capture whose Decryption Secrets Block is its second block, or its last."""
    source = TLS / f"{NAME}_dsb.pcapng.zst"
    data = zstandard.ZstdDecompressor().stream_reader(source.read_bytes()).read()
    first = int.from_bytes(data[4:8], "little")
    second = first + int.from_bytes(data[first + 4 : first + 8], "little")
    assert data[first] == 10
    path.write_bytes(data[:first] + data[second:] + data[first:second] if at_end else data)
    return path


def by_one_process(files: Sequence[CaptureFile]) -> Iterator[str]:
    for table, batch in build_all_tables(files, Options()):
        if table == "messages":
            yield from batch.column("protocol").to_pylist()


def by_shares(files: Sequence[CaptureFile]) -> Iterator[str]:
    """As the data source does it."""
    for number in range(3):
        for batch in build_capture_rows(files, Options(), "messages", Share(number, 3)):
            yield from batch.column("protocol").to_pylist()


def by_processes(files: Sequence[CaptureFile], *, folder: Path, begins: ScanState | None = None) -> Iterator[str]:
    """As a run without Spark does it."""
    folder.mkdir()
    batch = job.Batch(files, begins={} if begins is None else {files[0].path: begins})
    job.write_batch(None, batch, str(folder), Options(partitions=3))
    for path in sorted(folder.glob("messages/*/*/*.parquet")):
        yield from [path.parent.name.removeprefix("protocol=")] * pq.read_metadata(path).num_rows


@pytest.mark.parametrize("compress", COMPRESSIONS)
@pytest.mark.parametrize("at_end", [False, True])
def test_who_makes_rows_knows_the_secrets_of_a_capture(
    tmp_path: Path, at_end: bool, compress: Callable[[bytes], bytes]
) -> None:
    path = write_with_secrets(tmp_path / "a.pcapng", at_end=at_end)
    path.write_bytes(compress(path.read_bytes()))
    files = find_captures([str(path)]).files
    for make in (by_one_process, by_shares, partial(by_processes, folder=tmp_path / "tables")):
        assert list(make(files)) == ["kafka"] * 50


def test_who_reads_on_knows_the_secrets_before(tmp_path: Path) -> None:
    """An earlier run has read the file up to its first packet."""
    path = write_with_secrets(tmp_path / "a.pcapng")
    with RangeReader(str(path), CaptureRange()) as packets:
        while not packets.info.secrets:
            assert not list(packets.scanner.blocks_for(1))
        begins = packets.scanner.save_state()
    found = list(by_processes(find_captures([str(path)]).files, folder=tmp_path / "tables", begins=begins))
    assert found == ["kafka"] * 50


def line(number: int) -> bytes:
    """A line of a key log."""
    return b"CLIENT_RANDOM %b %b\n" % (bytes((number,)).hex().encode() * 32, b"00" * 48)


def place_in(path: Path, text: bytes) -> tuple[Sequence[CaptureFile], SecretsPlace]:
    """A capture with a block of secrets, and where that is."""
    path.write_bytes(MAGIC + bytes(24) + encode_secrets(text))
    file = CaptureFile(str(path), 1, "", path.name, path.stat().st_size, path.stat().st_mtime_ns)
    return (file,), SecretsPlace(0, len(MAGIC) + 24 + 16, len(text))


def test_a_capture_s_secrets_go_with_it(tmp_path: Path) -> None:
    """Those of the key log stay, also what it gets later; a file that is written anew is read anew."""
    common = tmp_path / "keys.log"
    common.write_bytes(line(0))
    options = Options(key_logs=(str(common),))
    for number in range(1, 5):
        files, place = place_in(tmp_path / "a.pcapng", line(number))
        files = [replace(files[0], changed=number)]
        ring = tls_secrets.find_secrets(options, files, [place, place])
        assert ring is not None
        assert [each for each in range(5) if ring.find("CLIENT_RANDOM", bytes([each]) * 32)] == [0, number]
    with common.open("ab") as file:
        file.write(line(9))
    assert ring.find("CLIENT_RANDOM", bytes([9]) * 32)
    alone = tls_secrets.find_secrets(options, files, [])
    assert alone is not None
    assert [each for each in range(10) if alone.find("CLIENT_RANDOM", bytes([each]) * 32)] == [0, 9]


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_secrets, "MOST_BYTES", len(line(0)) + 9)
    (one,), place = place_in(tmp_path / "1.pcapng", line(1))
    (two,), _ = place_in(tmp_path / "2.pcapng", line(2))
    gone = replace(one, path=str(tmp_path / "gone"))
    ring = tls_secrets.find_secrets(Options(), [gone, one, two], [place._replace(file=number) for number in range(3)])
    assert ring is not None
    assert [each for each in range(5) if ring.find("CLIENT_RANDOM", bytes([each]) * 32)] == [1]


def test_all_partitions_are_told() -> None:
    note = build_secrets_note([SecretsPlace(7, 8, 9)])
    for count in (1, 2, 200):
        repeated = repeat_notes(note, count)
        assert repeated.column(3).to_pylist() == note.column(3).to_pylist() * count
        partitions = hash_keys(repeated.column(0).to_pylist()) % count
        assert sorted(partitions.tolist()) == list(range(count))
    other = build_note(3, {"a": 1})
    assert repeat_notes(other, 9) is other


@pytest.mark.xdist_group("spark")
def test_keys_go_where_spark_sends_them(spark: SparkSession) -> None:
    from pyspark.sql.functions import spark_partition_id

    keys = [SECRETS_KEY.pack(0, key) for key in find_partition_keys(23)]
    rows = spark.createDataFrame(pa.table({"connection": pa.array(keys, pa.binary())})).repartition(23, "connection")
    sent = {bytes(row.connection): row.part for row in rows.withColumn("part", spark_partition_id()).collect()}
    assert [sent[key] for key in keys] == list(range(23))
    assert np.array_equal(hash_keys(keys) % 23, np.arange(23))
