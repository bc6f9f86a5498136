"""What names of columns mean."""

from __future__ import annotations

import pytest

from analyzer.decode.rows import known_keys
from analyzer.errors import UserError
from analyzer.query.column_names import key_of, keys_of, numbers, preset_keys
from analyzer.query.fields import find
from analyzer.query.presets import TABLE_KEYS, presets


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
    assert key_of(name, "-e") == key


@pytest.mark.parametrize("name", ["kafka.topic", "source.ip", "kafka.Fetch", "bytes", "error.code", "kafka.api_key"])
def test_anything_else_is_a_field(name: str) -> None:
    assert key_of(name, "-e") == find(name)
    found = keys_of(["number", name], "-e")
    assert (found.titles, found.names, found.paths) == (["number", name], ["number", name], {name: find(name)})


def test_each_key_of_a_row_is_known() -> None:
    assert all(isinstance(key_of(name, "-e"), str) for name in known_keys())


@pytest.mark.parametrize(
    "name", ["kafka", "zookeeper-quorum", "nope", "kafka.", "", "kafka.Fetch.request.tpoics", "\x1b"]
)
def test_what_means_nothing(name: str) -> None:
    with pytest.raises(UserError, match=r"^-e "):
        key_of(name, "-e")


def test_numbers_stand_at_the_right() -> None:
    keys = keys_of(["kafka.topic", "source.port", "length"], "-e")
    assert numbers(keys) == {"source.port"}


def test_fields_stand_last_and_once() -> None:
    assert keys_of(["number"], "-e").with_fields().names == ["number", "fields"]
    assert keys_of(["fields", "number"], "-e").with_fields().names == ["fields", "number"]


@pytest.mark.parametrize("name", presets())
def test_every_set_is_made_of_fields(name: str) -> None:
    assert keys_of(preset_keys(name, {}), name).titles == list(presets()[name])


def test_own_sets_go_before_built_in_ones() -> None:
    assert preset_keys("kafka", {"kafka": ("number",)}) == ("number",)
    assert preset_keys("default", {"mine": ("number",)}) == TABLE_KEYS
    with pytest.raises(UserError, match="did you mean mine"):
        preset_keys("mien", {"mine": ("number",)})
