"""Reports on values that lack anything or have anything in them: nothing is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.correlator import Ends, MessageEvent
from dissectors.kafka import reports as kafka
from dissectors.kafka.reports.fields import api_keys
from dissectors.pulsar import reports as pulsar
from dissectors.pulsar.commands import commands
from dissectors.report import ReportType
from dissectors.rocketmq import reports as rocketmq
from dissectors.rocketmq.codes import find_operation_name
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper import reports as zookeeper
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.quorum.header import packets
from tests.dissectors.kafka.reports import builder
from tests.dissectors.pulsar.reports import message_report
from tests.dissectors.rocketmq.reports import message_report as command_report
from tests.dissectors.telling import feed, kinds_of, wanted_names
from tests.dissectors.zookeeper.reports import told

API_NAMES = {key: name for name, key in api_keys().items()}


class Speech(NamedTuple):
    """What a protocol's messages may say: names of fields beside those that reports want, and texts."""

    reports: tuple[ReportType, ...]
    names: str
    texts: tuple[str | None, ...]
    ends: Ends
    operation: Callable[[str, int | None], str | None]
    clients: tuple[str | None, ...] = (None,)


def name_of_zookeeper(protocol: str, code: int | None) -> str | None:
    if protocol.endswith("quorum") and code:
        return packets()[code].name
    return "connect" if protocol == "zookeeper" and code is None else load_names("operation").get(code or 99)


SPEECHES = {
    "kafka": Speech(
        tuple(kafka.reports()),
        "memberId metadata assignedPartitions topicPartitions partitions topicId nodeId host assignment protocols "
        "subtopologyId candidateId leaderId apiKey maxVersion markers",
        ("", "t", "g", "tg"),
        builder.ends,
        lambda _, code: API_NAMES[code or 0],
        (None, "a", "b"),
    ),
    "pulsar": Speech(
        tuple(pulsar.reports()),
        "ledgerId entryId ack_set partition",
        ("", "/", "a:b", "a-b"),
        message_report.ends,
        lambda _, code: commands()[code or 0].name,
    ),
    "rocketmq": Speech(
        tuple(rocketmq.reports()),
        "storeHost commitLogOffset UNIQ_KEY POP_CK DELAY c t q so b r groupName messages acks",
        ("K", "CG", "orders", "%RETRY%CG", "0 1 2 3 1 b 0 5", command_report.offset_id(1), command_report.HOST,
         "UNIQ_KEY\x01K\x02DELAY\x013", "BA==", "7"),
        command_report.ends,
        lambda _, code: None if code is None else find_operation_name(code),
    ),
    "zookeeper": Speech(
        tuple(zookeeper.reports()),
        "header txn clientId cxid txns serverid request opcode sessionId err",
        ("", "/", "/a", "/a/b"),
        told.ends,
        name_of_zookeeper,
        (None, "0x1", "0x2"),
    ),
}  # fmt: skip


def values_of(speech: Speech) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(sorted(wanted_names([*speech.reports]) | {*speech.names.split()}))
    numbers = st.integers(-3, 12) | st.integers(-(1 << 63), (1 << 64) - 1)
    ids = st.fixed_dictionaries({"ledgerId": st.integers(0, 1), "entryId": st.integers(0, 2)})
    scalars = st.none() | st.booleans() | numbers | st.sampled_from(speech.texts) | st.text(max_size=3)
    values: st.SearchStrategy[Any] = st.recursive(
        scalars | st.binary(max_size=2) | ids,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(names, inner, max_size=4)
            | inner.map(lambda value: EmbeddedValue(b"", value))
        ),
        max_leaves=8,
    )
    fields = st.dictionaries(names, values, max_size=6)
    if speech is not SPEECHES["rocketmq"]:
        return fields
    messages = st.fixed_dictionaries({}, optional={"messages": st.lists(fields, max_size=2), "acks": values})
    return st.fixed_dictionaries({"header": fields, "body": values | messages})


VALUES = {name: values_of(speech) for name, speech in SPEECHES.items()}


@pytest.mark.sampled(2)
@settings(max_examples=settings.default.max_examples // 2)
@pytest.mark.parametrize("protocol", SPEECHES)
@given(data=st.data())
def test_nothing_is_raised(protocol: str, data: st.DataObject) -> None:
    speech, events = SPEECHES[protocol], list[tuple[MessageEvent, bool]]()
    report = data.draw(st.sampled_from(speech.reports))
    kinds = kinds_of(report)
    rare = st.none() | st.integers(0, 20)
    for row in range(data.draw(st.integers(0, 12))):
        choice, stream, time = data.draw(st.tuples(st.integers(0, 10_000), st.integers(0, 3), st.integers(0, 1 << 40)))
        partner, correlation, client = data.draw(st.tuples(rare, rare, st.sampled_from(speech.clients)))
        kind, code, role = kinds[choice % len(kinds)]
        context = Context(role, code, choice % 12 if protocol == "kafka" else None)
        place = row, kind, context, data.draw(VALUES[protocol]), stream, time, choice % 2 == 0
        error = (choice, "SYSTEM_ERROR") if choice % 7 == 0 else None
        told = (speech.operation(kind, code), correlation, client, partner, 1 + choice, 0, error)
        events.append((MessageEvent(*place, *told), choice % 5 == 0))
    feed(report, speech.ends, events)
