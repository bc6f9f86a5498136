"""The third reader of a plan: what it gives is what the other two give, with holes, or it gives up."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.kafka.reading import body_plan
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.plan import Plan
from dissectors.wire.template import MOST, Cursor, template_members
from tests.dissectors.symbolic import filled


def plan_of(key: int, version: int, response: bool = False) -> Plan:
    plan = body_plan(key, version, response)
    assert plan is not None
    return plan


def with_symbolic_values(plan: Plan, data: bytes) -> tuple[TemplateBuilder, dict[str, Any], int]:
    builder = TemplateBuilder(data)
    cursor = Cursor(builder, 0, len(data))
    values = template_members(cursor, plan)
    return builder, values, cursor.at


METADATA, BROKERS, VERSIONS = plan_of(3, 1), plan_of(3, 1, True), plan_of(18, 3)
OFFSETS, GROUPS = plan_of(2, 1), plan_of(42, 2)
READ = {
    "texts": (METADATA, "00000002 0001 61 0003 626364"),
    "no topics": (METADATA, "00000000"),
    "null array": (METADATA, "ffffffff"),
    "numbers": (OFFSETS, "ffffffff 00000001 0001 74 00000001 80000000 8000000000000000"),
    "null text": (BROKERS, "00000001 00000001 0001 68 00002384 ffff 00000001 00000000"),
    "empty text": (BROKERS, "00000001 00000001 0000 00002384 0000 00000001 00000000"),
    "compact": (VERSIONS, "02 61 03 6262 00"),
    "unknown tags": (VERSIONS, "02 61 03 6262 02 00 00 07 03 616263"),
    "compact array": (GROUPS, "03 02 61 04 626364 00"),
}
REFUSED = {
    "array below null": (METADATA, "fffffffe"),
    "null without right to it": (plan_of(3, 0), "ffffffff"),
    "text below null": (BROKERS, "00000001 00000001 0001 68 00002384 fffe 00000001 00000000"),
    "null host": (BROKERS, "00000001 00000001 ffff 00002384 ffff 00000001 00000000"),
    "cut number": (OFFSETS, "ffff"),
    "cut text": (METADATA, "00000001 0005 61"),
    "cut tag": (VERSIONS, "02 61 03 6262 01 07 7f 61"),
    "many, and none there": (METADATA, "000007d0"),
    "too many": (METADATA, "7fffffff"),
    "varint without end": (VERSIONS, "ff ff ff ff ff ff"),
}


@pytest.mark.parametrize("name", READ)
def test_values_are_those_of_the_decoder(name: str) -> None:
    plan, text = READ[name]
    data = bytes.fromhex(text)
    _, values, end = with_symbolic_values(plan, data)
    assert (filled(values), end) == values_decoder(plan)(data, 0, Budget())
    assert end == len(data)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_decoder_refuses_has_no_shape(name: str) -> None:
    plan, text = REFUSED[name]
    data = bytes.fromhex(text)
    with pytest.raises((NotTemplatable, *FAILURES)):
        with_symbolic_values(plan, data)
    with pytest.raises(FAILURES):
        decoded(plan, data)


def decoded(plan: Plan, data: bytes) -> dict[str, Any]:
    values, end = values_decoder(plan)(data, 0, Budget())
    if end > len(data):
        raise IndexError  # as its caller does
    return values


def test_what_stays_the_same_and_what_may_differ() -> None:
    """Counts, nulls and empty texts are of the shape, and lengths are not."""
    data = bytes.fromhex(READ["null text"][1])
    builder, *_ = with_symbolic_values(BROKERS, data)
    #               count     node      len  h   port      null  node      topics
    remaining = bytes.fromhex("01010101 00000000 0000 00 00000000 0101 00000000 01010101")
    assert bytes(builder.fixed) == remaining
    builder, *_ = with_symbolic_values(VERSIONS, bytes.fromhex(READ["unknown tags"][1]))
    assert bytes(builder.fixed) == bytes.fromhex("00 00 00 0000 01 01 01 01 00 000000")


@pytest.mark.parametrize(("count", "shapeless"), [(MOST, False), (MOST + 1, True)])
def test_a_message_of_too_many_values(count: int, shapeless: bool) -> None:
    data = count.to_bytes(4) + b"\0\1t" * count
    if not shapeless:
        assert len(with_symbolic_values(METADATA, data)[1]["topics"]) == count
        return
    with pytest.raises(NotTemplatable):
        with_symbolic_values(METADATA, data)


def test_a_secret_has_no_shape() -> None:
    data = bytes.fromhex("00000003 616263")
    with pytest.raises(NotTemplatable):
        with_symbolic_values(plan_of(36, 0), data)
