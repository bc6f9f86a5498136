"""Texts that nobody would write as filters: each is one, or is refused with a place in it; none takes long.

A case is a seed: an expression of the grammar, a good one that was damaged, or characters of the language and of
Unicode. What is a filter is asked of a few rows, too. WIREANALYZE_FILTERS sets how many cases the long run tries.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from analyzer.query.filter import Filter, FilterError, compile_filter
from tests.analyzer.query.filter.captured import captured
from tests.effort import within, within_steps

QUICK = 2_000
LONG = int(os.environ.get("WIREANALYZE_FILTERS", "100000"))
BATCH = 100
PER_PROCESS = 5_000
MOST = 500_000
"""Steps for any one text, once names have been looked up: usually 300, where a name is sought 100,000."""
SECONDS = 5.0
"""Of CPU, for what is no step: usually 20 us, and up to 4 ms."""

ROWS = np.array([0, 1, 7, 40, 200])
NAMED = {"slow": "latency > 50ms", "bad": "error or $slow", "loop": "not $loop", "broken": "(", "": "error"}

FIELDS = (
    *("latency", "error", "error.code", "role", "time", "ip", "source.port", "info", "findings", "bytes", "text"),
    *(
        "from_client",
        "correlation",
        "client",
        "kafka",
        "kafka.Fetch",
        "kafka.Fetch.request.topics.partitions.partition",
    ),
    *("kafka.topic", "kafka.group", "kafka.api_key", "kafka.Produce.request.topicData.partitionData.records.crc"),
    *("kafka.Metadata.response.brokers.host", "zookeeper.getData.request.path", "zookeeper.path", "pulsar.topic"),
    *("pulsar.SEND.metadata.producer_name", "rocketmq.SEND_MESSAGE_V2.header.topic", "rocketmq.topic", "nonsense"),
    *("zookeeper-quorum.PROPOSAL", "kafka.Fetch.request", "kafka.Nonsense.a.b", "a.b.c", "any", "not", "and", "in"),
)
OPERATORS = (
    *("==", "!=", "===", "!==", "~=", "<", "<=", ">", ">=", "~", "&", "=", "eq", "ne", "lt", "le", "gt", "ge"),
    *("contains", "matches", "bitwise_and", "any_eq", "all_ne", "in", "not in", "contain", "not"),
)
VALUES = (
    *("3", "-1", "0x10", "1.5", "50ms", "5 s", "1MiB", "9" * 50, "request", "kafka", "true", "10.0.0.0/8", "::1"),
    *("2026-11-21", '"2026-11-21 10:00"', '"a b"', "'it'", 'r"a\\d+"', '"(a+)+$"', '"["', '"\\x00\\377"', "00:0a:ff"),
    *("0xdeadbeef", '""', "''", '"\ud800"', "Fetch", "NONE", "*", "a..b", "1..2", '"', "9999-12-31", "1e9", "+", "-"),
)
_EQUAL = ("==", "!=", "===", "!==", "in", "not in", "eq", "ne")
_ORDER = ("<", "<=", ">", ">=", "lt", "le", "gt", "ge")
_SEARCHED = ("contains", "matches", "~")
FITTING: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("latency", ("", *_EQUAL, *_ORDER), ("50ms", "1.5 s", "0", "-1", "0x10", "2h")),
    ("any length", (*_EQUAL, *_ORDER, "&"), ("3", "1KiB", "1.5MiB", "0xff")),
    ("time", ("", *_EQUAL, *_ORDER), ("2026-11-21", '"2026-11-21 10:00"', "2026-11-21T10:00:00.5Z", "0")),
    ("all ip", _EQUAL, ("127.0.0.0/8", "::1", "'10.0.0.1'")),
    ("role", ("", *_EQUAL), ("request", "'response'", "raw")),
    ("from_client", ("", "==", "!="), ("true", "0", "False")),
    ("error", ("", *_EQUAL, *_SEARCHED), ("3", "NONE", "'LEADER'")),
    ("correlation", ("", *_EQUAL, *_ORDER), ("3", '"request:7"', "-2")),
    ("info", ("", *_EQUAL, *_ORDER, *_SEARCHED), ('"a b"', 'r"a\\d+"', "'(a+)+$'", "x", '"\\x41"')),
    ("upper(info)[0:3,-2:]", (*_EQUAL, *_SEARCHED), ("AB", "'x y'")),
    ("len(findings)", (*_EQUAL, *_ORDER), ("3", "12")),
    ("bytes", ("", *_EQUAL, *_SEARCHED), ("00:0a:ff", '"\\x00"', "0xdeadbeef")),
    ("bytes[0:4]", _EQUAL, ("00:00:00:0a", "'abcd'")),
    ("text", (*_EQUAL, *_SEARCHED), ("topic", "'a.*b'")),
    ("kafka.Fetch.request", ("",), ()),
    ("kafka.topic", ("", *_EQUAL, *_ORDER, *_SEARCHED), ("orders", "'a'")),
    ("count(kafka.Metadata.response.brokers)", (*_EQUAL, *_ORDER), ("1", "3")),
    ("all kafka.Metadata.response.brokers.port", (*_EQUAL, *_ORDER, "&"), ("9092", "1")),
    ("kafka.api_key", (*_EQUAL, *_ORDER), ("1", "3")),
    ("max(kafka.Produce.request.topicData.partitionData.index)", (*_EQUAL, *_ORDER), ("0", "1.5")),
    ("zookeeper.path", ("", *_EQUAL, *_SEARCHED), ("/a", "'^/brokers'")),
    ("pulsar.SEND.metadata.producer_name", ("", *_EQUAL, *_SEARCHED), ("a", "'b'")),
    ("rocketmq.SEND_MESSAGE_V2.header.topic", ("", *_EQUAL, *_SEARCHED), ("a", "'b'")),
)
"""What is asked, the operators that it can be asked with (none: presence), and values that fit."""

FUNCTIONS = ("len", "count", "lower", "upper", "string", "min", "max", "abs", "nonsense")
CUTS = ("0", "1:2", "-3:", ":4", "1-2", "-3--1", "0:0", "5-1", "99999999999999999999", "", "0,1:2", "-1", "a")
ALPHABET = (
    *"()[]{}!=<>&|^~$,.:-+\"'\\ \t\n\0r019azAZ_@#%*/?",
    *("and", "or", "xor", "not", "in", "any", "all", "error", "latency", "==", "&&", "||", "..", "ms", "$slow", "len("),
    *("\u00e9", "\u0660", "\u2028", "\ud800", "\U0001f600", "\u200f", "\u0130", "\x7f", "\x85", "\ufeff"),
)


def from_grammar(random: Random, depth: int = 4) -> str:
    """An expression; one part in a few is none that can be."""
    kind = random.randrange(8) if depth else 7
    if kind < 3:
        word = random.choice(("and", "or", "xor", "&&", "||", "^^"))
        return f"{from_grammar(random, depth - 1)} {word} {from_grammar(random, depth - 1)}"
    if kind == 3:
        return f"{random.choice(('not ', '!', '! '))}{from_grammar(random, depth - 1)}"
    if kind == 4:
        return f"({from_grammar(random, depth - 1)})"
    if kind == 5:
        return random.choice(("$slow", "${bad}") * 9 + ("$loop", "$none", "$broken"))
    return comparison(random)


def comparison(random: Random) -> str:
    """Mostly one that means something; else any field, anything done to it, any operator and value."""
    if random.random() < 0.9:
        head, operators, values = random.choice(FITTING)
        operator = random.choice(operators)
        return head if not operator else f"{head} {operator} {_operand(random, operator, values)}"
    value = random.choice(FIELDS)
    while random.random() < 0.3:
        value = f"{random.choice(FUNCTIONS)}({value})" if random.random() < 0.6 else f"{value}[{random.choice(CUTS)}]"
    operator = random.choice(OPERATORS)
    return f"{random.choice(('', '', 'any ', 'all '))}{value} {operator} {_operand(random, operator, VALUES)}"


def _operand(random: Random, operator: str, values: tuple[str, ...]) -> str:
    if operator not in ("in", "not in"):
        return random.choice(values)
    members = (random.choice(values) for _ in range(random.randrange(1, 4)))
    return f"{{{random.choice((', ', ' ', ',', ' .. ')).join(members)}}}"


def damaged(random: Random) -> str:
    text = list(from_grammar(random))
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(text))
        how = random.randrange(4)
        if how == 0 and len(text) > 1:
            del text[at]
        elif how == 1:
            text.insert(at, text[at])
        elif how == 2:
            other = random.randrange(len(text))
            text[at], text[other] = text[other], text[at]
        else:
            text[at] = random.choice(ALPHABET)
    return "".join(text)


def noise(random: Random) -> str:
    return "".join(random.choice(ALPHABET) for _ in range(random.choice((1, 3, 8, 30, 120))))


WAYS: tuple[Callable[[Random], str], ...] = (from_grammar, damaged, noise)


def _compiled(text: str) -> Filter | FilterError:
    try:
        return compile_filter(text, NAMED)
    except FilterError as error:
        return error


def check(seed: int) -> bool:
    """Whether the text of a seed is a filter."""
    random = Random(seed)
    text = WAYS[seed % len(WAYS)](random)
    wanted = _compiled(text)
    with within(SECONDS, f"seed {seed}"), within_steps(MOST, f"seed {seed}"):
        _compiled(text)
    if isinstance(wanted, FilterError):
        start, stop = wanted.span
        assert 0 <= start <= stop <= len(text), (seed, text, wanted.span)
        assert wanted.text == text
        assert wanted.why
        return False
    capture = captured("mixed.pcapng")
    assert wanted.find_mask(capture.reader, ROWS).dtype == bool, (seed, text)
    return True


def check_all(seeds: range) -> None:
    for name in (*FIELDS, *(head for head, _, _ in FITTING)):
        _compiled(name)
    filters = sum(map(check, seeds))
    assert filters > len(seeds) // 5, "too few of them are filters: the cases prove nothing"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("first", range(0, QUICK, BATCH * 4))
def test_a_text_is_a_filter_or_is_refused_with_a_place(first: int) -> None:
    check_all(range(first, min(first + BATCH * 4, QUICK)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, QUICK + LONG, PER_PROCESS))
def test_many_texts_are_filters_or_are_refused_with_a_place(first: int) -> None:
    check_all(range(first, min(first + PER_PROCESS, QUICK + LONG)))
