"""What workers count, and what the bar says of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from analyzer.pipeline.homes import OWNER
from analyzer.pipeline.progress import Counted, Counts, Speed, bar, count, counted, words


def test_counts_of_several_processes(tmp_path: Path) -> None:
    seen = Counted(str(tmp_path))
    assert seen.look() == Counts()
    (tmp_path / OWNER).write_bytes(b"a machine with a name of more than a few letters")
    count(str(tmp_path), packets=3, bytes=5)
    if (child := os.fork()) == 0:
        count(str(tmp_path), messages=7)
        os._exit(0)
    os.waitpid(child, 0)
    assert seen.look() == Counts(3, 5, 7)
    count(str(tmp_path), packets=1)
    with open(next(path for path in tmp_path.iterdir() if path.name != OWNER), "ab") as half:
        half.write(b"half")
    assert seen.look() == seen.look() == Counts(4, 5, 7)


def test_nobody_looks_or_nothing_can_be_written(tmp_path: Path) -> None:
    count(None, packets=1)
    count(str(tmp_path / "gone"), packets=1)
    assert not list(tmp_path.iterdir())


def test_a_scan_is_counted_as_it_passes(tmp_path: Path) -> None:
    """Packets, not the rows that have them, nor what is said of a file."""
    pa = pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
    from analyzer.pipeline.bundles import bundled
    from analyzer.pipeline.pointers import PACKET, SCHEMA, note

    bundles = bundled(np.zeros(5, PACKET), np.array([4, 1]))
    batches = [pa.record_batch([pa.array([b"a", b"b"]), [0, 0], [1, 9], bundles], schema=SCHEMA), note(0, {"a": 1})]
    assert list(counted(iter(batches), 9, str(tmp_path))) == batches
    assert Counted(str(tmp_path)).look() == Counts(5, 9, 0)


def test_speed_is_that_of_the_last_seconds() -> None:
    speed = Speed()
    assert [speed.of(size, now) for size, now in ((0, 0.0), (10, 1.0), (10, 9.0), (70, 13.0))] == [0, 10, 10 / 9, 5.0]


@pytest.mark.parametrize(
    ("sums", "speed", "text"),
    [
        (Counts(), 0.0, "starting"),
        (Counts(1_234), 0.0, "1,234 packets"),
        (Counts(1_234, 9, 56), 7.6e6, "1,234 packets, 56 messages, 8 MB/s"),
    ],
)
def test_words(sums: Counts, speed: float, text: str) -> None:
    assert words(sums, speed) == text


def test_without_a_terminal_there_is_no_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with bar(None, str(tmp_path)) as folder:  # type: ignore[arg-type]
        assert folder is None
    assert not list(tmp_path.iterdir())
