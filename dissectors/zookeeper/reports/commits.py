"""The story of transactions: who asked, when it was proposed, who acknowledged it, and when it was committed.

Facts (Leader, LearnerHandler). A write goes to the leader, from a follower in a REQUEST. The leader proposes it to all
followers, each writes it to its log and sends an ACK, and with the acknowledgements of a majority, its own among them,
of which no packet tells, the leader commits. An observer is told of it by INFORM. A transaction has the session and xid
of the request that asked for it; one without an xid opens a session, or is the leader's own: a session expired.

What is behind a DIFF, up to NEWLEADER, are transactions of before, sent to one that was away: they are no part of a
quorum.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import names, numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.messages import (
    CLIENTS,
    CONNECT,
    DATA,
    QUORUM,
    WRITES,
    content,
    inside,
    number,
    of_clients,
    of_quorum,
)
from dissectors.zookeeper.reports.transaction import NONE, Request, Transaction, entry_of, path_asked, path_of

MOST = 4096
"""Transactions that are not told yet: when there are more, nothing comes any more for the first."""

MOST_ASKED = 65_536
"""Requests, of clients and of followers, that wait for their transaction."""

_OPENS = numbers("operation")["createSession"]
_SENT = "DIFF", "TRUNC", "SNAP"
_COMMITS = frozenset({"COMMIT", "COMMITANDACTIVATE", "INFORM", "INFORMANDACTIVATE"})
_INFORMS = frozenset({"INFORM", "INFORMANDACTIVATE"})

_Call = tuple[str, int]
"""Session and xid."""


class Commits(OldReport):
    """See the module."""

    name = "commits"
    about = "each transaction of the quorum: request, proposal, acknowledgements, commit, and the time to each"
    needs = QUORUM
    columns = (
        Column("zxid", "text", "the transaction"),
        Column("operation", "text", "what it does"),
        Column("path", "text", "the node, of several the first"),
        Column("error", "text", "why nothing was done"),
        Column("quorum_ns", "duration", "from the first PROPOSAL to the first COMMIT"),
        Column("slowest", "text", "who took longest"),
        Column("slowest_took_ns", "duration", "how long that was"),
        Column("client_ns", "duration", "from the client's request to its answer"),
        Column("session", "text", "who asked"),
        Column(
            "xid",
            "number",
            "the client's number for its request; 0: a connect, or what the leader does by itself",
        ),
        Column("leader", "text", "the address that proposed it"),
        Column("proposals", "number", "followers that it was proposed to"),
        Column("acks", "number", "of these, how many acknowledged it; the leader's own is no packet"),
        Column("acks_at_commit", "number", "how many had by the commit"),
        Column("acknowledged", "texts", "who acknowledged it, in which time"),
        Column("forwarded_ns", "duration", "from the follower's REQUEST to the first PROPOSAL"),
    )
    wants: ClassVar = {
        **of_clients(WRITES, Role.REQUEST, "path", "operations"),
        **of_clients(WRITES, Role.RESPONSE),
        (CLIENTS, None, Role.REQUEST): frozenset(),
        (CLIENTS, None, Role.RESPONSE): frozenset(),
        **of_quorum(("ACK", "COMMIT", "COMMITANDACTIVATE"), (("zxid",),)),
        **of_quorum(("PROPOSAL", "INFORM", "INFORMANDACTIVATE"), (("zxid",), ("data",))),
        **of_quorum(("REQUEST", "FOLLOWERINFO", "OBSERVERINFO"), DATA),
        **of_quorum((*_SENT, "NEWLEADER")),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._open: OrderedDict[tuple[str, int], Transaction] = OrderedDict()
        self._requests: OrderedDict[_Call, Request] = OrderedDict()
        self._waiting: OrderedDict[int, Request] = OrderedDict()
        """By row the clients' requests."""
        self._learners: dict[int, int] = {}
        self._synced: set[int] = set()
        """Connections on which old transactions are sent."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """A transaction is over when many have come behind it."""
        if told.protocol == CLIENTS:
            self._client(told)
            return ()
        name = told.operation or ""
        if name in ("FOLLOWERINFO", "OBSERVERINFO"):
            self._learners[told.stream] = number(content(told), "serverid", -1)
        elif name in _SENT:
            self._synced.add(told.stream)
        elif name == "NEWLEADER":
            self._synced.discard(told.stream)
        elif name == "REQUEST":
            held = content(told)
            request = self._request((session_name(number(held, "sessionId")), number(held, "cxid")))
            request.forwarded = told.row, told.time
            request.operation = names("operation").get(number(held, "opcode", NONE))
            request.path = path_of(inside(held.get("request")))
        else:
            return self._packet(name, told)
        return ()

    def finish(self) -> Iterator[ReportRow]:
        """The latest ones."""
        yield from map(self._entry, self._open.values())

    def _client(self, told: MessageEvent) -> None:
        """The xid of a connect is 0; the session is known from its answer."""
        if told.context.code is None and told.operation != CONNECT:
            return
        if told.context.role is Role.REQUEST and told.client_name is not None:
            request = self._request((told.client_name, told.correlation or 0))
            request.row, request.time, request.reply = told.row, told.time, None
            request.operation = request.operation or told.operation
            request.path = request.path or path_asked(told.operation, told.values)
            _bounded(self._waiting, told.row, request)
        elif told.partner is not None:
            waiting = self._waiting.pop(told.partner, None)
            if waiting is not None and waiting.row == told.partner:
                waiting.reply = told.row, told.time

    def _request(self, call: _Call) -> Request:
        return self._requests.get(call) or _bounded(self._requests, call, Request())

    def _packet(self, name: str, told: MessageEvent) -> Iterable[ReportRow]:
        zxid = told.values.get("zxid")
        if not isinstance(zxid, int):
            return ()
        key = self.ends(told.stream)[1], zxid
        known = self._open.get(key)
        over: list[ReportRow] = []
        if known is None:
            if name == "ACK" or (name in _COMMITS and told.stream in self._synced):
                return ()  # of a NEWLEADER, say
            known = self._open[key] = Transaction(zxid, key[0], told.time, told.time)
            if len(self._open) > MOST:
                over.append(self._entry(self._open.popitem(last=False)[1]))
        if told.stream in self._synced:
            known.note("sent again", told)
        elif name == "ACK":
            self._acknowledged(known, told)
        elif name == "PROPOSAL":
            known.proposed[told.stream] = told.time
            known.note("proposal", told)
        else:
            if known.committed is None and name not in _INFORMS:
                known.committed, known.before = told.time, len(known.acks)
            known.note(name.lower(), told)
        if not known.header:
            self._told(known, told)
        return over

    def _acknowledged(self, known: Transaction, told: MessageEvent) -> None:
        since = known.proposed.get(told.stream)
        if since is not None and told.stream not in known.acks:
            known.acks[told.stream] = told.time - since
            known.note("ack", told)

    def _told(self, known: Transaction, told: MessageEvent) -> None:
        """What a transaction is, from a packet that carries it."""
        held = content(told)
        header, txn = held.get("header"), held.get("txn")
        if not isinstance(header, dict):
            return
        known.header = header
        call = session_name(number(header, "clientId")), number(header, "cxid")
        if (
            call[1] or header.get("type") == _OPENS
        ):  # else it is the leader's own, and a connect asked for no such thing
            known.request = self._requests.pop(call, None)
        if isinstance(txn, dict):
            known.error = txn["err"] if isinstance(txn.get("err"), int) else None
            known.path = path_of(txn)

    def _entry(self, known: Transaction) -> ReportRow:
        return entry_of(known, self._name)

    def _name(self, stream: int) -> str:
        """A learner by its sid, else by its address."""
        sid = self._learners.get(stream)
        return self.ends(stream)[0] if sid is None else str(sid)

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        what = " ".join(str(said[name]) for name in ("operation", "path") if said[name])
        parts = [f"{_PARTS.get(word, word)} of transaction {said['zxid']}{f' ({what})' if what else ''}"]
        commit = next((each for name, each in entry.rows if name.startswith("commit")), None)
        if commit is not None and said["quorum_ns"] is not None:
            parts.append(f"message {commit + 1} committed it {lasting(said['quorum_ns'])} after it was proposed")
        if said["acknowledged"]:
            parts.append(f"acknowledged by {', by '.join(said['acknowledged'])}")
        if said["client_ns"] is not None:
            parts.append(f"the client had its answer in {lasting(said['client_ns'])}")
        return "; ".join(parts)


_PARTS = {"forwarded": "a follower's request", "sent again": "a later copy"}


def _bounded(table: OrderedDict[Any, Request], key: object, request: Request) -> Request:
    """Notes a request, the oldest is forgotten."""
    table[key] = request
    if len(table) > MOST_ASKED:
        table.popitem(last=False)
    return request
