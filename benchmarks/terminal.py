"""A program on a pseudo terminal: what it writes and what is typed, each with its time.

Theory. Only the clock counts while a program is watched: bytes are read as soon as they come and kept with the time at
which they came; what they paint is found out afterwards (benchmarks/screen.py). The terminal answers what programs ask
of a new one, as xterm would, so that they write as they do to people. One that knows synchronised output (mode 2026)
is told where each frame ends, and that end is when it is seen; what other programs write is seen as it comes.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from benchmarks.measure import ROOT, Failed

COLUMNS, LINES = 200, 40
PATIENCE = 60.0
QUIET = 0.06
"""Seconds without output that end what a key has brought about."""

KEPT = 1 << 16
"""Bytes that are looked at again when more come."""

FRAME_END = b"\x1b[?2026l"
CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")

_QUESTIONS = re.compile(rb"\x1b\[(?:\?(\d+)\$p|(6)n|(>?)0?c)")
_LONGEST_QUESTION = 16
_KNOWN_MODES = {b"2026": 2}
"""Modes that the terminal has, and how they are: 2, off."""

_OURS = ("NO_COLOR", "COLUMNS", "LINES", "COLORFGBG", "TMUX")


class Output(NamedTuple):
    """What was read at one time; `time` as time.monotonic() has it."""

    time: float
    data: bytes


class Pressed(NamedTuple):
    """A key, and when it was written; `place`: how many outputs had been read by then."""

    time: float
    data: bytes
    place: int


class Terminal:
    """Starts `command` with a home of its own in a terminal of `size` columns and lines; to be used as a context.

    stdin: what the program reads instead of the terminal. `output` and `keys` are all that happened so far.
    """

    def __init__(
        self,
        command: Sequence[str],
        home: Path,
        size: tuple[int, int] = (COLUMNS, LINES),
        stdin: IO[bytes] | None = None,
    ) -> None:
        self.command, self.size = tuple(command), size
        self.output: list[Output] = []
        self.keys: list[Pressed] = []
        self._tail = b""
        home.mkdir(parents=True, exist_ok=True)
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=theirs if stdin is None else stdin,
            stdout=theirs,
            stderr=theirs,
            env=_environment(home),
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),  # noqa: PLW1509 # one thread; some ask for /dev/tty
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # its own session, so its group is it and its children
        self._process.wait()
        os.close(self._ours)

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    @property
    def cpu(self) -> float:
        """Seconds that the program has computed, and the system for it (proc(5)), in steps of ten milliseconds."""
        behind_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, behind_name[11:13])) / os.sysconf("SC_CLK_TCK")

    def read(self, seconds: float) -> bool:
        """Waits for output and takes what is there; whether there was any. Raises Failed when the program has ended."""
        if not select.select([self._ours], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError as error:  # Linux's way to say that nobody writes any more
            raise self.failure("it ended") from error
        self.output.append(Output(time.monotonic(), data))
        self._answer(data)
        return True

    def _answer(self, data: bytes) -> None:
        asked = self._tail + data
        end = 0
        for found in _QUESTIONS.finditer(asked):
            mode, place, secondary = found.groups()
            if mode is not None:
                answer = b"\x1b[?%b;%d$y" % (mode, _KNOWN_MODES.get(mode, 0))
            elif place:
                answer = b"\x1b[1;1R"
            else:
                answer = b"\x1b[>41;390;0c" if secondary else b"\x1b[?62;22c"
            os.write(self._ours, answer)
            end = found.end()
        self._tail = asked[end:][-_LONGEST_QUESTION:]

    def until(self, happened: Callable[[bytes], bool], patience: float = PATIENCE) -> float:
        """Reads until something is so of all that was written, control sequences taken out; when that came.

        Only the last KEPT bytes are looked at, and what came with them. Raises Failed.
        """
        end, shown, place = time.monotonic() + patience, b"", 0
        while True:
            for moment, data in self.output[place:]:
                shown = (shown + data)[-KEPT - len(data) :]
                if happened(CONTROL.sub(b"", shown)):
                    return moment
            place = len(self.output)
            left = end - time.monotonic()
            if left <= 0:
                raise self.failure(f"it did not happen in {patience:.0f} s")
            self.read(left)

    def press(self, key: bytes) -> None:
        """Types a key."""
        self.keys.append(Pressed(time.monotonic(), key, len(self.output)))
        os.write(self._ours, key)

    def settle(self, quiet: float = QUIET, patience: float = PATIENCE) -> None:
        """Reads until nothing has come for `quiet` seconds. Raises Failed where that never is so."""
        end = time.monotonic() + patience
        while self.read(quiet):
            if time.monotonic() > end:
                raise self.failure(f"it still writes after {patience:.0f} s")

    def pressed(self, key: bytes, patience: float = PATIENCE, quiet: float = QUIET) -> None:
        """Types a key and reads all that it brings about. Raises Failed when that is nothing."""
        while self.read(0):
            pass
        self.press(key)
        if not self.read(patience):
            raise self.failure(f"the key {key!r} painted nothing in {patience:.0f} s")
        self.settle(quiet)

    def sleep(self, seconds: float) -> None:
        """Reads for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def frames(self, first: int = 0) -> Iterator[Output]:
        """What was painted from output `first` on, cut where frames end."""
        waiting = b""
        for moment, data in self.output[first:]:
            *whole, rest = (waiting + data).split(FRAME_END)
            for frame in whole:
                yield Output(moment, frame + FRAME_END)
            waiting = rest
            if rest and b"\x1b[?2026h" not in rest:
                yield Output(moment, rest)
                waiting = b""
        if waiting:
            yield Output(self.output[-1].time, waiting)

    def failure(self, why: str) -> Failed:
        """What to raise: with what was painted last."""
        said = CONTROL.sub(b"", b"".join(each.data for each in self.output[-8:]))[-400:]
        return Failed(f"{' '.join(self.command)}: {why}: {said!r}")


def _environment(home: Path) -> Mapping[str, str]:
    places = {
        name: str(home / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    }
    kept = {name: value for name, value in os.environ.items() if name not in _OURS and not name.startswith("TEXTUAL")}
    return {**kept, **places, "HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
