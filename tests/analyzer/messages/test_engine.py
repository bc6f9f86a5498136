"""The rows depend on the bytes of the conversations: not on packets, blocks, files, nor on which path they took."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.records import RecordBlock
from analyzer.session import Session
from tests.analyzer.capture.writers import NS, T0, Frame
from tests.analyzer.wire import (
    ACK,
    CLIENT,
    RST,
    SERVER,
    STABLE,
    SYN,
    Cut,
    Row,
    Segment,
    Talk,
    by_id,
    byte_by_byte,
    capture,
    data_segments,
    doubled,
    frames,
    in_parts,
    kept_alive,
    opening,
    overlapping,
    probed,
    reordered,
    repeated_later,
    rows,
    rows_of,
    segments,
    talks,
    with_data_in_syn,
    without_handshake,
    write,
)
from tests.effort import steps, within, within_steps

MIXED = Path(__file__).parents[3] / "captures" / "mixed.pcapng"
GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
SMALL = ["k24_sasl_v0", "k4_sweep_rest", "k4_boot1", "k4_go_segment", "k4_errors"]
EVENTUAL = 100 * NS
"""Between connections of a written capture."""

Effect = Callable[[Talk, Random], list[Segment]]


pytestmark = pytest.mark.usefixtures("small_scale")


def golden(name: str) -> Path:
    return GOLDEN / f"{name}.pcap.zst"


def parts(talk: Talk, random: Random) -> list[Segment]:
    return segments(talk, in_parts(random))


def message(correlation: int, key: int = 3, version: int = 1, body: bytes = b"\0\0\0\0") -> bytes:
    data = key.to_bytes(2) + version.to_bytes(2) + correlation.to_bytes(4) + b"\0\2me" + body
    return len(data).to_bytes(4) + data


def answer(correlation: int, body: bytes = bytes(12)) -> bytes:
    data = correlation.to_bytes(4) + body
    return len(data).to_bytes(4) + data


def exchanges(count: int, first: int = 1) -> tuple[tuple[int, bytes], ...]:
    found: list[tuple[int, bytes]] = []
    for number in range(first, first + count):
        found += [(CLIENT, message(number)), (SERVER, answer(number))]
    return tuple(found)


# ---- whatever the network does to the packets

EFFECTS: dict[str, Effect] = {
    "whole": lambda talk, random: segments(talk),
    "byte by byte": lambda talk, random: segments(talk, byte_by_byte),
    "in parts": parts,
    "in small parts": lambda talk, random: segments(talk, in_parts(random, 5)),
    "doubled": lambda talk, random: doubled(parts(talk, random)),
    "repeated later": lambda talk, random: repeated_later(parts(talk, random)),
    "overlapping": lambda talk, random: overlapping(parts(talk, random), talk, random),
    "kept alive": lambda talk, random: kept_alive(parts(talk, random)),
    "probed": lambda talk, random: probed(parts(talk, random)),
    "data in SYN": lambda talk, random: with_data_in_syn(parts(talk, random)),
}
REORDERED: dict[str, Effect] = {
    "reordered": lambda talk, random: reordered(parts(talk, random), random),
    "reordered and small": lambda talk, random: reordered(segments(talk, in_parts(random, 5)), random),
    "reordered, overlapping": lambda talk, random: reordered(overlapping(parts(talk, random), talk, random), random),
}
LATE: dict[str, Effect] = {
    "late": lambda talk, random: without_handshake(segments(talk)),
    "late, in parts": lambda talk, random: without_handshake(parts(talk, random)),
    "late, byte by byte": lambda talk, random: without_handshake(segments(talk, byte_by_byte)),
}


def written(path: Path, name: str, effect: Effect, isn: tuple[int, int] = (1_000, 5_000_000)) -> Path:
    """A golden capture's conversations, one after the other, with an effect."""
    found: list[Frame] = []
    for index, talk in enumerate(talks(golden(name))):
        renumbered = Talk(talk.writes, talk.ends, isn)
        found += frames(effect(renumbered, Random(index)), renumbered, T0 + index * EVENTUAL)
    return write(path, found)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("name", SMALL)
def test_packets_do_not_matter(tmp_path: Path, name: str, effect: str, use_fast_path: bool) -> None:
    path = written(tmp_path / "a.pcap", name, EFFECTS[effect])
    assert by_id(rows(path, STABLE, use_fast_path=use_fast_path)) == by_id(rows(golden(name), STABLE))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("effect", REORDERED)
@pytest.mark.parametrize("name", SMALL)
def test_order_does_not_matter(tmp_path: Path, name: str, effect: str, use_fast_path: bool) -> None:
    path = written(tmp_path / "a.pcap", name, REORDERED[effect])
    assert by_id(rows(path, STABLE, use_fast_path=use_fast_path)) == by_id(rows(golden(name), STABLE))


# k4_errors has connections that begin with what no broker reads; without SYN nobody can tell whose it is.
@pytest.mark.sampled(5)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("effect", LATE)
@pytest.mark.parametrize("name", SMALL[:-1])
def test_captures_may_begin_late(tmp_path: Path, name: str, effect: str, use_fast_path: bool) -> None:
    path = written(tmp_path / "a.pcap", name, LATE[effect])
    assert by_id(rows(path, STABLE, use_fast_path=use_fast_path)) == by_id(rows(golden(name), STABLE))


@pytest.mark.parametrize("before", [0, 1, 2, 100, 301, 1000])
def test_sequence_numbers_wrap(tmp_path: Path, before: int) -> None:
    first = (1 << 32) - before - 1
    path = written(tmp_path / "a.pcap", "k4_go_segment", parts, isn=(first, first))
    assert by_id(rows(path, STABLE)) == by_id(rows(golden("k4_go_segment"), STABLE))


# ---- blocks, files, paths


@pytest.mark.sampled(4)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("name", [*SMALL[:3], "k4_java_txn"])
def test_blocks_do_not_matter(name: str, block: int, use_fast_path: bool) -> None:
    with (
        Session([golden(name)], use_fast_path=False).load() as one,
        Session([golden(name)], block=block, use_fast_path=use_fast_path).load() as other,
    ):
        assert rows_of(other) == rows_of(one)
        assert other.findings == one.findings


@pytest.mark.sampled(7)
@pytest.mark.parametrize("block", [100, 32_768])
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.pcap.zst")), ids=lambda path: path.name.split(".")[0])
def test_the_slow_and_the_fast_path_agree(path: Path, block: int) -> None:
    assert rows(path, use_fast_path=True, block=block) == rows(path, use_fast_path=False)


def lossy(talk: Talk, random: Random) -> list[Segment]:
    """One segment of thirty with data is lost."""
    return [each for each in parts(talk, random) if not each.payload or random.randrange(30)]


BRIEF = ["../rocketmq/m550_json_tx_lab_tx", "../rocketmq/m430_bin_send", "../zookeeper/cl_java395_basic"]
BRIEF += ["../zookeeper/en395_quorum_sasl"]
BAD = {name: (EFFECTS | REORDERED | LATE)[name] for name in ("doubled", "reordered, overlapping", "late, in parts")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", sorted(GOLDEN.parent.glob("[rz]*/*.pcap.zst")), ids=lambda path: path.name[:-9])
def test_the_slow_and_the_fast_path_agree_on_other_protocols(path: Path) -> None:
    """Pulsar's fast path is tested with its dissector."""
    plain = rows(path, use_fast_path=False)
    for block in (7, 32_768):
        assert rows(path, block=block) == plain


@pytest.mark.sampled(4)
@pytest.mark.parametrize("effect", [*BAD, "lossy"])
@pytest.mark.parametrize("name", BRIEF)
def test_the_slow_and_the_fast_path_agree_on_a_bad_network(tmp_path: Path, name: str, effect: str) -> None:
    path = written(tmp_path / "a.pcap", name, (BAD | {"lossy": lossy})[effect])
    plain = rows(path, use_fast_path=False)
    for block in (40, 32_768):
        assert rows(path, block=block) == plain


@pytest.mark.sampled(3)
@pytest.mark.parametrize("block", [1, 5, 64])
@pytest.mark.parametrize("effect", [*EFFECTS, "late, in parts"])
def test_blocks_do_not_matter_on_a_bad_network(tmp_path: Path, effect: str, block: int) -> None:
    path = written(tmp_path / "a.pcap", "k4_sweep_rest", (EFFECTS | LATE)[effect])
    with Session([path], use_fast_path=False).load() as one, Session([path], block=block).load() as other:
        assert rows_of(other) == rows_of(one)
        assert other.findings == one.findings


@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
def test_blocks_do_not_matter_where_order_is_lost(tmp_path: Path, use_fast_path: bool) -> None:
    path = written(tmp_path / "a.pcap", "k4_sweep_rest", REORDERED["reordered"])
    with (
        Session([path], use_fast_path=False).load() as one,
        Session([path], block=5, use_fast_path=use_fast_path).load() as other,
    ):
        assert rows_of(other) == rows_of(one)
        assert other.findings == one.findings


def split_in_files(folder: Path, frames: Sequence[Frame], cuts: Sequence[int]) -> list[Path]:
    edges = [0, *cuts, len(frames)]
    return [write(folder / f"{index}.pcap", frames[first:last]) for index, (first, last) in enumerate(pairwise(edges))]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("reverse", [False, True])
def test_files_do_not_matter(tmp_path: Path, reverse: bool, use_fast_path: bool) -> None:
    talk = Talk(exchanges(20))
    packets = frames(segments(talk, in_parts(Random(1))), talk)
    one = rows(write(tmp_path / "one.pcap", packets), use_fast_path=False)
    for cut in range(1, len(packets)):
        files = split_in_files(tmp_path, packets, [cut])
        assert rows(files[::-1] if reverse else files, use_fast_path=use_fast_path) == one
    assert rows(split_in_files(tmp_path, packets, range(1, len(packets))), use_fast_path=use_fast_path) == one


@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("name", ["k24_sasl_v0", "k4_java_txn"])
def test_state_travels(name: str, use_fast_path: bool) -> None:
    """What is carried from block to block is plain data: after each block it goes through pickle."""
    with Session([golden(name)], use_fast_path=use_fast_path, block=16) as session:
        engine = session.engine
        for block in session.packets.blocks():
            engine.feed(block)
            engine._connections = pickle.loads(pickle.dumps(engine._connections))
        engine.finish()
        assert rows_of(session) == rows(golden(name))


# ---- lost segments


@pytest.mark.sampled(2)
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("name", ["k4_sweep_rest", "k4_boot1", "k4_go_segment"])
def test_one_segment_is_lost(tmp_path: Path, name: str, use_fast_path: bool) -> None:
    """Each segment of each connection in turn: outside the gap everything stays."""
    for talk in talks(golden(name)):
        packets = segments(talk)
        reference = by_id(rows(capture(tmp_path / "whole.pcap", packets, talk), STABLE))
        for index, lost in enumerate(packets):
            path = capture(tmp_path / "a.pcap", [*packets[:index], *packets[index + 1 :]], talk)
            with Session([path], use_fast_path=use_fast_path).load() as session:
                own, gaps = by_id(rows_of(session, STABLE)), codes(session, "gap")
            damaged = touched(reference.values(), lost)
            assert without(own, damaged) == without_partners(reference, damaged), f"without segment {index}: {lost}"
            assert len(gaps) == bool(lost.payload)
            assert all(f"{len(lost.payload)} bytes are missing at offset {lost.at}" in gap for gap in gaps)


def test_a_lost_packet_costs_no_other_exchange(tmp_path: Path) -> None:
    """Where answers repeat a number, an answer whose request is there has it for its partner, whatever else is lost.

    A real connection with its acknowledgements, long enough that what is lost is given up before it ends.
    """
    packets = longest_connection(MIXED, 6650)
    for index in [index for index, frame in enumerate(packets) if len(frame.data) > 66][:12]:
        own = rows(write(tmp_path / "a.pcap", [*packets[:index], *packets[index + 1 :]]))
        alone = {row["correlation"] for row in own if row["role"] == "request" and row["partner"] is None}
        orphans = {row["correlation"] for row in own if row["role"] == "response" and row["partner"] is None}
        assert len(own) > 300
        assert alone & orphans <= {None}, f"without packet {index}"


def longest_connection(path: Path, port: int) -> list[Frame]:
    """The packets of the connection to a port that has most of them."""
    records: list[RecordBlock] = []
    with PacketReader([path], watch=records.append) as packets:
        flows = np.concatenate([np.column_stack((block.number - 1, block.flow)) for block in packets.blocks()])
        numbers, counts = np.unique(flows[:, 1], return_counts=True)
        ports = [{packets.flows.port(flow, side) for side in (0, 1)} for flow in numbers.tolist()]
        longest = numbers[np.argmax([count * (port in each) for count, each in zip(counts, ports, strict=True)])]
        every = RecordBlock.concatenate(records)[flows[flows[:, 1] == longest, 0]]
        columns = (every.time.tolist(), every.at.tolist(), every.captured.tolist())
        return [Frame(packets.store.read_bytes(at, size), time) for time, at, size in zip(*columns, strict=True)]


@pytest.mark.parametrize(("port", "found"), [(9092, 12), (50_000, 0)], ids=["a known port", "an unknown one"])
def test_a_capture_that_begins_inside_large_messages(tmp_path: Path, port: int, found: int) -> None:
    """Nothing can be told by the first bytes of either side: the port says what to hunt for."""
    large = ((CLIENT, message(0, body=b"\xff" * 9_000)), (SERVER, answer(0, body=b"\xff" * 9_000)))
    talk = Talk((*large, *exchanges(6)), (("10.0.0.1", 40_000), ("10.0.0.2", port)))
    packets = data_segments(talk.writes, lambda data: [data[at : at + 1_000] for at in range(0, len(data), 1_000)])
    own = rows(capture(tmp_path / "a.pcap", [*packets[2:9], *packets[12:]], talk))
    assert sum(row["state"] == "complete" and row["role"] != "raw" for row in own) == found


@pytest.mark.slow
@pytest.mark.parametrize("cut", [in_parts(Random(1), 40), byte_by_byte], ids=["parts", "bytes"])
def test_a_part_of_a_message_is_lost(tmp_path: Path, cut: Cut) -> None:
    """Here a gap may end inside a message. Behind it every message keeps its place; hunting may cost a partner."""
    talk = next(talk for talk in talks(golden("k4_sweep_rest")) if len(talk.writes) > 6)
    packets = segments(talk, cut)
    reference = by_id(rows(capture(tmp_path / "whole.pcap", packets, talk), STABLE))
    for index, lost in enumerate(packets[:120]):
        own = by_id(rows(capture(tmp_path / "a.pcap", [*packets[:index], *packets[index + 1 :]], talk), STABLE))
        damaged = touched(reference.values(), lost)
        for key, row in reference.items():
            if key not in damaged:
                assert (own[key]["offset"], own[key]["length"]) == (row["offset"], row["length"])
                assert own[key]["partner_id"] in (row["partner_id"], None)


def codes(session: Session, code: str) -> list[str]:
    return [finding.text for finding in session.findings if finding.code == code]


def touched(rows: Iterator[Row] | Sequence[Row] | object, lost: Segment) -> set[str]:
    """Ids of the rows that have bytes in the lost segment."""
    end = lost.at + len(lost.payload)
    return {
        row["id"]
        for row in rows  # type: ignore[attr-defined]
        if lost.payload
        and row["from_client"] == (lost.side == CLIENT)
        and row["offset"] < end
        and row["offset"] + row["length"] > lost.at
    }


FROM_PARTNER = ("operation", "code", "version", "client", "error", "info", "state", "partner_id")


def without(rows: dict[str, Row], damaged: set[str]) -> dict[str, Row]:
    """Rows that are whole; what is left of a damaged one has its id, or lies inside it."""
    return {key: orphaned(row, {None}) for key, row in rows.items() if key not in damaged and row["state"] != "partial"}


def without_partners(rows: dict[str, Row], damaged: set[str]) -> dict[str, Row]:
    return {key: orphaned(row, damaged) for key, row in rows.items() if key not in damaged}


def orphaned(row: Row, damaged: set[str] | set[None]) -> Row:
    """A response without its request knows only itself; a request without answer only loses its partner.

    What a SyncGroup assigns is told by an earlier JoinGroup, which may be what was lost.
    """
    if row["operation"] == "SyncGroup":
        row = {key: value for key, value in row.items() if key != "info"}
    if row["partner_id"] not in damaged:
        return row
    if row["role"] != "response":
        return row | {"partner_id": None}
    return {key: value for key, value in row.items() if key not in FROM_PARTNER}


# ---- single situations


def only(tmp_path: Path, packets: Sequence[Segment], **options: bool) -> list[Row]:
    return rows(capture(tmp_path / "a.pcap", packets), **options)


def brief(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    return [(row["role"], row["correlation"], row["state"], row["offset"], row["length"]) for row in rows]


def test_data_behind_a_reset_is_hunted_for(tmp_path: Path) -> None:
    first, second, third = message(1), message(2), message(3)
    at = len(first) + 10
    rest = second[10:] + third
    packets = [
        *opening(),
        Segment(CLIENT, 0, first + second[:10]),
        Segment(SERVER, 0, flags=RST | ACK, acked=at),
        Segment(CLIENT, at, second[10:]),
        Segment(CLIENT, at + len(second) - 10, third),
    ]
    assert brief(only(tmp_path, packets)) == [
        ("request", 1, "complete", 0, len(first)),
        ("request", None, "partial", len(first), 10),
        ("raw", None, "undecoded", at, len(second) - 10),
        ("request", 3, "complete", at + len(rest) - len(third), len(third)),
    ]


@pytest.mark.parametrize("block", [1, 2, 3, 32_768])
def test_after_both_fins_nothing_counts(tmp_path: Path, block: int) -> None:
    """Whether the connection was still known when the straggler came must not depend on blocks."""
    talk = Talk(exchanges(2))
    packets = segments(talk)
    stray = [Segment(CLIENT, 0, b"\xff" * 10), Segment(SERVER, 1 + len(talk.bytes_of(SERVER)), answer(9))]
    with Session([capture(tmp_path / "a.pcap", [*packets, *stray])], block=block).load() as session:
        assert [row["correlation"] for row in rows_of(session)] == [1, 1, 2, 2]
        assert session.findings == []


@pytest.mark.parametrize("block", [1, 3, 32_768])
@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
def test_ports_are_reused(tmp_path: Path, block: int, use_fast_path: bool) -> None:
    found: list[Frame] = []
    for index in range(3):
        talk = Talk(exchanges(3, first=1 + 10 * index), isn=(1000 + 100_000 * index, 5_000_000 * (index + 1)))
        found += frames(segments(talk), talk, T0 + index * NS)
    own = rows(write(tmp_path / "a.pcap", found), use_fast_path=use_fast_path, block=block)
    assert [row["stream"] for row in own] == [0] * 6 + [1] * 6 + [2] * 6
    assert [row["stream_id"].partition("9092")[2] for row in own] == [""] * 6 + ["#1"] * 6 + ["#2"] * 6
    assert [row["correlation"] for row in own] == [
        number for first in (1, 11, 21) for number in range(first, first + 3) for _ in "rq"
    ]


def test_a_response_in_front_of_its_request_is_none(tmp_path: Path) -> None:
    """Without an acknowledgement nothing says that it was late: it stays an orphan."""
    packets = [*opening(), Segment(SERVER, 0, answer(1), acked=0), Segment(CLIENT, 0, message(1), acked=0)]
    own = only(tmp_path, packets)
    assert [(row["role"], row["partner_id"]) for row in own] == [("response", None), ("request", None)]


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_one_direction_alone(tmp_path: Path, side: int) -> None:
    packets = [each for each in segments(Talk(exchanges(20))) if each.side == side]
    own = only(tmp_path, packets)
    assert [row["correlation"] for row in own] == list(range(1, 21))
    assert {row["stream_id"] for row in own} == {"10.0.0.1:40000>10.0.0.2:9092"}
    late = only(tmp_path, without_handshake(packets))
    assert by_id(late).keys() == by_id(own).keys()


def test_a_late_capture_of_an_answer_alone(tmp_path: Path) -> None:
    (row,) = only(tmp_path, [Segment(SERVER, 0, answer(7)), Segment(CLIENT, 0, flags=ACK, acked=20)])
    assert (row["stream_id"], row["source"]) == ("10.0.0.1:40000>10.0.0.2:9092", "10.0.0.2:9092")


def test_the_ports_decide_where_an_answer_reads_like_a_request(tmp_path: Path) -> None:
    """Correlation 1 in front of a body of zeros is Produce v1 to whoever takes it for a request."""
    packets = without_handshake(segments(Talk(((SERVER, answer(1)), *exchanges(3, first=2)))))
    own = only(tmp_path, packets)
    assert {row["stream_id"] for row in own} == {"10.0.0.1:40000>10.0.0.2:9092"}
    assert brief(own)[0] == ("response", 1, "guessed", 0, 20)


def test_frames_without_content(tmp_path: Path) -> None:
    """A length of 0 is sound: a row of four bytes."""
    packets = [*opening(), Segment(CLIENT, 0, message(1) + bytes(12) + message(2))]
    own = only(tmp_path, packets)
    assert [row["length"] for row in own] == [20, 4, 4, 4, 20]
    assert own == only(tmp_path, packets, use_fast_path=False)


def test_a_huge_length_is_no_message(tmp_path: Path) -> None:
    packets = [
        *opening(),
        Segment(CLIENT, 0, message(1)),
        Segment(CLIENT, 20, b"\x7f\xff\xff\xff" * 8),
        *[Segment(CLIENT, 52 + 20 * index, message(2 + index)) for index in range(3)],
    ]
    assert brief(only(tmp_path, packets)) == [
        ("request", 1, "complete", 0, 20),
        ("raw", None, "undecoded", 20, 32),
        *[("request", 2 + index, "complete", 52 + 20 * index, 20) for index in range(3)],
    ]


def test_a_syn_flood_on_one_pair_of_ports_is_linear(tmp_path: Path) -> None:
    flood = [Segment(CLIENT, 70_000 * index, flags=SYN) for index in range(5_000)]
    path = capture(tmp_path / "a.pcap", flood)
    with within_steps(5_000_000), Session([path]).load() as session:  # 1.8 million; each with each: 12 more
        assert len(session.engine.streams) == 5_000


@pytest.mark.slow
def test_segments_of_one_byte_cost_linear_time(tmp_path: Path) -> None:
    def written(count: int) -> Path:
        talk = Talk(exchanges(count // 42))
        return capture(tmp_path / f"{count}.pcap", segments(talk, byte_by_byte), talk)

    few, many, most = written(10_000), written(40_000), written(400_000)
    assert steps(lambda: rows(many, ("id",))) < 6 * steps(lambda: rows(few, ("id",)))
    with within(120):  # some 1.2 s; what looks at all segments for each, even in C, is at 80 billion
        assert len(rows(most, ("id",))) == 2 * (400_000 // 42)
