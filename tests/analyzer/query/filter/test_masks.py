"""Masks over columns say of each row what the oracle says of it; labels, secrets; and that all can be drawn."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analyzer.query.filter
from analyzer.decode.rows import RowReader
from analyzer.query.fields.catalog import find_field
from analyzer.query.fields.keys import FIELDS
from analyzer.query.filter import compile_filter
from analyzer.query.filter.operators import IN, OPERATORS, SYMBOLS
from analyzer.session import Session
from tests.analyzer.query.filter import drawing
from tests.analyzer.query.filter.captured import FOLDER, NAMES, Captured, captured, label_of, rows_as_printed
from tests.analyzer.query.filter.drawing import questions
from tests.analyzer.query.filter.oracle import Comparison, Literal, Value, holds, values_of
from tests.fuzz import test_filters as fuzz

pytestmark = pytest.mark.xdist_group("filters")


@settings(max_examples=settings.default.max_examples // 2)  # a case asks twenty rows, twice
@given(st.data())
def test_a_filter_keeps_the_rows_that_the_oracle_keeps(data: st.DataObject) -> None:
    capture = captured(data.draw(st.sampled_from(NAMES)))
    question = data.draw(questions(capture))
    found = compile_filter(question.text).find_mask(capture.reader, np.array(question.rows, np.int64)).tolist()
    wanted = [holds(question.expression, capture.printed[row]) for row in question.rows]
    assert dict(zip(question.rows, found, strict=True)) == dict(zip(question.rows, wanted, strict=True)), question.text


FILTERS = (
    *("error", "latency > 1ms", "role == response and not error", "info matches 'a.*e'", "text contains 'topic'"),
    *("port in {9000..40000} xor from_client == true", "findings", "bytes[4:2] == 00:12", "client contains client"),
    *("kafka.topic", "kafka.group != ''", "kafka.api_key in {1, 3}", "zookeeper.path contains /", "pulsar.topic"),
    *("rocketmq.topic", "kafka.Fetch.request.topics.partitions.partition == 0", "kafka.Metadata", "correlation > 3"),
    *("count(kafka.Metadata.response.topics.partitions.isrNodes) > 2", "kafka.Fetch.response.errorCode != NONE"),
    *("kafka.Produce.request.topicData.partitionData.records.records.value contains a", "partner_id contains '/c/'"),
    *("error.code in {1..40} or error.name == NONE", "any ip == 127.0.0.0/8 and kafka", "time > 2026-11-21"),
)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", FILTERS)
def test_a_mask_does_not_depend_on_how_rows_are_requested(
    text: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = captured(name)
    rows, wanted = capture.all_rows, compile_filter(text)
    whole = wanted.find_mask(capture.reader, rows)
    assert whole.dtype == bool
    assert wanted.find_mask(capture.reader, rows).tolist() == whole.tolist()
    assert wanted.select_rows(capture.reader, range(5, len(rows))).tolist() == [
        row for row in rows[whole].tolist() if row >= 5
    ]
    assert wanted.select_rows(capture.reader, rows[:0]).tolist() == []
    random = Random(text)
    some = np.array(random.sample(rows.tolist(), len(rows) // 2))
    assert compile_filter(text).find_mask(capture.reader, some).tolist() == whole[some].tolist()
    monkeypatch.setattr(analyzer.query.filter, "AT_ONCE", random.choice((1, 7, 64)))
    assert compile_filter(text).find_mask(capture.reader, some).tolist() == whole[some].tolist()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["kafka.pcap", "kafka-4.4-share.pcap.zst"])
def test_a_filter_may_be_requested_of_one_capture_after_the_other(name: str) -> None:
    for text in FILTERS:
        wanted = compile_filter(text)
        for capture in (captured(name), captured("mixed.pcapng"), captured(name)):
            fresh = compile_filter(text).find_mask(capture.reader, capture.all_rows)
            assert wanted.find_mask(capture.reader, capture.all_rows).tolist() == fresh.tolist(), text


LATER = frozenset({"partner", "partner_id", "client"})
"""Keys that a stream of rows knows later than a file does."""


@pytest.fixture(scope="module", params=NAMES)
def streamed(request: pytest.FixtureRequest) -> Captured:
    capture = captured(request.param)
    reader = RowReader(capture.session, streaming=True)
    return capture._replace(reader=reader, printed=rows_as_printed(reader))


def test_rows_of_a_stream_are_filtered_by_what_a_stream_prints(streamed: Captured) -> None:
    rows = streamed.all_rows
    requested = [Comparison(Value(key)) for key in ("partner", "partner_id", "client", "latency", "error", "info")]
    for comparison in requested:
        found = compile_filter(comparison.value.path).find_mask(streamed.reader, rows).tolist()
        assert found == [holds(comparison, row) for row in streamed.printed]
    some = next(row["client"] for row in streamed.printed if row["client"])
    found = compile_filter(f'client == "{some}"').find_mask(streamed.reader, rows).tolist()
    assert found == [row["client"] == some for row in streamed.printed]


@pytest.mark.sampled(3)
def test_bodies_of_a_stream_are_filtered_as_those_of_a_file(streamed: Captured) -> None:
    whole = captured(streamed.name)
    for text in FILTERS:
        fields = {field.name for field in compile_filter(text).fields}
        if fields & LATER or any(name.count(".") == 1 and name[0] in "kzpr" for name in fields):
            continue  # what field aliases inherit and ids are called, a stream may know later
        rows = whole.all_rows
        assert (
            compile_filter(text).find_mask(streamed.reader, rows).tolist()
            == compile_filter(text).find_mask(whole.reader, rows).tolist()
        )


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("len(error) > 3", "len(error.name) > 3"),
        ("lower(error) contains 'no'", "lower(error.name) contains 'no'"),
        ("upper(error) contains 'N'", "upper(error.name) contains 'N'"),
        ("string(error) contains 'N'", "error.name contains 'N'"),
        ("error[0:1] in {'A'..'Z'}", "error.name[0:1] in {'A'..'Z'}"),
    ],
)
def test_what_is_made_of_an_error_is_made_of_its_name(asked: str, same: str) -> None:
    capture = captured("mixed.pcapng")
    wanted = compile_filter(same).find_mask(capture.reader, capture.all_rows)
    assert wanted.any()
    assert compile_filter(asked).find_mask(capture.reader, capture.all_rows).tolist() == wanted.tolist()


LIVE = tuple(text for text in FILTERS if not any(word in text for word in ("client", "findings", "bytes")))
"""Findings, and bytes of what is not complete, may say more when the input has ended."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("block", [64, 1000])
@pytest.mark.parametrize("name", ["kafka.pcap", "mixed.pcapng", "kafka-3.9-zookeeper.pcap.zst"])
def test_rows_are_filtered_alike_while_they_come(name: str, block: int) -> None:
    filters = [compile_filter(text) for text in LIVE]
    found: list[list[int]] = [[] for _ in filters]
    with Session([FOLDER / name], block=block) as session:
        reader = RowReader(session, streaming=True)
        for closed in session.grow():
            for wanted, rows in zip(filters, found, strict=True):
                rows += wanted.select_rows(reader, closed).tolist()
        ended = np.arange(len(session.rows))
        for wanted, rows in zip(filters, found, strict=True):
            assert rows == wanted.select_rows(reader, ended).tolist(), wanted.text
            streamed = compile_filter(wanted.text).select_rows(RowReader(session, streaming=True), ended)
            assert rows == streamed.tolist(), wanted.text


def test_a_named_filter_is_its_text_in_parentheses() -> None:
    capture = captured("kafka.pcap")
    named = {"quick": "latency < 2ms or role == request", "early": "number < 300"}
    found = compile_filter("not $quick and ${early}", named).find_mask(capture.reader, capture.all_rows)
    wanted = compile_filter("not (latency < 2ms or role == request) and (number < 300)")
    assert found.tolist() == wanted.find_mask(capture.reader, capture.all_rows).tolist()
    assert 0 < found.sum() < len(found)


@pytest.mark.parametrize("moment", ["2026-11-21T14:15:14Z", "2026-11-21T14:15:14.002Z", "2026-11-22T00:00:00Z"])
@pytest.mark.parametrize("operator", ["<", ">=", "==", "!="])
def test_a_number_that_is_a_moment_is_compared_with_a_date(operator: str, moment: str) -> None:
    capture, path = captured("kafka.pcap"), "kafka.Produce.request.topicData.partitionData.records.baseTimestamp"
    rows = capture.fields[path]
    since = (datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    wanted = Comparison(Value(path), operator, (Literal(str(since), False),))
    found = compile_filter(f"{path} {operator} {moment}").find_mask(capture.reader, np.array(rows)).tolist()
    assert found == [holds(wanted, capture.printed[row]) for row in rows]


ALIASES = [
    # another program's name, ours
    ("kafka.api_key == 3", "kafka and code == 3"),
    ("kafka.api_key == Metadata", "kafka and code == 3"),
    ("kafka.api_key != Metadata", "kafka and code != 3"),
    ("kafka.api_key in {Metadata, Fetch}", "kafka and code in {1, 3}"),
    ("frame.number == 40", "packets == 40"),
    ("ip.addr == 127.0.0.1", "ip == 127.0.0.1"),
    ("tcp.port in {29092 29192}", "port in {29092, 29192}"),
    ("tcp.stream == 1", "stream == 1"),
    ("_ws.col.info contains a", "info contains a"),
]


@pytest.mark.parametrize(("theirs", "ours"), ALIASES)
def test_names_of_tshark_mean_ours(theirs: str, ours: str) -> None:
    capture = captured("kafka.pcap")
    found = compile_filter(theirs).find_mask(capture.reader, capture.all_rows)
    assert found.tolist() == compile_filter(ours).find_mask(capture.reader, capture.all_rows).tolist()
    assert found.any()


# ---- a number that has a name is compared by it, too: names are those that the trees say beside the numbers


def labelled(capture: Captured) -> list[tuple[str, int, str]]:
    """Path, number and label of each number that has a name in a capture, once for each place and name."""
    found: dict[tuple[str, int], str] = {}
    for path, rows in capture.fields.items():
        if find_field(path).label is None or find_field(path).scale is not None:
            continue
        for row in {rows[0], rows[-1]}:
            for value in values_of(path, capture.printed[row]):
                label = label_of(capture, row, path, value)
                if label is not None:
                    found[path, value] = label
    return [(path, value, label) for (path, value), label in found.items()]


WORD = re.compile(r"[A-Z][A-Za-z_0-9]*")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_compared_by_its_label(name: str) -> None:
    capture = captured(name)
    cases = [case for case in labelled(capture) if WORD.fullmatch(case[2])]
    assert len(cases) > 5
    for path, value, label in cases[:: max(1, len(cases) // 24)]:
        rows = capture.fields[path][:16]
        same = Comparison(Value(path), "==", (Literal(str(value), False),))
        other = Comparison(Value(path), "!=", (Literal(str(value), False),))
        for text, wanted in (
            (f"{path} == {label}", same),
            (f"{path} == {label.swapcase()}", same),
            (f"{path} != {label}", other),
            (f"{path} in {{{label}, -77}}", same),
        ):
            found = compile_filter(text).find_mask(capture.reader, np.array(rows)).tolist()
            assert found == [holds(wanted, capture.printed[row]) for row in rows], text
        contained = Comparison(Value(path), "contains", (Literal(label[:4]),))
        found = compile_filter(f"{path} contains {label[:4]}").find_mask(capture.reader, np.array(rows)).tolist()
        assert found == [said_by(contained, capture, row, path) for row in rows], path


def said_by(comparison: Comparison, capture: Captured, row: int, path: str) -> bool:
    return holds(comparison, capture.printed[row], lambda _, number: label_of(capture, row, path, number))


# ---- what can be asked is drawn: a new operator or field that no random filter has would be tested by nobody


SAID_BY_OTHERS = {"comment", "name", "source.name", "destination.name"}
"""Fields of pcapng blocks that no bundled capture has: tests/analyzer/messages has tests of them."""

SAID_BY_STREAMS = {
    *("retransmissions", "packets", "tcp.rtt_ns", "tcp.client_rtt_ns", "tcp.server_rtt_ns", "tcp.ack_rtt_ns"),
    *("tcp.retransmissions", "tcp.retransmission_time_ns", "tcp.zero_window", "tcp.zero_window_time_ns", "tcp.reset"),
    *("tls.version", "tls.cipher", "tls.sni", "tls.alpn", "tls.ja4"),
    *("client.process", "client.pid", "server.process", "server.pid", "slow"),
}
"""What no printed row has, so that the oracle cannot know it.

Tests of them: tests/analyzer/decode/test_packets.py, tests/analyzer/query/fields/test_network.py,
tests/analyzer/live/test_processes.py.
"""

DRAWN_BY_NAME = {"contains", IN, f"not_{IN}"}


def test_every_operator_is_drawn() -> None:
    spellings = {each for some in drawing._SPELLINGS.values() for each in some} | {"<", "<=", ">", ">="}
    assert {*OPERATORS, *SYMBOLS, IN} - spellings - DRAWN_BY_NAME == set()


def test_every_operator_is_in_the_texts_of_the_fuzz_tests() -> None:
    assert {*OPERATORS, *SYMBOLS, IN} - set(fuzz.OPERATORS) - {"all_eq", "any_ne"} == set()


def test_every_field_of_rows_is_drawn() -> None:
    assert set(FIELDS) - set(drawing.KEYS) == SAID_BY_OTHERS | SAID_BY_STREAMS
