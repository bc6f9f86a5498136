"""What workers count, and what the bar says of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from analyzer.pipeline.owned_folders import OWNER_FILE
from analyzer.pipeline.progress import (
    CountReader,
    ProgressCounts,
    add_counts,
    count_batches,
    format_progress,
    show_progress,
)


def test_counts_of_several_processes(tmp_path: Path) -> None:
    seen = CountReader(str(tmp_path))
    assert seen.read_counts() == ProgressCounts()
    (tmp_path / OWNER_FILE).write_bytes(b"a machine with a name of more than a few letters")
    add_counts(str(tmp_path), packets=3, bytes=5)
    if (child := os.fork()) == 0:
        add_counts(str(tmp_path), messages=7)
        os._exit(0)
    os.waitpid(child, 0)
    assert seen.read_counts() == ProgressCounts(3, 5, 7)
    add_counts(str(tmp_path), packets=1)
    with open(next(path for path in tmp_path.iterdir() if path.name != OWNER_FILE), "ab") as half:
        half.write(b"half")
    assert seen.read_counts() == seen.read_counts() == ProgressCounts(4, 5, 7)


def test_nobody_looks_or_nothing_can_be_written(tmp_path: Path) -> None:
    add_counts(None, packets=1)
    add_counts(str(tmp_path / "gone"), packets=1)
    assert not list(tmp_path.iterdir())


def test_a_scan_is_counted_as_it_passes(tmp_path: Path) -> None:
    """Packets, not the rows that have them, nor what is said of a file."""
    pa = pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
    from analyzer.pipeline.pointers import PACKET, POINTER_SCHEMA, build_note

    bundles = [np.zeros(count, PACKET).tobytes() for count in (4, 1)]
    batches = [
        pa.record_batch([pa.array([bytes(16), b"b" * 16]), [0, 0], [1, 9], bundles, [b"", b""]], schema=POINTER_SCHEMA),
        build_note(0, {"a": 1}),
    ]
    assert list(count_batches(iter(batches), 9, str(tmp_path))) == batches
    assert CountReader(str(tmp_path)).read_counts() == ProgressCounts(5, 9, 0)


@pytest.mark.parametrize(
    ("sums", "speed", "text"),
    [
        (ProgressCounts(), 0.0, "starting"),
        (ProgressCounts(1_234), 0.0, "1,234 packets"),
        (ProgressCounts(1_234, 9, 56), 7.6e6, "1,234 packets, 56 messages, 8 MB/s"),
    ],
)
def test_words(sums: ProgressCounts, speed: float, text: str) -> None:
    assert format_progress(sums, speed) == text


def test_without_a_terminal_there_is_no_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with show_progress(None, str(tmp_path)) as folder:  # type: ignore[arg-type]
        assert folder is None
    assert not list(tmp_path.iterdir())
