"""A live capture that captures nothing: its session follows a file, and a test sets what it says of packets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from analyzer.errors import UserError
from analyzer.session import Session
from tests.tui.driving import KAFKA
from tui.inputs import CaptureState


@dataclass(frozen=True, slots=True)
class Health:
    captured: int = 0
    dropped: int = 0
    backlog: int = 0
    lag: float = 0.0


class FakeCapture:
    """See tui.inputs.Live. refuses: the sentence with which another run, or saving, is refused."""

    def __init__(self, session: Session, *, kept: bool = False, memory: int | None = None) -> None:
        self.session, self.is_saved, self.memory = session, kept, memory
        self.state: CaptureState = "capturing"
        self.problem: str | None = None
        self.refuses = ""
        self.runs = [session]
        self._health = Health()

    def set(self, **metrics: float) -> None:
        """Other figures."""
        self._health = replace(self._health, **metrics)  # type: ignore[arg-type]

    def health(self) -> Health:
        return self._health

    def stop(self) -> None:
        self.state = "stopped"
        self.session.packets.stop()

    def restart(self) -> Session:
        if self.refuses:
            raise UserError(self.refuses)
        self.session.packets.stop()
        self.session, self.state, self._health = Session([KAFKA], follow=True), "capturing", Health()
        self.runs.append(self.session)
        return self.session

    def save(self, path: str) -> int:
        if self.refuses:
            raise UserError(self.refuses)
        Path(path).write_bytes(KAFKA.read_bytes())
        return self._health.captured
