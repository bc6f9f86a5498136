"""What is offered while a filter is typed, what is said of it, and what the names and values are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.rows import RowReader
from analyzer.query.fields.catalog import find_field, list_fields
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter import FilterError, compile_filter
from analyzer.query.filter.nodes import Comparison, Junction, Literal
from analyzer.query.filter.parse import parse
from analyzer.session import Session
from tests.analyzer.query.filter.captured import captured
from tests.analyzer.query.filter.test_secrets import NAMES, secrets_of
from tests.effort import within_steps
from tests.tui.driving import KAFKA
from tests.tui.hostile import TEXTS, write
from tui.model.completion import Completion, CompletionSources, TextState, complete, describe_field, judge_filter
from tui.model.completion_sources import SampledValue, _write_word, read_field_names, sample_values
from tui.model.input_advice import MOST_ENTRIES, InputAdvisor, InputHistory, SearchAdvisor
from tui.search_worker import parse_search

VALUES = {
    "kafka.topic": [SampledValue("orders", 7), SampledValue('"a b"', 2), SampledValue("Old", 1)],
    "operation": [SampledValue("Fetch", 9)],
}
NAMED = {"slow": "latency > 50ms", "with.dot": "error"}
KNOWN = CompletionSources(read_field_names(), NAMED, VALUES)


class Case(NamedTuple):
    """`text` with | where the cursor is; `first`: what is offered first; `inside` elsewhere; `word` is replaced."""

    text: str
    word: str
    first: tuple[str, ...]
    inside: str | None = None


CASES = [
    Case("lat|", "lat", ("latency", "latency_ns")),
    Case("ERR|", "ERR", ("error", "error.code", "error.name")),
    Case("kafka.|", "kafka.", ("kafka.topic", "kafka.partition"), "kafka.Fetch"),
    Case("kafka|", "kafka", ("kafka.topic",), "kafka.Fetch"),
    Case("kafka.fet|", "kafka.fet", ("kafka.Fetch", "kafka.FetchSnapshot"), "kafka.fetch_session_id"),
    Case("kafka.Fetch.|", "kafka.Fetch.", ("kafka.Fetch.request", "kafka.Fetch.response"), "kafka.Fetch.maxWaitMs"),
    Case("kafka.Fetch.request.max|", "kafka.Fetch.request.max", ("kafka.Fetch.request.maxWaitMs",)),
    Case("kafka.Fetch.topics.part|", "kafka.Fetch.topics.part", ("kafka.Fetch.topics.partitions",)),
    Case("kafka.Fetch.fetchO|", "kafka.Fetch.fetchO", ("kafka.Fetch.request.topics.partitions.fetchOffset",)),
    Case("topic|", "topic", ("topics", "kafka.topic", "pulsar.topic", "rocketmq.topic")),
    Case("source.|", "source.", ("source.ip", "source.port", "source.name")),
    Case("kafka.topik|", "kafka.topik", ("kafka.topic",)),
    Case("error and kafka.to|pic == x", "kafka.topic", ("kafka.topic",)),
    Case("le|", "le", ("length", "len("), None),
    Case("n|", "n", ("name", "number", "not")),
    Case("any po|", "po", ("port",)),
    Case("$|", "$", ("$slow",)),
    Case("error or ${w|", "${w", ("${with.dot}",)),
    Case("latency |", "", ("==", "!=", "<"), "and"),
    Case("client |", "", ("==", "!=", "contains"), "or"),
    Case("kafka.Fetch |", "", ("and", "or", "xor")),
    Case("client not |", "", ("in {",)),
    Case("client in |", "", ("{",)),
    Case("client ma|", "ma", ("matches",)),
    Case("kafka.topic == |", "", ("orders", '"a b"', "Old")),
    Case("kafka.topic ==|", "", ("orders",)),
    Case("kafka.topic == O|", "O", ("orders", "Old")),
    Case("kafka.topic == l|", "l", ("Old",)),
    Case('kafka.topic == "a|', '"a', ('"a b"',)),
    Case('kafka.topic == "a|" and error', '"a"', ('"a b"',)),
    Case("kafka.topic in {orders, |", "", ("orders",)),
    Case("operation == |", "", ("Fetch",)),
    Case("role == |", "", ("request", "response")),
    Case("protocol == z|", "z", ("zookeeper", "zookeeper-quorum")),
    Case("from_client == |", "", ("true", "false")),
    Case("kafka.Metadata.response.topics.errorCode == lea|", "lea", ("LEADER_NOT_AVAILABLE",)),
    Case("$slow a|", "a", ("and",)),
    Case("latency > |", "", ()),
    Case("client ~ |", "", ()),
    Case("kafka.topic == orders|", "orders", ()),
    Case("a b c d|", "", ()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_what_is_offered(case: Case) -> None:
    before, _, behind = case.text.partition("|")
    text = before + behind
    found = complete(text, len(before), KNOWN)
    texts = [offer.text for offer in found.items]
    assert tuple(texts[: len(case.first)]) == case.first
    assert texts or not case.first
    assert len(texts) == 0 or case.first
    assert case.inside is None or case.inside in texts
    if texts:
        assert text[found.begin : found.end] == case.word


def test_what_any_field_may_begin_with_is_shown_to_who_asks() -> None:
    for text in ("", "error and ", "not (", "len("):
        found = complete(text, len(text), KNOWN)
        assert found.on_request, text
        assert Completion("latency") in found.items or Completion("latency_ns") in found.items
    assert not complete("latency ", 8, KNOWN).on_request


def test_values_that_are_not_known_are_missing() -> None:
    assert complete("client == ", 10, KNOWN).missing == "client"
    assert complete("client == a", 11, KNOWN).missing == "client"
    assert complete("kafka.topic == ", 15, KNOWN).missing is None
    assert complete("client ~ ", 9, KNOWN).missing is None
    assert complete("clint == ", 9, KNOWN).items == []


FIELDS = [field.name for field in list_fields("Fetch")][:200]


@pytest.mark.slow
@given(st.sampled_from(FIELDS), st.data())
def test_an_offer_for_a_name_is_a_name(name: str, data: st.DataObject) -> None:
    text = name[: data.draw(st.integers(1, len(name)))]
    for offer in complete(text, len(text), KNOWN).items[:50]:
        if offer.about is None:
            assert offer.text == "tcp" or find_field(offer.text) is not None
            describe_field(offer.text)


def test_every_name_comes_up_when_it_is_typed() -> None:
    names = KNOWN.names
    assert names is not None
    for name in [field.name for field in list_fields()][::97]:
        around = name.rpartition(".")[0]
        assert name in names.list_inside(around), name
        assert name in names.find_beginning(name[: len(around) + 2]), name


def test_a_key_looks_at_each_name_a_few_times_at_most() -> None:
    """Three lines of Python a name are 7 ms; a likeness to each would be hundreds."""
    names, count = KNOWN.names, sum(1 for _ in list_fields())
    assert names is not None
    for word in ("e", "par", "kafka.part", "kafka.Fetch.part", "zzz"):
        with within_steps(5 * count):
            names.find_matching(word)


VERDICTS = [
    ("", "✓"),
    ("   ", "✓"),
    ("error", "✓"),
    ("latency > 5ms and not (role == request)", "✓"),
    ("$slow", "✓"),
    *(
        (text, "…")
        for text in ("lat", "latency >", "latency > ", "latency =", "(error", "kafka.", "kafka.Fetch.req", "$sl")
    ),
    *(
        (text, "…")
        for text in ("error an", "client not", "client not ", "client in {a, ", "role == req", 'client == "a')
    ),
    *(
        (text, "…")
        for text in ("length > 5Ki", "latency > -", "source.ip == 10.0.", "time > 2026-", "not ", "any port ")
    ),
    ("latensy", "✗"),
    ("lat ", "✗"),
    ("latency > 5q", "✗"),
    ("role == rex", "✗"),
    ("$slw", "✗"),
    ("error error ", "✗"),
    ("length in {1, five}", "✗"),
    ("latensy > 5 and (", "…"),
]


@pytest.mark.parametrize(("text", "sign"), VERDICTS, ids=repr)
def test_what_is_reported_of_a_text(text: str, sign: str) -> None:
    found = judge_filter(text, KNOWN)
    assert found.state.value == sign
    assert bool(found.why) is (sign != "✓")
    assert (found.span is not None) is (sign == "✗")


@given(st.sampled_from([text for text, sign in VERDICTS if sign == "✓" and text.strip()]))
def test_what_leads_to_a_filter_is_never_wrong_at_a_word_that_is_being_typed(text: str) -> None:
    for length in range(len(text)):
        found = judge_filter(text[:length], KNOWN)
        assert found.state is not TextState.WRONG, text[:length]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session([KAFKA]) as found:
        yield found.load()


SAMPLED = {
    "kafka.topic": {"jg"},
    "operation": {"Fetch", "Metadata"},
    "protocol": {"kafka"},
    "source.ip": {"127.0.0.1"},
    "kafka.client_id": {"adminclient-1"},
    "error.name": set(),
    "error": set(),
    "version": {"5"},
    "kafka.Metadata.response.brokers.port": {"29092"},
    "from_client": {"true", "false"},
}


@pytest.mark.parametrize("name", SAMPLED)
def test_values_that_occur(session: Session, name: str) -> None:
    rows = len(session.rows)
    found = sample_values(session, name, rows, rows // 2)
    texts = [each.text for each in found]
    assert SAMPLED[name] <= set(texts)
    assert [each.occurrences for each in found] == sorted((each.occurrences for each in found), reverse=True)
    reader = RowReader(session)
    for text in texts:
        assert len(compile_filter(f"{name} == {text}").select_rows(reader, range(rows))), text
    field = find_field(name)
    with_one = len(FieldReader(reader, [field]).read_occurrences(field, np.arange(rows)).rows)
    assert bool(texts) is bool(with_one)


def test_what_has_no_values(session: Session) -> None:
    for name in ("kafka", "kafka.Fetch", "time", "nothing", "kafka.Fetch.request.topics"):
        assert sample_values(session, name, len(session.rows), 0) == [], name


def test_hostile_values_are_exact(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(tmp_path_factory.mktemp("hostile") / "hostile.pcap", TEXTS)
    with Session([path]).load() as session:
        reader, rows = RowReader(session), range(len(session.rows))
        for name in ("client", "kafka.topic"):
            found = {each.text for each in sample_values(session, name, len(rows), 0)}
            assert len(found) >= len(TEXTS) - 1  # but the one that is too long for a line
            for text in found:
                assert len(compile_filter(f"{name} == {text}").select_rows(reader, rows)), text
                assert not set(text) & set("\n\r\x1b\x9b\x07")


@given(st.text(max_size=20), st.sampled_from(["client", "correlation", "kafka.Fetch.response.errorCode"]))
def test_a_text_is_written_so_that_it_reads_the_same(text: str, name: str) -> None:
    field = find_field(name)
    found = parse(f"{name} == {_write_word(text, field)} and error")
    assert isinstance(found, Junction)
    comparison = found.parts[0]
    assert isinstance(comparison, Comparison)
    (literal,) = comparison.operands
    assert isinstance(literal, Literal)
    assert literal.text == text


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_no_value(name: str) -> None:
    reader = captured(name).reader
    for path, contents in secrets_of(captured(name)).items():
        known = {each if isinstance(each, bytes) else each.encode() for each in contents if each}
        output = "".join(each.text for each in sample_values(reader.session, path, len(reader.session.rows), 0))
        assert not any(each.hex(":") in output or each.decode("latin-1") in output for each in known), path


def test_earlier_ones_go_back_and_forth() -> None:
    earlier = InputHistory(["c", "b", "c", " ", "a"])
    assert earlier.entries == ["c", "b", "a"]
    assert [earlier.go_older("typed"), earlier.go_older("c"), earlier.go_older("b"), earlier.go_older("a")] == [
        "c",
        "b",
        "a",
        None,
    ]
    assert [earlier.go_newer(), earlier.go_newer(), earlier.go_newer(), earlier.go_newer()] == ["b", "c", "typed", None]
    earlier.add("b")
    assert earlier.entries == ["b", "c", "a"]
    assert earlier.go_older("b") == "c"
    for number in range(MOST_ENTRIES + 10):
        earlier.add(str(number))
    assert len(earlier.entries) == MOST_ENTRIES
    assert earlier.entries[0] == str(MOST_ENTRIES + 9)
    earlier.add("  ")
    assert earlier.entries[0] == str(MOST_ENTRIES + 9)


def prompters() -> tuple[InputAdvisor, SearchAdvisor]:
    def sample(name: str) -> list[SampledValue]:
        return VALUES.get(name, [])

    def read(text: str) -> object:
        return parse_search(text, NAMED)

    return InputAdvisor(InputHistory(), NAMED, sample), SearchAdvisor(
        InputHistory(), NAMED, sample, sign="=", read=read
    )


def test_a_filter_to_find_is_looked_at_like_any_other() -> None:
    for prompter, before in zip(prompters(), ("", "="), strict=True):
        look = prompter.advise(f"{before}lat", len(before) + 3)
        assert not look.offers.items
        prompter.read_names()
        look = prompter.advise(f"{before}lat", len(before) + 3)
        assert look.offers.items[0].text == "latency"
        assert (look.offers.begin, look.offers.end) == (len(before), len(before) + 3)
        text = f"{before}operation == "
        assert prompter.advise(text, len(text)).offers.missing == "operation"
        prompter.read_values("operation")
        assert [offer.text for offer in prompter.advise(text, len(text)).offers.items] == ["Fetch"]
        wrong = prompter.advise(f"{before}latensy > 5", 3).verdict
        assert wrong.state is TextState.WRONG
        assert wrong.span == (len(before), len(before) + 7)


@pytest.mark.parametrize(
    ("text", "sign"),
    [("a text", "✓"), ("0x00ff", "✓"), ("0x0", "…"), ('"ab', "…"), ('"ab"', "✓"), ("0xzz", "✗"), ("", "…"), ("=", "…")],
)
def test_what_is_reported_of_what_is_sought(text: str, sign: str) -> None:
    look = prompters()[1].advise(text, len(text))
    assert look.verdict.state.value == sign
    assert not look.offers.items or look.offers.on_request


def test_ten_thousand_characters() -> None:
    for text in ("latency > 5ms or " * 600, "a" * 10_000, "(" * 10_000, 'client == "' + "x" * 10_000, "{" * 10_000):
        cut = text[:10_000]
        judge_filter(cut, KNOWN)
        complete(cut, len(cut), KNOWN)
        complete(cut, 5_000, KNOWN)
    with pytest.raises(FilterError):
        compile_filter("(" * 10_000)
