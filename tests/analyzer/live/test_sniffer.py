"""The capturing process: it begins, stops and ends when it is told to, and what the kernel held by then is in files."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import analyzer.live.sniffer as sniffer_module
from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import InterfaceDescription, encode_packet
from analyzer.live import packet_ring, privilege
from analyzer.live.capture_request import CaptureBounds, CaptureRequest
from analyzer.live.channel import (
    ChannelReader,
    ChannelWriter,
    CountMessage,
    FailureMessage,
    FileBegunMessage,
    FileRemovedMessage,
    ReadyMessage,
    RunEndMessage,
    StartCommand,
    StopCommand,
    encode_message,
)
from analyzer.live.interfaces import NetworkInterface
from analyzer.live.sniffer import OF_THE_TERMINAL, Sniffer
from analyzer.live.taps import PacketBatch
from tests.analyzer.capture.writers import T0, segment
from tests.analyzer.live.wires import PATIENCE, Child, asked, frames_in, frames_of, in_own_network, send, shell
from tests.effort import within
from tests.namespaces import privileged
from tests.needs import LIBPCAP

FRAMES = [frame for frame in frames_of("kafka.pcap") if len(frame) <= 20_000]
MANY = [number.to_bytes(4) * 30 for number in range(4000)]
"""More than one batch of anything."""


def captured(path: Path) -> int:
    with PacketReader([path]) as packets:
        list(packets.blocks())
        assert packets.findings == []
        return packets.counts.packets


@privileged
@in_own_network
def test_it_starts_and_stops_at_every_command(tmp_path: Path) -> None:
    """Nonsense between is passed over, so are signals of the terminal, and what comes while it is stopped."""
    with Child(asked("v1")) as child:
        assert child.hear(ReadyMessage).interfaces == ("v1",)
        child.say(b'nonsense\n\xff\xfe\n{"say": "start"}\n' + encode_message(StopCommand()).encode())
        for name in OF_THE_TERMINAL:
            child.process.send_signal(getattr(signal, name))
        for run in range(2):
            path = tmp_path / f"{run}.pcapng"
            child.start(path)
            child.say(StartCommand(str(tmp_path / "another")))
            send(FRAMES)
            assert child.stop() == RunEndMessage(len(FRAMES), 0, path.stat().st_size)
            send(FRAMES[:3])
            assert frames_in(path) == FRAMES
        child.say(StartCommand("/no/such/folder/x"))
        assert child.hear(RunEndMessage).problem == "Cannot write /no/such/folder/x: No such file or directory."
        assert child.end() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.pcapng", "1.pcapng"]
    assert (tmp_path / "0.pcapng").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, None], ids=["terminated", "left alone"])
@privileged
@in_own_network
def test_what_the_ring_stored_at_the_end_is_retained(number: int | None, tmp_path: Path) -> None:
    """The last frames were sent in the moment before, and some were sent all the time."""
    with Child(asked("v1")) as child:
        child.begin(tmp_path / "a")
        send(MANY)
        assert child.end(number) == 0
        stopped = child.hear(RunEndMessage)
    assert (stopped.packets, stopped.dropped, stopped.problem) == (len(MANY), 0, None)
    assert frames_in(tmp_path / "a") == MANY
    assert captured(tmp_path / "a") == len(MANY)


@privileged
@in_own_network
def test_a_killed_one_leaves_a_file_that_opens(tmp_path: Path) -> None:
    with Child(asked("v1")) as child:
        child.begin(tmp_path / "a")
        send(MANY)
        while child.hear(CountMessage).packets < len(MANY):
            pass
        send(MANY)
        assert child.end(signal.SIGKILL) == -signal.SIGKILL
    found = frames_in(tmp_path / "a")
    assert len(found) >= len(MANY)
    assert found == (MANY + MANY)[: len(found)]
    assert captured(tmp_path / "a") == len(found)


@pytest.mark.parametrize("source", ["ring", "scapy"])
@privileged
@in_own_network
def test_a_count_is_exact(source: str, tmp_path: Path) -> None:
    with Child(asked("v1", until=CaptureBounds(packets=2500), ring=CaptureBounds(packets=1000)), source) as child:
        child.begin(tmp_path / "a.pcapng")
        send(MANY)
        assert child.hear(RunEndMessage).packets == 2500
    files = [Path(line.path) for line in child.heard if isinstance(line, FileBegunMessage)]
    assert [frame for path in files for frame in frames_in(path)] == MANY[:2500]
    assert [captured(path) for path in files] == [1000, 1000, 500]


@privileged
@in_own_network
def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    """With a sentence; what the disk holds is whole, and another run may have more room."""
    shell(f"mount -t tmpfs -o size=256k tmpfs {tmp_path}")
    with Child(asked("v1")) as child:
        child.begin(tmp_path / "a")
        send(MANY)
        stopped = child.hear(RunEndMessage)
        # The mount is this thread's and the child's; others see an empty folder.
        found = frames_in(tmp_path / "a")
        assert stopped.problem == (
            f"Cannot write {tmp_path}/a: No space left on device. The {len(found):,} packets before are kept."
        )
        assert stopped.packets == len(found) == captured(tmp_path / "a")
        assert found == MANY[: len(found)]
        assert 500 < len(found) < len(MANY)
        os.unlink(tmp_path / "a")
        child.start(tmp_path / "b")
        send(MANY[:10])
        assert child.stop().packets == 10


@privileged
@in_own_network
def test_interfaces_that_go_one_after_the_other(tmp_path: Path) -> None:
    """The others go on; the last one's end is the end of the run."""
    with Child(asked("lo", "v1")) as child:
        child.begin(tmp_path / "a")
        send(FRAMES[:5])
        shell("ip link del v0")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.bind(("127.0.0.1", 0))
            out.sendto(b"still", out.getsockname())
        while child.hear(CountMessage).packets < 6:  # who took this packet has seen what became of v1
            pass
        shell("ip link set lo down")
        stopped = child.hear(RunEndMessage)
    assert (stopped.packets, stopped.problem) == (6, "v1 is gone. lo is down.")
    assert [frame[-5:] == b"still" for frame in frames_in(tmp_path / "a")] == [False] * 5 + [True]


@privileged
@in_own_network
def test_several_interfaces_are_one_file_by_time(tmp_path: Path) -> None:
    with Child(asked("v0", "v1")) as child:
        assert child.hear(ReadyMessage).interfaces == ("v0", "v1")
        child.start(tmp_path / "a")
        send(MANY)
        assert child.stop().packets == 2 * len(MANY)
    found = frames_in(tmp_path / "a")
    assert sorted(found) == sorted(MANY + MANY)
    with PacketReader([tmp_path / "a"]) as packets:
        times: list[int] = []
        packets._watch = lambda records: times.extend(records.time.tolist())
        list(packets.blocks())
        assert [each.name for each in packets.files[0].interfaces] == ["v0", "v1"]
        assert len(packets.files[0].statistics) == 2
    assert times == sorted(times)
    # A frame goes out at v0 before it comes in at v1, and its second copy comes no earlier than that of the one before.
    seen: set[bytes] = set()
    again = [frame for frame in found if frame in seen or seen.add(frame)]  # type: ignore[func-returns-value]
    assert again == MANY


@privileged
@in_own_network
def test_nobodys_files_go_with_it(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    with Child(asked("v1", ring=CaptureBounds(packets=100, files=2))) as child:
        child.begin(spool / "live", spool=True)
        send(MANY[:450])
        while child.hear(CountMessage).packets < 450:
            pass
        assert len(list(spool.iterdir())) == 1  # the ring is for files that somebody keeps
        assert child.end(signal.SIGTERM) == 0
    assert not spool.exists()


@privileged
@in_own_network
def test_a_ring_keeps_the_newest(tmp_path: Path) -> None:
    with Child(asked("v1", ring=CaptureBounds(packets=100, files=2))) as child:
        child.begin(tmp_path / "live")
        send(MANY[:450])
        assert child.stop().packets == 450
    removed = [Path(line.path) for line in child.heard if isinstance(line, FileRemovedMessage)]
    remaining = [Path(line.path) for line in child.heard if isinstance(line, FileBegunMessage)][3:]
    assert len(removed) == 3
    assert sorted(tmp_path.iterdir()) == remaining
    assert [frame for path in remaining for frame in frames_in(path)] == MANY[300:450]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (asked("none", "v1"), "There is no interface none"),
        pytest.param(
            asked("v1", filter="tcp prt 1"), "-f tcp prt 1: can't parse filter expression: syntax error", marks=LIBPCAP
        ),
    ],
    ids=["interface", "filter"],
)
@privileged
@in_own_network
def test_what_cannot_begin_is_a_sentence(arguments: CaptureRequest, text: str) -> None:
    with Child(arguments) as child:
        failed = child.hear(FailureMessage)
        assert failed.text.startswith(text)
        assert child.process.wait(PATIENCE) == 1


class Endless:
    """A tap that always has more."""

    problem = None
    has_more = True

    def __init__(self) -> None:
        self._zeros = os.open("/dev/zero", os.O_RDONLY)
        frame = segment(b"hello")
        blocks = [encode_packet(0, T0, frame, len(frame))] * 100
        ends = np.arange(1, 101) * len(blocks[0])
        self._taken = PacketBatch(100, int(ends[-1]), T0, b"".join(blocks), ends)
        self._running = False
        self.halted = threading.Event()
        self.description = InterfaceDescription("lo", 1)

    def fileno(self) -> int:
        return self._zeros

    def take(self) -> PacketBatch | None:
        return self._taken if self._running else None

    def counters(self) -> tuple[int, int]:
        return 0, 0

    def begin(self) -> None:
        self._running = True

    def halt(self) -> None:
        self._running = False
        self.halted.set()

    def close(self) -> None:
        os.close(self._zeros)


@pytest.fixture
def pipes() -> Iterator[list[int]]:
    found = [*os.pipe(), *os.pipe(), *os.pipe()]
    yield found
    for each in found:
        os.close(each)


@pytest.mark.parametrize(
    ("until", "least"),
    [(CaptureBounds(seconds=0.1), 100), (CaptureBounds(packets=12_345), 12_345), (CaptureBounds(size=100_000), 500)],
)
def test_bounds_end_a_run_whatever_taps_do(
    until: CaptureBounds, least: int, tmp_path: Path, pipes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without anybody who reads what it says, and with a tap that always has something left."""
    monkeypatch.setattr(sniffer_module, "LAST", 0.1)
    tap = Endless()
    sniffer = Sniffer([tap], CaptureRequest(until=until), ChannelReader(pipes[0]), ChannelWriter(pipes[3]))
    os.write(pipes[1], encode_message(StartCommand(str(tmp_path / "a"))).encode())

    def end() -> None:
        assert tap.halted.wait(PATIENCE)
        sniffer.end()
        os.write(pipes[5], b"x")

    ending = threading.Thread(target=end)
    with within(PATIENCE):  # some 0.1 s
        ending.start()
        sniffer.work(pipes[4])
    ending.join()
    tap.close()
    found = captured(tmp_path / "a")
    assert found >= least
    if until.packets:
        assert found == least
    if until.size:
        assert 99_000 < (tmp_path / "a").stat().st_size <= 100_100


MIB = 1 << 20


@pytest.mark.parametrize(
    ("interfaces", "wanted", "given", "notes"),
    [
        (1, 2047, 2047, ()),
        (16, 128, 128, ()),
        (32, 128, 64, ("Each of 32 interfaces gets a buffer of 64 MiB, not of 128.",)),
        (2, 1500, 1024, ("Each of 2 interfaces gets a buffer of 1024 MiB, not of 1500.",)),
    ],
)
def test_many_interfaces_share_what_all_may_have(
    interfaces: int, wanted: int, given: int, notes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Granting:
        """A ring as large as is asked for."""

        def __init__(self, number: int, name: str, expression: str, snaplen: int, buffer: int, promiscuous: bool):
            self.granted = buffer

    found = [NetworkInterface(f"e{number}", 1, True, False, ()) for number in range(interfaces)]
    monkeypatch.setattr(sniffer_module.sys, "platform", "linux")
    monkeypatch.setattr(sniffer_module, "choose_interfaces", lambda names: found)
    monkeypatch.setattr(packet_ring, "PacketRing", Granting)
    monkeypatch.setattr(privilege, "give_up", lambda user: None)
    taps: list[Any]
    taps, text = sniffer_module.open_taps(CaptureRequest(buffer=wanted * MIB))
    assert [tap.granted for tap in taps] == [given * MIB] * interfaces
    assert tuple(text) == notes
