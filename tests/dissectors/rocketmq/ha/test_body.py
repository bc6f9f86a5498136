"""Frames decoded: real ones and made ones, whole, cut at every byte, and with other bytes in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.rocketmq.ha import RocketMQHA
from tests.dissectors.rocketmq.ha.frames import (
    answer,
    blank,
    controlled_report,
    controlled_transfer,
    greeting,
    greeting_of_5_0,
    placed,
    report,
    transfer,
)
from tests.dissectors.trees import assert_tiles

HA = RocketMQHA()
CONTROLLED = {"kind": "CONTROLLED"}
BASE = 70_000
LOG = placed(BASE, b"one", b"two")
CUT = LOG[50:-20]

CASES = {
    "a report": (report(77), Role.ONEWAY, None, {"offset": 77}, "at 77"),
    "a heartbeat": (transfer(77), Role.PUSH, None, {"offset": 77, "size": 0}, "at 77"),
    "a greeting": (
        greeting(2, 1, 1),
        Role.REQUEST,
        CONTROLLED,
        {"state": 1, "syncFromLastFile": 1, "asyncLearner": 1, "brokerId": 2},
        "broker 2, sync from last file, async learner",
    ),
    "a greeting of 5.0": (
        greeting_of_5_0(),
        Role.REQUEST,
        CONTROLLED,
        {"state": 1, "syncFromLastFile": 0, "asyncLearner": 1, "address": "10.0.0.3:10912"},
        "slave 10.0.0.3:10912, async learner",
    ),
    "epochs": (
        answer(9000, [(1, 0), (3, 4096)]),
        Role.RESPONSE,
        CONTROLLED,
        {
            "state": 1,
            "size": 24,
            "offset": 9000,
            "epoch": 3,
            "epochs": [{"epoch": 1, "startOffset": 0}, {"epoch": 3, "startOffset": 4096}],
        },
        "log ends at 9,000, epoch 3, 2 epochs",
    ),
    "no epochs": (
        answer(0, []),
        Role.RESPONSE,
        CONTROLLED,
        {"state": 1, "size": 0, "offset": 0, "epoch": 3, "epochs": []},
        "log ends at 0, epoch 3, 0 epochs",
    ),
    "a controlled report": (controlled_report(5), Role.ONEWAY, CONTROLLED, {"state": 2, "offset": 5}, "at 5"),
    "a heartbeat without any log": (
        controlled_transfer(-1),
        Role.PUSH,
        CONTROLLED,
        {"state": 2, "size": 0, "offset": -1, "epoch": 3, "epochStartOffset": 0, "confirmOffset": 0},
        "no log yet",
    ),
    "the end of a file": (
        transfer(BASE, blank(30)),
        Role.PUSH,
        None,
        {"offset": BASE, "size": 30, "blank": blank(30)},
        "30 bytes, at 70,000, the end of a file",
    ),
    "a piece of a message": (
        transfer(BASE, b"\x01" * 20),
        Role.PUSH,
        None,
        {"offset": BASE, "size": 20, "continued": b"\x01" * 20},
        "20 bytes, at 70,000, part of a message",
    ),
}


@pytest.mark.parametrize(("message", "role", "extra", "values", "line"), CASES.values(), ids=CASES)
def test_frames(message: bytes, role: Role, extra: dict[str, str] | None, values: object, line: str) -> None:
    context = Context(role, extra=extra)
    body = HA.values(message, context)
    assert (body.values, body.findings) == (values, ())
    assert HA.info(body, context) == line
    assert_tiles(HA.tree(message, context))


def test_a_transfer() -> None:
    context = Context(Role.PUSH)
    body = HA.values(transfer(BASE, LOG + blank(9)), context)
    assert body.findings == ()
    assert [(each["commitLogOffset"], each["body"]) for each in body.values["messages"]] == [
        (BASE, b"one"),
        (BASE + len(LOG) // 2, b"two"),
    ]
    assert HA.info(body, context) == f"{len(LOG) + 9} bytes, at 70,000, 2 messages of orders"


def test_what_a_block_carries() -> None:
    values = HA.values(transfer(BASE, LOG), Context(Role.PUSH)).values
    found = list(HA.payloads.extract(values, lambda: None))
    assert [(each.value, each.place) for each in found] == [
        (b"one", ("messages", 0, "body")),
        (b"two", ("messages", 1, "body")),
    ]


def test_a_transfer_that_begins_and_ends_within_messages() -> None:
    log = placed(BASE, b"one", b"two", b"three")
    body = HA.values(transfer(BASE + 50, log[50:-20]), Context(Role.PUSH))
    assert [each["body"] for each in body.values["messages"]] == [b"two"]
    assert body.values["continued"] == log[50 : len(LOG) // 2]
    assert body.values["continues"] == log[len(LOG) : -20]


def test_a_checksum_that_is_wrong_is_reported_and_the_next_message_read() -> None:
    broken = LOG.replace(b"one", b"0ne")
    body = HA.values(transfer(BASE, broken), Context(Role.PUSH))
    assert [finding.code for finding in body.findings] == ["crc-mismatch"]
    assert [each["crcValid"] for each in body.values["messages"]] == [False, True]


def test_what_was_to_come_and_what_the_slave_lacks() -> None:
    jumped = HA.values(transfer(900), Context(Role.PUSH, extra={"expected": "400"}))
    assert [(each.code, each.text) for each in jumped.findings] == [
        ("replication-jump", "the log goes on at 900; what was sent before ends at 400")
    ]
    behind = HA.values(report(9), Context(Role.ONEWAY, extra={"behind": "300000000"}))
    assert [each.code for each in behind.findings] == ["slow-replica"]


@pytest.mark.parametrize("name", [*CASES, "log"])
def test_cut_at_every_byte(name: str) -> None:
    message, role, extra = CASES[name][:3] if name in CASES else (transfer(BASE, LOG), Role.PUSH, None)
    context = Context(role, extra=extra)
    whole = HA.values(message, context).values
    for end in range(len(message)):
        tree = HA.tree(message[:end], context)
        assert_tiles(tree)
        assert [each.code for each in tree.findings] == ["malformed-body"], end
        found = HA.values(message[:end], context).values
        assert found.keys() - {"continued", "continues"} <= whole.keys()
        assert all(found[key] == whole[key] for key in found if isinstance(found[key], int))


FRAMES = [case[0] for case in CASES.values()] + [transfer(BASE, LOG)]


def test_a_topic_that_is_no_text_has_no_name() -> None:
    log = placed(BASE, b"one", topic=b"\x80rders")
    log += placed(BASE + len(log), b"two") + placed(BASE, b"three", topic=b"\xff")
    context = Context(Role.PUSH)
    line = HA.info(HA.values(transfer(BASE, log), context), context)
    assert line == f"{len(log)} bytes, at 70,000, 3 messages of orders"


@given(
    st.sampled_from(FRAMES),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    st.sampled_from(Role),
    st.sampled_from([None, CONTROLLED]),
)
def test_any_bytes(message: bytes, changes: list[tuple[int, int]], role: Role, extra: dict[str, str] | None) -> None:
    data = bytearray(message)
    for at, byte in changes:
        data[at % len(data)] = byte
    context = Context(role, extra=extra)
    assert_tiles(HA.tree(bytes(data), context))
    HA.info(HA.values(bytes(data), context), context)
