"""A number that has a name is compared by it, too: names are those that the trees say beside the numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from analyzer.query.fields.catalog import find_field
from analyzer.query.filter import compile_filter
from tests.analyzer.query.filter.captured import NAMES, Captured, captured, label_of
from tests.analyzer.query.filter.oracle import Comparison, Literal, Value, holds, values_of

pytestmark = pytest.mark.xdist_group("filters")


def labelled(capture: Captured) -> list[tuple[str, int, str]]:
    """Path, number and label of each number that has a name in a capture, once for each place and name."""
    found: dict[tuple[str, int], str] = {}
    for path, rows in capture.fields.items():
        if find_field(path).label is None or find_field(path).scale is not None:
            continue
        for row in {rows[0], rows[-1]}:
            for value in values_of(path, capture.printed[row]):
                label = label_of(capture, row, path, value)
                if label is not None:
                    found[path, value] = label
    return [(path, value, label) for (path, value), label in found.items()]


WORD = re.compile(r"[A-Z][A-Za-z_0-9]*")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_compared_by_its_label(name: str) -> None:
    capture = captured(name)
    cases = [case for case in labelled(capture) if WORD.fullmatch(case[2])]
    assert len(cases) > 5
    for path, value, label in cases[:: max(1, len(cases) // 24)]:
        rows = capture.fields[path][:16]
        same = Comparison(Value(path), "==", (Literal(str(value), False),))
        other = Comparison(Value(path), "!=", (Literal(str(value), False),))
        for text, wanted in (
            (f"{path} == {label}", same),
            (f"{path} == {label.swapcase()}", same),
            (f"{path} != {label}", other),
            (f"{path} in {{{label}, -77}}", same),
        ):
            found = compile_filter(text).find_mask(capture.reader, np.array(rows)).tolist()
            assert found == [holds(wanted, capture.printed[row]) for row in rows], text
        contained = Comparison(Value(path), "contains", (Literal(label[:4]),))
        found = compile_filter(f"{path} contains {label[:4]}").find_mask(capture.reader, np.array(rows)).tolist()
        assert found == [said_by(contained, capture, row, path) for row in rows], path


def said_by(comparison: Comparison, capture: Captured, row: int, path: str) -> bool:
    return holds(comparison, capture.printed[row], lambda _, number: label_of(capture, row, path, number))
