"""What stands for producers and consumers: who tells their topics, and who has only their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.name_binding import BoundName, NameBinding, Reference
from dissectors.pulsar.commands import commands
from dissectors.pulsar.dissector import Pulsar

CODES = {command.name: code for code, command in commands().items()}
OF_PRODUCER = [Reference("topic", ("producer_id",), "producer")]
OF_CONSUMER = [Reference(kind, ("consumer_id",), "consumer") for kind in ("topic", "subscription")]

BINDINGS = [
    ("PRODUCER", {"topic": "t", "producer_id": 3}, [("topic", "3", "t", "producer")]),
    ("PRODUCER", {"topic": "", "producer_id": 3}, []),
    ("PRODUCER", {"topic": b"\xff", "producer_id": 3}, []),
    ("PRODUCER", {"topic": "t"}, []),
    (
        "SUBSCRIBE",
        {"topic": "t", "subscription": "s", "consumer_id": 0},
        [("topic", "0", "t", "consumer"), ("subscription", "0", "s", "consumer")],
    ),
    ("SCALABLE_TOPIC_SUBSCRIBE", {"topic": "t", "consumer_id": 1}, [("topic", "1", "t", "consumer")]),
    ("SEND", {"topic": "t", "producer_id": 3}, []),
]

REFERENCES = [
    ("SEND", OF_PRODUCER),
    ("SEND_RECEIPT", OF_PRODUCER),
    ("CLOSE_PRODUCER", OF_PRODUCER),
    ("MESSAGE", OF_CONSUMER),
    ("ACK", OF_CONSUMER),
    ("FLOW", OF_CONSUMER),
    ("SCALABLE_TOPIC_ASSIGNMENT_UPDATE", OF_CONSUMER),
    ("PRODUCER", []),
    ("SUBSCRIBE", []),
    ("LOOKUP", []),
]


@pytest.mark.parametrize(("name", "values", "expected"), BINDINGS)
def test_what_a_command_teaches(name: str, values: Mapping[str, Any], expected: list[tuple[str, ...]]) -> None:
    bound = BoundName(values, Context(Role.REQUEST, CODES[name]), lambda: None, None, "10.0.0.7")
    assert list(Pulsar().names.name_bindings(bound)) == [NameBinding(*each) for each in expected]


@pytest.mark.parametrize(("name", "expected"), REFERENCES)
def test_where_numbers_are(name: str, expected: list[Reference]) -> None:
    assert list(Pulsar().names.references(Context(Role.ONEWAY, CODES[name]))) == expected


def test_whoever_teaches_is_a_source_of_it() -> None:
    reported = {(CODES[name], kind) for name, _, name_bindings in BINDINGS for kind, *_ in name_bindings}
    assert reported <= {
        (binding_source.code, binding_source.kind) for binding_source in Pulsar().names.binding_sources()
    }
    assert Pulsar().names.references(Context(Role.RAW)) == Pulsar().names.references(Context(Role.REQUEST, 4711)) == ()
