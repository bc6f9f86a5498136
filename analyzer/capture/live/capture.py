"""Live capture, seen from the analyzer: a child that writes a file, and the end of it.

The child (sniffer.py) has the privilege, if there is one; the analyzer follows the file as it would any other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from analyzer.capture.errors import CaptureError
from analyzer.capture.live.sniffer import END, ERROR, READY

PATIENCE = 5.0
"""Seconds that a child which was asked to end gets before it is killed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to capture: no interface is the first that is up; 0 is no bound. `write` None: a file that nobody keeps."""

    interfaces: Sequence[str] = ()
    filter: str = ""
    write: str | None = None
    snaplen: int = 0
    packets: int = 0
    seconds: float = 0.0
    promiscuous: bool = True

    def arguments(self, path: str) -> list[str]:
        """The child's command line."""
        found = ["--out", path, "--filter", self.filter, "--snaplen", str(self.snaplen)]
        found += ["--packets", str(self.packets), "--seconds", str(self.seconds)]
        found += [] if self.promiscuous else ["--not-promiscuous"]
        return [*found, *(part for name in self.interfaces for part in ("--interface", name))]


class LiveCapture:
    """A running capture; `path` is the pcapng file that it writes. A context manager that ends it.

    Raises CaptureError, with a sentence for the user, when it can't begin. `when_ended` is called from another thread
    once no more packets will be written; `summary` and `problem` say then how it went.
    """

    def __init__(self, asked: Asked, when_ended: Callable[[], None]) -> None:
        self._kept = asked.write is not None
        self.path = asked.write if asked.write is not None else _spool()
        self.count, self.dropped = 0, 0
        self.problem: str | None = None
        command = [sys.executable, "-P", "-m", "analyzer.capture.live.sniffer", *asked.arguments(self.path)]
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        except OSError:
            self.forget_file()
            raise
        assert self._child.stdout is not None
        first = self._child.stdout.readline()
        if not first.startswith(READY):
            self._give_up(first)
        self._when_ended = when_ended
        self._listener = threading.Thread(target=self._listen, name="sniffer", daemon=True)
        self._listener.start()

    def stop(self) -> None:
        """Asks the child to end; returns at once, also when it has ended already."""
        assert self._child.stdin is not None
        if not self._child.stdin.closed:
            self._child.stdin.close()

    def forget_file(self) -> None:
        """Takes the name of a file that nobody keeps, once whoever follows it has opened it."""
        if not self._kept and os.path.exists(self.path):
            os.unlink(self.path)

    @property
    def summary(self) -> str:
        """One sentence for the end."""
        dropped = f", {self.dropped:,} more were dropped by the kernel" if self.dropped else ""
        kept = f" to {self.path}" if self._kept else ""
        return f"{self.count:,} packets captured{kept}{dropped}"

    def close(self) -> None:
        """Ends the child, if need be by force, and waits for it."""
        self.stop()
        try:
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._listener.join()
        self.forget_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _give_up(self, line: str) -> None:
        self.stop()
        self._child.wait()
        assert self._child.stdout is not None
        self._child.stdout.close()
        self.forget_file()
        text = line.removeprefix(ERROR).strip()
        raise CaptureError(text or f"capturing ended with status {self._child.returncode} before it began")

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                word, _, rest = line.strip().partition(" ")
                if word == END:
                    self.count, self.dropped = map(int, rest.split())
                elif word == ERROR:
                    self.problem = rest
        status = self._child.wait()
        if status and self.problem is None:
            self.problem = f"the capturing process ended with status {status}; what it wrote is read"
        self._when_ended()


def _spool() -> str:
    descriptor, path = tempfile.mkstemp(prefix="wireanalyze-", suffix=".pcapng")
    os.close(descriptor)
    return path
