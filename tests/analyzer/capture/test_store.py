"""Locations: which source a byte lies in, also when sources have come and gone; and the bytes that an annex holds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture import sources
from analyzer.capture import store as module
from analyzer.capture.inputs import open_capture
from analyzer.capture.sources import FREED_BYTES, Annex, ByteSource, MappedFile, PositionedFile, Spool
from analyzer.capture.store import SHIFT, Store

DATA = bytes(range(256)) * 64


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "a").write_bytes(DATA)
    return str(tmp_path / "a")


def made(kind: type[MappedFile] | type[PositionedFile], path: str) -> ByteSource:
    return kind(open_capture(path))


@pytest.mark.parametrize("kind", [MappedFile, PositionedFile])
@pytest.mark.parametrize("places", [[3, 700, 9000], [9000, 3, 0, 0], [0], [], [16_380, 20_000]])
def test_many_are_read_as_one(kind: type[MappedFile] | type[PositionedFile], places: list[int], path: str) -> None:
    store = Store()
    store.add(made(kind, path))
    second = store.add(made(kind, path))
    for base in ([second << SHIFT] * len(places), [(place % 2) << SHIFT for place in places]):
        at = np.array(places, np.int64) + np.array(base, np.int64)
        lengths = np.array([0 if place == 0 else 7 for place in places], np.int64)
        expected = [store.read_bytes(one, length) for one, length in zip(at.tolist(), lengths.tolist(), strict=True)]
        assert store.read_many(at, lengths) == expected
        assert store.read_joined(at, lengths, b"!") == b"".join(expected) + b"!"
    store.close()


def test_ids_are_given_again_only_when_there_are_no_others(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 4)
    store = Store()
    numbers = [store.add(made(PositionedFile, path)) for _ in range(3)]
    store.remove(1)
    assert store.read_bytes(1 << SHIFT | 5, 3) == bytes(3)
    assert bytes(store.window(1 << SHIFT | 5, 3)) == bytes(3)
    assert store.gather(np.array([1 << SHIFT | 5, 5]), 2).tolist() == [[0, 0], [5, 6]]
    numbers += [store.add(made(PositionedFile, path)) for _ in range(2)]
    assert numbers == [0, 1, 2, 3, 1]
    assert store.read_bytes(1 << SHIFT | 5, 3) == DATA[5:8]
    with pytest.raises(OverflowError):
        store.add(made(PositionedFile, path))
    store.close()


def test_what_was_appended_is_let_go_of_from_the_front() -> None:
    store = Store()
    at = [store.append(bytes([number]) * FREED_BYTES) for number in range(1, 6)]
    assert store.appended == 5 * FREED_BYTES
    store.release(3 * FREED_BYTES + 10)
    found = [store.read_bytes(one, 2)[0] for one in at]
    assert found in ([1, 0, 0, 4, 5], [1, 2, 3, 4, 5]), "the second where the system makes no holes"
    store.close()


def test_a_spool_stays_readable_behind_a_punched_range() -> None:
    spool = Spool()
    spool.append(bytes(3 * FREED_BYTES) + b"behind")
    early = spool.window(3 * FREED_BYTES, 6)
    spool.release(3 * FREED_BYTES)
    spool.release(FREED_BYTES)
    spool.append(b" it")
    assert bytes(early) == b"behind"
    assert bytes(spool.window(3 * FREED_BYTES, 9)) == b"behind it"
    assert spool.released in {0, 2 * FREED_BYTES}
    spool.close()


# ---- an annex keeps its last bytes in memory; what is read is the same wherever they are


@pytest.mark.parametrize("tail", [1, 64, 1 << 20])
def test_bytes_are_those_that_were_appended(monkeypatch: pytest.MonkeyPatch, tail: int) -> None:
    monkeypatch.setattr(sources, "TAIL", tail)
    annex, whole = Annex(), b""
    for number in range(60):
        data = bytes((number,)) * (number % 13)
        assert annex.append(data) == len(whole)
        whole += data
        assert annex.size() == len(whole)
        for begin in (0, len(whole) // 2, len(whole) - 1, len(whole)):
            assert bytes(annex.window(max(begin, 0), 9)) == whole[max(begin, 0) : max(begin, 0) + 9]
    rows = annex.gather(np.array([0, 5, len(whole) - 2]), 4)
    assert rows.tobytes() == whole[:4] + whole[5:9] + whole[-2:] + b"\0\0"
    descriptor = annex.duplicate()
    assert os.read(descriptor, 1 << 16) == whole
    os.close(descriptor)
    annex.close()


def test_rows_of_many_sources(tmp_path: Path) -> None:
    store = Store()
    for number in range(70):
        (tmp_path / "file").write_bytes(bytes(range(number, number + 9)))
        store.add(MappedFile(os.open(tmp_path / "file", os.O_RDONLY)))
        (tmp_path / "file").unlink()
    places = np.array([number % 70 << SHIFT | number % 11 for number in range(999)])
    rows = store.gather(places, 3)
    assert rows.tolist() == [list(store.read_bytes(place, 3)) for place in places.tolist()]
    assert store.is_scattered(places)
    assert not store.is_scattered(places[places >> SHIFT == 7])
    store.close()
