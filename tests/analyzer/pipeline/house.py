"""A folder full of captures, each of them hard in its own way; the tables of a run, to be compared."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from analyzer.capture.packets import PacketReader
from analyzer.capture.range_reader import RangeReader
from analyzer.capture.records import CaptureRange, RecordBlock
from analyzer.messages.decode_as import make_rules, merge_rules
from analyzer.pipeline.finish import TOPIC_COLUMNS, add_required_tables, finish_tables, replace_ids
from analyzer.pipeline.pointers import SecretsPlace
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.pipeline.tls_secrets import find_secrets
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import TableBatch
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins
from analyzer.tables.summaries import PARTS, SUMMARIES, merge_summaries
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import TABLES, build_schema
from analyzer.tables.topic_names import NAMES, index_names, select_first_names
from tests.analyzer.capture.writers import NS, T0, Frame, ethernet, ipv4, ipv6, pcap, tcp, udp
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Segment,
    Talk,
    data_segments,
    doubled,
    frames,
    in_parts,
    opening,
    overlapping,
    reordered,
    repeated_later,
    segments,
    snapped,
    talks,
    without_handshake,
    write,
)

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kafka"
KEY = {"messages": "id", "exchanges": "request_id", "streams": "stream_id", "names": "id"}

Rows = dict[str, list[dict[str, Any]]]


def build_all_tables(files: Sequence[CaptureFile], options: Options) -> Iterator[TableBatch]:
    """The tables' rows of all captures from one Analysis each, one capture after the other."""
    for _, group in groupby(files, key=lambda file: file.capture):
        inputs = list(group)
        origins = CountingOrigins(inputs[0].capture_name, [file.name for file in inputs])
        packets = PacketReader([file.path for file in inputs], watch=origins.count_records)
        known, orders = make_rules(merge_rules(options.decode_as))
        secrets = find_secrets(options, files, list_secrets(files, inputs))
        with Analysis(packets, known, orders=orders, secrets=secrets) as session:
            found = build_tables(session.load(), origins, options, named=add_required_tables(TABLES))
            yield from finish_tables(found, TABLES)


def list_secrets(files: Sequence[CaptureFile], some: Sequence[CaptureFile]) -> Iterator[SecretsPlace]:
    """Where key logs are in some of the files."""
    for file in some:
        with RangeReader(file.path, CaptureRange()) as packets:
            for _ in packets.blocks():
                pass
            yield from (SecretsPlace(files.index(file), at, length) for at, length in packets.info.secrets)


def rows_by_table(found: Iterable[TableBatch], bodies: pa.DataType | None = None) -> Rows:
    """The rows of each table in the order of their keys, which must be unique, as `export` has them."""
    batches: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    for table, batch in found:
        batches[table].append(batch)
    batches[NAMES] = list(select_first_names(batches[NAMES]))
    names = index_names(batches[NAMES])
    for table in TOPIC_COLUMNS:
        batches[table] = [replace_ids(table, batch, names) for batch in batches[table]]
    batches[SUMMARIES] += merge_summaries(batches.pop(PARTS, []), names)
    return {
        table: in_order(table, pa.Table.from_batches(batches[table], build_schema(table, bodies=bodies)))
        for table in TABLES
    }


def in_order(table: str, rows: pa.Table) -> list[dict[str, Any]]:
    """The number by which people know a message is that of one reading, so it is left out."""
    if table not in KEY:
        remaining = rows.drop_columns(["number"]) if table == "findings" else rows
        return sorted(remaining.to_pylist(), key=lambda row: json.dumps(row, default=str))
    found = {(row["capture"], row[KEY[table]]): row for row in rows.to_pylist()}
    assert len(found) == rows.num_rows
    return [row for _, row in sorted(found.items())]


def without_files(rows: Rows) -> Rows:
    """The same but for findings that belong to a file: who reads pointers does not know of its damage."""
    return {**rows, "findings": [row for row in rows["findings"] if row["stream_id"] is not None]}


def single(folder: Path) -> Rows:
    """What one process makes of it."""
    return rows_by_table(build_all_tables(find_captures([str(folder)]).files, Options()))


def frames_of(path: Path) -> list[Frame]:
    """The packets of a capture, Ethernet all of them."""
    found: list[RecordBlock] = []
    with PacketReader([path], watch=found.append) as packets:
        for _ in packets.blocks():
            pass
        return [
            Frame(packets.store.read_bytes(at, captured), time, original)
            for records in found
            for at, captured, time, original in zip(
                records.at.tolist(),
                records.captured.tolist(),
                records.time.tolist(),
                records.original.tolist(),
                strict=True,
            )
        ]


def cut(folder: Path, packets: Sequence[Frame], names: Sequence[str]) -> None:
    """A capture as files that follow one another in time."""
    folder.mkdir()
    edges = [len(packets) * number // len(names) for number in range(len(names) + 1)]
    for name, (first, last) in zip(names, pairwise(edges), strict=True):
        write(folder / name, packets[first:last])


def dealt(folder: Path, packets: Sequence[Frame], random: Random, files: int = 2) -> None:
    """A capture as files that were written at the same time."""
    folder.mkdir()
    chosen = [random.randrange(files) for _ in packets]
    for number in range(files):
        mine = [packet for packet, file in zip(packets, chosen, strict=True) if file == number]
        write(folder / f"{number}.pcap", mine)


def message(correlation: int, client: bytes = b"me") -> bytes:
    data = b"\0\3\0\1" + correlation.to_bytes(4) + len(client).to_bytes(2) + client + b"\0\0\0\0"
    return len(data).to_bytes(4) + data


def answer(correlation: int, size: int = 12) -> bytes:
    data = correlation.to_bytes(4) + bytes(size)
    return len(data).to_bytes(4) + data


def talk(*numbers: int, client: bytes = b"me") -> Talk:
    return Talk(tuple(write for each in numbers for write in ((CLIENT, message(each, client)), (SERVER, answer(each)))))


def lost(whole: Sequence[Segment], random: Random) -> list[Segment]:
    """A fifth of the segments with payload is missing."""
    return [each for each in whole if not each.payload or random.random() > 0.2]


def golden_frames(name: str, effect: Callable[[Talk, Random], list[Segment]]) -> list[Frame]:
    """A golden capture's conversations, one after the other, with an effect."""
    found: list[Frame] = []
    for index, each in enumerate(talks(GOLDEN / f"{name}.pcap.zst")):
        found += frames(effect(each, Random(index)), each, T0 + index * 100 * NS)
    return found


EFFECTS: dict[str, Callable[[Talk, Random], list[Segment]]] = {
    "reordered": lambda each, random: reordered(segments(each, in_parts(random)), random),
    "doubled": lambda each, random: doubled(segments(each, in_parts(random))),
    "repeated": lambda each, random: repeated_later(segments(each, in_parts(random))),
    "overlapping": lambda each, random: overlapping(segments(each, in_parts(random)), each, random),
    "lost": lambda each, random: lost(segments(each, in_parts(random)), random),
    "late": lambda each, random: without_handshake(segments(each, in_parts(random))),
    "snapped": lambda each, random: snapped(segments(each), 40),
}


def build(house: Path) -> None:
    """Makes the captures; each is a folder."""
    house.mkdir()
    kafka = frames_of(ROOT / "captures" / "kafka.pcap")
    several = house / "compressed"
    several.mkdir()
    for name in ("k4_boot1", "k24_sasl_v0", "k4_errors"):
        shutil.copy(GOLDEN / f"{name}.pcap.zst", several)
    cut(house / "cut", kafka, ["b.pcap", "c.pcap", "a.pcap"])
    cut(house / "ring", kafka[:400], [f"ring.pcap{number}" for number in range(12)])
    dealt(house / "dealt", kafka, Random(1))
    for name, effect in EFFECTS.items():
        cut(house / name, golden_frames("k4_go_segment", effect), ["1.pcap", "2.pcap"])
    _same_addresses(house)
    _odd_packets(house)


def _same_addresses(house: Path) -> None:
    """Two captures with the same connection; one in which it comes again, after a SYN and after an hour."""
    for name, client in (("fast_path-a", b"first"), ("fast_path-b", b"second")):
        cut(house / name, frames(segments(talk(1, 2, 3, client=client))), ["1.pcap"])
    again = [
        *frames(segments(talk(1, 2))),
        *frames(segments(talk(3, 4)), replace(talk(), isn=(70_000, 90_000)), T0 + 10 * NS),
        *frames(data_segments(talk(5, 6).writes), replace(talk(), isn=(5_000, 6_000)), T0 + 4000 * NS),
        *frames(data_segments(talk(7).writes), replace(talk(), isn=(5_000, 6_000)), T0 + 9000 * NS),
    ]
    cut(house / "again", again, ["2.pcap", "1.pcap", "3.pcap"])


def _odd_packets(house: Path) -> None:
    """IPv6, fragments, what is not TCP and has a time of its own, unknown bytes, a name that is no Unicode, damage."""
    v6 = [
        Frame(ethernet(ipv6(tcp(message(1), seq=5)), 0x86DD), T0),
        Frame(
            ethernet(ipv6(tcp(answer(1), ports=(9092, 40_000), seq=9), ends=("fd00::2", "fd00::1")), 0x86DD), T0 + 1000
        ),
    ]
    cut(house / "v6", v6, ["1.pcap", "2.pcap"])
    whole = tcp(message(7, b"x" * 60), seq=ISN_NEXT)
    fragments = [
        *frames(opening()),
        Frame(ethernet(ipv4(whole[:64], more=True)), T0 + NS),
        Frame(ethernet(ipv4(whole[64:], offset=64)), T0 + NS + 1000),
        *frames([Segment(SERVER, 0, answer(7), len(message(7, b"x" * 60)))], begin=T0 + 2 * NS),
    ]
    cut(house / "fragments", fragments, ["1.pcap"])
    ahead = Frame(ethernet(ipv4(udp(b"clock", (53, 53)), protocol=17)), T0 + 5 * NS)
    first, second = frames(segments(talk(1, 2))), frames(data_segments(talk(3).writes), begin=T0 + NS)
    folder = house / "clock"
    folder.mkdir()
    write(folder / "a.pcap", [*first[:4], ahead, *first[4:]])
    write(folder / "b.pcap", second)
    cut(house / "unknown", frames([*opening(), Segment(CLIENT, 0, b"\xff" * 300)]), ["1.pcap"])
    cut(house / "words", frames(segments(talk(1))), [os.fsdecode(b"\xff.pcap")])
    damaged = house / "damaged"
    damaged.mkdir()
    (damaged / "1.pcap").write_bytes(pcap(frames(segments(talk(1, 2, 3))))[:-30])
    (house / "README.md").write_text("no capture")


ISN_NEXT = 1_001
"""The sequence number of the client's first byte."""
