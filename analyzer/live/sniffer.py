"""The capturing process: interfaces in, pcapng files out. It decodes nothing.

Theory. Capturing needs a privilege and must not wait; decoding needs no privilege and may wait. So they are two
processes that share a file: this one writes it, the other follows it. channel.py defines the messages between them.

The process gives up the privilege as soon as interfaces are open, before it touches a file or reads a line of input.
Then one loop waits for a tap, standard input, a signal or a time. The process ends when its standard input ends, so it
never outlives its parent, and at SIGTERM. It ignores signals of the terminal. In both cases it first writes the packets
that the kernel holds.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Literal, get_args

from analyzer.errors import CaptureError
from analyzer.live.capture_request import AUTO, CaptureRequest
from analyzer.live.capture_run import CaptureRun
from analyzer.live.channel import (
    ChannelReader,
    ChannelWriter,
    FailureMessage,
    ReadyMessage,
    RunEndMessage,
    StartCommand,
    StopCommand,
)
from analyzer.live.interfaces import ANY, choose_interfaces
from analyzer.live.namespaces import NetworkNamespace, enter_namespace, find_namespaces, list_listening_ports
from analyzer.live.taps import Tap

if TYPE_CHECKING:
    from analyzer.live.packet_ring import PacketRing

PATIENCE = 1.0
"""Seconds to send the last messages if nobody reads them."""

LAST = 2.0
"""Seconds for the kernel to hand over the packets that it holds; it takes some hundredths of a second."""

AT_ONCE = 8
"""Batches of one tap before the next tap."""

OF_THE_TERMINAL = ("SIGINT", "SIGQUIT", "SIGTSTP", "SIGHUP")


class Sniffer:
    """Starts and stops capturing on command, until its standard input ends or the command `end` comes."""

    def __init__(
        self, taps: Sequence[Tap], request: CaptureRequest, reader: ChannelReader, writer: ChannelWriter
    ) -> None:
        self._taps, self._request, self._reader, self._writer = taps, request, reader, writer
        self._run: CaptureRun | None = None
        self._ended = False
        self._spool: list[str] = []
        self._poll = select.poll()
        self._poll.register(reader, select.POLLIN)

    def end(self, *_: int | FrameType | None) -> None:
        """Makes work() end after the packets at hand; a signal handler."""
        self._ended = True

    def work(self, awake: int) -> None:
        """Runs until the end. awake: a descriptor that becomes readable at a signal."""
        self._poll.register(awake, select.POLLIN)
        while not self._ended:
            ready = self._wait()
            if awake in ready:
                os.read(awake, 1)
            if self._reader.fileno() in ready:
                self._hear()
            if self._run is not None:
                self._turn(self._run, ready)
        if self._run is not None:
            self._stop(self._run)
        self._remove_spool()

    def _wait(self) -> set[int]:
        """Waits until a descriptor is ready or the run has something to do; returns the ready ones."""
        if self._writer.waiting:
            self._poll.register(self._writer, select.POLLOUT)
        deadline = self._run.deadline if self._run is not None else None
        # Rounded up, because a wait that is slightly short would be repeated.
        wait = None if deadline is None else max(int((deadline - time.monotonic()) * 1000) + 1, 0)
        ready = {found for found, _ in self._poll.poll(wait)}
        if self._writer.waiting:
            self._poll.unregister(self._writer)
            self._writer.flush()
        return ready

    def _hear(self) -> None:
        for line in self._reader.lines():
            if isinstance(line, StartCommand) and self._run is None:
                self._start(line)
            elif isinstance(line, StopCommand) and self._run is not None:
                self._stop(self._run)
        self._ended |= self._reader.ended

    def _start(self, line: StartCommand) -> None:
        try:
            run = CaptureRun(line.path, self._taps, self._request, self._writer, self._spool if line.spool else None)
        except CaptureError as error:
            self._writer(RunEndMessage(0, 0, 0, str(error)))
            return
        for tap in self._taps:
            self._poll.register(tap, select.POLLIN)
        self._run = run
        if run.is_over:
            self._stop(run)

    def _turn(self, run: CaptureRun, ready: set[int]) -> None:
        """Takes packets and does the work that is due; ends the run if it is over."""
        try:
            for tap in [tap for tap in run.taps if tap.fileno() in ready]:
                for _ in range(AT_ONCE):
                    if run.is_over or not run.take(tap):
                        break
                if tap.problem is not None:
                    self._poll.unregister(tap)
                    run.drop_tap(tap)
            run.tick(time.monotonic())
        except CaptureError as error:
            self._finish(run, str(error))
            return
        if run.is_over or not run.taps:
            self._stop(run)

    def _stop(self, run: CaptureRun) -> None:
        """Writes the packets that the kernel holds now, and ends the run."""
        run.halt()
        end = time.monotonic() + LAST
        try:
            while run.take_rest() and time.monotonic() < end:
                select.select(run.taps, [], [], 0.005)
            run.finish()
        except CaptureError as error:
            self._finish(run, str(error))
            return
        self._finish(run, run.problem)

    def _finish(self, run: CaptureRun, problem: str | None) -> None:
        run.halt()
        for tap in run.taps:
            self._poll.unregister(tap)
        self._writer(run.make_end_message(problem))
        self._run = None

    def _remove_spool(self) -> None:
        """Removes temporary files that still have names."""
        for path in self._spool:
            with suppress(OSError):
                os.unlink(path)
        for folder in {os.path.dirname(path) for path in self._spool}:
            with suppress(OSError):
                os.rmdir(folder)


def main(arguments: Sequence[str]) -> int:
    """Runs the process; returns an exit status.

    arguments: a CaptureRequest as JSON and, optionally, where packets come from (see open_taps).
    """
    for name in OF_THE_TERMINAL:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    writer = ChannelWriter(sys.stdout.fileno())
    try:
        taps, notes = open_taps(CaptureRequest.from_json(arguments[0]), *arguments[1:])
    except CaptureError as error:
        return _fail(writer, str(error))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return _fail(writer, f"The capturing process cannot read its request: {error}.")
    return _sniff(CaptureRequest.from_json(arguments[0]), taps, notes, writer)


def _sniff(request: CaptureRequest, taps: Sequence[Tap], notes: Sequence[str], writer: ChannelWriter) -> int:
    sniffer = Sniffer(taps, request, ChannelReader(sys.stdin.fileno()), writer)
    awake, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, sniffer.end)
    writer(ReadyMessage(tuple(tap.description.name for tap in taps), tuple(notes)))
    sniffer.work(awake)
    for tap in taps:
        tap.close()
    writer.finish(PATIENCE)
    return 0


def _fail(writer: ChannelWriter, text: str) -> int:
    writer(FailureMessage(text))
    writer.finish(PATIENCE)
    return 1


TOGETHER = 2 << 30
"""Bytes of the buffers of all interfaces together: the kernel cannot take that memory back."""

Source = Literal["ring", "scapy", "dumpcap"]


def open_taps(request: CaptureRequest, source: str = "ring") -> tuple[list[Tap], list[str]]:
    """Opens the taps of a capture and gives up the privilege; returns them, and sentences for the user.

    source: `ring` (Linux), `scapy` (also where there is no ring) or `dumpcap`. Raises CaptureError.
    """
    from analyzer.live.privilege import give_up

    if source not in get_args(Source):
        raise CaptureError(f"Packets come from {', '.join(get_args(Source))}, not from {source}.")
    notes: list[str] = []
    taps: list[Tap] = []
    if not request.is_remote:
        namespaces = find_namespaces(request.netns, request.containers)
        for namespace in namespaces or (None,):
            taps += _open_namespace(request, source, len(taps), namespace, notes)
    taps += _open_remote(request, len(taps))
    if not taps:
        raise CaptureError("No interface is up. wireanalyze interfaces lists them.")
    give_up(request.user)
    return taps, notes


def _open_namespace(
    request: CaptureRequest, source: str, first: int, namespace: NetworkNamespace | None, notes: list[str]
) -> list[Tap]:
    """Opens the taps of one namespace (None: our own); `first` is the number of the first one in the file."""
    if namespace is None:
        return _open_local(_choose_filter(request, notes), source, first, notes)
    if not sys.platform.startswith("linux"):
        raise CaptureError("--netns and --container are for Linux. Leave them out.")
    if source != "ring":
        raise CaptureError("--netns and --container do not work with dumpcap. Give --via sudo.")
    with enter_namespace(namespace):
        rings = _open_rings(_choose_filter(request, notes, f"{namespace.name}: "), first, notes)
    for ring in rings:
        ring.rename(f"{ring.description.name}@{namespace.name}")
    return [*rings]


def _choose_filter(request: CaptureRequest, notes: list[str], where: str = "") -> CaptureRequest:
    """Returns the request with a filter for `auto`: the known ports that processes listen on in this namespace."""
    if request.filter != AUTO:
        return request
    ports = sorted(list_listening_ports() & set(request.ports))
    if not ports:
        raise CaptureError(f"{where}-f auto: No server of a known protocol listens here. Give -f 'tcp port N'.")
    notes.append(f"{where}-f auto captures the ports {', '.join(map(str, ports))}, on which servers listen here.")
    return replace(request, filter=" or ".join(f"tcp port {port}" for port in ports))


def _open_local(request: CaptureRequest, source: str, first: int, notes: list[str]) -> list[Tap]:
    if source == "dumpcap":
        return _open_dumpcaps(request, first)  # before give_up(), after which the kernel denies dumpcap its right
    if source == "ring" and sys.platform.startswith("linux"):
        return [*_open_rings(request, first, notes)]
    return _open_sockets(request, first)


def _open_rings(request: CaptureRequest, first: int, notes: list[str]) -> list[PacketRing]:
    from analyzer.live.packet_ring import PacketRing

    taps: list[PacketRing] = []
    found = choose_interfaces(request.local)
    buffer = min(request.buffer, TOGETHER // max(len(found), 1))
    if buffer < request.buffer:
        notes.append(
            f"Each of {len(found)} interfaces gets a buffer of {buffer >> 20} MiB, not of {request.buffer >> 20}."
        )
    for number, each in enumerate(found, first):
        name = None if each.name == ANY else each.name
        tap = PacketRing(number, name, request.filter, request.snaplen, buffer, request.promiscuous)
        taps.append(tap)
        if tap.granted < buffer >> 20 << 20:
            notes.append(f"{each.name}: The kernel gave a buffer of {tap.granted >> 20} MiB, not of {buffer >> 20}.")
    return taps


def _open_sockets(request: CaptureRequest, first: int) -> list[Tap]:
    from analyzer.live.scapy_tap import ScapyTap

    return [
        ScapyTap(number, each, request.filter, request.snaplen, request.buffer, request.promiscuous)
        for number, each in enumerate(choose_interfaces(request.local), first)
    ]


def _open_dumpcaps(request: CaptureRequest, first: int) -> list[Tap]:
    from analyzer.live.dumpcap import DumpcapTap

    return [
        DumpcapTap(number, each.name, request.filter, request.snaplen, request.buffer, request.promiscuous)
        for number, each in enumerate(choose_interfaces(request.local), first)
    ]


def _open_remote(request: CaptureRequest, first: int) -> list[Tap]:
    """Starts the programs on other machines; before give_up(), because ssh is the user's."""
    if not request.remote:
        return []
    from analyzer.live.ssh import SshTap

    if request.filter == AUTO:
        raise CaptureError("-f auto knows the servers of this machine only. Give -f 'tcp port N' for ssh://.")
    return [
        SshTap(number, uri, request.filter, request.snaplen, request.promiscuous)
        for number, uri in enumerate(request.remote, first)
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
