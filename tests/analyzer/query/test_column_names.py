"""What names of columns mean, and ranks of values of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analyzer.decode.rows import list_keys
from analyzer.errors import UserError
from analyzer.query.column_names import find_number_keys, find_preset, resolve_key, resolve_keys
from analyzer.query.fields import find_field
from analyzer.query.ordering import SortKey, _rank_values, parse_sort_keys
from analyzer.query.presets import TABLE_KEYS, load_presets
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("time", "time"),
        ("latency", "latency_ns"),
        ("tcp.stream", "stream"),
        ("_ws.col.info", "info"),
        ("fields", "fields"),
    ],
)
def test_keys_of_rows_keep_their_own_ways(name: str, key: str) -> None:
    assert resolve_key(name, "-e") == key


@pytest.mark.parametrize("name", ["kafka.topic", "source.ip", "kafka.Fetch", "bytes", "error.code", "kafka.api_key"])
def test_anything_else_is_a_field(name: str) -> None:
    assert resolve_key(name, "-e") == find_field(name)
    found = resolve_keys(["number", name], "-e")
    assert (found.titles, found.names, found.paths) == (["number", name], ["number", name], {name: find_field(name)})


def test_each_key_of_a_row_is_known() -> None:
    assert all(isinstance(resolve_key(name, "-e"), str) for name in list_keys())


@pytest.mark.parametrize(
    "name", ["kafka", "zookeeper-quorum", "nope", "kafka.", "", "kafka.Fetch.request.tpoics", "\x1b"]
)
def test_what_means_nothing(name: str) -> None:
    with pytest.raises(UserError, match=r"^-e "):
        resolve_key(name, "-e")


def test_numbers_stand_at_the_right() -> None:
    keys = resolve_keys(["kafka.topic", "source.port", "length"], "-e")
    assert find_number_keys(keys) == {"source.port"}


def test_fields_stand_last_and_once() -> None:
    assert resolve_keys(["number"], "-e").add_fields().names == ["number", "fields"]
    assert resolve_keys(["fields", "number"], "-e").add_fields().names == ["fields", "number"]


@pytest.mark.parametrize("name", load_presets())
def test_every_set_is_made_of_fields(name: str) -> None:
    assert resolve_keys(find_preset(name, {}), name).titles == list(load_presets()[name])


def test_own_sets_go_before_built_in_ones() -> None:
    assert find_preset("kafka", {"kafka": ("number",)}) == ("number",)
    assert find_preset("default", {"mine": ("number",)}) == TABLE_KEYS
    with pytest.raises(UserError, match="Did you mean mine"):
        find_preset("mien", {"mine": ("number",)})


# ---- ranks of values of any kind; tests/analyzer/cli/test_list.py sorts rows


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
