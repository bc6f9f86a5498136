"""Waiting for the first paint and the first row: found behind control sequences, and not waited for in vain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.measure import Failed
from benchmarks.opening import started

PAINTS = (
    "import os, time, tty; tty.setraw(0); os.write(1, b'title\\x1b[6n'); os.read(0, 99)\n"
    "os.write(1, b'{}'); time.sleep(600)"
)
"""What is painted first is read before the row comes: it asks something, and waits for the answer."""


@pytest.mark.parametrize("row", ["10.0.0.7", "\\x1b[1;3H\\x1b[38;5;7m10.1.\\x1b[0m0.3", "\\x1b]0;10\\x0710.0.0.1"])
def test_the_clock_stops_at_an_address(row: str, tmp_path: Path) -> None:
    found = started([sys.executable, "-c", PAINTS.format(row)], tmp_path / "home")
    assert 0 < found.painted < found.rows


def test_a_program_has_a_terminal_of_its_own_and_a_home(tmp_path: Path) -> None:
    asks = "import os; open('/dev/tty').close(); size = os.get_terminal_size(); home = os.environ['HOME']"
    prints = f"print('10.0.0.1' if (*size, home) == {(200, 40, str(tmp_path))} else 0)"
    assert started([sys.executable, "-c", f"{asks}; {prints}"], tmp_path).rows > 0


def test_a_program_that_ends_without_a_row_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no such file"):
        started([sys.executable, "-c", "print('no such file')"], tmp_path)
