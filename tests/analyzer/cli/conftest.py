"""The command line in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyzer.cli.program import run

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """Runs the program in this process: its status, what it printed on stdout and on stderr."""

    def called(*arguments: str) -> tuple[int, str, str]:
        status = run(arguments)
        return status, *capfd.readouterr()

    return called
