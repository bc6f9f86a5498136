"""The inputs that the command line hands to the TUI: options of the start, and a live capture.

Theory. The packets of a live capture go through files that a session reads like any others. A screen also wants to know
the state of the capture, how many packets it lost, and how many are not read yet. The protocols here name all that the
screens depend on; analyzer.live.live_session implements them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from analyzer.config.model import Config
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.session import Session
from dissectors.slotted import field, make_slotted
from tui.model.capture_memory import CaptureEntry, find_entry, list_paths
from tui.saved_state import SavedState

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


@make_slotted
class StartOptions:
    """Holds the options that the program was started with.

    title: the name of what is open, for the title bar. colours: a name of tui.theme.CHOICES. following: the list
    selects new rows as they come in. wanted: the filter in force at the start. config: named filters, colour rules,
    sets of columns, the time format. memory: bytes that tables may hold while packets come in; None: no limit. entry:
    what is remembered of the capture, None for nothing.
    """

    title: str
    limits: Limits = field(default_factory=Limits)
    colours: str = "auto"
    following: bool = False
    wanted: Filter | None = None
    config: Config = field(default_factory=Config)
    memory: int | None = None
    entry: CaptureEntry | None = None


def restore_options(opened: StartOptions, session: Session, saved_state: SavedState) -> StartOptions:
    """Adds what is remembered of a capture to the options of its start; a filter that was asked for comes first."""
    entry = None if opened.following else find_entry(saved_state, list_paths(session))
    if entry is None:
        return opened
    wanted = opened.wanted
    if wanted is None and entry.filter:
        from analyzer.query.filter import compile_filter

        with suppress(UserError):
            wanted = compile_filter(entry.filter, opened.config.filters or {})
    return replace(opened, entry=entry, wanted=wanted)


CaptureState = Literal["capturing", "stopping", "stopped"]


class CaptureHealth(Protocol):
    """Counts what a live capture has captured, lost, and not read yet."""

    @property
    def captured(self) -> int:
        """Packets written to the files."""

    @property
    def dropped(self) -> int:
        """Packets that the kernel could not keep."""

    @property
    def backlog(self) -> int:
        """Packets that were written and are not read yet."""

    @property
    def lag(self) -> float:
        """Seconds that reading is behind; 0.0 when all packets are read."""


class LiveCapture(Protocol):
    """A live capture that has begun."""

    @property
    def session(self) -> Session:
        """The session of the present run."""

    @property
    def memory(self) -> int | None:
        """Bytes that tables may hold; None: no limit."""

    @property
    def is_saved(self) -> bool:
        """Whether the packets stay in a file that the user named."""

    @property
    def state(self) -> CaptureState:
        """The state of the capture; after it stopped, packets may still wait to be read."""

    @property
    def problem(self) -> str | None:
        """A sentence about why the capture ended, if nobody asked for its end."""

    def health(self) -> CaptureHealth:
        """Returns the counts of now; any thread may call it."""

    def stop(self) -> None:
        """Asks the capture to stop, and returns at once."""

    def restart(self) -> Session:
        """Begins another run and returns its session; this may take seconds. The caller closes the session before.

        Raises UserError if another run cannot begin.
        """

    def save(self, path: str) -> int:
        """Copies all packets of the run that are still held to one pcapng file, and returns their number.

        Raises UserError if the file cannot be written.
        """


class OpenedCapture(LiveCapture, Protocol):
    """A live capture that the TUI has begun, and ends."""

    def close(self) -> None:
        """Ends the capture and closes its session."""


@dataclass(frozen=True, slots=True)
class CaptureStatus:
    """The numbers that the title bar shows of a live capture.

    state: a CaptureState, or `paused`. waiting: messages that a paused list does not show. The others: CaptureHealth.
    """

    state: str
    captured: int = 0
    dropped: int = 0
    backlog: int = 0
    lag: float = 0.0
    waiting: int = 0
