"""Permits: what FLOW adds and MESSAGE takes, and what nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.pulsar.reports.fields import MOST_WORDS, ConsumerPermits, count_batch, count_messages, read_ack_set


def test_flows_add_and_messages_take() -> None:
    permits = ConsumerPermits(known=True)
    permits.grant(10, 1)
    permits.take(4, 2)
    permits.grant(3, 3)
    assert (permits.now, permits.least, permits.granted, permits.empty) == (9, 6, 13, None)


def test_a_batch_may_take_more_than_there_are() -> None:
    permits = ConsumerPermits(known=True)
    permits.grant(2, 10)
    permits.take(5, 20)
    permits.take(5, 25)
    assert (permits.now, permits.least, permits.empty) == (-8, -8, 20)
    permits.grant(8, 50)
    assert (permits.now, permits.empty) == (0, 20), "eight are not enough"
    permits.grant(1, 60)
    assert (permits.now, permits.empty, permits.starved, permits.longest) == (1, None, 40, 40)
    permits.take(1, 70)
    permits.end_starving(75)
    assert (permits.starved, permits.longest) == (45, 40)


def test_before_its_first_flow_it_does_not_starve() -> None:
    permits = ConsumerPermits(known=True)
    permits.end_starving(100)
    assert (permits.now, permits.least, permits.empty, permits.starved) == (0, None, None, 0)


def test_of_one_made_before_the_capture_nothing_is_known() -> None:
    permits = ConsumerPermits(known=False)
    permits.take(5, 1)
    permits.grant(10, 2)
    assert (permits.now, permits.least, permits.granted, permits.empty) == (None, None, 10, None)


@pytest.mark.parametrize("number", [0, -1, -(1 << 63)])
def test_no_permits_and_no_messages_change_nothing(number: int) -> None:
    permits = ConsumerPermits(known=True)
    permits.grant(1, 1)
    permits.grant(number, 2)
    permits.take(number, 3)
    assert (permits.now, permits.granted, permits.least) == (1, 1, 1)


@pytest.mark.parametrize(
    ("ack_set", "bits"),
    [
        ([5], 0b101),
        ([-1], (1 << 64) - 1),
        ([0, 1], 1 << 64),
        ([], None),
        (None, None),
        ("21", None),
        (["x", 1], 1 << 64),
        ([1] * (MOST_WORDS + 1), sum(1 << 64 * place for place in range(MOST_WORDS))),
    ],
)
def test_an_ack_set_is_a_number(ack_set: object, bits: int | None) -> None:
    assert read_ack_set(ack_set) == bits


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ({}, 1),
        ({"metadata": {}}, 1),
        ({"metadata": {"num_messages_in_batch": 5}}, 5),
        ({"metadata": {"num_messages_in_batch": 5}, "ack_set": [21]}, 3),
        ({"metadata": {"num_messages_in_batch": 2}, "ack_set": [-1]}, 2),
        ({"metadata": {"num_messages_in_batch": -5}}, 1),
        ({"metadata": {"num_messages_in_batch": "5"}}, 1),
        ({"metadata": [5]}, 1),
        ({"metadata": {"num_messages_in_batch": 3}, "ack_set": [0]}, 0),
    ],
)
def test_how_many_messages_a_message_brings(values: dict[str, Any], count: int) -> None:
    assert count_messages(values) == count
    assert count_batch(values.get("metadata")) >= 1
