"""Who answers whom: by connection, asking side and opaque, whatever the order, on both roads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.query.response_errors import find_empty, find_errors
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Talk, frames, rows, segments, write
from tests.dissectors.rocketmq.frames import binary, command

PULL, NOTIFY, ROUTE = 11, 40, 105
ANSWER, ONEWAY = 1, 2
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 10_911))
OTHER = (("10.0.0.1", 40_001), ("10.0.0.2", 10_911))

Said = tuple[int, bytes]


def ask(opaque: int, side: int = CLIENT, code: int = PULL) -> Said:
    return side, command(code, opaque=opaque, topic="t")


def answer(opaque: int, side: int = SERVER, code: int = 0) -> Said:
    return side, command(code, opaque=opaque, flag=ANSWER)


def tell(opaque: int, side: int = CLIENT) -> Said:
    return side, command(NOTIFY, opaque=opaque, flag=ONEWAY)


# What is said in order; for each message the one that it belongs to, by place
CASES: dict[str, tuple[list[Said], list[int | None]]] = {
    "in order": ([ask(1), answer(1), ask(2), answer(2)], [1, 0, 3, 2]),
    "long polls are overtaken": ([ask(1), ask(2), ask(3), answer(3), answer(2), answer(1)], [5, 4, 3, 2, 1, 0]),
    "both sides ask under one number": (
        [ask(1), ask(1, SERVER, NOTIFY), answer(1, CLIENT), answer(1)],
        [3, 2, 1, 0],
    ),
    "the server alone asks": ([ask(7, SERVER, NOTIFY), answer(7, CLIENT)], [1, 0]),
    "an answer to what wants none": ([tell(1), answer(1)], [None, None]),
    "a second answer": ([ask(1), answer(1), answer(1)], [1, 0, None]),
    "no question": ([ask(1), answer(2), answer(1)], [2, None, 0]),
    "a number again before its answer": ([ask(1), ask(1), answer(1), answer(1)], [2, 3, 0, 1]),
    "numbers below nothing": ([ask(-1), ask(-2), answer(-2), answer(-1)], [3, 2, 1, 0]),
    "answers in the other form": ([ask(7), (SERVER, binary(0, flag=ANSWER))], [1, 0]),
    "one of no header": ([ask(1), (SERVER, b"\0\0\0\4\0\0\0\0"), answer(1)], [2, None, 0]),
}


@pytest.mark.parametrize("use_fast_path", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_partners(tmp_path: Path, case: str, use_fast_path: bool) -> None:
    text, expected = CASES[case]
    talk = Talk(tuple(text), ENDS)
    found = rows(write(tmp_path / "a.pcap", frames(segments(talk), talk)), ("partner",), use_fast_path=use_fast_path)
    partners = [row["partner"] for row in found]
    assert [None if each is None else each - 1 for each in partners] == expected


@pytest.mark.parametrize("use_fast_path", [True, False])
def test_what_is_requested_again_on_another_connection(tmp_path: Path, use_fast_path: bool) -> None:
    """A client gives up after three seconds and asks another broker, under a number of its own."""
    first, again = Talk((ask(1),), ENDS), Talk((ask(1), answer(1)), OTHER)
    packets = [*frames(segments(first), first), *frames(segments(again), again, 3_000 * STEP_NS)]
    found = rows(write(tmp_path / "a.pcap", packets), ("partner",), use_fast_path=use_fast_path)
    assert [row["partner"] is not None for row in found] == [False, True, True]


ANSWERS = {19: True, 20: True, 21: True, 209: False, 2: False, 0: None}
POPS = {209: True, 210: True, 19: False, 0: None}


@pytest.mark.parametrize(("code", "known"), [(PULL, ANSWERS), (200050, POPS)])
def test_that_there_is_nothing_now_is_no_error_in_statistics(
    tmp_path: Path, code: int, known: dict[int, bool | None]
) -> None:
    text = [each for place, result in enumerate(known) for each in (ask(place, code=code), answer(place, code=result))]
    talk = Talk(tuple(text), ENDS)
    with Session([write(tmp_path / "a.pcap", frames(segments(talk), talk))]).load() as session:
        every = np.arange(len(session.rows))
        found = find_errors(session, every)
        empty = find_empty(session, every, found).tolist()
    codes = [found.kinds[number][0] for number in found.numbers.tolist()]
    assert dict(zip(codes, empty, strict=True)) == {result: each for result, each in known.items() if each is not None}
