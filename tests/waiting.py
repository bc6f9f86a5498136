"""Waiting for what other threads and processes do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which a test gives up."""


def until(what: str, holds: Callable[[], object], why: Callable[[], str | None] = lambda: None) -> None:
    """Waits for something. why: the reason for which it won't come, as far as that is known."""
    end = time.monotonic() + PATIENCE
    while not holds():
        reason = why()
        assert reason is None, f"{what} did not come: {reason}"
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.005)


def is_over(*pids: int) -> bool:
    """Whether processes have ended, though nobody may have asked how."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", ",".join(map(str, pids))], capture_output=True, check=False)
    return all(state.startswith(b"Z") for state in found.stdout.split())
