"""What the program does for some seconds only, a busy machine has done when a test looks."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of values is whole, a message for some seconds stays, and defects of one test are of one moment."""
    monkeypatch.setattr("tui.model.completion_sources.SAMPLE_SECONDS", 600.0)
    monkeypatch.setattr("tui.screens.status_bars.MESSAGE_SECONDS", 600.0)
    monkeypatch.setattr("tui.crash_guard.WITHIN", 600.0)
