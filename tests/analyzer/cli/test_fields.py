"""`wireanalyze fields`: what it lists is what filters and -e take, and what its kinds say is so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from analyzer.cli.fields import command
from analyzer.errors import UserError
from analyzer.query.fields.catalog import find_field
from analyzer.query.fields.path import BodyField, FieldKind, FieldPath
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter import compile_filter
from dissectors.wire.secret import Secret
from tests.analyzer.query.filter.captured import NAMES, captured, printed
from tests.analyzer.query.filter.oracle import is_bytes, is_masked, values_of


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


@cache
def lines() -> list[dict[str, Any]]:
    """All that is listed."""
    return [json.loads(line) for line in call("--json").stdout.splitlines()]


@cache
def listed() -> dict[str, dict[str, Any]]:
    """The same by name."""
    return {line["name"]: line for line in lines()}


TWICE = "rocketmq.HEART_BEAT."
"""Two codes have this name, each with a layout of its own."""


def wrong(each: Iterable[dict[str, Any]]) -> list[str]:
    """Names that mean something else than what is listed."""
    return [line["name"] for line in each if _meant(find_field(line["name"])) != (line["type"], line["repeated"])]


def _meant(field: FieldPath) -> tuple[str, bool]:
    return field.kind.value, field.repeated


EVERY_NTH = 9


def once() -> list[dict[str, Any]]:
    return [line for line in lines() if not line["name"].startswith(TWICE)]


@pytest.mark.slow
def test_a_name_means_what_is_listed_of_it() -> None:
    assert not wrong(once()[:200])
    assert not wrong(once()[200::EVERY_NTH])


@pytest.mark.slow
def test_each_name_means_what_is_listed_of_it() -> None:
    assert not wrong(once())


def test_each_name_is_listed_once() -> None:
    assert len(listed()) == len(lines())
    assert not wrong(line for line in lines() if line["name"].startswith(TWICE))


def test_each_kind_of_name_is_listed() -> None:
    names = listed()
    for name in ("latency", "latency_ns", "ip", "error.code", "kafka.topic", "zookeeper.path", "pulsar.topic"):
        assert name in names
    for name in ("kafka.Fetch.request.topics.partitions.partition", "rocketmq.topic", "kafka.correlation_id"):
        assert name in names
    assert names["kafka.Fetch.request.topics.partitions.partition"]["type"] == "number"
    assert names["kafka.Fetch.request.topics.partitions.partition"]["repeated"]
    assert not names["kafka.Fetch.request.maxWaitMs"]["repeated"]


def test_a_word_chooses_names_in_upper_and_lower_case() -> None:
    names = [json.loads(line)["name"] for line in call("partitionINDEX", "--json").stdout.splitlines()]
    assert names
    assert names == [name for name in listed() if "partitionindex" in name.lower()]


def test_lines_for_people_say_name_kind_and_what_it_is() -> None:
    text = call("latency").stdout.splitlines()
    assert text[0].split(maxsplit=2)[:2] == ["latency_ns", "duration"]
    assert "time since its request" in text[0]
    assert any(line.split()[0] == "latency" for line in text)
    partition = call("kafka.Fetch.request.topics.partitions.partition").stdout
    assert "number, many" in partition


@pytest.mark.parametrize(
    ("word", "said"), [("latencyy", "Did you mean latency"), ("qqqqqq", "wireanalyze fields lists all of them")]
)
def test_a_word_in_no_name_is_an_error(word: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        call(word)


SAMPLED = 500


@pytest.mark.slow
def test_values_of_fields_are_those_that_are_printed() -> None:
    """Of paths at random, with and without the side: each value of each row."""
    random, compared = Random(7), 0
    every = [(name, path) for name in NAMES for path in sorted(captured(name).fields)]
    for name, path in random.sample(every, SAMPLED):
        capture = captured(name)
        having = capture.fields[path]
        requested = path if random.random() < 0.7 else path.replace(".request.", ".", 1).replace(".response.", ".", 1)
        rows = sorted({*random.sample(having, min(4, len(having))), *random.sample(range(len(capture.printed)), 4)})
        field = find_field(requested)
        found = FieldReader(capture.reader, [field]).read_by_row(field, np.array(rows))
        for row, values in zip(rows, found, strict=True):
            wanted = values_of(requested, capture.printed[row])
            assert [printed(value) for value in values] == wanted, (name, requested, row)
            compared += len(wanted)
    assert compared > 3 * SAMPLED


KINDS = {
    FieldKind.NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    FieldKind.TIME: lambda value: type(value) is int,
    FieldKind.FLAG: lambda value: isinstance(value, bool),
    FieldKind.TEXT: lambda value: isinstance(value, str) or is_bytes(value) or is_masked(value),
    FieldKind.BYTES: lambda value: is_bytes(value) or is_masked(value),
    FieldKind.STRUCT: lambda value: isinstance(value, dict | list) or is_masked(value),
    FieldKind.ANY: lambda value: True,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_captures_is_listed_and_of_the_kind_that_is_listed(name: str) -> None:
    """A kind that is wrong would refuse questions that have answers."""
    capture = captured(name)
    unlisted = []
    for path, rows in capture.fields.items():
        field = find_field(path)
        assert isinstance(field.origin, BodyField)
        if path not in listed() and with_sides(path).isdisjoint(listed()):
            unlisted.append(path)
        for row in rows[:: max(1, len(rows) // 5)]:
            values = values_of(path, capture.printed[row])
            assert all(value == [] or KINDS[field.kind](value) for value in values), (path, field.kind, values[:3])
            assert field.repeated or len(values) <= 1, path
    # Maps and JSON have names that no table knows, and bytes are asked for what they are without being listed so.
    assert all(
        find_field(path).kind is FieldKind.ANY or path.rpartition(".")[2] in ("hex", "length", "as", "value")
        for path in unlisted
    )


def with_sides(path: str) -> set[str]:
    protocol, operation, *rest = path.split(".")
    return {".".join((protocol, operation, side, *rest)) for side in ("request", "response")}


def test_secrets_have_no_values_to_be_read() -> None:
    capture = captured("kafka-4.4.pcap.zst")
    field = find_field("kafka.SaslAuthenticate.request.authBytes")
    rows = compile_filter(field.name).select_rows(capture.reader, capture.all_rows)
    values = [value for each in FieldReader(capture.reader, [field]).read_by_row(field, rows) for value in each]
    assert values
    assert all(isinstance(value, Secret) or isinstance(value.data, Secret) for value in values)
