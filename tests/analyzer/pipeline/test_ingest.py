"""Bundles of files that overlap in time, cut into batches anywhere: packets come out in order, as soon as they may."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import numpy as np
import pyarrow as pa

from analyzer.pipeline import ingest, pointers
from analyzer.pipeline.ingest import PacketPointers, PointerQueue
from analyzer.pipeline.pointers import BEHIND, PACKET, POINTER_SCHEMA, count_packets
from analyzer.pipeline.scan import build_splits, scan_splits
from analyzer.pipeline.sources import find_captures
from analyzer.pipeline.state_file import BEFORE_ALL
from analyzer.tables.options import Options
from tests.analyzer.capture.writers import Frame, pcap, segment
from tests.analyzer.pipeline.heaps import traffic, unbundled, write_all
from tests.analyzer.pipeline.test_partition import SORTED

Packet = tuple[bytes, int, bytes, bytes]
"""Connection, origin, record, payload that follows."""


def dealt(random: Random, frames: Sequence[Frame], files: int) -> list[bytes]:
    """Captures that were written side by side, or, now and then, one after the other."""
    chosen = [random.randrange(files) for _ in frames]
    if random.random() < 0.3:
        chosen.sort()
    return [pcap(frame for frame, owner in zip(frames, chosen, strict=True) if owner == file) for file in range(files)]


def scanned(folder: Path, contents: Sequence[bytes], *, shuffled: bool = False) -> pa.Table:
    write_all(folder, contents)
    files = find_captures([str(folder)]).files
    return pa.Table.from_batches(scan_splits(build_splits(files), files, Options(shuffled=shuffled)))


def states(names: Sequence[bytes]) -> pa.Table:
    """Rows that the batch before has left, known by `uses`."""
    packets = [json.dumps(["c", None, uses, True]).encode() for uses in range(len(names))]
    columns = [
        pa.array(names, pa.binary()),
        [BEFORE_ALL] * len(names),
        [-1] * len(names),
        pa.array(packets),
        [b""] * len(names),
    ]
    return pa.Table.from_batches(
        [pa.record_batch([pa.array(c) for c in columns], POINTER_SCHEMA.names).cast(POINTER_SCHEMA)]
    )


def cut(table: pa.Table, random: Random, most: int) -> Iterator[pa.RecordBatch]:
    """Sorted, in batches of any size."""
    rows = table.sort_by(SORTED).combine_chunks()
    first = 0
    while first < len(rows):
        count = random.randint(1, most)
        yield from rows.slice(first, count).to_batches()
        first += count


def plain(taken: PacketPointers) -> list[Packet]:
    """What a part reads of packets."""
    found = []
    for row in range(len(taken)):
        record = taken.packets[row : row + 1].copy()
        record["after"] = 0
        begin, size = int(taken.begin[row]), int(taken.behind[row])
        data = bytes(taken.data[begin : begin + size]) if record["position"] == BEHIND else b""
        found.append((taken.names[taken.connection[row]], int(taken.origin[row]), record.tobytes(), data))
    return found


def expected(table: pa.Table) -> list[Packet]:
    """What Spark would have sorted, were each packet a row."""
    rows = sorted(unbundled(table), key=lambda row: (row["connection"], row["place"], row["origin"]))
    width = PACKET.itemsize
    return [(row["connection"], row["origin"], row["packet"][:width], row["packet"][width:]) for row in rows]


@pytest.mark.sampled(14)
@pytest.mark.parametrize("seed", range(40))
def test_packets_come_in_order(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With states and notes among them; some connections have only one of both."""
    random = Random(seed)
    monkeypatch.setattr(pointers, "BUNDLE_PACKETS", random.choice((1, 3, 1000)))
    monkeypatch.setattr(pointers, "BATCH", random.choice((5, 40, 1000)))
    monkeypatch.setattr(ingest, "PART_BYTES", random.choice((1, 500, 1 << 20)))
    tick = random.choice((1000, 20_000_000))
    frames = [replace(frame, time=frame.time - frame.time % tick) for frame in traffic(random, 120)]
    contents = dealt(random, frames, random.randint(1, 4))
    found = scanned(tmp_path / "a", contents, shuffled=bool(seed % 2))
    right = expected(found)
    names = sorted({name for name, *_ in right})
    lonely = [name[:4] + random.randbytes(len(name) - 4) for name in random.choices(names, k=3)]
    left = sorted({*random.sample(names, random.randint(0, len(names))), *lonely}) if random.random() < 0.8 else []
    queue = PointerQueue(cut(pa.concat_tables([found, states(left)]), random, random.choice((1, 4, 1000))))
    packets: list[Packet] = []
    seen: dict[bytes, int] = {}
    while (ahead := queue.peek()) is not None:
        assert len(ahead)
        taken = plain(queue.take_packets(random.randint(1, len(ahead))))
        for name in dict.fromkeys(name for name, *_ in taken):
            if (state := queue.pop_state(name)) is not None:
                assert name not in {earlier for earlier, *_ in packets}
                seen[name] = state.uses
        packets += taken
    assert packets == right
    assert (seen, {name: state.uses for name, state in queue.idle}) == (
        {name: uses for uses, name in enumerate(left) if name in names},
        {name: uses for uses, name in enumerate(left) if name not in names},
    )
    assert len(queue.notes) == len(contents)


@pytest.mark.parametrize("files", [1, 3])
def test_a_huge_connection_does_not_gather(tmp_path: Path, files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept back is at most a bundle of each file, beside what was unpacked last."""
    monkeypatch.setattr(pointers, "BUNDLE_PACKETS", 10)
    monkeypatch.setattr(ingest, "PART_BYTES", 1)
    frames = [Frame(segment(b"x" * (number % 5), seq=number), 10**18 + number * 1000) for number in range(900)]
    found = scanned(tmp_path / "a", [pcap(frames[file::files]) for file in range(files)], shuffled=True)
    read = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in cut(found, Random(1), 1):
            read += int(count_packets(batch).sum())
            yield batch

    queue, given = PointerQueue(counted()), 0
    seqs: list[int] = []
    while (ahead := queue.peek()) is not None:
        given += len(ahead)
        seqs += queue.take_packets(len(ahead)).packets["seq"].tolist()
        assert read - given <= 10 * files
    assert np.array_equal(seqs, np.arange(900))
