"""What the capturing process and the analyzer tell each other, a line of JSON each, over the capturing one's standard
streams.

Theory. The packets go through a file; these lines are about it. The capturing process opens its interfaces and gives
up its privilege; then it is Ready, or Failed and ends. Start has it write a file, or a ring of them, each Began and
perhaps Gone; Counted comes a few times a second while there is anything new; Stopped ends that, because of a Stop, a
bound, or a problem, and says how it went. Then it may be started again. It ends with its standard input.
"""

from __future__ import annotations

import json
import os
import select
import time
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ReadyMessage:
    """Interfaces (names) are open and the privilege is gone. notes: sentences for the user.

    pid: of who says it, which is not who was started where sudo stands between the two.
    """

    interfaces: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pid: int = field(default_factory=os.getpid)


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """It can't begin; a sentence for the user. The process ends."""

    text: str


@dataclass(frozen=True, slots=True)
class FileBegunMessage:
    """A file was begun; it has its header by now."""

    path: str


@dataclass(frozen=True, slots=True)
class FileRemovedMessage:
    """The ring took a file away."""

    path: str


@dataclass(frozen=True, slots=True)
class CountMessage:
    """Since Start: packets and bytes written, packets that the kernel could not keep."""

    packets: int
    dropped: int
    size: int


@dataclass(frozen=True, slots=True)
class RunEndMessage:
    """All that was captured is in the files. problem: a sentence for the user, where nobody asked for the end."""

    packets: int
    dropped: int
    size: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StartCommand:
    """Write to this file; of a ring, its name is the beginning of theirs.

    spool: nobody keeps it; what is left of it goes when the process ends.
    """

    path: str
    spool: bool = False


@dataclass(frozen=True, slots=True)
class StopCommand:
    """Write what is at hand, and no more."""


ChannelMessage = (
    ReadyMessage
    | FailureMessage
    | FileBegunMessage
    | FileRemovedMessage
    | CountMessage
    | RunEndMessage
    | StartCommand
    | StopCommand
)

_KINDS: dict[str, type[ChannelMessage]] = {
    "ready": ReadyMessage,
    "failed": FailureMessage,
    "began": FileBegunMessage,
    "gone": FileRemovedMessage,
    "counted": CountMessage,
    "stopped": RunEndMessage,
    "start": StartCommand,
    "stop": StopCommand,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def encode_message(said: ChannelMessage) -> str:
    """One line, with its end."""
    return json.dumps({"say": _NAMES[type(said)], **asdict(said)}) + "\n"


def decode_message(line: str) -> ChannelMessage | None:
    """None for what is no such line: another program may write to the same stream."""
    try:
        found = json.loads(line)
        kind = _KINDS[found.pop("say")]
        told: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in found.items()
        }
        return kind(**told)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


READ = 1 << 16
MOST = 1 << 20
"""Bytes of a line that never ends; it is no line of ours."""


class ChannelWriter:
    """Says lines to a descriptor, which it makes not to block."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._waiting = b""
        os.set_blocking(out, False)

    def fileno(self) -> int:
        """To poll for writing, while there is something waiting."""
        return self._out

    @property
    def waiting(self) -> bool:
        """Whether something could not be said yet."""
        return bool(self._waiting)

    def __call__(self, line: ChannelMessage) -> None:
        """Says it, now or later; Counted now or never."""
        if not (self._waiting and isinstance(line, CountMessage)):
            self._waiting += encode_message(line).encode()
            self.flush()

    def flush(self) -> None:
        """As much as there is room for. Who has gone hears nothing."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._out, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting = b""

    def finish(self, patience: float) -> None:
        """Waits for room, some seconds at most."""
        end = time.monotonic() + patience
        while self._waiting and (left := end - time.monotonic()) > 0:
            select.select([], [self._out], [], left)
            self.flush()
        os.set_blocking(self._out, True)


class ChannelReader:
    """Lines from a descriptor; what is no line of ours is passed over."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._begun = b""
        self.ended = False

    def fileno(self) -> int:
        """To poll for reading."""
        return self._source

    def lines(self) -> list[ChannelMessage]:
        """What can be read without waiting, once poll said that there is something; `ended` when it was the end."""
        try:
            found = os.read(self._source, READ)
        except OSError:
            found = b""
        self.ended = not found
        *whole, rest = (self._begun + found).split(b"\n")
        self._begun = rest if len(rest) < MOST else b""
        said = (decode_message(line.decode(errors="replace")) for line in whole)
        return [line for line in said if line is not None]
