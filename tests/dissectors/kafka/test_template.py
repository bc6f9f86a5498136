"""Kafka's messages with holes: the same body, or none where the message stands for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.decode.content import find_dissector, read_context, read_message
from analyzer.session import Session
from dissectors.api import Body, Context, Role
from dissectors.kafka.dissector import Kafka
from dissectors.kafka.template import template
from tests.analyzer.roads import (
    batch,
    fetched,
    framed,
    list_offsets,
    offsets_listed,
    produce,
    produced,
    record,
)
from tests.dissectors.symbolic import filled, find_symbolic_values

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
KAFKA = Kafka()
ONE = batch([record(b"k", b"v")])
COMMITTED = batch([record(b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\0" + bytes(8) + b"\0\1m" + bytes(8))])
"""An offset that a group committed, as its coordinator writes it."""


def told(body: Body) -> Any:
    """What it says; the texts of findings may have marks in them."""
    codes = [finding.code for finding in body.findings]
    return filled(body.values), body.error and tuple(map(filled, body.error)), codes


@pytest.mark.parametrize("name", ["k28_sweep", "k4_java_share", "k010_py_old", "k4_java_internal", "zk39_ibp_2.4"])
def test_bodies_are_those_of_the_decoder(name: str) -> None:
    found = with_symbolic_values = 0
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        for row in range(len(session.rows)):
            dissector, context = find_dissector(session, row), read_context(session, row)
            if dissector is None or dissector.name != "kafka":
                continue
            made = template(read_message(session, row), context)
            if made is not None:
                found += 1
                with_symbolic_values += find_symbolic_values(made.body.values) > 0
                assert told(made.body) == told(KAFKA.values(read_message(session, row), context))
    assert found > 50
    assert with_symbolic_values > found // 2


def request_of(key: int, version: int) -> Context:
    return Context(Role.REQUEST, key, version)


def answer_of(key: int, version: int) -> Context:
    return Context(Role.RESPONSE, key, version)


PLAIN = list_offsets(b"t", 0, 1)
ASSIGNED = framed(bytes(4 + 2) + (22).to_bytes(4) + bytes(5) + b"\1\0\1t" + (1).to_bytes(4) + bytes(4) + b"\0\0\0\1u")
"""A SyncGroup response whose assignment is partition 0 of the topic t, and user data."""

GROUP = Context(Role.RESPONSE, 14, 0, extra={"protocolType": "consumer"})
FOR_THEMSELVES = {
    "a rest": (framed(PLAIN[4:] + b"x"), request_of(2, 1)),
    "cut": (PLAIN[:-1], request_of(2, 1)),
    "a length too short": (b"\0\0\0\1" + PLAIN[4:], request_of(2, 1)),
    "no version": (PLAIN, Context(Role.REQUEST, 2, None)),
    "no operation": (PLAIN, Context(Role.REQUEST, None, 1)),
    "unknown operation": (PLAIN, request_of(9999, 1)),
    "newer than the tables": (PLAIN, request_of(2, 30)),
    "raw": (PLAIN, Context(Role.RAW, 2, 1)),
    "another layout": (framed(bytes(4) + b"\0\x23" + bytes(4)), answer_of(18, 3)),
    "a token": (framed(bytes.fromhex("0024 0000 00000001 0002 6d65 00000002 6162")), request_of(36, 0)),
    "append time": (produce(b"t", batch([record(b"k", b"v")], attributes=8)), request_of(0, 3)),
    "nothing": (b"", request_of(2, 1)),
}


@pytest.mark.parametrize("name", FOR_THEMSELVES)
def test_what_stands_for_itself(name: str) -> None:
    message, context = FOR_THEMSELVES[name]
    assert template(message, context) is None


@pytest.mark.parametrize(
    ("message", "context"),
    [
        (PLAIN, request_of(2, 1)),
        (list_offsets("ü".encode(), 0, 1), request_of(2, 1)),
        (list_offsets(b"t", 0, 1, None), request_of(2, 1)),
        (list_offsets(b"", 0, 1, b""), request_of(2, 1)),
        (offsets_listed(b"t", 0, 3, 1, 1), answer_of(2, 1)),
        (produce(b"t", ONE), request_of(0, 3)),
        (produce(b"t", ONE * 20), request_of(0, 3)),
        (produce(b"t", None), request_of(0, 3)),
        (produced(b"t", 1, 6), answer_of(0, 3)),
        (fetched(b"t", ONE + ONE[:30]), answer_of(1, 4)),
        (produce(b"__consumer_offsets", ONE), request_of(0, 3)),
        (fetched(b"__consumer_offsets", COMMITTED), answer_of(1, 4)),
        (ASSIGNED, GROUP),
        (ASSIGNED, answer_of(14, 0)),
    ],
)
def test_what_has_a_shape(message: bytes, context: Context) -> None:
    made = template(message, context)
    assert made is not None
    assert find_symbolic_values(made.body.values) > 0
    assert told(made.body) == told(KAFKA.values(message, context))


def test_header_and_error() -> None:
    """Size, correlation and client are free; an error's code is what the answer is about."""
    made = template(list_offsets(b"t", 0, 1), request_of(2, 1))
    assert made is not None
    assert bytes(made.builder.fixed[:16]) == bytes.fromhex("00000000 01010101 00000000 0000 0000")
    failed = template(offsets_listed(b"t", 0, 3, 1, 1), answer_of(2, 1))
    assert failed is not None
    error = failed.body.error
    assert error is not None
    assert error[1] == "UNKNOWN_TOPIC_OR_PARTITION"
    code = 4 + 4 + 4 + 3 + 4 + 4
    assert bytes(failed.builder.fixed[code : code + 2]) == b"\1\1"
    fine = template(offsets_listed(b"t", 0, 0, 1, 1), answer_of(2, 1))
    assert fine is not None
    assert bytes(fine.builder.fixed[code : code + 2]) == b"\0\0"
    assert any(condition.name == "ne" and not condition.outcome for condition in fine.builder.conditions)
