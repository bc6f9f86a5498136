"""One transaction: what is remembered of it, and the line that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dissectors.old_report import MessageEvent, ReportRow
from dissectors.slotted import field, slotted
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import error_name, names
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.messages import inside, number, structs

MOST_ROWS = 256
"""Messages of a transaction that are named."""

NONE = 1 << 31
"""No operation."""


@slotted(frozen=False, eq=False)
class Request:
    """What a client, or a follower for it, asked: rows and times; `reply` once it was answered.

    operation, path: what it was; the transaction of one that failed does not tell.
    """

    operation: str | None = None
    path: str | None = None
    row: int | None = None
    time: int | None = None
    reply: tuple[int, int] | None = None
    forwarded: tuple[int, int] | None = None


@slotted(frozen=False, eq=False)
class Transaction:
    """One of them. header, path, error: as far as a packet told. proposed: by connection when; acks: in which time."""

    zxid: int
    leader: str
    first: int
    last: int
    header: dict[str, Any] = field(default_factory=dict)
    path: str | None = None
    error: int | None = None
    request: Request | None = None
    proposed: dict[int, int] = field(default_factory=dict)
    acks: dict[int, int] = field(default_factory=dict)
    before: int | None = None
    committed: int | None = None
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """One more message."""
        self.last = max(self.last, told.time)
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))


def entry_of(known: Transaction, name: Callable[[int], str]) -> ReportRow:
    """Its line; name: what a learner is called, by its connection."""
    header, request = known.header, known.request or Request()
    asked = [("request", request.row), ("forwarded", request.forwarded and request.forwarded[0])]
    rows = [(word, row) for word, row in asked if row is not None] + known.rows
    if request.reply is not None:
        rows.append(("reply", request.reply[0]))
    began = min(known.proposed.values(), default=None)
    slowest = max(known.acks, key=known.acks.__getitem__, default=None)
    values = (
        f"{known.zxid:#x}",
        request.operation if known.error is not None else names("operation").get(number(header, "type", NONE)),
        known.path or request.path,
        None if known.error is None else error_name(known.error),
        _between(began, known.committed),
        None if slowest is None else name(slowest),
        None if slowest is None else known.acks[slowest],
        _between(request.time, request.reply and request.reply[1]),
        session_name(number(header, "clientId")) if header else None,
        number(header, "cxid") if header else None,
        known.leader,
        len(known.proposed),
        len(known.acks),
        known.before,
        [f"{name(stream)} in {lasting(took)}" for stream, took in known.acks.items()],
        _between(request.forwarded and request.forwarded[1], began),
    )
    return ReportRow(
        values,
        tuple(rows),
        min(known.first, request.time or known.first),
        max(known.last, request.reply[1] if request.reply else known.last),
    )


def path_of(txn: Mapping[str, Any]) -> str | None:
    """The node of a transaction; of a multi the first that has one."""
    paths = (each.get("path") for each in (txn, *(inside(each.get("data")) for each in structs(txn.get("txns")))))
    return next((path for path in paths if isinstance(path, str)), None)


def path_asked(operation: str | None, values: Mapping[str, Any]) -> str | None:
    """The node that a client asks to write; of a multi the first that has one, as of its transaction."""
    asked = structs(values.get("operations")) if operation == "multi" else [values]
    return next((path for path in (each.get("path") for each in asked) if isinstance(path, str)), None)


def _between(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
