"""Takes packets from dumpcap, for a user who may not capture but may run dumpcap.

Theory. dumpcap writes pcapng to a pipe: a section, an interface, packet blocks, and at the end its counters. Packet
blocks are passed on unchanged, except for the number of the interface and times that are not in nanoseconds.

dumpcap has its right from its file (a set-user-id bit, or capabilities). The kernel gives nothing of that to programs
that a process with no_new_privs starts, and the capturing process has no_new_privs as soon as it is ready. So it starts
a small shell script before. The script starts dumpcap when it reads a line, ends it at the next line, and says when it
has ended. However the capturing process ends, the pipe ends too, and dumpcap with it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from analyzer.capture.pcapng_format import (
    ENHANCED,
    INTERFACE,
    INTERFACE_RESOLUTION,
    ORDER,
    SECTION,
    STATISTICS,
    STATISTICS_DROPPED,
    STATISTICS_RECEIVED,
    InterfaceDescription,
)
from analyzer.errors import CaptureError
from analyzer.live.taps import PacketBatch

DUMPCAP = "dumpcap"

SCRIPT = """
mark=$1; shift
exec 4<&0
while read -r line; do
  "$@" </dev/null 4<&- &
  running=$!
  { read -r line; kill -TERM "$running"; } <&4 2>/dev/null &
  wait "$running"
  printf %s "$mark"
  wait
done
"""

READ = 1 << 20
"""Bytes read at once, and bytes of the pipe."""

PATIENCE = 10.0
"""Seconds that dumpcap gets to begin or to end."""

TO_END = 2.0
"""Seconds that it gets at the very end; the analyzer waits longer than that."""

MIB = 1 << 20
REFUSED = "Join its group, or give --via sudo"
REASON = re.compile(r"\((.*)\)")


class DumpcapTap:
    """Taps an interface through dumpcap.

    number: of the interface in the file. snaplen: 0 keeps whole packets. buffer: bytes that the kernel holds for it.
    Its counters know dropped packets only when a run has ended. Raises CaptureError with a sentence for the user.
    """

    def __init__(
        self,
        number: int,
        interface: str,
        expression: str = "",
        snaplen: int = 0,
        buffer: int = 2 * MIB,
        promiscuous: bool = True,
        program: str = DUMPCAP,
    ) -> None:
        self._number, self._name, self._expression, self._snaplen = number, interface, expression, snaplen
        self._mark = secrets.token_hex(16).encode()
        command = [program, "-q", "-n", "-i", interface, "-B", str(max(buffer // MIB, 1))]
        command += [*(["-f", expression] if expression else []), *(["-s", str(snaplen)] if snaplen else [])]
        command += [*([] if promiscuous else ["-p"]), "-w", "-"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._starter = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "sh", self._mark.decode(), *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0, process_group=0,
        )  # fmt: skip
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        self._stdin, self._stdout = self._starter.stdin, self._starter.stdout
        self._pipe = self._stdout.fileno()
        _enlarge(self._pipe)
        os.set_blocking(self._pipe, False)
        self._rest = bytearray()
        self._link = 0
        self._passing = BlockRelay(number, 1)
        self._running = self._is_ending = False
        self._problem: str | None = None
        self._error_offset = 0
        try:
            self.begin()
            self.halt()
            self._drain()
        except BaseException:
            self.close()
            raise

    @property
    def description(self) -> InterfaceDescription:
        """Description of the interface in the file."""
        return InterfaceDescription(self._name, self._link, self._snaplen, self._expression)

    @property
    def problem(self) -> str | None:
        """Why no more packets will come, as a sentence, else None."""
        return self._problem

    @property
    def has_more(self) -> bool:
        """Whether dumpcap has not ended yet."""
        return self._running

    def fileno(self) -> int:
        """Returns a descriptor to poll for reading."""
        return self._pipe

    def take(self) -> PacketBatch | None:
        """Returns the packets at hand, or None; never waits."""
        if not self._running or not self._read_pipe():
            return None
        try:
            return self._passing.take(self._rest)
        except ValueError as error:
            self._rest.clear()
            self.halt()
            self._problem = f"The output of dumpcap for {self._name} is not pcapng: {error}"
            return None

    def counters(self) -> tuple[int, int]:
        """Returns packets received and dropped, as dumpcap reports at its end; before that, the packets taken."""
        dropped = self._passing.dropped  # dumpcap does not count them as received
        return max(self._passing.received, self._passing.taken + dropped), dropped

    def begin(self) -> None:
        """Starts dumpcap, and waits until it captures. Raises CaptureError."""
        self._drain()
        self._problem, self._running, self._is_ending = None, True, False
        self._error_offset = os.fstat(self._errors.fileno()).st_size
        self._tell()
        until = time.monotonic() + PATIENCE
        found, rest = read_header(lambda size: self._exactly(size, until))
        if found is None:
            self._rest += rest
            self.halt()
            self._drain()
            raise CaptureError(self._reason())
        self._link, unit = found
        self._passing = BlockRelay(self._number, unit)

    def halt(self) -> None:
        """Asks dumpcap to stop capturing and to end; does nothing if that was asked before."""
        if self._running and not self._is_ending:
            self._is_ending = True
            self._tell()

    def close(self) -> None:
        """Ends dumpcap and its starter.

        They end with the pipe, or by force if one of them was killed or hangs.
        """
        self._stdin.close()
        self._stdout.close()
        try:
            self._starter.wait(TO_END)
        except subprocess.TimeoutExpired:
            with suppress(OSError):  # we may not kill dumpcap, or it has ended
                os.killpg(self._starter.pid, signal.SIGKILL)
            self._starter.wait()
        self._errors.close()

    def _tell(self) -> None:
        """Makes the starter do the next step. Raises CaptureError if it has ended."""
        try:
            self._stdin.write(b"\n")
        except BrokenPipeError:
            self._running = False
            raise CaptureError("The process that starts dumpcap has ended. Start the capture again.") from None

    def _read_pipe(self) -> bool:
        """Reads what is there and notes the end of a run; returns False if nothing was there."""
        try:
            data = os.read(self._pipe, READ)
        except BlockingIOError:
            return False
        self._rest += data
        if not data or self._rest.endswith(self._mark):
            self._end()
        return True

    def _end(self) -> None:
        """Notes the end of a run, and its reason if nobody asked for it."""
        self._running = False
        if self._rest.endswith(self._mark):
            del self._rest[-len(self._mark) :]
        if not self._is_ending:
            self._is_ending = True
            self._problem = self._reason()
            with suppress(OSError):  # the starter needs this line before it can begin again
                self._stdin.write(b"\n")

    def _drain(self) -> None:
        """Drops all bytes until dumpcap has ended. Raises CaptureError if it does not end."""
        end = time.monotonic() + PATIENCE
        while self._running:
            if not select.select([self._pipe], [], [], max(end - time.monotonic(), 0))[0]:
                raise CaptureError(f"dumpcap does not stop capturing on {self._name}. Start the capture again.")
            self._read_pipe()
            self._rest = self._rest[-len(self._mark) :]
        self._rest.clear()

    def _exactly(self, size: int, until: float) -> bytes:
        """Reads so many bytes of the pipe, or fewer at its end or if no more came in time."""
        data = b""
        while len(data) < size and select.select([self._pipe], [], [], max(until - time.monotonic(), 0))[0]:
            more = os.read(self._pipe, size - len(data))
            if not more:
                break
            data += more
        return data

    def _reason(self) -> str:
        """Returns why dumpcap has ended, by its words on standard error."""
        self._errors.seek(self._error_offset)
        return explain_failure(self._errors.read().decode(errors="replace"), self._name, self._expression)


def explain_failure(output: str, interface: str, expression: str) -> str:
    """Returns dumpcap's error message as one sentence, without what the user knows already."""
    _, found, text = output.rpartition("dumpcap: ")
    line = text.partition("\n")[0].strip().rstrip(".") if found else ""
    if line.startswith("Invalid capture filter"):
        reason = REASON.search(text)
        return f"-f {expression}: {reason[1] if reason else 'this is not a capture filter'}"
    if "permission" in line.lower():
        return f"dumpcap may not capture on {interface} either. {REFUSED}"
    return f"dumpcap on {interface}: {line or 'it ended without a message'}"


def _enlarge(pipe: int) -> None:
    """Enlarges a pipe, where the system allows it."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # the pipes of a user have a common limit
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, READ)


HEAD, SHORTEST = 8, 12
"""Bytes of a block's type and length, and of the shortest block."""

NUMBER_AT, TIME_AT = 8, 12
"""Offsets in a packet block of the interface number and of the time."""

HEADS, TIMES, NUMBERS = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<I")
NANOSECONDS, MICROSECONDS = 9, b"\x06"


class BlockRelay:
    """Passes on the packet blocks of one run.

    number: of the interface in our file. unit: nanoseconds per tick of dumpcap's clock. taken: packets passed on;
    received, dropped: the counters at the end.
    """

    def __init__(self, number: int, unit: int) -> None:
        self._number, self._unit = number, unit
        self.taken = self.received = self.dropped = 0

    def take(self, data: bytearray) -> PacketBatch | None:
        """Removes the whole blocks at the front of `data`, and returns their packets.

        Raises ValueError for what is no pcapng.
        """
        at = size = 0
        parts: list[tuple[int, int]] = []
        ends: list[int] = []
        times: list[int] = []
        while at + HEAD <= len(data):
            kind, length = HEADS.unpack_from(data, at)
            if length < SHORTEST:
                raise ValueError(f"a block of {length} bytes")
            if at + length > len(data):
                break
            if kind == ENHANCED:
                times.append(self._renumber(data, at))
                parts.append((at, at + length))
                size += length
                ends.append(size)
            elif kind == STATISTICS:
                self._note(bytes(data[at : at + length]))
            at += length
        blocks = _concatenate(data, parts)
        del data[:at]
        self.taken += len(parts)
        return PacketBatch(len(parts), size, times[-1], blocks, ends, np.array(times, np.int64)) if parts else None

    def _renumber(self, data: bytearray, at: int) -> int:
        """Sets the interface number and the time of a packet; returns the time in ns."""
        high, low = TIMES.unpack_from(data, at + TIME_AT)
        moment: int = (high << 32 | low) * self._unit
        TIMES.pack_into(data, at + TIME_AT, moment >> 32, moment & 0xFFFFFFFF)
        NUMBERS.pack_into(data, at + NUMBER_AT, self._number)
        return moment

    def _note(self, block: bytes) -> None:
        found = dict(_options(block[20:-4]))
        self.received = int.from_bytes(found.get(STATISTICS_RECEIVED, b""), "little")
        self.dropped = int.from_bytes(found.get(STATISTICS_DROPPED, b""), "little")


def read_header(exactly: Callable[[int], bytes]) -> tuple[tuple[int, int] | None, bytes]:
    """Reads the section and the interface at the front: ((LINKTYPE, nanoseconds per tick), b"").

    exactly: reads so many bytes, or fewer if there are no more. Returns (None, bytes read last) for anything else.
    """
    block = b""
    for kind in (SECTION, INTERFACE):
        head = exactly(HEAD)
        found, size = HEADS.unpack(head) if len(head) == HEAD else (None, 0)
        if found != kind:
            return None, head
        block = head + exactly(size - HEAD)
        if len(block) < size or (kind == SECTION and block[HEAD : HEAD + 4] != struct.pack("<I", ORDER)):
            return None, block
    resolution = dict(_options(block[16:-4])).get(INTERFACE_RESOLUTION, MICROSECONDS)[0]
    return (int.from_bytes(block[HEAD : HEAD + 2], "little"), 10 ** max(NANOSECONDS - resolution, 0)), b""


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the whole options of a block."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _concatenate(data: bytearray, parts: list[tuple[int, int]]) -> bytes:
    """Returns parts of `data`, which are in order and mostly adjacent."""
    pieces: list[tuple[int, int]] = []
    for begin, end in parts:
        if pieces and pieces[-1][1] == begin:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((begin, end))
    view = memoryview(data)
    joined = b"".join(view[begin:end] for begin, end in pieces)
    view.release()
    return joined
