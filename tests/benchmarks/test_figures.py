"""What stands beside tshark's statistics tells of as many messages as these, where tshark is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.figures import _compare, _groups, _works
from benchmarks.library import Library

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("benchmarks")]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Library(tmp_path_factory.mktemp("captures")).of_packets("small", 1500)


def test_each_work_asks_tshark_for_every_operation(small: Path) -> None:
    keys, clients = _groups(small, "code"), _groups(small, "client")
    assert len(keys) > 5
    by_operation, with_errors, screen, talks = _works(keys, clients)
    assert by_operation.theirs[1].count("COUNT(") == len(keys)
    assert with_errors.theirs[1].count("kafka.error)") == 1
    assert screen.theirs[1].count("COUNT(") == len(keys) + len(clients) + 1
    assert talks.theirs == ("-z", "conv,tcp")


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_both_tell_of_the_same_messages(small: Path) -> None:
    _compare(small, _groups(small, "code"))
