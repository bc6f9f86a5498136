"""Hopping in step reads what the plain loop reads, whatever is guessed and whatever the bytes are."""

from __future__ import annotations

import random
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture import parallel_scan
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.store import Store
from dissectors.finding import Finding
from tests.analyzer.capture.writers import T0, Frame, Ng, pcap

MANY = 6000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes so short that small captures have many."""
    for name, value in {"PROBE": 8, "RECORDS": 8, "FEW": 3, "STEPS": 4}.items():
        monkeypatch.setattr(parallel_scan, name, value)


def chain(lengths: list[int], shortest: int, added: int, position: int) -> list[int]:
    found = []
    while position < len(lengths):
        found.append(position)
        position += max(lengths[position], shortest) + added
    return found


@given(data=st.data(), shortest=st.sampled_from([0, 12]), usual=st.integers(1, 60))
def test_whatever_is_guessed(data: st.DataObject, shortest: int, usual: int) -> None:
    seed = data.draw(st.integers(0, 1 << 30))
    rng = random.Random(seed)
    size = data.draw(st.integers(1, 4000))
    lengths = [
        rng.choice((0, rng.randrange(50), rng.randrange(50), 0xFFFF_FFFF if rng.random() < 0.01 else 9))
        for _ in range(size)
    ]
    added = 0 if shortest else 16
    position = rng.randrange(size + 20)
    whole = chain(lengths, shortest, added, position)
    right = data.draw(st.floats(0, 1))

    def guess(start: int, stop: int) -> int:
        true = [at for at in whole if start <= at < stop]
        return (
            true[0] if true and rng.random() < right else rng.choice((-1, rng.randrange(start, max(stop, start + 1))))
        )

    found = parallel_scan.scan_records(np.array(lengths, "<u4"), shortest, added, position, usual, guess)
    assert len(found)
    assert found.tolist() == (whole[: len(found)] or [position])


def test_right_guesses_take_nearly_all() -> None:
    lengths = np.full(10_000, 4, "<u4")
    found = parallel_scan.scan_records(lengths, 0, 16, 0, 20, lambda start, _: -(-start // 20) * 20)
    assert len(found) > 450
    assert found.tolist() == list(range(0, 20 * len(found), 20))


def records(path: Path, block: int) -> tuple[list[tuple[int, ...]], list[Finding]]:
    """All records of a capture, and what was found damaged."""
    store, findings = Store(), list[Finding]()
    one = CaptureInput(path, store, findings, follow=False, block=block, stop=threading.Event())
    rows = [
        row
        for found in one.blocks()
        for row in zip(
            *(column.tolist() for column in (found.time, found.at, found.captured, found.original)), strict=True
        )
    ]
    store.close()
    return rows, findings


def frames(rng: random.Random, count: int) -> list[Frame]:
    """Packets of all sizes; some hold what looks like a record header of the same time."""
    decoy = struct.pack("<IIII", T0 // 10**9, 5, 30, 30)
    sizes = (0, rng.randrange(60), 60, rng.randrange(300))
    data = [rng.choice((decoy * 3, b"")) + rng.randbytes(rng.choice(sizes)) for _ in range(count)]
    return [Frame(each, T0 + index * 10**6) for index, each in enumerate(data)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34], ids=hex)
@pytest.mark.parametrize("damage", ["none", "cut", "bytes", "length", "zeros"])
def test_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, magic: int, damage: str) -> None:
    rng = random.Random(f"{order}{magic}{damage}")
    whole = bytearray(pcap(frames(rng, MANY), order=order, magic=magic))
    place = rng.randrange(len(whole) // 2, len(whole))
    if damage == "cut":
        del whole[place:]
    elif damage == "bytes":
        for _ in range(50):
            whole[rng.randrange(24, len(whole))] = rng.randrange(256)
    elif damage == "length":
        whole[place : place + 4] = b"\xff" * 4
    elif damage == "zeros":
        whole[place:] = bytes(40_000)
    path = tmp_path / "a.pcap"
    path.write_bytes(whole)
    fast = [records(path, block) for block in (100, 777, 32_768)]
    monkeypatch.setattr(parallel_scan, "LONGEST", 0)
    plain = records(path, 32_768)
    assert all(each == plain for each in fast)
    assert len(plain[0]) > 100


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("damage", ["none", "cut", "bytes", "length", "others"])
def test_pcapng(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, damage: str) -> None:
    rng, ng = random.Random(f"{order}{damage}"), Ng(order)
    blocks = [ng.enhanced(frame.data, frame.time // 1000) for frame in frames(rng, MANY)]
    if damage == "others":
        for place in rng.sample(range(MANY), 12):
            blocks[place] = rng.choice(
                (ng.interface(), ng.section() + ng.interface(), ng.obsolete(b"abc", 5), ng.simple(b"x"))
            )
    whole = bytearray(ng.section() + ng.interface() + b"".join(blocks))
    place = rng.randrange(len(whole) // 2, len(whole))
    if damage == "cut":
        del whole[place:]
    elif damage == "bytes":
        whole[place] ^= 0x55
    elif damage == "length":
        begin = len(ng.section() + ng.interface() + b"".join(blocks[: MANY // 2]))
        whole[begin + 4 : begin + 8] = struct.pack(order + "I", rng.choice((0, 3, 16, 33, 1 << 31)))
    path = tmp_path / "a.pcapng"
    path.write_bytes(whole)
    fast = [records(path, block) for block in (100, 777, 32_768)]
    monkeypatch.setattr(parallel_scan, "LONGEST", 0)
    plain = records(path, 32_768)
    assert all(each == plain for each in fast)
    assert len(plain[0]) > MANY // 3


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    taken: list[int] = []
    original = parallel_scan.scan_records

    def counted(*arguments: object) -> parallel_scan.Ints:
        found = original(*arguments)  # type: ignore[arg-type]
        taken.append(len(found))
        return found

    monkeypatch.setattr(parallel_scan, "scan_records", counted)
    path = tmp_path / "a.pcap"
    several, ng = frames(random.Random(1), MANY), Ng()
    blocks = (ng.enhanced(frame.data, frame.time // 1000) for frame in several)
    path.write_bytes(pcap(several) if kind == "pcap" else ng.section() + ng.interface() + b"".join(blocks))
    assert len(records(path, 32_768)[0]) == MANY
    assert sum(taken) > MANY * 0.5
