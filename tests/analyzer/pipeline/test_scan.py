"""Scans give what one process reads, also of datagrams over cuts and files; whatever is wrong is in the notes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import numpy as np
import pyarrow as pa

from analyzer.capture import range_reader
from analyzer.pipeline import pointers
from analyzer.pipeline.pointers import BEHIND, PACKET, POINTER_SCHEMA, count_packets
from analyzer.pipeline.scan import build_splits, scan_contents, scan_splits
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.options import Options
from tests.analyzer.capture.reading import read
from tests.analyzer.capture.test_fragments import pieces4
from tests.analyzer.capture.writers import NS, T0, Frame, pcap, segment, tcp
from tests.analyzer.pipeline.heaps import FORMATS, cut_up, notes_in, scanned, traffic, unbundled, write_all

SHUFFLED = Options(shuffled=True)
Plain = tuple[int, int, int, int, int, bytes]


def plain(rows: Sequence[dict[str, Any]]) -> list[Plain]:
    """Of pointers with payload what one process tells of a packet, too, by time."""
    found = []
    for row in rows:
        record, payload = row["packet"][: PACKET.itemsize], row["packet"][PACKET.itemsize :]
        (head,) = np.frombuffer(record, PACKET)
        assert (int(head["position"]), int(head["captured"])) == (BEHIND, len(payload))
        found.append((*(int(head[name]) for name in ("time", "seq", "ack", "flags", "length")), payload))
    return sorted(found)


def as_one_process_reads(files: Sequence[CaptureFile]) -> list[Plain]:
    packets = read([file.path for file in files]).packets
    return sorted((each.time, each.seq, each.ack, each.flags, each.length, each.payload) for each in packets)


def straight(frames: Sequence[Frame]) -> list[Frame]:
    """One packet a millisecond."""
    return [Frame(frame.data, T0 + number * 1_000_000, frame.original) for number, frame in enumerate(frames)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_datagrams_over_cuts_and_files(tmp_path: Path, form: str, seed: int) -> None:
    random = Random(seed)
    frames = straight(traffic(random, 30))
    edges = sorted(random.sample(range(1, len(frames)), 4))
    parts = [frames[first:last] for first, last in zip([0, *edges], [*edges, len(frames)], strict=True)]
    write_all(tmp_path / "a", [pcap(part) if form == "pcap" else FORMATS[form](part, random) for part in parts])
    files = find_captures([str(tmp_path)]).files
    expected = as_one_process_reads(files)
    assert expected
    for size in (1, 700, 1 << 20):
        chosen = cut_up(files, size)
        random.shuffle(chosen)
        assert plain(scanned(files, chosen, SHUFFLED)[0]) == expected


WHOLE = pieces4(tcp(bytes(range(220))), 80)


@pytest.mark.parametrize(
    ("between", "pause", "found"),
    [(0, 1000, 1), (8, 1000, 1), (9, 1000, 0), (2, 7500 * NS // 1000, 1), (2, 7501 * NS // 1000, 0)],
    ids=["at once", "as many as are looked at", "one more", "in time", "too late"],
)
def test_how_far_is_looked_back(
    tmp_path: Path, between: int, pause: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pieces, other packets, and in a second file the third piece."""
    monkeypatch.setattr(range_reader, "LOOK", 10)
    others = [segment(b"x")] * between
    times = [T0 + number * pause for number in range(between + 2)]
    first = [Frame(data, time) for data, time in zip([*WHOLE[:2], *others], times, strict=True)]
    write_all(tmp_path / "a", [pcap(first), pcap([Frame(WHOLE[2], times[-1] + pause)])])
    files = find_captures([str(tmp_path)]).files
    rows, _ = scanned(files, build_splits(files)[1:])
    assert len(rows) == found


def test_nothing_is_looked_back_into_without_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_back(self: object, reassembler: object) -> None:
        raise AssertionError

    monkeypatch.setattr(range_reader.RangeReader, "look_back", look_back)
    write_all(tmp_path / "a", [pcap([Frame(segment(b"x"))])] * 3)
    files = find_captures([str(tmp_path)]).files
    assert len(scanned(files, build_splits(files))[0]) == 3


def test_batches_with_payload_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointers, "HEAVY", 1000)
    write_all(tmp_path / "a", [pcap(straight(traffic(Random(1), 100)))])
    files = find_captures([str(tmp_path)]).files
    batches = [batch for batch in scan_splits(build_splits(files), files, SHUFFLED) if batch.column(0)[0].as_py()]
    packets = [int(count_packets(batch).sum()) for batch in batches]
    for batch, count in zip(batches, packets, strict=True):
        payload = sum(len(row["packet"]) - PACKET.itemsize for row in unbundled(pa.Table.from_batches([batch])))
        assert payload <= 1000 or count == 1
    assert sum(packets) == len(as_one_process_reads(files)) > 2 * len(batches)


def test_what_a_bundle_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets of one connection in the order of their file, bounded; its first packet comes before all others."""
    monkeypatch.setattr(pointers, "BUNDLE_PACKETS", 4)
    write_all(tmp_path / "a", [pcap(straight(traffic(Random(1), 100)))])
    files = find_captures([str(tmp_path)]).files
    every = pa.Table.from_batches(scan_splits(build_splits(files), files, Options())).to_pylist()
    bundles = [unbundled(pa.Table.from_pylist([row], POINTER_SCHEMA)) for row in every if row["connection"]]
    keys = [[(row["place"], row["origin"]) for row in bundle] for bundle in bundles]
    assert [key[0] for key in keys] == [(row["place"], row["origin"]) for row in every if row["connection"]]
    assert all(key == sorted(key) for key in keys)
    assert max(map(len, bundles)) == 4
    assert len(bundles) < sum(map(len, bundles)) / 3


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("shorter", "has changed since the run began"),
        ("longer", "has changed since the run began"),
        ("written anew", "has changed since the run began"),
        ("gone", "Cannot open .*: No such file"),
        ("a folder", "has changed since the run began"),
    ],
)
def test_a_file_that_is_not_what_was_found(tmp_path: Path, what: str, error: str) -> None:
    data = pcap(straight(traffic(Random(2))))
    write_all(tmp_path / "a", [data] * 2)
    files = find_captures([str(tmp_path)]).files
    chosen = cut_up(files, 1000)
    path = tmp_path / "a" / "0.pcap"
    path.unlink()
    if what == "a folder":
        path.mkdir()
    elif what != "gone":
        path.write_bytes({"shorter": data[:500], "longer": data + bytes(9), "written anew": data}[what])
        os.utime(path, ns=(T0, T0))
    rows, (bad, good) = scanned(files, chosen)
    assert (bad["packets"], good["error"], good["packets"] > 0) == (0, None, True)
    with pytest.raises(AssertionError, match=error):
        raise AssertionError(bad["error"])
    assert {row["origin"] >> 40 for row in rows} == {1}


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before counts; the worker lives, and says so."""
    monkeypatch.setattr(range_reader, "BLOCK", 10)
    write_all(tmp_path / "a", [pcap(straight(traffic(Random(2))))])
    files = find_captures([str(tmp_path)]).files
    found = scan_splits(build_splits(files), files, Options())
    first = next(found)
    os.truncate(files[0].path, 100)
    *_, note = found
    text = note.column(3)[0].as_py().decode()
    assert len(first)
    assert "has changed since the run began" in text


@pytest.mark.parametrize(("named", "key"), [(True, "error"), (False, "passed_over")])
@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\x00" + bytes(20), pcap()[:20]], ids=["packed", "cut"])
def test_what_turns_out_to_be_no_capture(tmp_path: Path, data: bytes, named: bool, key: str) -> None:
    write_all(tmp_path / "a", [pcap(), pcap(), pcap()])
    path = tmp_path / "a" / "1.pcap"
    path.write_bytes(data)
    files = [
        each if number != 1 else CaptureFile(**{**_fields(each), "found": not named})
        for number, each in enumerate(find_captures([str(tmp_path)]).files)
    ]
    _, notes = scanned(files, build_splits(files))
    assert [(each["error"] or each["passed_over"]) is None for each in notes] == [True, False, True]
    assert str(path) in notes[1][key]


def _fields(file: CaptureFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in CaptureFile.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize("cut", [300, 1 << 20])
def test_what_is_reported_of_a_file(tmp_path: Path, cut: int) -> None:
    frames = straight(traffic(Random(3)))
    data = pcap(frames)
    write_all(tmp_path / "a", [data, data[:-5], pcap()])
    files = find_captures([str(tmp_path)]).files
    _, notes = scanned(files, cut_up(files, cut))
    reported = [
        (each["packets"], each["first"], each["last"], each["bytes"], each["format"], each["early"]) for each in notes
    ]
    assert reported == [
        (len(frames), T0, frames[-1].time, len(data), "pcap", False),
        (len(frames) - 1, T0, frames[-2].time, len(data) - 5, "pcap", True),
        (0, None, None, 24, "pcap", False),
    ]
    assert [len(each["findings"]) for each in notes] == [0, 1, 0]


def test_contents_are_scanned_like_files(tmp_path: Path) -> None:
    contents = [pcap(straight(traffic(Random(4)))), b"no capture", pcap()[:20], pcap(straight(traffic(Random(5))))[:-3]]
    write_all(tmp_path / "a", contents)
    files = [
        CaptureFile(f"far://away/{number}", 0, "", "", len(data), 0, False, True, True)
        for number, data in enumerate(contents)
    ]
    batch = pa.record_batch([[file.path for file in files], pa.array(contents, pa.binary())], ["path", "content"])
    numbers = {file.path: number for number, file in enumerate(files)}
    table = pa.Table.from_batches(scan_contents([batch], numbers, files))
    near = find_captures([str(tmp_path / "a" / f"{number}.pcap") for number in (0, 3)]).files
    assert plain(unbundled(table)) == plain(scanned(near, build_splits(near), SHUFFLED)[0])
    text = [json.dumps(each) for each in notes_in(table)]
    assert ["far://away/" in each and str(tmp_path) not in each for each in text] == [True] * 4
    assert ["is not a capture" in text[1], "ends within its pcap header" in text[2]] == [True, True]
    assert "damaged-capture" in text[3]
