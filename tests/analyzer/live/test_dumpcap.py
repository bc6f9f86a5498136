"""Packets that dumpcap captures: blocks of a stream however it is cut, and a program that begins and ends as told."""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture.pcapng_format import (
    ORDER,
    InterfaceDescription,
    encode_block,
    encode_header,
    encode_option,
    encode_packet,
    encode_statistics,
)
from analyzer.errors import CaptureError
from analyzer.live import dumpcap as dumpcap_module
from analyzer.live.dumpcap import DumpcapTap, explain_failure
from analyzer.live.relays import BlockRelay, read_header
from analyzer.live.taps import PacketBatch
from tests.waiting import is_over, until

NANOSECOND = 1_700_000_000_123_456_789
FRAMES = [bytes([n]) * (60 + n) for n in range(9)]
PACKETS = [encode_packet(0, NANOSECOND + n, frame, len(frame)) for n, frame in enumerate(FRAMES)]
OURS = [encode_packet(3, NANOSECOND + n, frame, len(frame)) for n, frame in enumerate(FRAMES)]
HEAD = encode_header([InterfaceDescription("lo", 1, 0, "udp")])
PATIENCE = 60.0


def passed(passing: BlockRelay, pieces: list[bytes]) -> list[PacketBatch]:
    data = bytearray()
    found = []
    for piece in pieces:
        data += piece
        taken = passing.take(data)
        if taken is not None:
            found.append(taken)
    assert not data
    return found


@pytest.mark.parametrize("size", [1, 7, 12, 64, 1 << 20])
def test_blocks_of_a_stream_that_is_cut_anywhere(size: int) -> None:
    other = encode_block(4, b"names\0\0\0")
    stream = b"".join([*PACKETS[:4], other, *PACKETS[4:], encode_statistics(0, NANOSECOND, 12, 3)])
    passing = BlockRelay(3, 1)
    found = passed(passing, [stream[at : at + size] for at in range(0, len(stream), size)])
    assert b"".join(bytes(each.blocks) for each in found if isinstance(each.blocks, bytes)) == b"".join(OURS)
    assert [each.size for each in found] == [int(each.ends[-1]) for each in found]
    assert sum(each.packets for each in found) == passing.taken == len(FRAMES)
    assert found[-1].last == NANOSECOND + len(FRAMES) - 1
    assert (passing.received, passing.dropped) == (12, 3)


def test_times_become_nanoseconds() -> None:
    (taken,) = passed(BlockRelay(0, 1000), [encode_packet(0, NANOSECOND // 1000, b"abc", 3)])
    moment = NANOSECOND // 1000 * 1000
    assert (taken.last, taken.blocks) == (moment, encode_packet(0, moment, b"abc", 3))
    assert taken.times is not None
    assert np.array_equal(taken.times, [moment])


def test_what_is_no_pcapng() -> None:
    for kind, length in ((5, 8), (6, 28), (6, 1 << 25)):
        with pytest.raises(ValueError, match=f"a block of {length} bytes"):
            BlockRelay(0, 1).take(bytearray(struct.pack("<II", kind, length)))


def told(stream: bytes) -> tuple[int, int] | None:
    cuts = iter(range(len(stream) + 1))
    place = next(cuts)

    def exactly(size: int) -> bytes:
        nonlocal place
        place, begin = place + size, place
        return stream[begin:place]

    return read_header(exactly)[0]


MICROSECONDS = encode_block(1, struct.pack("<HHI", 276, 0, 0) + encode_option(9, b"\x06") + encode_option(0, b""))


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (HEAD, (1, 1)),
        (HEAD[:28] + MICROSECONDS, (276, 1000)),
        (HEAD[:28] + encode_block(1, struct.pack("<HHI", 113, 0, 0)), (113, 1000)),
        (HEAD[:40], None),
        (HEAD[:28] + PACKETS[0], None),
        (HEAD[:28].replace(struct.pack("<I", ORDER), struct.pack(">I", ORDER)) + MICROSECONDS, None),
        (b"", None),
    ],
)
def test_header(stream: bytes, expected: tuple[int, int] | None) -> None:
    assert told(stream) == expected


INVALID = (
    "Capturing on 'Loopback: lo'\ndumpcap: Invalid capture filter \"tcp prt 1\" for interface 'lo'.\n\n"
    "That string isn't a valid capture filter (can't parse filter expression: syntax error).\nSee the Guide.\n"
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (INVALID, "-f udp: can't parse filter expression: syntax error"),
        (
            'dumpcap: The network adapter "lo" is no longer attached; the capture has stopped.\nPackets captured: 4\n',
            'dumpcap on lo: The network adapter "lo" is no longer attached; the capture has stopped',
        ),
        (
            'dumpcap: You do not have permission to capture on device "lo".\n(socket: Operation not permitted)\n',
            "dumpcap may not capture on lo either. Join its group, or give --via sudo",
        ),
        ("Capturing on 'lo'\nPackets captured: 4\n", "dumpcap on lo: it ended without a message"),
        ("", "dumpcap on lo: it ended without a message"),
    ],
)
def test_what_dumpcap_says_becomes_a_sentence(said: str, expected: str) -> None:
    assert explain_failure(said, "lo", "udp") == expected


@pytest.fixture
def program(tmp_path: Path) -> Iterator[str]:
    """A dumpcap that captures what is in a file, and then what comes until it is told to end."""
    (tmp_path / "head").write_bytes(HEAD)
    (tmp_path / "packets").write_bytes(b"".join(PACKETS))
    (tmp_path / "end").write_bytes(encode_statistics(0, NANOSECOND, 11, 2))
    path = tmp_path / "dumpcap"
    path.write_text(
        f"#!/bin/sh\ncd {tmp_path}; echo $$ >pid; echo \"$@\" >arguments\n"
        "trap 'kill $!; cat end; exit 0' TERM\n"
        "test -e refuses && { echo 'dumpcap: There is no such thing.' >&2; exit 1; }\n"
        "cat head packets\ntest -e dies && { echo 'dumpcap: It broke.' >&2; exit 1; }\nsleep 60 & wait\n"
    )  # fmt: skip
    path.chmod(0o755)
    yield str(path)
    if (tmp_path / "pid").exists():
        until("its end", partial(is_over, int((tmp_path / "pid").read_text())))


def taken(tap: DumpcapTap, most: float = math.inf) -> int:
    """Packets until there are `most`, or dumpcap has ended."""
    packets, end = 0, time.monotonic() + PATIENCE
    while packets < most and tap.has_more:
        assert select.select([tap], [], [], max(end - time.monotonic(), 0))[0], f"only {packets} came"
        found = tap.take()
        packets += found.packets if found is not None else 0
    return packets


def test_it_begins_and_ends_on_command(program: str) -> None:
    with closing(DumpcapTap(2, "lo", "udp", 96, 3 << 20, False, program)) as tap:
        arguments = (Path(program).parent / "arguments").read_text().split()
        assert arguments == ["-q", "-n", "-i", "lo", "-B", "3", "-f", "udp", "-s", "96", "-p", "-w", "-"]
        assert tap.description == InterfaceDescription("lo", 1, 96, "udp")
        assert (tap.has_more, tap.problem, tap.take()) == (False, None, None)
        for _ in range(2):
            tap.begin()
            assert taken(tap, len(FRAMES)) == len(FRAMES)
            assert (tap.counters(), tap.has_more) == ((9, 0), True)
            tap.halt()
            assert taken(tap) == 0
            assert (tap.counters(), tap.has_more, tap.problem) == ((11, 2), False, None)


def test_what_came_before_a_beginning_is_thrown_away(program: str) -> None:
    with closing(DumpcapTap(0, "lo", program=program)) as tap:
        tap.begin()
        tap.halt()
        tap.begin()
        assert taken(tap, len(FRAMES)) == len(FRAMES)


def test_it_ends_by_itself(program: str) -> None:
    with closing(DumpcapTap(0, "lo", program=program)) as tap:
        (Path(program).parent / "dies").touch()
        tap.begin()
        assert taken(tap, len(FRAMES)) == len(FRAMES)
        taken(tap)
        assert tap.problem == "dumpcap on lo: It broke"
        (Path(program).parent / "dies").unlink()
        tap.begin()
        assert (taken(tap, len(FRAMES)), tap.problem) == (len(FRAMES), None)


def test_it_does_not_begin(program: str, tmp_path: Path) -> None:
    (tmp_path / "refuses").touch()
    with pytest.raises(CaptureError, match="dumpcap on lo: There is no such thing"):
        DumpcapTap(0, "lo", program=program)
    (tmp_path / "refuses").unlink()
    with closing(DumpcapTap(0, "lo", program=program)) as tap:
        (tmp_path / "refuses").touch()
        with pytest.raises(CaptureError, match="There is no such thing"):
            tap.begin()
        (tmp_path / "refuses").unlink()
        tap.begin()
        assert taken(tap, len(FRAMES)) == len(FRAMES)


def test_what_a_program_says_is_bounded() -> None:
    script = 'printf "$1"; head -c 20000000 /dev/zero >&2; exec sleep 60'
    pcap = "".join(f"\\{byte:03o}" for byte in struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    with closing(DumpcapTap(0, "lo", command=["/bin/sh", "-c", script, "sh", pcap])) as tap:
        assert os.fstat(tap._errors.fileno()).st_size <= 8 << 20
        assert tap.description.link == 1


def test_there_is_none() -> None:
    with pytest.raises(CaptureError, match="dumpcap on lo: "):
        DumpcapTap(0, "lo", program="/no/such/dumpcap")


def test_it_ends_with_whoever_started_it(program: str, tmp_path: Path) -> None:
    """Killed, so that nothing could be said."""
    script = (
        "import sys, time\nfrom analyzer.live.dumpcap import DumpcapTap\n"
        f"tap = DumpcapTap(0, 'lo', program={program!r}); tap.begin(); print('begun', flush=True); time.sleep(60)\n"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        pid = int((tmp_path / "pid").read_text())
        assert not is_over(pid)
        process.kill()
    until("its end", partial(is_over, pid))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux who was started by whom")
def test_it_ends_by_force_where_its_starter_was_hurt(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed is what waits for the word to end dumpcap."""
    monkeypatch.setattr(dumpcap_module, "TO_END", 0.2)
    tap = DumpcapTap(0, "lo", program=program)
    tap.begin()
    running = int((tmp_path / "pid").read_text())
    starter = tap._starter.pid
    children = map(int, Path(f"/proc/{starter}/task/{starter}/children").read_text().split())
    (waiting,) = (each for each in children if each != running)
    os.kill(waiting, signal.SIGKILL)
    tap.close()
    until("its end", partial(is_over, running))
