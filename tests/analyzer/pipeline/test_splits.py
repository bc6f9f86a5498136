"""Files may be cut between any two records: the pointers are those of the whole file, and what is said of it, too."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import zstandard

from analyzer.capture.records import CaptureRange, ScanState
from analyzer.pipeline import scan as scan_module
from analyzer.pipeline.scan import (
    FileSplit,
    build_splits,
    find_cuts,
    find_huge_files,
)
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.options import SPLIT
from tests.analyzer.capture.writers import Ng, pcap, segment
from tests.analyzer.pipeline.heaps import FORMATS, cut_up, scanned, traffic, write_all


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(9))
def test_any_cut_gives_the_same_pointers(tmp_path: Path, form: str, seed: int) -> None:
    random = Random(seed)
    data = FORMATS[form](traffic(random, 40), random)
    if seed % 3 == 1:
        data = data[: random.randrange(len(data) // 2, len(data))]
    elif seed % 3 == 2:
        at = random.randrange(len(data) // 2, len(data) - 8)
        data = data[:at] + bytes([random.randrange(256)]) * 8 + data[at + 8 :]
    write_all(tmp_path / "a", [data])
    files = find_captures([str(tmp_path / "a" / "0.pcap")]).files
    expected = scanned(files, build_splits(files))
    assert len(expected[0]) > 10
    for size in (1 + seed % 2 * 300, random.randrange(500, 5000), len(data) // 2):
        parts = cut_up(files, size)
        random.shuffle(parts)
        assert scanned(files, parts) == expected, size


@pytest.mark.parametrize("form", FORMATS)
def test_cuts_lie_about_as_far_apart_as_was_requested(tmp_path: Path, form: str) -> None:
    random = Random(5)
    write_all(tmp_path / "a", [FORMATS[form](traffic(random, 300), random)])
    (file,) = find_captures([str(tmp_path)]).files
    places = [0, *(each.position for each in find_cuts(file, 5000)), file.size]
    assert len(places) > 5
    assert all(4800 <= last - first <= 9000 for first, last in pairwise(places[:-1]))


def test_a_record_larger_than_a_split_is_not_cut(tmp_path: Path) -> None:
    """It has more bytes than a snap length ever has, and most of them are not there in a part of the file."""
    big = Ng().enhanced(segment(bytes(60_000)) + bytes(900_000), 0)
    small = Ng().enhanced(segment(b"x"), 0)
    write_all(tmp_path / "a", [Ng().section() + Ng().interface() + small + big + small * 3])
    files = find_captures([str(tmp_path)]).files
    expected = scanned(files, build_splits(files))
    assert (len(expected[0]), expected[1][0]["findings"]) == (5, [])
    for size in (50, 5000, 500_000):
        assert scanned(files, cut_up(files, size)) == expected


def test_compressed_files_are_one_split(tmp_path: Path) -> None:
    random = Random(3)
    data = FORMATS["pcapng"](traffic(random), random)
    write_all(tmp_path / "a", [data])
    write_all(tmp_path / "b", [zstandard.compress(data)])
    plain, packed = find_captures([str(tmp_path)]).files
    assert (find_huge_files([plain, packed], 100), find_huge_files([plain, packed], SPLIT)) == ([0], [])
    assert len(build_splits([packed])) == 1
    (rows, (text,)), (same, (also,)) = (scanned([file], build_splits([file])) for file in (plain, packed))
    ports = [[row["connection"][4:] for row in found] for found in (rows, same)]
    assert ports[0] == ports[1]
    assert [row["packet"] for row in rows] == [row["packet"] for row in same]
    assert (text["packets"], text["compression"], also["packets"], also["compression"]) == (
        *(text["packets"], None),
        *(text["packets"], "zstd"),
    )


def test_splits_travel() -> None:
    begin = ScanState(10**15, 7, -5, (1, 0, 65535, "<", 0, 1, 6, 0))
    split = FileSplit(3, CaptureRange(begin, None), ((2, CaptureRange(None, 9)), (1, CaptureRange(begin, 4))))
    assert split == pickle.loads(pickle.dumps(split))


def test_a_file_that_vanishes_is_not_cut(tmp_path: Path) -> None:
    write_all(tmp_path / "a", [pcap()])
    (file,) = find_captures([str(tmp_path)]).files
    Path(file.path).unlink()
    assert find_cuts(file, 10) == []


def file(size: int, capture: int = 0, *, plain: bool = True) -> CaptureFile:
    return CaptureFile(f"{capture}", capture, "c", "n", size, 0, plain)


def standing(position: int, records: int) -> ScanState:
    return ScanState(position, records, 0)


def earlier(found: list[FileSplit]) -> list[list[tuple[int, int | None, int | None]]]:
    """File, from and to of what each split may look back into."""
    return [[(number, begin and begin.position, end) for number, (begin, end) in each.earlier] for each in found]


def test_what_is_looked_back_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far enough to have so many packets, in this file and, of the same capture, in those before it."""
    monkeypatch.setattr(scan_module, "LOOK", 100)
    files = [file(50), file(1000, 1), file(30, 1, plain=False), file(500, 1)]
    cuts = {1: [standing(200, 90), standing(400, 180), standing(600, 270)], 3: [standing(250, 120)]}
    assert earlier(build_splits(files, cuts=cuts)) == [
        [],
        [],
        [(1, None, 200)],
        [(1, None, 400)],
        [(1, 200, 600)],
        [(1, 200, 1000)],
        [(2, None, None), (1, 200, 1000)],
        [(3, None, 250), (2, None, None), (1, 200, 1000)],
    ]
