"""Messages between the capturing process and the analyzer: lines of JSON over the standard streams of the former.

Theory. Packets go through a file; these messages are about it. The capturing process opens its interfaces and gives up
its privilege. Then it sends ReadyMessage, or it sends FailureMessage and ends. StartCommand makes it write a file or a
ring. It sends a FileBegunMessage for each file, a FileRemovedMessage for each file that the ring removes, and a
CountMessage a few times a second while counts change. A RunEndMessage follows a StopCommand, a bound or a problem.
After that the process can be started again. It ends when its standard input ends.

Capturing must not wait for a reader. So the process writes as much of a line as the pipe takes, and the rest when the
pipe has room again. Meanwhile it does not send counts that a later message would replace.
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
    """Reports that interfaces (names) are open and the privilege is gone. notes: sentences for the user.

    pid: of the capturing process itself, which sudo may have started.
    """

    interfaces: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pid: int = field(default_factory=os.getpid)


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """Reports why the process cannot begin, in a sentence for the user; the process ends."""

    text: str


@dataclass(frozen=True, slots=True)
class FileBegunMessage:
    """Reports that a file has begun and has its header."""

    path: str


@dataclass(frozen=True, slots=True)
class FileRemovedMessage:
    """Reports that the ring has removed a file."""

    path: str


@dataclass(frozen=True, slots=True)
class CountMessage:
    """Counts since StartCommand: packets written, packets that the kernel dropped, bytes written."""

    packets: int
    dropped: int
    size: int


@dataclass(frozen=True, slots=True)
class RunEndMessage:
    """Reports that all captured packets are in the files. problem: a sentence for the user about an unrequested end."""

    packets: int
    dropped: int
    size: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StartCommand:
    """Requests a capture to this file; a ring begins the names of its files with it.

    spool: the file is temporary, and the process removes the rest of it when it ends.
    """

    path: str
    spool: bool = False


@dataclass(frozen=True, slots=True)
class StopCommand:
    """Requests to write the packets at hand and then stop."""


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


def encode_message(message: ChannelMessage) -> str:
    """Returns a message as one line, with the line end."""
    return json.dumps({"say": _NAMES[type(message)], **asdict(message)}) + "\n"


def decode_message(line: str) -> ChannelMessage | None:
    """Returns the message of a line, or None: another program may write to the same stream."""
    try:
        found = json.loads(line)
        kind = _KINDS[found.pop("say")]
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in found.items()
        }
        return kind(**arguments)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


READ = 1 << 16
MOST = 1 << 20
"""Bytes of the longest line."""


class ChannelWriter:
    """Writes messages to a descriptor, which it makes non-blocking."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._waiting = b""
        os.set_blocking(out, False)

    def fileno(self) -> int:
        """Returns the descriptor, to poll for writing while `waiting` is true."""
        return self._out

    @property
    def waiting(self) -> bool:
        """Whether bytes wait for room in the pipe."""
        return bool(self._waiting)

    def __call__(self, line: ChannelMessage) -> None:
        """Sends a message now or later; drops a CountMessage that cannot be sent now."""
        if not (self._waiting and isinstance(line, CountMessage)):
            self._waiting += encode_message(line).encode()
            self.flush()

    def flush(self) -> None:
        """Writes as much as the pipe has room for; drops everything if the reader is gone."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._out, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting = b""

    def finish(self, patience: float) -> None:
        """Waits for room, at most `patience` seconds, and makes the descriptor blocking again."""
        end = time.monotonic() + patience
        while self._waiting and (left := end - time.monotonic()) > 0:
            select.select([], [self._out], [], left)
            self.flush()
        os.set_blocking(self._out, True)


class ChannelReader:
    """Reads messages from a descriptor, and ignores other lines."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._begun = b""
        self.ended = False

    def fileno(self) -> int:
        """Returns the descriptor, to poll for reading."""
        return self._source

    def lines(self) -> list[ChannelMessage]:
        """Returns the messages that can be read without waiting; call it when poll reports the descriptor as readable.

        It sets `ended` at the end of the input.
        """
        try:
            found = os.read(self._source, READ)
        except OSError:
            found = b""
        self.ended = not found
        *whole, rest = (self._begun + found).split(b"\n")
        self._begun = rest if len(rest) < MOST else b""
        message = (decode_message(line.decode(errors="replace")) for line in whole)
        return [line for line in message if line is not None]
