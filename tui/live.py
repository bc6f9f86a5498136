"""A live capture as the user interface sees it, whoever captures: it is looked at, stopped, started again, saved.

Theory. The packets go through files that a session reads like any others; of the capture itself a screen wants to know
how it stands and how much was lost or is still to be read. So this is all that the screens depend on, and
analyzer.live.sniffing is one that fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from analyzer.session import Session

State = Literal["capturing", "stopping", "stopped"]


class Health(Protocol):
    """captured: packets written; dropped: those that the kernel could not keep; backlog: those that were written and
    not read yet; lag: seconds that reading is behind, 0.0 when all has been read.
    """

    @property
    def captured(self) -> int:
        """Packets."""

    @property
    def dropped(self) -> int:
        """Packets."""

    @property
    def backlog(self) -> int:
        """Packets."""

    @property
    def lag(self) -> float:
        """Seconds."""


class Live(Protocol):
    """A capture that has begun."""

    @property
    def session(self) -> Session:
        """That of the present run."""

    @property
    def memory(self) -> int | None:
        """Bytes that tables may hold; nothing: all that there are."""

    @property
    def kept(self) -> bool:
        """Whether the packets stay in a file that the user named."""

    @property
    def state(self) -> State:
        """How it stands; when it has stopped there may be packets to be read."""

    @property
    def problem(self) -> str | None:
        """Why it ended, where nobody asked for that: a sentence."""

    def health(self) -> Health:
        """How much was captured, lost, and is not read yet; any thread may ask."""

    def stop(self) -> None:
        """Asks it to stop; returns at once."""

    def restart(self) -> Session:
        """Another run, and its session; the one before is closed by who holds it. It may take seconds.

        Raises UserError.
        """

    def save(self, path: str) -> int:
        """Copies all packets of the run that are still held to one pcapng file; says how many. Raises UserError."""


@dataclass(frozen=True, slots=True)
class Wire:
    """What the title says of a capture. state: also `paused`. waiting: messages that a paused list does not show."""

    state: str
    captured: int = 0
    dropped: int = 0
    backlog: int = 0
    lag: float = 0.0
    waiting: int = 0
