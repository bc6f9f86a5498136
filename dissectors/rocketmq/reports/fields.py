"""Subscriptions of RocketMQ's reports and checks: commands by name, and their common fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.correlator import Handler, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.message import Path, Role
from dissectors.report import OpenRow
from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.tables import table
from dissectors.slotted import make_slotted
from dissectors.table_check import TableCheck
from dissectors.values import struct

ROCKETMQ = "rocketmq"

ASKS = (Role.REQUEST, Role.ONEWAY)
ANSWERS = (Role.RESPONSE,)

PULLS, POPS = "PULL_MESSAGE LITE_PULL_MESSAGE", "POP_MESSAGE POP_LITE_MESSAGE"


@cache
def request_codes() -> Mapping[str, int]:
    """Request codes by name; HEART_BEAT and PULL are the clients', not those of the controllers' raft (DLedger)."""
    found: dict[str, int] = {}
    for code, operation in operations().items():
        found.setdefault(operation.name, code)
    return found


def subscribe_to(
    names: str, roles: Iterable[Role], handle: Handler, *paths: str | Path
) -> dict[MessageKind, Subscription]:
    """Subscribes a handler to commands (names with spaces between) in some roles.

    paths: the fields that it reads; a text is a field of the header, a tuple is a path from the top.
    """
    kinds = [(ROCKETMQ, request_codes()[name], role) for name in names.split() for role in roles]
    return subscribe(kinds, handle, (("header", path) if isinstance(path, str) else path for path in paths))


def read_header(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the fields of a header's class; none without a class."""
    return struct(values, "header")


@make_slotted(frozen=False, eq=False)
class OngoingRow(OpenRow):
    """A row for something that lasts as long as the capture: a topic, group, queue or server."""

    def hear(self, event: MessageEvent) -> None:
        """Notes the time of a message; clocks of two interfaces may differ."""
        self.first, self.last = min(self.first, event.time), max(self.last, event.time)


class RocketmqCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    table = staticmethod(table)
