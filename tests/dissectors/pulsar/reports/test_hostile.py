"""Stories on values that lack anything or have anything in them: nothing is raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.correlator import MessageEvent
from dissectors.pulsar.commands import commands
from dissectors.pulsar.reports import reports
from dissectors.report import ReportType
from tests.dissectors.pulsar.reports.message_report import ends
from tests.dissectors.telling import feed, kinds_of, wanted_names

_NAMES = sorted(wanted_names([*reports()]) | {"ledgerId", "entryId", "ack_set", "partition"})
_NUMBERS = st.one_of(st.integers(-3, 12), st.integers(-(1 << 63), (1 << 64) - 1))
_SCALARS = st.one_of(st.none(), st.booleans(), _NUMBERS, st.text("/ab:-", max_size=4), st.binary(max_size=2))
_IDS = st.fixed_dictionaries(
    {"ledgerId": st.integers(0, 1), "entryId": st.integers(0, 2)}, optional={"ack_set": st.lists(_NUMBERS, max_size=2)}
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS | _IDS | st.lists(_IDS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=6,
)
_MESSAGES = st.tuples(
    st.integers(0, 10_000),
    st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=5),
    st.integers(0, 2),
    st.integers(0, 1 << 40),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 12)),
)


@given(st.sampled_from(reports()), st.lists(_MESSAGES, max_size=10))
def test_nothing_is_raised(report: ReportType, messages: list[Any]) -> None:
    kinds, events = kinds_of(report), []
    for row, (choice, values, stream, time, from_client, partner) in enumerate(messages):
        protocol, code, role = kinds[choice % len(kinds)]
        assert code is not None
        place = row, protocol, Context(role, code), values, stream, time, from_client
        event = MessageEvent(*place, commands()[code].name, None, None, partner, 1 + choice)
        events.append((event, choice % 5 == 0))
    feed(report, ends, events)
