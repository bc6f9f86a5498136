"""What a cell has of the values of a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analyzer.decode.limits import Limits
from analyzer.query.fields import FieldKind, FieldPath
from analyzer.query.fields.path import RowKey
from analyzer.render.shapes import JoinedCell, ListedCell
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret

ONE = FieldPath("one", FieldKind.ANY, RowKey("one"))
MANY = FieldPath("many", FieldKind.ANY, RowKey("many"), repeated=True)
NAMED = FieldPath("named", FieldKind.NUMBER, RowKey("named"), label={1: "ONE"}.get)


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ((), None),
        ([[]], None),
        (["a"], "a"),
        (["a", "b"], "a,b"),
        (["a,b", "c"], "a,b,c"),
        ([""], ""),
        ([0, -1, 2**64], "0,-1,18446744073709551616"),
        ([True, False], "true,false"),
        ([1.5, NonFinite("nan")], "1.5,NaN"),
        ([b"\x00\xff"], "00ff"),
        ([b""], ""),
        ([b"12345"], "313233..."),
        ([{"a": 1}], '{"a":1}'),
        (["1", "2", "3", "4", "5"], "1,2,3,..."),
        ([Secret("pw")], '{"redacted":true,"length":2}'),
        ([EmbeddedValue(b"\x01", {"a": 1}, "A")], "01"),
        ([EmbeddedValue(Secret(b"\x01"), {"a": Secret("x")}, "A")], '{"redacted":true,"length":1}'),
    ],
)
def test_texts(values: Sequence[Any], cell: str | None) -> None:
    assert JoinedCell(Limits(3, 3))(MANY, values) == cell


def test_secrets_are_shown_when_requested() -> None:
    shown = JoinedCell(Limits(show_secrets=True))
    assert shown(MANY, [Secret("pw"), Secret(b"\x01"), EmbeddedValue(Secret(b"\x02"), None)]) == "pw,01,02"


def test_labels_are_for_people() -> None:
    assert JoinedCell(Limits(), labels=True)(NAMED, [1, 2]) == "ONE,2"
    assert JoinedCell(Limits())(NAMED, [1, 2]) == "1,2"


@pytest.mark.parametrize(
    ("path", "values", "found"),
    [
        (ONE, (), None),
        (ONE, ["a"], "a"),
        (ONE, ["a", "b"], ["a", "b"]),
        (MANY, (), []),
        (MANY, [[]], []),
        (MANY, ["a"], ["a"]),
        (MANY, [b"a", None], [b"a", None]),
    ],
)
def test_json(path: FieldPath, values: Sequence[Any], found: Any) -> None:
    assert ListedCell()(path, values) == found
