"""What only several messages show: a table of requests and answers for each watch, and what is said at the last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.kafka.checks.data import ClockCheck, FetchSessionCheck, SequenceCheck
from tests.dissectors.checking import see, show, show_anything

NOW = 1_795_000_000_000
DAY = 86_400_000
LAST = 2**31 - 1


def produce(*entries: dict[str, Any], topic: str = "t", partition: int = 0) -> MessageEvent:
    data = {"topicData": [{"name": topic, "partitionData": [{"index": partition, "records": list(entries)}]}]}
    return see("kafka", Context(Role.REQUEST, 0, 9), data, 1, NOW)


def batch(first: int, count: int = 10, epoch: int = 0, producer: int = 7) -> dict[str, Any]:
    names = {"producerId": producer, "producerEpoch": epoch, "baseSequence": first, "count": count}
    return {"baseTimestamp": NOW, "maxTimestamp": NOW, **names}


def fetch(session: int, epoch: int, stream: int = 1) -> MessageEvent:
    return see("kafka", Context(Role.REQUEST, 1, 12), {"sessionId": session, "sessionEpoch": epoch}, stream)


def lossy(seen: MessageEvent) -> MessageEvent:
    """The same behind bytes that are missing."""
    return seen._replace(losses=1)


def at(server: str, seen: MessageEvent) -> MessageEvent:
    """The same, sent to another server on another connection."""
    return seen._replace(ends=lambda stream: ("", server), stream=5)


def named(seen: MessageEvent) -> MessageEvent:
    """The same where all ids have names."""
    return seen._replace(names=lambda row, kind, key: f"{kind} of {key}")


def by_id(seen: MessageEvent) -> MessageEvent:
    """The same with an id in the place of the topic's name."""
    (topic,) = seen.values["topicData"]
    return seen._replace(values={"topicData": [{"topicId": "AAA", "partitionData": topic["partitionData"]}]})


def fetched(session: int, asked: tuple[int, int] | None, error: int = 0) -> list[MessageEvent]:
    """An answer, behind its request."""
    answer = see("kafka", Context(Role.RESPONSE, 1, 12), {"sessionId": session, "errorCode": error})
    return [answer] if asked is None else [fetch(*asked), answer]


def times(first: int, last: int) -> MessageEvent:
    return produce({**batch(0), "baseTimestamp": first, "maxTimestamp": last})


def wrapped(own: int, *inner: int) -> MessageEvent:
    """Messages of version 1 compressed in one."""
    return produce({"magic": 1, "timestamp": own, "messages": [{"magic": 1, "timestamp": each} for each in inner]})


OF_CHECKS: dict[type[Check], dict[str, tuple[list[MessageEvent], str | None]]] = {
    SequenceCheck: {
        "numbers go on": ([produce(batch(0)), produce(batch(10))], None),
        "the first one is taken as it is": ([produce(batch(500))], None),
        "several batches of one request": ([produce(batch(0), batch(10)), produce(batch(20))], None),
        "numbers go on at 0": ([produce(batch(LAST - 4, 5)), produce(batch(0))], None),
        "numbers go on behind 0": ([produce(batch(LAST - 4, 10)), produce(batch(5))], None),
        "sent again": ([produce(batch(0)), produce(batch(10)), produce(batch(0))], "sends sequence 0 again"),
        "too old to know": (
            [*(produce(batch(number * 10)) for number in range(6)), produce(batch(0))],
            "goes back 60 records: sequence 0 where 60 is next",
        ),
        "a hole": ([produce(batch(0)), produce(batch(20))], "skips 10 records: sequence 20 where 10 is next"),
        "after a hole": ([produce(batch(0)), produce(batch(20)), produce(batch(30))], None),
        "a hole at the end of numbers": ([produce(batch(LAST - 9, 10)), produce(batch(3))], "skips 3 records"),
        "another partition": ([produce(batch(0)), produce(batch(77), partition=1)], None),
        "another topic": ([produce(batch(0)), produce(batch(77), topic="u")], None),
        "another producer": ([produce(batch(0)), produce(batch(77, producer=8))], None),
        "an epoch begins": ([produce(batch(50)), produce(batch(0, epoch=1))], None),
        "an epoch begins late": ([produce(batch(0)), produce(batch(5, epoch=1))], "begins with sequence 5"),
        "an old epoch": ([produce(batch(0, epoch=2)), produce(batch(10, epoch=1))], "behind epoch 2"),
        "a hole where bytes were lost": ([produce(batch(0)), lossy(produce(batch(20)))], None),
        "behind where bytes were lost": (
            [produce(batch(0)), lossy(produce(batch(20))), lossy(produce(batch(40)))],
            "skips 10 records",
        ),
        "a hole on another connection": ([produce(batch(0)), produce(batch(20))._replace(stream=2)], None),
        "sent again on another connection": (
            [produce(batch(0)), produce(batch(0))._replace(stream=2)],
            "sends sequence 0 again: a retry",
        ),
        "before all that is known": ([produce(batch(500)), produce(batch(0))], None),
        "sent again in parts": ([produce(batch(0)), produce(batch(0, 4))], "again, in a smaller batch"),
        "the second part": ([produce(batch(0)), produce(batch(0, 4)), produce(batch(4, 6))], None),
        "two clusters": ([produce(batch(0)), at("b", produce(batch(0)))], None),
        "a partition that moved": ([produce(batch(0)), at("b", produce(batch(10))), produce(batch(50))], None),
        "an old epoch, and another cluster in between": (
            [produce(batch(0, epoch=2)), at("b", produce(batch(0))), produce(batch(10, epoch=1))],
            "behind epoch 2",
        ),
        "an old epoch of another cluster": ([produce(batch(0, epoch=2)), at("b", produce(batch(10)))], None),
        "an epoch begins late behind lost bytes": ([produce(batch(0)), lossy(produce(batch(5, epoch=1)))], None),
        "transactions by name": (
            [produce(batch(0, epoch=2)), named(produce(batch(10, epoch=1)))],
            "t[0]: producer 7 (producer of 7), epoch 1, writes",
        ),
        "no producer": ([produce(batch(-1, producer=-1)), produce(batch(-1, producer=-1))], None),
        "a batch that was not read": ([produce({"partial": True, "length": 5})], None),
    },
    ClockCheck: {
        "topics by name": ([named(by_id(times(NOW + 3 * DAY, NOW + 3 * DAY)))], "topic of AAA[0]: a record's"),
        "in time": ([times(NOW - DAY, NOW + 60_000)], None),
        "ahead": ([times(NOW, NOW + 3 * DAY)], "a record's time is 3 days ahead of the capture's"),
        "a little ahead": ([times(NOW, NOW + 4_000_000)], "66 minutes ahead"),
        "behind": ([times(NOW - 400 * DAY, NOW)], "400 days before"),
        "microseconds": ([times(NOW * 1000, NOW * 1000)], "years ahead"),
        "seconds": ([times(NOW // 1000, NOW // 1000)], "56 years before"),
        "no time": ([times(-1, -1)], None),
        "one message": ([produce({"timestamp": NOW + 9 * DAY})], "9 days ahead"),
        "compressed messages": ([wrapped(NOW, NOW - 400 * DAY, NOW)], "400 days before"),
        "compressed messages ahead": ([wrapped(NOW, NOW, NOW + 3 * DAY)], "3 days ahead"),
        "compressed messages in time": ([wrapped(NOW, NOW - DAY, -1)], None),
        "no times in its format": ([produce({"magic": 0})], None),
    },
    FetchSessionCheck: {
        "epochs count": ([*fetched(9, (0, 0)), fetch(9, 1), fetch(9, 2)], None),
        "an epoch is left out": ([fetch(9, 5), fetch(9, 7)], "session 9 is used with epoch 7 where 6 is next"),
        "epochs that were lost": ([fetch(9, 5), lossy(fetch(9, 9)), lossy(fetch(9, 10))], None),
        "an epoch comes twice": ([fetch(9, 5), fetch(9, 5)], "with epoch 5 where 6 is next"),
        "not from the beginning": ([*fetched(9, (0, 0)), fetch(9, 2)], "with epoch 2 where 1 is next"),
        "epochs go on at 1": ([fetch(9, LAST), fetch(9, 1)], None),
        "ended and begun": ([fetch(9, 5), fetch(9, -1), *fetched(9, (0, 0)), fetch(9, 1)], None),
        "another connection": ([fetch(9, 5), fetch(9, 9, stream=2)], None),
        "no session": ([*fetched(0, (0, 0))], "the broker gives no fetch session"),
        "no session, told once": ([*fetched(0, (0, 0)), *fetched(0, (0, 0))], None),
        "none was asked for": ([*fetched(0, None)], None),
        "an error": ([*fetched(0, (0, 0), 71)], None),
        "no such field": ([see("kafka", Context(Role.REQUEST, 1, 4), {})], None),
    },
}
CASES = {name: (kind, *case) for kind, cases in OF_CHECKS.items() for name, case in cases.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_reported_at_the_last(name: str) -> None:
    kind, steps, expected = CASES[name]
    before, text = show(kind, steps[:-1]), show(kind, steps)
    assert [expected in finding.text for finding in text[len(before) :] if expected] == [True] * (expected is not None)
    assert len(text) - len(before) == (expected is not None)


@pytest.mark.parametrize("kind", [SequenceCheck, FetchSessionCheck, ClockCheck])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"topicData": None, "sessionId": None},
        {"topicData": [None, 3, {"name": b"x", "partitionData": [{}]}]},
        {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": None}, {"index": 1, "records": [{}]}]}]},
    ],
)
def test_values_may_lack_anything(kind: type[Check], values: dict[str, Any]) -> None:
    show_anything(kind, [(choice, values, 1, 0) for choice in range(len(kind.on))])


@pytest.mark.parametrize("kind", [SequenceCheck, FetchSessionCheck, ClockCheck])
def test_no_other_fields_are_looked_at(kind: type[Check]) -> None:
    for _, steps, expected in (case for case in CASES.values() if case[0] is kind):
        cut = [
            step._replace(values=_only(step.values, kind.on["kafka", step.context.code, step.context.role].paths))
            for step in steps
        ]
        assert len(show(kind, cut)) - len(show(kind, cut[:-1])) == (expected is not None)


def _only(value: Any, paths: Iterable[tuple[str, ...]]) -> Any:
    if isinstance(value, list):
        return [_only(each, paths) for each in value]
    if not isinstance(value, dict):
        return value
    inside = {path[0]: [rest[1:] for rest in paths if rest[:1] == path[:1]] for path in paths if path}
    return {name: _only(value[name], rest) for name, rest in inside.items() if name in value}
