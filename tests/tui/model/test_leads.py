"""Filters as pages write them."""

from __future__ import annotations

import pytest

from analyzer.query.filter import compile_filter
from analyzer.query.filter.nodes import Comparison, Literal
from analyzer.query.filter.parse import parse
from tests.tui.hostile import TEXTS, random_texts
from tui.model.leads import (
    combine_filters,
    write_comparison,
    write_duration,
    write_latency_range,
    write_literal,
    write_time_range,
)

LITERALS = [
    ("Fetch", "Fetch"),
    ("__consumer_offsets", "__consumer_offsets"),
    ("a.b-c", "a.b-c"),
    ("a..b", '"a..b"'),
    ("0x12", '"0x12"'),
    ("a b", '"a b"'),
    ("", '""'),
    ('say "x" \\', '"say \\"x\\" \\\\"'),
    ("a\nb\x1b\x9b", '"a\\x0ab\\x1b\\x9b"'),
    ("/a/b", '"/a/b"'),
]


@pytest.mark.parametrize(("text", "wanted"), LITERALS)
def test_literals(text: str, wanted: str) -> None:
    assert write_literal(text) == wanted


def test_a_literal_means_its_text() -> None:
    for text in (*TEXTS, *random_texts(100, 50)):
        condition = write_comparison("client", text)
        found = parse(condition, None)
        assert isinstance(found, Comparison)
        (operand,) = found.operands
        assert isinstance(operand, Literal)
        assert operand.text == text
        assert not any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in condition)


DURATIONS = [
    (0, "0ns"),
    (1, "1ns"),
    (1500, "1500ns"),
    (2000, "2us"),
    (2 * 10**6, "2ms"),
    (10**9, "1s"),
    (90 * 10**9, "90s"),
]


@pytest.mark.parametrize(("nanoseconds", "wanted"), DURATIONS)
def test_durations(nanoseconds: int, wanted: str) -> None:
    assert write_duration(nanoseconds) == wanted


def test_ranges() -> None:
    assert write_latency_range(0, 1000) == "latency < 1us"
    assert write_latency_range(2 * 10**6, 4 * 10**6) == "latency >= 2ms and latency < 4ms"
    assert write_time_range(1_700_000_000 * 10**9, 1_700_000_000_500_000_000) == (
        'time >= "2023-11-14 22:13:20" and time < "2023-11-14 22:13:20.5"'
    )
    assert write_time_range(0, 1) == 'time >= "1970-01-01 00:00:00" and time < "1970-01-01 00:00:00.000000001"'


BOTH = [
    ("", "error", "error"),
    ("error", "error", "error"),
    ("latency > 5ms", "kafka", "latency > 5ms and kafka"),
    ("a == 1 or b == 2", "kafka", "(a == 1 or b == 2) and kafka"),
    ("a == 1 || b == 2", "kafka", "(a == 1 || b == 2) and kafka"),
    ("a == 1 xor b == 2", "kafka", "(a == 1 xor b == 2) and kafka"),
    ("$slow", "kafka", "($slow) and kafka"),
    ("latency > 5ms and kafka", "kafka", "latency > 5ms and kafka"),
    ("not error", "kafka", "not error and kafka"),
]


@pytest.mark.parametrize(("first", "second", "wanted"), BOTH)
def test_both(first: str, second: str, wanted: str) -> None:
    assert combine_filters(first, second) == wanted


def test_what_is_put_together_is_a_filter() -> None:
    compile_filter(
        combine_filters(combine_filters("kafka or error", write_time_range(0, 5)), write_latency_range(1000, 2000))
    )
