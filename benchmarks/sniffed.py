"""Programs that sniff a wire: started, watched while they do, and ended as a person would.

Theory. A capture has no end of its own, so what a program has cost is asked of the kernel while it runs and again when
it has ended: CPU by process, for the capturing one and the one that decodes are measured apart. A look takes what /proc
says at that time; the end is what wait() says, of which the other processes' last looks are subtracted.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, TypeVar

from analyzer.live.capture_request import CaptureRequest
from analyzer.live.channel import (
    ChannelMessage,
    ReadyMessage,
    RunEndMessage,
    StartCommand,
    StopCommand,
    decode_message,
    encode_message,
)
from analyzer.live.channel import FailureMessage as CannotBegin
from benchmarks.measure import PROGRAM, ROOT, Failed, anonymous
from benchmarks.tree import below
from benchmarks.wire import Wire

EVERY = 0.25
"""Seconds between two looks."""

SETTLED = 1.0
"""Seconds that a program gets after it has opened its socket, until it takes packets."""

PATIENCE = 60.0

Said = TypeVar("Said", bound=ChannelMessage)


class Look(NamedTuple):
    """CPU seconds so far and anonymous bytes of one process, at a time (seconds, monotonic)."""

    time: float
    cpu: float
    anonymous: int


class Cost(NamedTuple):
    """CPU seconds of the main process and of those below it; wall seconds from being told to end until it had."""

    main: float
    others: float
    ending: float

    @property
    def cpu(self) -> float:
        """All."""
        return self.main + self.others

    def beyond(self, earlier: Cost) -> Cost:
        """What has been taken since."""
        return Cost(self.main - earlier.main, self.others - earlier.others, self.ending)


def user() -> str:
    """Who to be once interfaces are open: root must be told to stay root, where nobody stands behind it."""
    return "root" if os.geteuid() == 0 and "SUDO_UID" not in os.environ else ""


def sniff(*options: str) -> list[str]:
    """Our program."""
    return [*PROGRAM, "sniff", *(("-Z", user()) if user() else ()), *options]


class Sniffing:
    """A program at the receiving end of a wire; a context manager. Its standard output goes to `output`.

    every: seconds between two looks.
    looks: what was seen of it and of what it started, by process.
    """

    def __init__(self, wire: Wire, command: Sequence[str], output: IO[bytes] | int, every: float = EVERY) -> None:
        self._every = every
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 # lives as long as this
        self.command = command
        self.process = subprocess.Popen(
            wire.sniffing(*command), stdin=subprocess.DEVNULL, stdout=output, stderr=self._said, cwd=ROOT
        )
        self.looks: dict[int, list[Look]] = {self.process.pid: []}
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look_on, daemon=True)
        try:
            wire.ready()
        except Failed as error:
            raise self.failed(str(error)) from error
        time.sleep(SETTLED)
        self._watch.start()

    def look(self) -> None:
        """Looks at all its processes now."""
        now = time.monotonic()
        for pid, parent, cpu in below(os.getpid()):
            if pid == self.process.pid or parent in self.looks:
                self.looks.setdefault(pid, []).append(Look(now, cpu, anonymous(pid) or 0))

    def costs(self) -> Cost:
        """What it has taken so far, in steps of ten milliseconds for each process."""
        self.look()
        others = sum(self.looks[pid][-1].cpu for pid in self.others)
        return Cost(self.looks[self.main][-1].cpu, others, 0.0)

    @property
    def main(self) -> int:
        """The process that was started."""
        return self.process.pid

    @property
    def others(self) -> list[int]:
        """What it started."""
        return [pid for pid in self.looks if pid != self.main]

    def end(self, number: signal.Signals = signal.SIGINT) -> Cost:
        """Interrupts it and waits until it has written all. Raises Failed."""
        began = time.monotonic()
        self.look()
        os.kill(self.process.pid, number)  # nobody has waited for it, so the number is still its own
        self._done.set()
        if self._watch.ident is not None:
            self._watch.join()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        others = sum(
            self.looks[pid][-1].cpu for pid in self.others
        )  # it has waited for them, so they are in its figure
        if self.process.returncode not in (0, -number, 128 + number):
            raise self.failed(f"it ended with {self.process.returncode}")
        return Cost(usage.ru_utime + usage.ru_stime - others, others, time.monotonic() - began)

    def said(self) -> str:
        """Its standard error so far."""
        self._said.flush()
        return os.pread(self._said.fileno(), 1 << 20, 0).decode(errors="replace")

    def failed(self, why: str) -> Failed:
        """What to raise."""
        return Failed(f"{' '.join(self.command)}: {why}: {self.said()[-1000:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self.process.returncode is None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._said.close()

    def _look_on(self) -> None:
        while not self._done.wait(self._every):
            self.look()


class Capturing:
    """The capturing process alone, writing a file that nobody reads; a context manager."""

    def __init__(self, wire: Wire, asked: CaptureRequest) -> None:
        command = [sys.executable, "-P", "-m", "analyzer.live.sniffer", asked.to_json()]
        self._process = subprocess.Popen(
            wire.sniffing(*command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=ROOT
        )
        self._heard = b""
        self.hear(ReadyMessage)

    def hear(self, kind: type[Said]) -> Said:
        """The next line of a kind. Raises Failed."""
        assert self._process.stdout is not None
        while True:
            text, end, rest = self._heard.partition(b"\n")
            if not end:
                if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
                    raise Failed(f"the capturing process said nothing for {PATIENCE:.0f} s")
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                if not more:
                    raise Failed(f"the capturing process ended with {self._process.wait()}")
                self._heard += more
                continue
            self._heard = rest
            line = decode_message(text.decode())
            if isinstance(line, kind):
                return line
            if isinstance(line, CannotBegin):
                raise Failed(line.text)

    def cpu_now(self) -> float:
        """CPU seconds of the process so far, in steps of ten milliseconds."""
        return next(cpu for pid, _, cpu in below(os.getpid()) if pid == self._process.pid)

    def begin(self, path: Path) -> None:
        """Has it write."""
        self._tell(StartCommand(str(path)))

    def stop(self) -> RunEndMessage:
        """Has it write what is at hand; how it went."""
        self._tell(StopCommand())
        return self.hear(RunEndMessage)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()

    def _tell(self, line: ChannelMessage) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode_message(line).encode())
