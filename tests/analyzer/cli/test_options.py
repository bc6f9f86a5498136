"""Options that several commands share."""

from __future__ import annotations

import pytest
from click import BadParameter

from analyzer.cli.options import Count


@pytest.mark.parametrize(("text", "number"), [("64", 64), ("0", 0), ("all", None), ("ALL", None), ("All", None)])
def test_a_number_or_all(text: str, number: int | None) -> None:
    assert Count().convert(text, None, None) == number


@pytest.mark.parametrize("text", ["-1", "al", "6.4", ""])
def test_neither(text: str) -> None:
    with pytest.raises(BadParameter, match="Give a number or all"):
        Count().convert(text, None, None)
