"""The forms of phrases: what each place, alternative and condition says of which values."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import Integer, Term
from dissectors.wire.summary import Summaries

SUMMARIES = Summaries(
    numbers={"twice": lambda number: f"{2 * number}"},
    phrases={"id": "{ledger}:{entry}", "end": "{?ledger > 9: the end}|{.%id}"},
)
PLACE = {"ledger": 3, "entry": 4}
VALUES: dict[str, Any] = {
    "id": PLACE, "ids": [PLACE, PLACE], "last": {"ledger": 10}, "none": -1, "empty": "", "null": None, "no": False,
    "size": 3, "kind": "A",
}  # fmt: skip
CASES = [
    ("no alternative says anything", "{none}|{null}", None),
    ("the first that says something", "{none}|size {size}|{kind}", "size 3"),
    ("alternatives in parentheses", "x({none}|, {kind}|, {size})", "x, A"),
    ("none of them", "x({none}|{null})", "x"),
    ("an alternative within a place is none of the phrase", "{none|size} of {null|kind}", "3 of A"),
    ("a text at last", "{null|'?'}", "?"),
    ("an empty text before one", "{empty|'?'=}", ""),
    ("parentheses as characters", r"{kind} \({size}\)", "A (3)"),
    ("a condition that holds", "{?size > 2: large {size}}", "large 3"),
    ("one that does not", "{?size > 3: large {size}}|{size}", "3"),
    ("alternatives behind a condition", "{?has kind: {null}|{kind}}", "A"),
    ("a word for what is false", "{no?yes/no}", "no"),
    ("no word for it", "{no?yes}", None),
    ("a struct", "{id: {ledger}-{entry}}", "3-4"),
    ("a phrase with a name", "{id%id}", "3:4"),
    ("of each of several", "{ids%id}", "3:4, 3:4"),
    ("within another", "{id%end}, {last%end}", "3:4, the end"),
    ("a number as a text", "{size%twice}", "6"),
    ("no number", "{kind%twice}", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_phrase(text: str, said: str | None) -> None:
    assert SUMMARIES.phrase(text)(VALUES, []) == said


@pytest.mark.parametrize("text", ["{a", "a)", "{-}", "{?a ~ b: c}"])
def test_what_is_no_phrase(text: str) -> None:
    with pytest.raises(ValueError, match=r"phrase|open|condition"):
        SUMMARIES.phrase(text)


def test_a_number_as_a_text_stands_for_any_number() -> None:
    builder = TemplateBuilder(b"\0\0\0\7")
    number = builder.integer(Term(0, 4, "I"), 7)
    text = SUMMARIES.phrase("{n%twice}")({"n": number}, [])
    assert text is not None
    (mark,) = builder.marks
    assert type(mark.number) is Integer  # type: ignore[union-attr]
    assert mark.function(7) == "14"  # type: ignore[union-attr]
    assert not any(builder.fixed)
    assert not builder.conditions
