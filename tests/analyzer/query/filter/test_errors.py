"""What is no filter says so: where, what was expected, and what may have been meant; and no pattern takes long."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.filter import FilterError, compile_filter
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.effort import within, within_steps

NAMED = {"slow": "latency > 50ms", "self": "error or $self", "one": "$two", "two": "not $one", "bad": "version == x"}

CASES = [
    # the place between « and », what is said of it
    ("«»", "it is empty"),
    (" «»", "it is empty"),
    # fields
    ("«latncy» > 5", "There is no field latncy. Did you mean latency"),
    ("«x»", "There is no field x. wireanalyze fields lists all fields."),
    ("error and «opration» == Fetch", "Did you mean operation"),
    ("«kafka.Fetch.request.topics.topc» == x", "Did you mean kafka.Fetch.request.topics.topic"),
    ("«kafka.Fecth» and error", "Did you mean kafka.Fetch"),
    ("«kafka.topik» == x", "Did you mean kafka.topic"),
    ("«zookeeper.getData.request.pth» == x", "Did you mean zookeeper.getData.request.path?"),
    ("«kafak.Fetch»", "Did you mean kafka.Fetch?"),
    ("version == 3 and («»", "expected a field, found the end"),
    ("version == 3 and «)»", "expected a field, found )"),
    ("not«»", "expected a field, found the end"),
    ("!«=»3", "expected a field, found ="),
    ("«3» == version", "The field comes first,"),
    ('«"»a" == info', "The field comes first,"),
    ("«;»", "expected a field, found ;"),
    # operators
    ("protocol «=» kafka", "Did you mean ==?"),
    ("info «contain» x", "Did you mean contains or not in?"),
    ("info «mathces» x", "Did you mean matches?"),
    ("error «adn» state", "Did you mean and?"),
    ("error «error»", "expected and, or, or the end, found error"),
    ("error«)»", "expected and, or, or the end, found )"),
    ("version == 3 «4»", "expected and, or, or the end"),
    ("(error«»", "expected a closing parenthesis, found the end"),
    ("(error and«»", "expected a field, found the end"),
    ("all port«»", "expected an operator, because all says how many values must fulfil it"),
    ("any port «and» error", "expected an operator"),
    # values
    ("latency >«»", "expected a value, found the end"),
    ("latency > «=» 5", "expected a value, found ="),
    ('info == «"»open', "the closing quote is missing"),
    ("info == «'»open\\'", "the closing quote is missing"),
    ("version in {«}»", "the set is empty"),
    ("version in «3»", "expected a set, as in {1, 2, 5..9}"),
    ("version in {1, 2«»", "expected a value, found the end"),
    ("version in {1..«}»", "expected a value, found }"),
    ("version in {1, «,»}", "expected a value, found ,"),
    ("version == «three»", "version is a number. Write a number"),
    ('version == «"3"»', "version is a number. Write a number"),
    ("version in {1, «two»}", "version is a number"),
    ("latency > «fast»", "duration. Write a number, such as 50ms or 1.5s"),
    ("latency > «5KiB»", "latency"),
    ("length > «5ms»", "length is not a duration. Leave out ms"),
    ("length > «5 ms»", "length is not a duration. Leave out ms"),
    ("length > «big»", "number. Write a number, such as 1MiB"),
    ("length > «5kb»", "length is a number"),
    ("kafka.Fetch.request.maxBytes > «5s»", "kafka.Fetch.request.maxBytes is not a duration. Leave out s"),
    ("kafka.Metadata.response.throttleTimeMs == «foo»", "kafka.Metadata.response.throttleTimeMs is a number"),
    ("kafka.Fetch.request.isolationLevel == «READ_COMITTED»", "Did you mean READ_COMMITTED"),
    ("time > «yesterday»", "time is a time. Write one,"),
    ('time > «"2026-13-01"»', "time is a time. Write one,"),
    ("ip == «10.0.0.300»", "ip is an address. Write one,"),
    ("source.ip == «10.0.0.0/33»", "source.ip is an address. Write one,"),
    ("from_client == «yes»", "from_client is true or false"),
    ("role == «respnse»", "role is one of request, response, oneway, push, raw. Did you mean response?"),
    ("state in {complete, «broken»}", "state is one of complete, partial, guessed, undecoded"),
    ("version contains «3»", "version is a number, but only text and bytes can be searched"),
    ("from_client matches «x»", "only text and bytes can be searched"),
    (
        "kafka.Fetch.request.topics == «x»",
        "kafka.Fetch.request.topics is a structure. Compare one of its fields, or its count()",
    ),
    ("kafka.Fetch == «x»", "kafka.Fetch has no value to compare. Write it alone"),
    ("kafka == «x»", "kafka has no value to compare. Write it alone"),
    ('info matches «"(["»', "this is not a regular expression in RE2's syntax:"),
    ('info matches «"(?=a)"»', "this is not a regular expression in RE2's syntax:"),
    ("info matches «'(a)\\1'»", "this is not a regular expression in RE2's syntax:"),
    ("info matches «'a{2000}'»", "this is not a regular expression in RE2's syntax:"),
    # slices and functions
    ("info[«]» == x", "expected a number, as in [0:4], [2], [1-3], [:4] or [4:]"),
    ("info[«3:0»] == x", "a slice [start:length] is 0"),
    ("info[«5-2»] == x", "a slice [first-last] is before the first"),
    ("info[«-2-1»] == x", "a slice [first-last] is before the first"),
    ("info[0«»", "expected a closing bracket, found the end"),
    ("info[«99999999999999999999»] == x", "expected a number"),
    ("«version[0]» == 1", "only text and bytes have slices"),
    ("«lenn»(info) == 3", "there is no function lenn. Functions are len, count,"),
    ("len(info «=»= 3", "expected a closing parenthesis"),
    ("len(«)» == 3", "expected a field, found )"),
    ("«lower(version)» == 3", "lower takes text, but version is a number"),
    ("«abs(info)» == 3", "abs takes numbers, but info is text"),
    ("«len(kafka.Fetch)» == 3", "has no value."),
    # named filters
    ("error or «$slw»", "no filter slw. Did you mean slow?"),
    ("«$none»", "no filter none."),
    ("«$»", "expected the name of a filter after $"),
    ("«$» slow", "expected the name of a filter after $"),
    ("«$self»", "the filter self refers to itself"),
    ("not «$one»", "the filter one refers to itself"),
]


@pytest.mark.parametrize(("marked", "why"), CASES)
def test_an_error_has_a_place_and_a_hint(marked: str, why: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(FilterError) as caught:
        compile_filter(text, NAMED)
    error = caught.value
    start, stop = error.span
    assert f"{text[:start]}«{text[start:stop]}»{text[stop:]}" == marked
    assert why in error.why
    assert error.why in str(error)
    assert f"character {start + 1}" in str(error)
    assert isinstance(error, UserError)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kafka.Metadata.response.topics.errorCode == UNKNOWN_TOPIC", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("kafka.api_key == Metdata", "Metadata"),
        ("kafka.Metadata.response.throttleTimeMs > 2026-11-21", "is a number"),
    ],
)
def test_a_word_that_no_number_has_is_an_error(text: str, hint: str) -> None:
    with pytest.raises(FilterError, match=hint):
        compile_filter(text)


def test_the_place_of_an_error_in_a_named_filter_is_where_it_is_named() -> None:
    with pytest.raises(FilterError, match="in the filter bad: version is a number") as caught:
        compile_filter("error and $bad", NAMED)
    assert caught.value.text[slice(*caught.value.span)] == "$bad"


def test_an_error_repeats_no_more_than_a_line_of_a_long_filter() -> None:
    with pytest.raises(FilterError) as caught:
        compile_filter("x" * 5000 + " == 3")
    assert caught.value.span == (0, 5000)
    assert str(caught.value).count("x") < 5100


DEEP = 1_000
MOST = 10_000_000
"""Steps; the longest take 1.6 and 4.5 million, and to look back from each word would be a billion."""

SOON = 40.0
"""Seconds; the longest take 0.1 and 0.3. What is quadratic in C is at billions, too."""


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEEP + "error" + ")" * DEEP,
        "not " * DEEP + "error",
        "!" * DEEP + "error",
        "len(" * DEEP + "info" + ")" * DEEP + " == 3",
        "kafka.Fetch." + "a." * 40_000 + "a",
        "a." * 40_000 + "a",
        "x" * 90_000,
        '"' * 90_001,
        "(" * 90_000,
        "[" * 90_000,
        "info == " + "'" + "\\" * 90_001,
        "version in {" + "1 " * 40_000,
        "error or " * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_filter_is_refused_soon(text: str) -> None:
    with within(SOON), within_steps(MOST), pytest.raises(FilterError) as caught:
        compile_filter(text)
    assert 0 <= caught.value.span.start <= caught.value.span.stop <= len(text)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 90 + "error" + ")" * 90,
        "not " * 90 + "error",
        "error or " * 10_000 + "error",
        "version in {" + "1 " * 30_000 + "}",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_long_but_not_deep_is_a_filter(text: str) -> None:
    with within(SOON), within_steps(MOST):
        assert compile_filter(text).fields


def test_named_filters_within_each_other_count_as_levels() -> None:
    levels = {f"f{number}": "(" * 40 + f"$f{number + 1}" + ")" * 40 for number in range(20)} | {"f20": "error"}
    with pytest.raises(FilterError, match="levels"):
        compile_filter("$f0", levels)


def test_named_filters_that_double_each_time_are_refused_soon() -> None:
    doubling = {f"f{number}": f"$f{number + 1} or $f{number + 1}" for number in range(60)} | {"f60": "error"}
    with within_steps(MOST), pytest.raises(FilterError):  # some 4,000
        compile_filter("$f0", doubling)


# ---- regular expressions are read by a library that takes time in proportion to the text, whatever they are


NAMES, LONG = 34, 30_000
"""Topics, and letters in the name of each: a megabyte."""


def in_packets(data: bytes) -> Iterable[bytes]:
    return (data[at : at + 1400] for at in range(0, len(data), 1400))


def test_a_pattern_that_backtracks_elsewhere_ends(tmp_path: Path) -> None:
    topic = (LONG + 1).to_bytes(2) + b"a" * LONG + b"!"
    request = bytes.fromhex("0003 0000 00000007 0002 6d65") + NAMES.to_bytes(4) + topic * NAMES
    talk = Talk(((CLIENT, len(request).to_bytes(4) + request),))
    with Session([capture(tmp_path / "a.pcap", segments(talk, in_packets))]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        name = "kafka.Metadata.request.topics.name"
        assert compile_filter(f"count({name}) == {NAMES} and len({name}) == {LONG + 1}").find_mask(
            reader, rows
        ).tolist() == [True]
        for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*b", "(a|a?)+$"):
            for field in (name, "bytes", "text"):
                assert not compile_filter(f"{field} matches '^{pattern}'").find_mask(reader, rows).any()
        assert compile_filter(f"{name} matches '^(a+)+!$'").find_mask(reader, rows).all()
