"""Work whose memory is measured, in a process of its own: what other tests left, and take back, is not measured there.

Theory. The C library keeps what is freed for the next who asks, the more of it the larger the pieces it has seen; so
what a process has resident depends on all that ran in it. In a new one, that is told to give pieces back from a fixed
size on, it is the same every time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
"""As glibc reads it (mallopt(3)); other libraries do not know it."""


def apart(work: Callable[[], None]) -> None:
    """Runs a function of a module, and fails as it does."""
    if sys.platform != "linux":
        pytest.skip("memory is asked of /proc")
    code = f"from {work.__module__} import {work.__name__} as work; work()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, env=os.environ | _GIVES_BACK, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def resident() -> int:
    """Bytes of memory of this process that no file stands behind: of one that runs apart."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024
