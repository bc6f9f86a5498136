"""The report `delays`: where the time of the slowest exchange of each operation of a connection went.

It covers all protocols, and uses only columns of the index; no message is decoded for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from analyzer.columns.arrays import make_group_keys
from analyzer.decode.endpoints import name_endpoint
from analyzer.insight.delays import PARTS, ExchangeDelays, divide_exchanges, find_slowest
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.correlator import Subscriptions
from dissectors.report import OpenRow, Report, ReportRow, column
from dissectors.slotted import make_slotted
from dissectors.wire.amounts import count_text, size_text
from dissectors.wire.times import lasting

SHOWN_SHARE = 20
"""A part is shown if it is at least 1/SHOWN_SHARE of the whole time."""

NOTEWORTHY_NS = 1_000_000
"""Least cost of the network and other requests for which `show` explains a delay."""


@make_slotted(frozen=False, eq=False)
class DelayRow(OpenRow):
    """The slowest exchange of an operation of a connection."""

    operation: str = column("text", "the operation", "")
    asker: str = column("text", "who asked", "")
    answerer: str = column("text", "who answered", "")
    exchanges: int = column("number", "exchanges of this operation on the connection", 0)
    total_ns: int = column("duration", "how long the slowest of them took for who asked", 0)
    told: str = column("sentence", "where its time went", "")
    server_ns: int = column("duration", "from the last byte of its request to the first byte of its answer", 0)
    waiting_ns: int = column("duration", "behind the requests before it on the connection", 0)
    lost_ns: int = column("duration", "until lost packets came again", 0)
    closed_ns: int = column("duration", "while a side had its window closed", 0)
    network_ns: int = column("duration", "round trip between the two sides", 0)
    request_ns: int = column("duration", "from the first to the last byte of the request", 0)
    answer_ns: int = column("duration", "from the first to the last byte of the answer", 0)
    retransmissions: int = column("number", "packets that came again", 0)


class DelayReport(Report[DelayRow]):
    """Reports where the time of slow exchanges went."""

    name = "delays"
    about = "each operation of a connection: whether its slowest exchange waited for the network or for the server"
    needs = ""
    row = DelayRow
    selects = (("operation", "operation"), ("asker", "address"), ("answerer", "address"))
    on: ClassVar[Subscriptions] = {}

    @classmethod
    def rank(cls, entry: ReportRow) -> tuple[int, int]:
        """Returns the same key for all rows, so that they keep the order of list_delays()."""
        return 0, 0

    @classmethod
    def describe(cls, entry: ReportRow, row: int) -> str:
        """Describes in one line where the time of the exchange went."""
        return str(cls.cells(entry)["told"])


def list_delays(session: Analysis, rows: range) -> Iterator[ReportRow]:
    """Returns the rows of the report, the slowest first."""
    delays = divide_exchanges(session, rows)
    columns = [session.rows.column(name)[delays.request] for name in ("stream", "side", "operation")]
    _, keys = make_group_keys(columns)
    counts = np.bincount(keys)
    for place in find_slowest(delays, keys).tolist():
        yield _make_row(session, delays[np.array([place])], int(counts[keys[place]]))


def explain_delay(session: Analysis, row: int, around: int) -> ReportRow | None:
    """Returns the row of one message's exchange; None if nothing explains its delay."""
    partner = session.rows.cell("partner", row)
    request = min(row, partner) if partner >= session.rows.first else -1
    if request < 0:
        return None
    delays = divide_exchanges(session, range(max(request - around, session.rows.first), request + 1))
    mine = delays[delays.request == request]
    if not len(mine) or int((mine.lost + mine.closed + mine.waiting)[0]) < NOTEWORTHY_NS:
        return None
    return _make_row(session, mine, 1)


def _make_row(session: Analysis, delay: ExchangeDelays, exchanges: int) -> ReportRow:
    request, answer = int(delay.request[0]), int(delay.answer[0])
    stream, side = session.rows.cell("stream", request), session.rows.cell("side", request)
    begin, total = int(delay.begin[0]), int(delay.total[0])
    part = {name: int(getattr(delay, name)[0]) for name in PARTS}
    made = DelayRow(begin, session.rows.cell("time", answer))
    made.operation = session.engine.names.text(session.rows.cell("operation", request)) or "?"
    made.asker, made.answerer = name_endpoint(session, stream, side), name_endpoint(session, stream, 1 - side)
    made.exchanges, made.total_ns, made.told = exchanges, total, _tell(session, delay)
    made.server_ns, made.waiting_ns, made.lost_ns = part["working"], part["waiting"], part["lost"]
    made.closed_ns, made.network_ns = part["closed"], part["network"] + part["client"]
    made.request_ns, made.answer_ns = part["sending"], part["answering"]
    made.retransmissions = int(delay.resent[0])
    made.rows += [("request", request), ("answer", answer)]
    return DelayReport.read_row(made)


def _tell(session: Analysis, delay: ExchangeDelays) -> str:
    """Returns a sentence: what the server did, and then the other parts, the longest first."""
    part = {name: int(getattr(delay, name)[0]) for name in PARTS}
    side = session.rows.cell("side", int(delay.request[0]))
    who = "server" if side == FROM_CLIENT else "client"
    took = lasting(part["working"]) if part["working"] else ""
    answered = f"answered in {took}" if took else "answered at once"
    did = f"kept the request for {took}" if took and delay.may_wait[0] else answered
    sizes = [session.rows.cell("length", int(row[0])) for row in (delay.request, delay.answer)]
    resent = count_text(int(delay.resent[0]), "retransmission")
    others = [
        (part["lost"], f"{resent} cost {lasting(part['lost'])}"),
        (part["closed"], f"a closed window cost {lasting(part['closed'])}"),
        (
            part["waiting"],
            f"it waited {lasting(part['waiting'])} for {count_text(int(delay.ahead[0]), 'request')} before it",
        ),
        (part["network"] + part["client"], f"the network took {lasting(part['network'] + part['client'])}"),
        (part["sending"], f"{size_text(sizes[0])} of the request took {lasting(part['sending'])}"),
        (part["answering"], f"{size_text(sizes[1])} of the answer took {lasting(part['answering'])}"),
    ]
    least = max(int(delay.total[0]) // SHOWN_SHARE, 1)
    texts = [text for took, text in sorted(others, key=lambda other: -other[0]) if took >= least]
    return "; ".join([f"the {who} {did}", *texts])
