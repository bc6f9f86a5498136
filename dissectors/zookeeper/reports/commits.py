"""The report of transactions: who asked, when it was proposed, who acknowledged it, and when it was committed.

Facts (Leader, LearnerHandler). A write goes to the leader, from a follower in a REQUEST. The leader proposes it to all
followers; each writes it to its log and sends an ACK. With the acknowledgements of a majority, including its own, which
no packet shows, the leader commits. An observer gets an INFORM. A transaction has the session and xid of its request;
one without an xid opens a session, or is the leader's own: a session expired.

Transactions between a DIFF and NEWLEADER are old ones for a learner that was away: they need no quorum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import BoundedTable, MessageEvent, subscribe
from dissectors.message import Role
from dissectors.report import OpenRow, Report, ReportRow, column
from dissectors.slotted import field, make_slotted
from dissectors.values import number, structs
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import error_name, load_names, load_numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.fields import (
    CLIENTS,
    CONNECT,
    QUORUM,
    WRITES,
    inside,
    on_answers,
    on_quorum,
    on_requests,
    read_packet_data,
)

NONE = 1 << 31
"""No operation."""

_OPENS = load_numbers("operation")["createSession"]
_INFORMS = "INFORM INFORMANDACTIVATE"
_COMMITS = f"COMMIT COMMITANDACTIVATE {_INFORMS}"

_Call = tuple[str, int]
"""Session and xid."""


@make_slotted(frozen=False, eq=False)
class Request:
    """A request of a client, or of a follower for it: rows and times; `reply` once it was answered.

    operation, path: of the request, because the transaction of a failed one does not have them.
    """

    operation: str | None = None
    path: str | None = None
    row: int | None = None
    time: int | None = None
    reply: tuple[int, int] | None = None
    forwarded: tuple[int, int] | None = None


@make_slotted(frozen=False, eq=False)
class Transaction(OpenRow):
    """One row of the commits report.

    number: the zxid. header: its TxnHeader; error: the error, if a packet has one. proposed: the time of the proposal
    by connection; took: how long the acknowledgement took by connection. committed: the time of the commit.
    """

    zxid: str = column("text", "the transaction", of=lambda row: f"{row.number:#x}")
    operation: str | None = column("text", "what it does", of=lambda row: row.does)
    path: str | None = column("text", "the node, of several the first")
    error: str | None = column(
        *("text", "why nothing was done"),
        of=lambda row: None if row.failed is None else error_name(row.failed),
    )
    quorum_ns: int | None = column(
        *("duration", "from the first PROPOSAL to the first COMMIT"),
        of=lambda row: _subtract(row.began, row.committed),
    )
    slowest: str | None = column("text", "who took longest")
    slowest_took_ns: int | None = column(
        "duration", "how long that was", of=lambda row: max(row.took.values(), default=None)
    )
    client_ns: int | None = column(
        *("duration", "from the client's request to its answer"),
        of=lambda row: _subtract(row.request.time, row.request.reply and row.request.reply[1]),
    )
    session: str | None = column(
        *("text", "who asked"),
        of=lambda row: session_name(number(row.header, "clientId")) if row.header else None,
    )
    xid: int | None = column(
        *("number", "the client's number for its request; 0: a connect, or what the leader does by itself"),
        of=lambda row: number(row.header, "cxid") if row.header else None,
    )
    leader: str = column("text", "the address that proposed it", "")
    proposals: int = column("number", "followers that it was proposed to", of=lambda row: len(row.proposed))
    acks: int = column(
        *("number", "of these, how many acknowledged it; the leader's own is no packet"),
        of=lambda row: len(row.took),
    )
    acks_at_commit: int | None = column("number", "how many had by the commit")
    acknowledged: list[str] = column("texts", "who acknowledged it, in which time", default_factory=list)
    forwarded_ns: int | None = column(
        *("duration", "from the follower's REQUEST to the first PROPOSAL"),
        of=lambda row: _subtract(row.request.forwarded and row.request.forwarded[1], row.began),
    )
    number: int = 0
    header: dict[str, Any] = field(default_factory=dict)
    failed: int | None = None
    request: Request = field(default_factory=Request)
    proposed: dict[int, int] = field(default_factory=dict)
    took: dict[int, int] = field(default_factory=dict)
    committed: int | None = None

    most_rows = 256

    @property
    def began(self) -> int | None:
        """The time of the first proposal."""
        return min(self.proposed.values(), default=None)

    @property
    def does(self) -> str | None:
        """The operation; for a failed transaction the operation of its request."""
        return self.request.operation if self.failed is not None else _operation(number(self.header, "type", NONE))


class Commits(Report[Transaction]):
    """The commits report: one row per transaction. A row ends when many transactions have come after it."""

    name = "commits"
    about = "each transaction of the quorum: request, proposal, acknowledgements, commit, and the time to each"
    needs = QUORUM
    row = Transaction
    worst = ("client_ns",)
    selects = (("zxid", "zookeeper-quorum.zxid"),)
    key = ("leader", "number")
    limit = 4096

    def _begin(self) -> None:
        self.calls: BoundedTable[_Call, Request] = BoundedTable(make=Request)
        """Requests, of clients and of followers, that wait for their transaction."""
        self.learners: dict[int, int] = {}
        self.synced: set[int] = set()
        """Connections on which old transactions are sent."""

    def close(self, row: Transaction) -> None:
        """Ends a row. Learners are named by their numbers, else by their addresses."""
        request = row.request
        slowest = max(row.took, key=row.took.__getitem__, default=None)
        row.slowest = None if slowest is None else self.name_learner(slowest)
        row.acknowledged = [f"{self.name_learner(stream)} in {lasting(took)}" for stream, took in row.took.items()]
        messages = [("request", request.row), ("forwarded", request.forwarded and request.forwarded[0])]
        row.rows = [(word, at) for word, at in messages if at is not None] + row.rows
        if request.reply is not None:
            row.rows.append(("reply", request.reply[0]))
            row.last = max(row.last, request.reply[1])
        row.first = min(row.first, request.time or row.first)
        super().close(row)

    def name_learner(self, stream: int) -> str:
        """Returns the name of a learner: its sid, or else its address."""
        sid = self.learners.get(stream)
        return self.ends(stream)[0] if sid is None else str(sid)

    def receive_request(self, event: MessageEvent) -> None:
        """Notes a client's request. The xid of a connect is 0; its answer has the session."""
        if event.context.code is None and event.operation != CONNECT:
            return
        if event.client_name is not None:
            request = self.calls.find((event.client_name, event.correlation or 0))
            request.row, request.time, request.reply = event.row, event.time, None
            request.operation = request.operation or event.operation
            request.path = request.path or find_requested_path(event.operation, event.values)
            self.requests[event.row] = request

    def receive_reply(self, event: MessageEvent) -> None:
        """Notes that the client has its answer."""
        if event.context.code is None and event.operation != CONNECT:
            return
        request = self.take_request(event)
        if request is not None and request.row == event.partner:
            request.reply = event.row, event.time

    def learn(self, event: MessageEvent) -> None:
        """Learns the number of a server from FOLLOWERINFO or OBSERVERINFO."""
        self.learners[event.stream] = number(read_packet_data(event), "serverid", -1)

    def begin_sync(self, event: MessageEvent) -> None:
        """Notes that a learner is synchronised, from a DIFF, TRUNC or SNAP."""
        self.synced.add(event.stream)

    def end_sync(self, event: MessageEvent) -> None:
        """Notes that a learner is up to date, from a NEWLEADER."""
        self.synced.discard(event.stream)

    def forward(self, event: MessageEvent) -> None:
        """Notes a REQUEST that a follower forwards to the leader."""
        packet = read_packet_data(event)
        request = self.calls.find((session_name(number(packet, "sessionId")), number(packet, "cxid")))
        request.forwarded = event.row, event.time
        request.operation = _operation(number(packet, "opcode", NONE))
        request.path = path_of(inside(packet.get("request")))

    def find_transaction(self, event: MessageEvent, *, begins: bool) -> Transaction | None:
        """Finds the transaction of a packet. begins: whether an unknown transaction may begin with this packet."""
        zxid = event.values.get("zxid")
        if not isinstance(zxid, int):
            return None
        key = event.server, zxid
        known = self.rows.get(key)
        if known is None and not begins:
            return None
        known = known or self.find(key, event)
        if event.stream in self.synced:
            known.note("sent again", event)
        return known

    def acknowledge(self, event: MessageEvent) -> None:
        """Notes a follower's ACK of a proposed transaction, and how long it took."""
        known = self.find_transaction(event, begins=False)
        if known is None:
            return  # of a NEWLEADER, say
        since = known.proposed.get(event.stream)
        if event.stream not in self.synced and since is not None and event.stream not in known.took:
            known.took[event.stream] = event.time - since
            known.note("ack", event)
        self.read_transaction(known, event)

    def propose(self, event: MessageEvent) -> None:
        """Notes a leader's PROPOSAL: when each follower was sent the transaction."""
        known = self.find_transaction(event, begins=True)
        if known is None:
            return
        if event.stream not in self.synced:
            known.proposed[event.stream] = event.time
            known.note("proposal", event)
        self.read_transaction(known, event)

    def commit(self, event: MessageEvent) -> None:
        """Notes a COMMIT or an INFORM, also those with a new configuration."""
        known = self.find_transaction(event, begins=event.stream not in self.synced)
        if known is None:
            return
        name = event.operation or ""
        if event.stream not in self.synced:
            if known.committed is None and name not in _INFORMS.split():
                known.committed, known.acks_at_commit = event.time, len(known.took)
            known.note(name.lower(), event)
        self.read_transaction(known, event)

    def read_transaction(self, known: Transaction, event: MessageEvent) -> None:
        """Completes a transaction from a packet that carries it."""
        packet = read_packet_data(event)
        header, txn = packet.get("header"), packet.get("txn")
        if known.header or not isinstance(header, dict):
            return
        known.header = header
        call = session_name(number(header, "clientId")), number(header, "cxid")
        if (
            call[1] or header.get("type") == _OPENS
        ):  # else it is the leader's own, and a connect asked for no such thing
            known.request = self.calls.pop(call) or known.request
        if isinstance(txn, dict):
            known.failed = txn["err"] if isinstance(txn.get("err"), int) else None
            known.path = path_of(txn)
        known.path = known.path or known.request.path

    on = (
        on_requests(WRITES, receive_request, "path", "operations")
        | on_answers(WRITES, receive_reply)
        | subscribe([(CLIENTS, None, Role.REQUEST)], receive_request)
        | subscribe([(CLIENTS, None, Role.RESPONSE)], receive_reply)
        | on_quorum("ACK", acknowledge, "zxid")
        | on_quorum("COMMIT COMMITANDACTIVATE", commit, "zxid")
        | on_quorum("PROPOSAL", propose, "zxid", "data")
        | on_quorum(_INFORMS, commit, "zxid", "data")
        | on_quorum("REQUEST", forward, "data")
        | on_quorum("FOLLOWERINFO OBSERVERINFO", learn, "data")
        | on_quorum("DIFF TRUNC SNAP", begin_sync)
        | on_quorum("NEWLEADER", end_sync)
    )

    @classmethod
    def phrase(cls, word: str, cells: Mapping[str, Any], entry: ReportRow) -> str:
        """Formats one event of a row for people."""
        what = " ".join(str(cells[name]) for name in ("operation", "path") if cells[name])
        parts = [f"{_PARTS.get(word, word)} of transaction {cells['zxid']}{f' ({what})' if what else ''}"]
        commit = next((each for name, each in entry.rows if name.startswith("commit")), None)
        if commit is not None and cells["quorum_ns"] is not None:
            parts.append(f"message {commit + 1} committed it {lasting(cells['quorum_ns'])} after it was proposed")
        if cells["acknowledged"]:
            parts.append(f"acknowledged by {', by '.join(cells['acknowledged'])}")
        if cells["client_ns"] is not None:
            parts.append(f"the client had its answer in {lasting(cells['client_ns'])}")
        return "; ".join(parts)


_PARTS = {"forwarded": "a follower's request", "sent again": "a later copy"}


def path_of(txn: Mapping[str, Any]) -> str | None:
    """Returns the node of a transaction; of a multi the first that has one."""
    paths = (each.get("path") for each in (txn, *(inside(each.get("data")) for each in structs(txn.get("txns")))))
    return next((path for path in paths if isinstance(path, str)), None)


def find_requested_path(operation: str | None, values: Mapping[str, Any]) -> str | None:
    """Returns the node that a client asks to write; of a multi the first that has one, as of its transaction."""
    operations = structs(values.get("operations")) if operation == "multi" else [values]
    return next((path for path in (each.get("path") for each in operations) if isinstance(path, str)), None)


def _operation(code: int) -> str | None:
    return load_names("operation").get(code)


def _subtract(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
