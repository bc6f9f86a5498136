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
    each.__name__.lower(): each
    for each in (
        ReadyMessage,
        FailureMessage,
        FileBegunMessage,
        FileRemovedMessage,
        CountMessage,
        RunEndMessage,
        StartCommand,
        StopCommand,
    )
}


def encode_message(said: ChannelMessage) -> str:
    """One line, with its end."""
    return json.dumps({"say": type(said).__name__.lower(), **asdict(said)}) + "\n"


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
