"""Files that are compressed, cut, odd or missing; pipes and files that grow."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from analyzer.capture.growing import GrowingFile
from analyzer.capture.packets import PacketReader
from analyzer.capture.sources import Spool
from analyzer.errors import CaptureError
from tests.analyzer.capture.reading import read, rows
from tests.analyzer.capture.writers import T0, Frame, Ng, pcap, segment

FRAMES = [Frame(segment(os.urandom(200), seq=index), T0 + index * 1000) for index in range(300)]
CAPTURE = pcap(FRAMES)
PACKETS = [frame.data[54:] for frame in FRAMES]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd,
    "lz4": lambda data: lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX64KB),
    "xz": lzma.compress,
}
CHAINS = {
    "members": lambda compress: compress(CAPTURE[:1000]) + compress(CAPTURE[1000:20_000]) + compress(CAPTURE[20_000:]),
    "empty member": lambda compress: compress(b"") + compress(CAPTURE) + compress(b""),
    "padding": lambda compress: compress(CAPTURE) + bytes(512),
}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.pcap.compressed"
    path.write_bytes(COMPRESSIONS[name](CAPTURE))
    reading = read(path)
    assert reading.payloads == PACKETS
    assert reading.findings == []
    assert reading.source.files[0].compression == name


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_chains_of_members(tmp_path: Path, name: str, chain: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(CHAINS[chain](COMPRESSIONS[name]))
    reading = read(path)
    assert reading.payloads == PACKETS
    assert reading.findings == []


def test_skippable_frames_lead_in(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + zstd(CAPTURE))
    assert read(path).payloads == PACKETS


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_cut_compressed(tmp_path: Path, name: str) -> None:
    # Three members, so that also a codec with large blocks has something whole before the cut.
    parts = [COMPRESSIONS[name](part) for part in (CAPTURE[:20_000], CAPTURE[20_000:40_000], CAPTURE[40_000:])]
    whole, ends = b"".join(parts), (len(parts[0]), len(parts[0]) + len(parts[1]))
    path = tmp_path / "cut"
    counts = []
    for size in range(6, len(whole), 977):
        path.write_bytes(whole[:size])
        try:
            reading = read(path)
        except CaptureError:
            assert size < ends[0], "nothing could be unpacked"
            continue
        assert reading.payloads == PACKETS[: len(reading.payloads)]
        assert reading.codes == ["damaged-capture"]
        assert f"cut is damaged at byte {size}: its {name} data ends too early" in reading.findings[0]
        counts.append(len(reading.payloads))
    assert counts == sorted(counts)
    assert counts[-1] > 140


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_damaged_compressed(tmp_path: Path, name: str) -> None:
    parts = [COMPRESSIONS[name](part) for part in (CAPTURE[:20_000], CAPTURE[20_000:40_000], CAPTURE[40_000:])]
    whole = bytearray(b"".join(parts))
    start = len(parts[0]) + len(parts[1])
    whole[start : start + 30] = b"\xff" * 30
    path = tmp_path / "a"
    path.write_bytes(whole)
    reading = read(path)
    assert reading.codes == ["damaged-capture"]
    assert "data breaks off" in reading.findings[0]
    assert reading.payloads == PACKETS[: len(reading.payloads)]
    assert len(reading.payloads) == (40_000 - 24) // (16 + 254)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_bomb_stops_at_the_bound(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESSIONS[name](CAPTURE + bytes(100 << 20)))
    with PacketReader([path], spool_limit=8 << 20) as packets:
        count = sum(map(len, packets.blocks()))
        assert packets._inputs[0].source.size() < 48 << 20
    assert count == 300
    assert [finding.code for finding in packets.findings] == ["damaged-capture"]
    assert "more than 8,388,608 bytes" in packets.findings[0].text


BAD = {
    "empty": (b"", "bad is empty"),
    "text": (b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", "bad is not a capture but text. Give a pcap or pcapng"),
    "one byte": (b"\xd4", "bad is not a capture"),
    "pcap header cut": (pcap()[:23], "bad ends within its pcap header, at byte 23"),
    "pcapng header cut": (Ng().section()[:27], "bad ends within its pcapng section header, at byte 27"),
    "gzip of text": (gzip.compress(b"hello world"), "bad is not a capture"),
    "gzip of nothing": (gzip.compress(b""), "bad has no gzip data"),
    "cut gzip": (gzip.compress(CAPTURE)[:12], "bad has no gzip data"),
}


@pytest.mark.parametrize("name", BAD)
def test_no_capture(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as error:
        PacketReader([path])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_directory_unreadable(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"Cannot open .*missing: No such file"):
        PacketReader([tmp_path / "missing"])
    with pytest.raises(CaptureError, match="is a directory"):
        PacketReader([tmp_path])
    with pytest.raises(CaptureError, match="Cannot open"):
        PacketReader(["a\0b"])
    secret = tmp_path / "secret"
    secret.write_bytes(CAPTURE)
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(CaptureError, match="Permission denied"):
        PacketReader([secret])


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(gzip.compress(CAPTURE))
    bad.write_bytes(b"no")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(CaptureError):
            PacketReader([good, bad])
        read(good)
    assert len(os.listdir("/dev/fd")) == before


# ---- pipes


@contextmanager
def fifo(tmp_path: Path) -> Iterator[tuple[Path, list[int]]]:
    """A named pipe and a list that will hold its writing end, opened by the first reader."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    end: list[int] = []
    opener = threading.Thread(target=lambda: end.append(os.open(path, os.O_WRONLY)))
    opener.start()
    yield path, end
    opener.join()
    for descriptor in end:
        os.close(descriptor)


@pytest.mark.parametrize("name", ["plain", "gzip", "lz4"])
def test_a_pipe_that_pauses_gives_what_it_has(tmp_path: Path, name: str) -> None:
    first, second = CAPTURE[: 24 + 10 * 270], CAPTURE[24 + 10 * 270 :]
    if name != "plain":
        first, second = COMPRESSIONS[name](first), COMPRESSIONS[name](second)
    with fifo(tmp_path) as (path, end), PacketReader([path]) as packets:
        while not end:
            time.sleep(0.001)
        os.write(end[0], first)
        blocks = packets.blocks()
        # The writing end is still open: waiting for more would wait for ever.
        assert len(next(blocks)) == 10

        def finish() -> None:
            os.write(end[0], second)
            os.close(end.pop())

        writer = threading.Thread(target=finish)
        writer.start()
        assert sum(map(len, blocks)) == 290
        writer.join()
    assert packets.findings == []


def test_a_pipe_cut_in_a_record(tmp_path: Path) -> None:
    with fifo(tmp_path) as (path, end), PacketReader([path]) as packets:
        while not end:
            time.sleep(0.001)
        os.write(end[0], CAPTURE[:-1])
        os.close(end.pop())
        assert len(rows(packets)) == 299
    assert [finding.code for finding in packets.findings] == ["damaged-capture"]


@pytest.mark.parametrize("name", ["plain", "zstd"])
def test_standard_input(name: str) -> None:
    program = (
        "from analyzer.capture.packets import PacketReader\n"
        "with PacketReader(['-']) as packets: print(sum(map(len, packets.blocks())), packets.files[0].path)"
    )
    data = CAPTURE if name == "plain" else zstd(CAPTURE)
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert done.stdout.decode() == "300 standard input\n"


def test_garbage_in_a_pipe_is_an_error_when_read(tmp_path: Path) -> None:
    with fifo(tmp_path) as (path, end), PacketReader([path]) as packets:
        while not end:
            time.sleep(0.001)
        os.write(end[0], b"garbage" * 10)
        os.close(end.pop())
        with pytest.raises(CaptureError, match="is not a capture"):
            next(packets.blocks())


def test_a_silent_pipe_can_be_stopped(tmp_path: Path) -> None:
    with fifo(tmp_path) as (path, end), PacketReader([path]) as packets:
        while not end:
            time.sleep(0.001)
        os.write(end[0], CAPTURE[:-1])
        threading.Timer(0.2, packets.stop).start()
        assert len(rows(packets)) == 299
    assert packets.findings == [], "who stops cannot know whether the pipe had more"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="holes in files are tested on Linux")
def test_a_pipe_without_an_end_takes_a_bounded_space(tmp_path: Path) -> None:
    """What release() was told of takes no space, reads as zeros, and does not count against the bound."""
    times = 200
    with fifo(tmp_path) as (path, end), PacketReader([path], spool_limit=6 << 20) as packets:

        def write() -> None:
            with os.fdopen(end.pop(), "wb") as pipe:
                pipe.write(CAPTURE[:24])
                for count in range(times):
                    pipe.write(CAPTURE[24:])
                    while packets.position < count * 81_000 - (1 << 20) and packets.findings == []:
                        time.sleep(0.001)

        while not end:
            time.sleep(0.001)
        writer = threading.Thread(target=write)
        writer.start()
        at, number = [], 0
        for block in packets.blocks():
            at += block.at.tolist()
            number = int(block.number[-1])
            packets.release(number - 100)
        writer.join()
        assert packets.findings == []
        assert number == times * len(FRAMES)
        spool = packets._inputs[0].source
        assert isinstance(spool, Spool)
        stored = os.fstat(spool._descriptor).st_blocks * 512
        assert spool.size() > 15 << 20
        assert stored < 9 << 20
        assert packets.store.read_bytes(at[5000], 200) == bytes(200)
        assert packets.store.read_bytes(at[-3], 200) == PACKETS[-3]
        assert number - 40_000 < packets.first <= number - 100
        ((before, first), *_) = packets.reread_numbered()
        assert before == packets.first - 1
        assert int(first.at[0]) + 54 == at[before]
        assert sum(map(len, packets.reread_records())) == number - before


# ---- files that grow


@pytest.mark.parametrize("step", [1, 7, 270, 4001])
def test_following_a_file_that_grows(tmp_path: Path, step: int) -> None:
    size = 24 + 30 * 270 if step < 100 else len(CAPTURE)
    path = tmp_path / "growing.pcap"
    path.write_bytes(b"")
    with PacketReader([path], follow=True, block=16) as packets:

        def write() -> None:
            with open(path, "ab", buffering=0) as file:
                file.writelines(CAPTURE[start : min(size, start + step)] for start in range(0, size, step))
            packets.stop()

        writer = threading.Thread(target=write)
        writer.start()
        assert [packet.payload for packet in rows(packets)] == PACKETS[: (size - 24) // 270]
        writer.join()
    assert packets.findings == []


def test_a_file_truncated_while_followed_reads_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(CAPTURE)
    with PacketReader([path], follow=True) as packets:
        packets.stop()
        (block,) = packets.blocks()
        source = packets._inputs[0].source
        assert isinstance(source, GrowingFile)
        source.settle()  # what was read last is at hand else
        os.truncate(path, 24 + 270 + 16 + 54 + 3)
        assert packets.store.read_bytes(int(block.at[0]), 200) == PACKETS[0]
        assert packets.store.read_bytes(int(block.at[1]), 200) == PACKETS[1][:3] + bytes(197)
        gathered = packets.store.gather(block.at[[5, 1, 0]], 4)
        assert gathered.tolist() == [[0] * 4, [*PACKETS[1][:3], 0], [*PACKETS[0][:4]]]
