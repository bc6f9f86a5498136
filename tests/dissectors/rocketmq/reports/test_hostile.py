"""Stories on values that lack anything or have anything in them: nothing is raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.correlator import MessageEvent
from dissectors.rocketmq.codes import find_operation_name
from dissectors.rocketmq.reports import reports
from tests.dissectors.rocketmq.reports.message_report import HOST, ends, offset_id
from tests.dissectors.telling import feed, kinds_of, wanted_names

_NAMES = sorted(
    wanted_names([*reports()])
    | {"storeHost", "commitLogOffset", "UNIQ_KEY", "POP_CK", "DELAY", "c", "t", "q", "so", "b", "r", "groupName"}
)
_NUMBERS = st.integers(-2, 12) | st.integers(-(1 << 63), (1 << 63) - 1)
_TEXTS = st.sampled_from(
    [
        "K",
        "CG",
        "orders",
        "%RETRY%CG",
        "0 1 2 3 1 b 0 5",
        offset_id(1),
        HOST,
        "UNIQ_KEY\x01K\x02DELAY\x013",
        "BA==",
        "7",
    ]
) | st.text(max_size=3)
_SCALARS = st.none() | st.booleans() | _NUMBERS | _TEXTS | st.binary(max_size=2)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
    max_leaves=4,
)
_OBJECTS = st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=4)
_BODIES = _VALUES | st.fixed_dictionaries({}, optional={"messages": st.lists(_OBJECTS, max_size=2), "acks": _VALUES})
_MESSAGES = st.tuples(
    st.integers(0, 10_000), _OBJECTS, _BODIES, st.integers(0, 2), st.booleans(),
    st.none() | st.integers(0, 9), st.sampled_from([None, (10, "FLUSH_DISK_TIMEOUT"), (1, "SYSTEM_ERROR")]),
)  # fmt: skip


@settings(max_examples=settings.default.max_examples // 2)  # each case is for all reports
@given(st.lists(_MESSAGES, max_size=6))
def test_nothing_is_raised(messages: list[Any]) -> None:
    for report in reports():
        kinds, events = kinds_of(report), []
        for row, (choice, header, body, stream, from_client, partner, error) in enumerate(messages):
            protocol, code, role = kinds[choice % len(kinds)]
            name = None if code is None else find_operation_name(code)
            place = row, protocol, Context(role, code), {"header": header, "body": body}, stream, row, from_client
            event = MessageEvent(*place, name, None, None, partner, 1 + choice, 0, error)
            events.append((event, choice % 5 == 0))
        feed(report, ends, events)
