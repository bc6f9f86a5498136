"""Sentences about rows of reports."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.wire.row_sentence import RowSentence

SENTENCES: dict[str, tuple[dict[str, Any], str]] = {
    "{word} queue {queue=}(, of {group})": ({"word": "opens", "queue": -1, "group": None}, "opens queue -1"),
    "{n%counted message} in {took%lasting}": ({"n": 0, "took": 3_200_000_000}, "0 messages in 3.2 s"),
    "{names%counted name}: {names%listed}": ({"names": ["a", "b"]}, "2 names: a, b"),
    "({names%listed ;}|nobody), {n%grouped}": ({"names": [], "n": 12_345}, "nobody, 12,345"),
    "{there}": ({"there": None}, ""),
}


@pytest.mark.parametrize("template", SENTENCES)
def test_sentences(template: str) -> None:
    cells, expected = SENTENCES[template]
    assert RowSentence(template)(cells) == expected
