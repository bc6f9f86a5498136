"""Packets from dumpcap, for a capturing process that has no right to capture where dumpcap has it.

Theory. dumpcap writes pcapng to a pipe: a section, an interface, packet blocks, and at the end its counters. The packet
blocks are passed on as they are, but for the number of the interface, which is one of our file.

dumpcap has its right from its file (a set-user-id bit, or capabilities), and the kernel gives nothing of that to
programs which a process starts that has no_new_privs, as ours has as soon as it is ready. So a small shell script is
started before, and starts dumpcap whenever it reads a line, ends it at the next one, and says when it has ended. A line
can't come from somebody who is gone, but the end of the pipe does: so however we end, dumpcap ends with us.
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
    INTERFACE,
    OPTION_DROPPED,
    OPTION_RECEIVED,
    OPTION_RESOLUTION,
    ORDER,
    PACKET,
    SECTION,
    STATISTICS,
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
"""Bytes at once, and of the pipe."""

PATIENCE = 10.0
"""Seconds that dumpcap gets to begin or to end."""

TO_END = 2.0
"""Seconds that it gets at the very end, which is less than who waits for us has patience."""

MIB = 1 << 20
REFUSED = "join its group, or say --via sudo"
REASON = re.compile(r"\((.*)\)")


class DumpcapTap:
    """A Tap on an interface that dumpcap captures on.

    number: of the interface in the file. snaplen: 0 is all of a packet. buffer: bytes that the kernel keeps for it. Its
    counters tell of what was dropped when a run has ended, not before. Raises CaptureError, with a sentence for the
    user, where dumpcap can't capture there.
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
        self._running = self._asked_to_end = False
        self._problem: str | None = None
        self._said = 0
        try:
            self.begin()
            self.halt()
            self._drain()
        except BaseException:
            self.close()
            raise

    @property
    def description(self) -> InterfaceDescription:
        """See Tap."""
        return InterfaceDescription(self._name, self._link, self._snaplen, self._expression)

    @property
    def problem(self) -> str | None:
        """See Tap."""
        return self._problem

    @property
    def has_more(self) -> bool:
        """See Tap: until dumpcap has ended."""
        return self._running

    def fileno(self) -> int:
        """See Tap."""
        return self._pipe

    def take(self) -> PacketBatch | None:
        """See Tap."""
        if not self._running or not self._read_pipe():
            return None
        try:
            return self._passing.take(self._rest)
        except ValueError as error:
            self._rest.clear()
            self.halt()
            self._problem = f"what dumpcap writes of {self._name} is no pcapng: {error}"
            return None

    def counters(self) -> tuple[int, int]:
        """See Tap; what dumpcap said at its end, and until then what was taken."""
        dropped = self._passing.dropped  # which it does not count as received
        return max(self._passing.received, self._passing.taken + dropped), dropped

    def begin(self) -> None:
        """See Tap. Waits until dumpcap captures; raises CaptureError where it does not."""
        self._drain()
        self._problem, self._running, self._asked_to_end = None, True, False
        self._said = os.fstat(self._errors.fileno()).st_size
        self._tell()
        until = time.monotonic() + PATIENCE
        told, rest = read_header(lambda size: self._exactly(size, until))
        if told is None:
            self._rest += rest
            self.halt()
            self._drain()
            raise CaptureError(self._reason())
        self._link, unit = told
        self._passing = BlockRelay(self._number, unit)

    def halt(self) -> None:
        """See Tap."""
        if self._running and not self._asked_to_end:
            self._asked_to_end = True
            self._tell()

    def close(self) -> None:
        """See Tap. dumpcap and its starter end with the pipe that leads to them, or, where one of them was killed or
        hangs, by force.
        """
        self._stdin.close()
        self._stdout.close()
        try:
            self._starter.wait(TO_END)
        except subprocess.TimeoutExpired:
            with suppress(OSError):  # dumpcap is not ours to kill, or not any more
                os.killpg(self._starter.pid, signal.SIGKILL)
            self._starter.wait()
        self._errors.close()

    def _tell(self) -> None:
        """Has the starter do the next thing. Raises CaptureError where it is not there any more."""
        try:
            self._stdin.write(b"\n")
        except BrokenPipeError:
            self._running = False
            raise CaptureError("what starts dumpcap has ended: start anew") from None

    def _read_pipe(self) -> bool:
        """Reads what is there; False where that is nothing. Sees whether it is the end of a run."""
        try:
            data = os.read(self._pipe, READ)
        except BlockingIOError:
            return False
        self._rest += data
        if not data or self._rest.endswith(self._mark):
            self._end()
        return True

    def _end(self) -> None:
        """The run is over. Who did not ask for that wants to know why."""
        self._running = False
        if self._rest.endswith(self._mark):
            del self._rest[-len(self._mark) :]
        if not self._asked_to_end:
            self._asked_to_end = True
            self._problem = self._reason()
            with suppress(OSError):  # the starter waits for this line, too, before it can begin again
                self._stdin.write(b"\n")

    def _drain(self) -> None:
        """Throws away what comes until dumpcap has ended. Raises CaptureError where it does not end."""
        end = time.monotonic() + PATIENCE
        while self._running:
            if not select.select([self._pipe], [], [], max(end - time.monotonic(), 0))[0]:
                raise CaptureError(f"dumpcap does not stop capturing on {self._name}: start anew")
            self._read_pipe()
            self._rest = self._rest[-len(self._mark) :]
        self._rest.clear()

    def _exactly(self, size: int, until: float) -> bytes:
        """So many bytes of the pipe; fewer where no more came in time, or at its end."""
        data = b""
        while len(data) < size and select.select([self._pipe], [], [], max(until - time.monotonic(), 0))[0]:
            more = os.read(self._pipe, size - len(data))
            if not more:
                break
            data += more
        return data

    def _reason(self) -> str:
        """Why dumpcap has ended, of what it says on standard error: a sentence."""
        self._errors.seek(self._said)
        return explain_failure(self._errors.read().decode(errors="replace"), self._name, self._expression)


def explain_failure(said: str, interface: str, expression: str) -> str:
    """What dumpcap says of a failure, in one sentence, without what the user knows or what is meant for others."""
    _, found, text = said.rpartition("dumpcap: ")
    line = text.partition("\n")[0].strip().rstrip(".") if found else ""
    if line.startswith("Invalid capture filter"):
        reason = REASON.search(text)
        return f"-f {expression}: {reason[1] if reason else 'it is no capture filter'}"
    if "permission" in line.lower():
        return f"dumpcap may not capture on {interface} either: {REFUSED}"
    return f"dumpcap on {interface}: {line or 'it ended and did not say why'}"


def _enlarge(pipe: int) -> None:
    """A pipe that holds more, where the system has such."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # pipes of one user may hold only so much together
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, READ)


HEAD, SHORTEST = 8, 12
"""Bytes of a block's type and length, and of the shortest block."""

NUMBER_AT, TIME_AT = 8, 12
"""Bytes of a packet block before the number of its interface and before its time."""

HEADS, TIMES, NUMBERS = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<I")
NANOSECONDS, MICROSECONDS = 9, b"\x06"


class BlockRelay:
    """One run's blocks. number: of the interface in our file. unit: nanoseconds of which dumpcap counts time.

    taken: packets that were passed on; received, dropped: what dumpcap says at the end of its interface.
    """

    def __init__(self, number: int, unit: int) -> None:
        self._number, self._unit = number, unit
        self.taken = self.received = self.dropped = 0

    def take(self, data: bytearray) -> PacketBatch | None:
        """Takes the whole blocks at the beginning of `data`, of which the packets are given.

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
            if kind == PACKET:
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
        """Gives a packet the number of its interface, and its time in ns, which is returned."""
        high, low = TIMES.unpack_from(data, at + TIME_AT)
        moment: int = (high << 32 | low) * self._unit
        TIMES.pack_into(data, at + TIME_AT, moment >> 32, moment & 0xFFFFFFFF)
        NUMBERS.pack_into(data, at + NUMBER_AT, self._number)
        return moment

    def _note(self, block: bytes) -> None:
        found = dict(_options(block[20:-4]))
        self.received = int.from_bytes(found.get(OPTION_RECEIVED, b""), "little")
        self.dropped = int.from_bytes(found.get(OPTION_DROPPED, b""), "little")


def read_header(exactly: Callable[[int], bytes]) -> tuple[tuple[int, int] | None, bytes]:
    """The section and the interface that a run begins with: ((LINKTYPE, nanoseconds of a unit of time), b"").

    exactly: reads so many bytes, or fewer where there are no more. Else (None, what was read last).
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
    resolution = dict(_options(block[16:-4])).get(OPTION_RESOLUTION, MICROSECONDS)[0]
    return (int.from_bytes(block[HEAD : HEAD + 2], "little"), 10 ** max(NANOSECONDS - resolution, 0)), b""


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Options of a block, as far as they are whole."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _concatenate(data: bytearray, parts: list[tuple[int, int]]) -> bytes:
    """The parts of it, which are in order; mostly they are one piece."""
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
