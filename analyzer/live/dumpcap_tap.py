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
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

from analyzer.capture.errors import CaptureError
from analyzer.capture.pcapng_writer import InterfaceDescription
from analyzer.live.dumpcap_blocks import BlockRelay, read_header
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
        if not self._running or not self._read():
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

    def _read(self) -> bool:
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
            self._read()
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
