"""Several captures as one; blocks cut anywhere; whatever bytes come."""

from __future__ import annotations

import dataclasses
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import analyzer.capture.records
from analyzer.capture import timeline
from analyzer.capture.flows import FlowTable
from analyzer.capture.packets import PacketBlock, PacketReader
from analyzer.errors import CaptureError
from tests.analyzer.capture.reading import read
from tests.analyzer.capture.writers import (
    T0,
    Frame,
    Ng,
    authentication,
    ethernet,
    extension,
    fragment,
    ipv4,
    ipv6,
    pcap,
    segment,
    tcp,
)


def capture(path: Path, name: str, times: list[int]) -> Path:
    """Packets whose payload says where they come from."""
    file = path / f"{name}.pcap"
    frames = [Frame(segment(f"{name}{index}".encode()), T0 + time * 1000) for index, time in enumerate(times)]
    file.write_bytes(pcap(frames))
    return file


MERGES = [
    ([[0, 2, 4], [1, 3, 5]], "a0 b0 a1 b1 a2 b2"),
    ([[5, 6], [1, 2]], "b0 b1 a0 a1"),
    ([[1, 1, 1], [1, 1]], "a0 a1 a2 b0 b1"),
    ([[1, 9, 2, 3], [4, 10]], "a0 b0 a1 a2 a3 b1"),
    ([[3], [], [3], [1, 3, 4]], "d0 a0 c0 d1 d2"),
    ([[], []], ""),
    ([[2, 2, 3], [1, 2, 2, 2, 3]], "b0 a0 a1 b1 b2 b3 a2 b4"),
]


@pytest.mark.parametrize("block", [1, 2, 32_768])
@pytest.mark.parametrize(("times", "expected"), MERGES)
def test_merge(tmp_path: Path, times: list[list[int]], expected: str, block: int) -> None:
    files = [capture(tmp_path, "abcd"[index], one) for index, one in enumerate(times)]
    reading = read(files, block=block)
    assert [payload.decode() for payload in reading.payloads] == expected.split()
    assert [packet.number for packet in reading.packets] == list(range(1, len(reading.packets) + 1))


def test_captures_in_a_row_are_looked_at_when_it_is_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a ring of thousands of files takes as long as one file, and its blocks are as large."""
    given: list[int] = []
    give = timeline._Lane.give
    monkeypatch.setattr(timeline._Lane, "give", lambda lane, count: given.append(count) or give(lane, count))
    files = [capture(tmp_path, f"{number:03}", [number * 10, number * 10 + 9]) for number in range(200)]
    with PacketReader(files) as reader:
        assert [len(block) for block in reader.blocks()] == [400]
        assert reader.position == sum(file.stat().st_size for file in files)
    assert given == [2] * 200


@pytest.mark.parametrize(("connections", "sizes"), [(1, [1, 2, 4, 4, 4]), (2, [1, 2, 4, 8]), (9, [1, 2, 4, 8])])
def test_blocks_grow_with_the_connections_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connections: int, sizes: list[int]
) -> None:
    for name, value in (("USUAL_BLOCK", 4), ("LARGEST_BLOCK", 8), ("RECORDS_OF_CONNECTION", 4)):
        monkeypatch.setattr(analyzer.capture.records, name, value)
    file = tmp_path / "many.pcap"
    ports = [(1000 + index % connections, 9092) for index in range(15)]
    file.write_bytes(pcap([Frame(ethernet(ipv4(tcp(b"x", ports=each))), T0) for each in ports]))
    with PacketReader([file], block=1) as reader:
        assert [len(block) for block in reader.blocks()] == sizes


@given(st.lists(st.lists(st.integers(0, 30), max_size=40), min_size=1, max_size=4), st.integers(1, 20))
def test_merge_is_what_a_sort_by_running_maximum_gives(tmp_path_factory, times, block) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("merge")
    files = [capture(folder, "abcd"[index], one) for index, one in enumerate(times)]
    expected = sorted(
        (max(one[: index + 1]), place, index) for place, one in enumerate(times) for index in range(len(one))
    )
    payloads = [f"{'abcd'[place]}{index}".encode() for _, place, index in expected]
    assert read(files, block=block).payloads == payloads


def random_frame(chooser: random.Random) -> bytes:
    """Any kind of packet, also pieces and broken ones."""
    ends4 = (f"10.0.0.{chooser.randrange(5)}", f"10.0.1.{chooser.randrange(5)}")
    ends6 = (f"fd00::{chooser.randrange(5)}", f"fd00::1:{chooser.randrange(5)}")
    if chooser.random() < 0.5:
        ends4, ends6 = ends4[::-1], ends6[::-1]
    inner = tcp(
        chooser.randbytes(chooser.randrange(60)), ports=(chooser.randrange(4), 9092), seq=chooser.getrandbits(32)
    )
    piece = chooser.randrange(3)
    part = inner.ljust(96, b"z")[piece * 32 : piece * 32 + 32]
    ident = chooser.randrange(3)
    kinds = [
        lambda: ethernet(ipv4(inner, ends=ends4)),
        lambda: ethernet(ipv4(inner, ends=ends4, extra=bytes(8)), tags=(0x8100,)),
        lambda: ethernet(ipv6(inner, ends=ends6), 0x86DD),
        lambda: ethernet(ipv6(extension(51, authentication(6, inner)), ends=ends6, protocol=60), 0x86DD),
        lambda: ethernet(ipv4(part, ident=ident, offset=piece * 32, more=piece < 2)),
        lambda: ethernet(ipv6(fragment(6, part, offset=piece * 32, more=piece < 2, ident=ident), protocol=44), 0x86DD),
        lambda: ethernet(ipv4(b"\0\0\x08\0" + ipv4(inner, ends=ends4), protocol=47)),
        lambda: ethernet(bytes(28), 0x0806),
        lambda: ethernet(ipv4(inner))[: chooser.randrange(60)],
    ]
    return chooser.choices(kinds, weights=[8, 4, 8, 2, 2, 2, 1, 1, 1])[0]()


def columns(path: list[Path], **arguments: object) -> dict[str, list[int]]:
    with PacketReader(path, **arguments) as packets:  # type: ignore[arg-type]
        blocks = list(packets.blocks())
        found = {
            field.name: np.concatenate([getattr(block, field.name) for block in blocks]).tolist()
            for field in dataclasses.fields(PacketBlock)
            if blocks
        }
        if blocks:
            # Where the annex puts a reassembled packet is its own affair.
            found["at"] = [at for at in found["at"] if at >> 48 < len(path)]
            found["payload"] = [
                packets.store.read_bytes(at, size)
                for block in blocks
                for at, size in zip(block.at.tolist(), block.captured.tolist(), strict=True)
            ]
        found["flows"] = [packets.flows.endpoint(flow, side) for flow in range(len(packets.flows)) for side in (0, 1)]
        found["counts"] = list(dataclasses.astuple(packets.counts))
        # Their order is that in which they were noticed.
        found["findings"] = sorted(finding.text for finding in packets.findings)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_nothing_depends_on_where_blocks_are_cut(tmp_path: Path, seed: int) -> None:
    chooser = random.Random(seed)
    ng = Ng("<" if seed % 2 else ">")
    plain, blocks = tmp_path / "a.pcap", [ng.section(), ng.interface()]
    plain.write_bytes(pcap(Frame(random_frame(chooser), T0 + index * 1000) for index in range(400)))
    for index in range(400):
        blocks.append(ng.enhanced(random_frame(chooser), T0 // 1000 + chooser.randrange(400)))
        if not index % 50:
            blocks.append(ng.interface())
    mixed = tmp_path / "b.pcapng"
    mixed.write_bytes(b"".join(blocks))
    expected = columns([plain, mixed])
    assert expected["counts"][1] > 400
    assert expected["counts"][5] > 0, "something was reassembled"
    for block in (1, 3, 50, 399):
        assert columns([plain, mixed], block=block) == expected


def test_flow_numbers_follow_the_first_packet() -> None:
    chooser = random.Random(5)
    source = np.array([chooser.randrange(30_000) for _ in range(60_000)], np.uint64)
    destination = np.array([chooser.randrange(3) for _ in range(60_000)], np.uint64)
    known: dict[tuple[int, int], int] = {}
    expected = [
        known.setdefault((min(pair), max(pair)), len(known))
        for pair in zip(source.tolist(), destination.tolist(), strict=True)
    ]
    for size in (60_000, 9_999, 17):
        table, found = FlowTable(), []
        for start in range(0, 60_000, size):
            rows = slice(start, start + size)
            found += table.number_flows(source[rows], destination[rows])[0].tolist()
            if start == size:
                table = pickle.loads(pickle.dumps(table))
        assert found == expected
        assert len(table) == len(known)


def test_a_flow_table_never_mixes_up_colliding_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.capture.flows import PairTable

    monkeypatch.setattr(PairTable, "_hash", lambda _, first, second: (first & np.uint64(3)).astype(np.int64))
    table = PairTable()
    keys = np.arange(300, dtype=np.uint64) % np.uint64(100)
    assert table.number_pairs(keys, keys).tolist() == keys.tolist()


HOSTILE = [
    pcap([Frame(segment(b"x" * 30), T0)] * 6),
    b"".join(
        [Ng().section((1, b"c")), Ng().interface((9, b"\x09"))] + [Ng().enhanced(segment(b"y"), 1, (1, b"z"))] * 4
    ),
    b"".join(
        [Ng(">").section(), Ng(">").interface(), Ng(">").simple(segment(b"y")), Ng(">").obsolete(segment(b"y"), 5)]
    ),
    pcap([Frame(random_frame(random.Random(seed)), T0) for seed in range(40)]),
]


@given(
    st.sampled_from(HOSTILE),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8),
    st.integers(0, 10_000),
    st.binary(max_size=40),
)
def test_mutated_captures_are_read_or_refused(tmp_path_factory, capture, changes, cut, tail) -> None:  # type: ignore[no-untyped-def]
    data = bytearray(capture[: max(4, cut)] + tail)
    for place, value in changes:
        data[place % len(data)] = value
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(data)
    try:
        expected = columns([path])
    except CaptureError:
        return
    assert columns([path], block=1) == expected
    assert len(expected["findings"]) <= 12
