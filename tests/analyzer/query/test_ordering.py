"""Ranks of values of any kind; tests/analyzer/cli/test_list.py sorts rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analyzer.errors import UserError
from analyzer.query.ordering import SortKey, _rank_values, parse_sort_keys
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ([], []),
        ([3, 1, 2, 1], [2, 0, 1, 0]),
        ([2**70, -(2**70), 0], [2, 0, 1]),
        (["b", "a", None], [1, 0, None]),
        ([b"a", "b", 3, True], [3, 2, 1, 0]),
        ([1.5, 1, 2], [1, 0, 2]),
        ([float("nan"), 1, NonFinite("nan"), NonFinite("inf")], [None, 0, None, 1]),
        ([Secret("a"), Secret(b"b"), "c"], [None, None, 0]),
        ([EmbeddedValue(b"b", None), b"a", EmbeddedValue(Secret(b"c"), None)], [1, 0, None]),
        ([{"a": 1}, [1], "x"], [None, None, 0]),
        (["\ud800", "a"], [1, 0]),
    ],
)
def test_ranks(values: list[Any], ranks: list[int | None]) -> None:
    found, null = _rank_values(values)
    assert [None if missing else rank for rank, missing in zip(found.tolist(), null.tolist(), strict=True)] == ranks
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("time", [SortKey("time")]),
        ("-time", [SortKey("time", True)]),
        ("latency:desc,length", [SortKey("latency_ns", True), SortKey("length")]),
        ("-latency:desc", [SortKey("latency_ns")]),
        ("time:asc,", [SortKey("time")]),
        ("tcp.stream", [SortKey("stream")]),
        ("", []),
    ],
)
def test_keys(text: str, keys: list[SortKey]) -> None:
    assert parse_sort_keys(text) == keys


@pytest.mark.parametrize("text", ["tiem", "time:down", "fields", "kafka", "--time", "kafka.Fetch.request.topics"])
def test_what_cannot_be_sorted_by(text: str) -> None:
    with pytest.raises(UserError, match=r"^--sort "):
        parse_sort_keys(text)
