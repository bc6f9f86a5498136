"""Ids, handles, topics, levels and properties said for people: real ones, and what only looks like them."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.rocketmq.nested.identifiers import (
    decode_recall_handle,
    format_default_delay,
    format_id,
    format_topic,
    format_unique_id,
)
from dissectors.rocketmq.nested.properties import format_in_form, format_property

MADE = "7F00000167484E0E2F2A6A065ED00000"
MADE_TEXT = "made at 127.0.0.1, process 26440, day 21 of its month, 14:06:42.384, number 0"
SIX = "00" * 15 + "01"

IDS = [
    (MADE, MADE_TEXT),
    ("7F00000100002A9F000000000003EFE6", "stored at 127.0.0.1:10911, offset 258022 of its commit log"),
    (SIX + "00002A9F000000000003EFE6", "stored at [::1]:10911, offset 258022 of its commit log"),
    (SIX + "67484E0E2F2A000000000007", "made at ::1, process 26440, day 1 of its month, 0:00:00.000, number 7"),
    ("010242ac11000200ff0123456700000003",
     "made at 02:42:ac:11:00:02, process 255, 2021-08-09T22:25:43.000Z, number 3"),
    ("020242ac11000200ff0123456700000003", None),
    ("7F000001000000000000000000000000", "made at 127.0.0.1, process 0, day 1 of its month, 0:00:00.000, number 0"),
    ("7F00000100002A9FFFFFFFFFFFFFFFFF",
     "made at 127.0.0.1, process 0, day 50 of its month, 17:02:47.295, number 65535"),
    (f"{MADE},{MADE}", None),
    (MADE[:-1], None),
    (MADE[:-1] + "x", None),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), IDS)
def test_ids(text: str, expected: str | None) -> None:
    assert format_id(text) == expected
    assert format_unique_id(text) is not None or expected is None


@given(st.text("0123456789abcdefABCDEF", min_size=30, max_size=60))
def test_whatever_looks_like_an_id_says_something_or_nothing(text: str) -> None:
    assert (format_id(text) is None) <= (len(text) not in (32, 56))


RECALLS = [
    ("djEgbGFiX3RpbWVyIGJyb2tlci1hIDE3OTUyNzIyNjcwMDEgTQ==", "v1 lab_timer broker-a 1795272267001 M"),
    ("djEgbGFiX3RpbWVyIGJyb2tlci1hIDE3OTUyNzIyNjcwMDEgTQ", "v1 lab_timer broker-a 1795272267001 M"),
    (urlsafe_b64encode(b"v2 a b").decode(), None),
    (urlsafe_b64encode(b"v1 \xff").decode(), None),
    ("a", None),
    ("\u20ac", None),
]


@pytest.mark.parametrize(("handle", "expected"), RECALLS)
def test_recall_handles(handle: str, expected: str | None) -> None:
    assert decode_recall_handle(handle) == expected


TOPICS = [
    ("orders", None),
    ("%RETRY%billing", "to be consumed again by group billing"),
    ("%RETRY%billing+orders", "to be consumed again by group billing, popped from orders"),
    ("%DLQ%billing", "dead letters of group billing"),
    ("TBW102", "the template of topics that are made when somebody sends to them"),
    ("rmq_sys_REVIVE_LOG_Cluster", "what was popped and acknowledged in cluster Cluster"),
    ("rmq_sys_wheel_timer", "messages that wait for their time"),
]


@pytest.mark.parametrize(("topic", "expected"), TOPICS)
def test_topics(topic: str, expected: str | None) -> None:
    assert format_topic(topic) == expected


def test_delay_levels() -> None:
    assert [format_default_delay(level) for level in (1, 3, 16, 18)] == [
        f"{each} by default" for each in ("1 s", "10 s", "30 min", "2 h")
    ]
    assert [format_default_delay(level) for level in (0, -1, "3", None)] == [None] * 4


PROPERTIES = [
    ("DELAY", "3", "delay level: 10 s by default"),
    ("DELAY", "x", "delay level"),
    ("DELAY", "9" * 30, "delay level"),
    ("UNIQ_KEY", MADE, f"its id: {MADE_TEXT}"),
    ("UNIQ_KEY", "mine", "its id"),
    ("REAL_TOPIC", "orders", "the topic that it is for"),
    ("REAL_TOPIC", "%DLQ%g", "the topic that it is for: dead letters of group g"),
    ("TIMER_DELAY_SEC", "90", "delivered after: 90 s"),
    ("TIMER_DELIVER_MS", "1795272268099", "delivered at: 2026-11-21T14:44:28.099Z"),
    ("TTL", "3000", "how long the reply is waited for: 3 s"),
    ("POP_CK", "0 1795270002799 12000 0 0 broker-a 0 1",
     "receipt handle: popped 2026-11-21T14:06:42.799Z, invisible for 12 s, broker-a, queue 0, offset 1"),
    ("POP_CK", "0 1795270002799 12000 0 0 broker-a 0",
     "receipt handle: popped 2026-11-21T14:06:42.799Z, invisible for 12 s, broker-a, queue 0"),
    ("POP_CK", "0 x 12000 0 0 broker-a 0 1", "receipt handle"),
    ("POP_CK", "0 1", "receipt handle"),
    ("color", "blue", None),
    ("KEYS", b"\xff", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "expected"), PROPERTIES)
def test_properties(name: str, value: object, expected: str | None) -> None:
    assert format_property(name, value) == expected


def test_forms() -> None:
    assert format_in_form("type", "1") == "half of a transaction"
    assert format_in_form("type", "99") is None
    assert format_in_form("time", "\u0663") is None
    assert format_in_form("", "1") is None
