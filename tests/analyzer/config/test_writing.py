"""A configuration that is written loads again to one that says the same."""

from __future__ import annotations

import string
import tempfile
import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from analyzer.config import ColorRule, Config, load
from analyzer.config.model import TIME_FORMATS, list_built_in_colors
from analyzer.config.writing import format_config
from analyzer.messages.decode_as import PortRange
from analyzer.query.filter import compile_filter
from tests.analyzer.config.test_reading import WHOLE, file

PRESETS = {"default": ("number", "time"), "kafka": ("kafka.topic",)}


def effective(config: Config) -> tuple[object, ...]:
    columns = {**PRESETS, **config.columns}
    return columns, config.colors, config.ports, config.filters, config.time_format, config.names


def test_where_everything_comes_from(tmp_path: Path) -> None:
    lines = format_config(load(file(tmp_path, WHOLE)), PRESETS).splitlines()
    assert lines[0] == f"# {tmp_path}/config.toml"
    for line in (
        'time-format = "delta"  # from the file',
        "names = false  # from the file",
        'default = ["number", "time"]  # built-in',
        'kafka = ["number"]  # from the file',
        'slow = "latency > 100ms"  # from the file',
        '8000-8010 = "pulsar"  # from the file',
    ):
        assert line in lines
    assert lines.count("[[colors]]  # from the file") == 2
    assert "[[colors]]  # built-in" in lines


def test_without_a_file_the_defaults_are_written() -> None:
    found = tomllib.loads(format_config(Config(), PRESETS))
    assert found["columns"] == {name: list(keys) for name, keys in PRESETS.items()}
    assert (found["list"], found["filters"], found["ports"]) == ({"names": True}, {}, {})
    assert [rule["name"] for rule in found["colors"]] == [rule.name for rule in Config().colors]


def test_built_in_rules_are_filters() -> None:
    for rule in list_built_in_colors():
        assert compile_filter(rule.filter).fields


texts = some.text(some.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30) | some.just(
    'a "quote", a \\, \x1b[31m, \x7f, \u202e, \U000e0041, \n'
)
names = some.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=12)
ports = some.integers(1, 65535)
ranges = some.integers(1, 65534).flatmap(
    lambda low: some.integers(low + 1, 65535).map(lambda high: PortRange(low, high))
)
rules = some.builds(ColorRule, texts, texts, texts)
configs = some.builds(
    Config,
    some.just("a.toml"),
    some.dictionaries(names, some.lists(texts, min_size=1, max_size=4).map(tuple), max_size=4),
    some.lists(rules, max_size=4, unique_by=lambda rule: rule.name).map(tuple),
    some.dictionaries(ports | ranges, some.sampled_from(["kafka", "pulsar", "none"]), max_size=4),
    some.dictionaries(names, texts, max_size=4),
    some.sampled_from([None, *TIME_FORMATS]),
    some.booleans(),
)


@settings(max_examples=settings.default.max_examples // 10)  # a file is written and read
@given(configs)
def test_what_is_written_loads_again(config: Config) -> None:
    text = format_config(config, PRESETS)
    assert all(character.isprintable() or character == "\n" for character in text)
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(text.encode())
        file.flush()
        assert effective(load(file.name)) == effective(config)
