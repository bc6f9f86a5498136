"""Wall time until the first rows of a capture stand on a terminal of 120 columns and 40 lines.

Theory. A person waits for rows, so the clock stops when an address of the capture has been painted. The terminal is a
pseudo-terminal that answers nothing; what is painted is looked at with its control sequences taken out. Each program
gets a home of its own in the scratch folder, so that nothing it keeps there, and nothing of the user's, counts.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import ROOT, Failed

COLUMNS, LINES = 120, 40
PATIENCE = 60.0
_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
ROW = re.compile(rb"10\.[01]\.0\.\d+")
"""An address of captures.py, which no title or menu has."""


def first_row(command: Sequence[str], home: Path) -> float:
    """Seconds from the start of the command to its first row. Raises Failed if none comes within PATIENCE."""
    home.mkdir(parents=True, exist_ok=True)
    places = {name: str(home / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    environment = {**os.environ, **places, "HOME": str(home), "TERM": "xterm-256color"}
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 # one thread; termshark asks for /dev/tty
    )
    os.close(theirs)
    try:
        return _painted(ours, began) - began
    except Failed as error:
        raise Failed(f"{' '.join(command)}: {error}") from None
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its own session, so its group is it and its children
        process.wait()
        os.close(ours)


def _painted(terminal: int, began: float) -> float:
    """When the first row was there."""
    shown = b""
    while (left := began + PATIENCE - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError as error:  # Linux's way to say that nobody writes any more
            raise Failed(f"it ended: {_CONTROL.sub(b'', shown)[-200:]!r}") from error
        if ROW.search(_CONTROL.sub(b"", shown)):
            return time.monotonic()
    raise Failed(f"no row in {PATIENCE:.0f} s: {_CONTROL.sub(b'', shown)[-200:]!r}")
