"""Reports on values that lack anything or have anything in them: nothing is raised."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.correlator import MessageEvent
from dissectors.kafka.reports import reports
from dissectors.kafka.reports.fields import api_keys
from dissectors.report import ReportType
from dissectors.wire.embedded import EmbeddedValue
from tests.dissectors.kafka.reports.builder import ends
from tests.dissectors.telling import feed, kinds_of, wanted_names

_NAMES = sorted(
    wanted_names([*reports()])
    | {"memberId", "metadata", "assignedPartitions", "topicPartitions", "partitions", "topicId", "nodeId", "host"}
    | {"assignment", "protocols", "subtopologyId", "candidateId", "leaderId", "apiKey", "maxVersion", "markers"}
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.integers(-(1 << 63), (1 << 63) - 1), st.text("tg", max_size=2)
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4)
        | inner.map(lambda value: EmbeddedValue(b"", value))
    ),
    max_leaves=8,
)
_MESSAGES = st.tuples(
    st.integers(0, 10_000),
    st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=6),
    st.integers(0, 3),
    st.integers(0, 1 << 40),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 20)),
    st.sampled_from([None, "a", "b"]),
)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("report", reports(), ids=lambda report: report.name)
@given(messages=st.lists(_MESSAGES, max_size=12))
def test_nothing_is_raised(report: ReportType, messages: list[Any]) -> None:
    kinds, events = kinds_of(report), []
    names = {key: name for name, key in api_keys().items()}
    for row, (choice, values, stream, time, from_client, partner, client) in enumerate(messages):
        protocol, code, role = kinds[choice % len(kinds)]
        place = row, protocol, Context(role, code, choice % 12), values, stream, time, from_client
        event = MessageEvent(*place, names[code or 0], row, client, partner)
        events.append((event, choice % 5 == 0))
    feed(report, ends, events)
