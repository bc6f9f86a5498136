"""Folders of the tests of live capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analyzer.live.worlds import open_folder


@pytest.fixture
def place() -> Iterator[Path]:
    """See open_folder."""
    with open_folder() as folder:
        yield folder
