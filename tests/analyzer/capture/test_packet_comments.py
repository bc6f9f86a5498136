"""Comments on packets: found in every block and byte order, placed in the timeline, bounded where they are hostile."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from analyzer.capture import pcapng, pcapng_blocks
from analyzer.capture.packets import PacketReader
from tests.analyzer.capture.writers import T0, Frame, Ng, block, padded, pcap, segment
from tests.analyzer.commented import NANOSECONDS, NG, commented
from tests.effort import within_steps

FRAMES = [Frame(segment(bytes([65 + index]), seq=index), T0 + index * 1000) for index in range(40)]
TOLD = {2: [b"two"], 5: [b"five", b"five again"], 40: ["größer".encode()]}


def said(*paths: Path | str, **arguments: object) -> list[tuple[int, str]]:
    """(packet, comment) of all."""
    with PacketReader(list(paths), **arguments) as packets:  # type: ignore[arg-type]
        for _ in packets.blocks():
            pass
        table = packets.comments
        return [(int(number), table.read_text(index)) for index, number in enumerate(table.column("packet").tolist())]


EXPECTED = [(2, "two"), (5, "five"), (5, "five again"), (40, "größer")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("block", [1, 7, 32_768])
def test_wherever_blocks_are_cut(tmp_path: Path, order: str, block: int) -> None:
    path = commented(tmp_path / "a.pcapng", FRAMES, TOLD, ng=Ng(order))
    assert said(path, block=block) == EXPECTED


def test_a_pipe_and_a_compressed_file_say_the_same(tmp_path: Path) -> None:
    path = commented(tmp_path / "a.pcapng", FRAMES, TOLD)
    import gzip

    packed = tmp_path / "a.pcapng.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert said(packed) == EXPECTED
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.analyzer.capture.test_packet_comments import said\nprint(said('-'))"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code, root], input=path.read_bytes(), capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode().strip() == str(EXPECTED)


@pytest.mark.parametrize("block", [1, 3, 32_768])
def test_in_several_files_they_follow_their_packets(tmp_path: Path, block: int) -> None:
    odd = commented(tmp_path / "a.pcapng", FRAMES[::2], {1: [b"0"], 20: [b"38"]})
    even = commented(tmp_path / "b.pcapng", FRAMES[1::2], {1: [b"1"], 3: [b"5", b"too"]})
    plain = tmp_path / "c.pcap"
    plain.write_bytes(pcap([Frame(segment(b"x"), T0 - 1000)]))
    expected = [(2, "0"), (3, "1"), (7, "5"), (7, "too"), (40, "38")]
    assert said(odd, even, plain, block=block) == expected
    assert said(plain, even, odd, block=block) == expected


def test_scapys_reader_says_the_same(tmp_path: Path) -> None:
    paths = [commented(tmp_path / name, FRAMES[at::2], {1: [name.encode()]}) for at, name in enumerate("ab")]
    assert said(*paths, reader="scapy") == said(*paths) == [(1, "a"), (2, "b")]


def test_other_options_stand_around_them(tmp_path: Path) -> None:
    blocks = [NG.section(), NG.interface(NANOSECONDS)]
    flags, unknown = (2, bytes(4)), (2989, b"odd")
    for number in range(40):
        pairs = [flags, unknown, (1, b""), (1, b"%d" % number), flags]
        blocks.append(NG.enhanced(FRAMES[0].data, T0, *pairs))
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"".join(blocks))
    assert said(path) == [(number + 1, str(number)) for number in range(40)]


def hostile(options: bytes, count: int = 1) -> bytes:
    data = FRAMES[0].data
    head = struct.pack("<IIIII", 0, 0, 0, len(data), len(data)) + data + bytes(-len(data) % 4)
    return NG.section() + NG.interface(NANOSECONDS) + block("<", 6, head + options) * count


@pytest.mark.parametrize("count", [1, 40], ids=["one by one", "in step"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (struct.pack("<HH", 1, 200) + b"longer than there is", []),
        (struct.pack("<HH", 1, 4) + b"okay" + struct.pack("<HH", 1, 9) + b"cut!", ["okay"]),
        (struct.pack("<HHHH", 0, 0, 1, 0) + b"behind the end", []),
        (struct.pack("<HH", 1, 3) + b"\xff\x00\x00\x00", ["\ufffd"]),
        (b"\x01\x00", []),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: bytes, expected: list[str], count: int) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(hostile(options + bytes(-len(options) % 4), count))
    assert [text for _, text in said(path)] == expected * count


@pytest.mark.parametrize("count", [1, 20], ids=["one by one", "in step"])
def test_a_packet_of_a_million_options_costs_no_time(tmp_path: Path, count: int) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(
        hostile(struct.pack("<HH", 2, 0) * (1_000_000 // count) + struct.pack("<HH4s", 1, 4, b"late"), count)
    )
    with within_steps(1_000_000):  # some 10,000, and 150,000 in step; a step for each option would be millions
        assert said(path) == []


@given(some.lists(some.tuples(some.integers(0, 3), some.integers(0, 9), some.binary(max_size=8)), max_size=6))
def test_one_by_one_and_in_step_are_the_same(drawn: list[tuple[int, int, bytes]]) -> None:
    options = b"".join(struct.pack("<HH", code, length) + padded(value) for code, length, value in drawn)
    found = []
    with tempfile.NamedTemporaryFile() as file:
        for count in (1, 20):
            file.seek(0)
            file.write(hostile(options, count))
            file.truncate()
            file.flush()
            found.append([text for _, text in said(file.name)])
    assert found[1] == found[0] * 20


def test_more_than_can_be_retained_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "MOST_COMMENTS", 3)
    path = commented(tmp_path / "a.pcapng", FRAMES, TOLD)
    with PacketReader([path]) as packets:
        list(packets.blocks())
        (info,) = packets.files
        assert (len(info.comments), info.left_out, len(packets.comments)) == (3, 1, 3)


def test_names_are_bounded_and_the_last_one_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng_blocks, "MOST_NAMED", 2)
    monkeypatch.setattr(pcapng_blocks, "MOST_OF_ONE", 2)
    names = (("10.0.0.1", b"a\0b\0a"), ("fd00::1", b"six" * 200), ("10.0.0.3", b"too many"), ("10.0.0.1", b"c"))
    path = commented(tmp_path / "a.pcapng", FRAMES, {}, *names)
    with PacketReader([path]) as packets:
        list(packets.blocks())
        (info,) = packets.files
        assert info.names == {"10.0.0.1": ["a", "c"], "fd00::1": [("six" * 200)[:255]]}
        assert info.left_out == 2


@pytest.mark.skipif(shutil.which("editcap") is None, reason="editcap is not installed")
def test_what_editcap_writes(tmp_path: Path) -> None:
    plain, path = tmp_path / "a.pcap", tmp_path / "a.pcapng"
    plain.write_bytes(pcap(FRAMES))
    arguments = ["-F", "pcapng", "-a", "2:two", "-a", "40:größer", "--capture-comment", "all of it"]
    subprocess.run(["editcap", *arguments, plain, path], check=True, capture_output=True, timeout=60)
    assert said(path) == [(2, "two"), (40, "größer")]
    with PacketReader([path]) as packets:
        list(packets.blocks())
        assert packets.files[0].capture_comments == ["all of it"]
