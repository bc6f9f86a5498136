"""What would make a test of the user interface depend on how busy the machine is, or on the test before."""

from __future__ import annotations

import pytest

from tui.background import PENDING_TASKS


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of values is whole, a message for some seconds stays, and defects of one test are of one moment."""
    monkeypatch.setattr("tui.model.completion_sources.SAMPLE_SECONDS", 600.0)
    monkeypatch.setattr("tui.screens.status_bars.MESSAGE_SECONDS", 600.0)
    monkeypatch.setattr("tui.crash_guard.WITHIN", 600.0)


@pytest.fixture(autouse=True)
def without_tasks_of_others() -> None:
    """Threads of a test that has ended may still be at work, and no row would leave before they have done it."""
    PENDING_TASKS._open.clear()
