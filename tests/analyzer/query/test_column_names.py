"""What names of columns mean."""

from __future__ import annotations

import pytest

from analyzer.decode.rows import list_keys
from analyzer.errors import UserError
from analyzer.query.column_names import find_number_keys, find_preset, resolve_key, resolve_keys
from analyzer.query.fields import find_field
from analyzer.query.presets import TABLE_KEYS, load_presets


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
