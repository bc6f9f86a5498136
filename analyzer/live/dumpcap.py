"""Captures packets through dumpcap, for a user who may run dumpcap but may not capture.

Theory. dumpcap writes pcapng to a pipe: a section, an interface, packet blocks, and its counters at the end. relays.py
passes the packets on.

dumpcap gets its right from its file (a set-user-id bit, or capabilities). The kernel does not grant this right to
programs started by a process with no_new_privs, and the capturing process has no_new_privs as soon as it is ready. So
it starts a small shell script before that. The script starts dumpcap when it reads a line, ends it at the next line,
and reports when it has ended. However the capturing process ends, the pipe ends with it, and so does dumpcap.
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
from collections.abc import Sequence
from contextlib import suppress

from analyzer.capture.pcapng_format import InterfaceDescription
from analyzer.errors import CaptureError
from analyzer.live.relays import BlockRelay, PcapRelay, open_relay
from analyzer.live.taps import PacketBatch

DUMPCAP = "dumpcap"

SCRIPT = """
mark=$1; shift
trap '' XFSZ
ulimit -f 8192
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
"""The limit of files, 4 or 8 MiB, only affects standard error: output of a program beyond it is lost."""

READ = 1 << 20
"""Bytes read at once, and bytes of the pipe."""

PATIENCE = 10.0
"""Seconds that dumpcap has to begin or to end."""

TO_END = 2.0
"""Seconds that it has when the tap is closed; the analyzer waits longer than that."""

MIB = 1 << 20
REFUSED = "Join its group, or give --via sudo"
REASON = re.compile(r"\((.*)\)")


class DumpcapTap:
    """Taps an interface through dumpcap.

    number: of the interface in the file. snaplen: 0 keeps whole packets. buffer: bytes that the kernel holds for it.
    command: of a program that writes packets and ends with SIGTERM, instead of dumpcap.

    Its counters include dropped packets only when a run has ended. Raises CaptureError with a sentence for the user.
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
        command: Sequence[str] | None = None,
    ) -> None:
        self._number, self._name, self._expression, self._snaplen = number, interface, expression, snaplen
        self._mark = secrets.token_hex(16).encode()
        if command is None:
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
        self._passing: BlockRelay | PcapRelay = BlockRelay(number, 1)
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
            self._problem = f"The output of dumpcap for {self._name} is no capture: {error}"
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
        found, rest = open_relay(self._number, lambda size: self._exactly(size, until))
        if found is None:
            self._rest += rest
            self.halt()
            self._drain()
            raise CaptureError(self._reason())
        self._link, self._passing = found

    def halt(self) -> None:
        """Makes dumpcap stop capturing and end; does nothing if called again."""
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
        """Makes the starter take the next step. Raises CaptureError if it has ended."""
        try:
            self._stdin.write(b"\n")
        except BrokenPipeError:
            self._running = False
            raise CaptureError("The process that starts dumpcap has ended. Start the capture again.") from None

    def _read_pipe(self) -> bool:
        """Reads the bytes at hand and records the end of a run; returns False if there were none."""
        try:
            data = os.read(self._pipe, READ)
        except BlockingIOError:
            return False
        self._rest += data
        if not data or self._rest.endswith(self._mark):
            self._end()
        return True

    def _end(self) -> None:
        """Records the end of a run, and its reason if it was not requested."""
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
        """Reads `size` bytes from the pipe; fewer at its end, or if no more came in time."""
        data = b""
        while len(data) < size and select.select([self._pipe], [], [], max(until - time.monotonic(), 0))[0]:
            more = os.read(self._pipe, size - len(data))
            if not more:
                break
            data += more
        return data

    def _reason(self) -> str:
        """Returns why dumpcap has ended, from its standard error."""
        self._errors.seek(self._error_offset)
        return self.explain(self._errors.read().decode(errors="replace"))

    def explain(self, output: str) -> str:
        """Returns a failure as a sentence. output: the standard error of the program."""
        return explain_failure(output, self._name, self._expression)


def explain_failure(output: str, interface: str, expression: str) -> str:
    """Returns dumpcap's error message as one sentence, without what the user already knows."""
    _, found, text = output.rpartition("dumpcap: ")
    line = text.partition("\n")[0].strip().rstrip(".") if found else ""
    if line.startswith("Invalid capture filter"):
        reason = REASON.search(text)
        return f"-f {expression}: {reason[1] if reason else 'this is not a capture filter'}"
    if "permission" in line.lower():
        return f"dumpcap may not capture on {interface} either. {REFUSED}"
    return f"dumpcap on {interface}: {line or 'it ended without a message'}"


def _enlarge(pipe: int) -> None:
    """Enlarges a pipe if the system allows it."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # the pipes of a user have a common limit
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, READ)
