"""Messages as stories are told of them, made by hand: a clock of milliseconds, rows that count up, two connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.api import Context, Role
from dissectors.correlator import Ends
from dissectors.report import ReportType
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum.header import code_of
from tests.dissectors.telling import Telling

SESSION = 0x10
CLIENTS, QUORUM, ELECTION = "zookeeper", "zookeeper-quorum", "zookeeper-election"


def ends(stream: int) -> tuple[str, str]:
    """Clients are hosts of their own, servers by tens of connections."""
    return f"10.0.0.{stream}:5000{stream % 10}", f"10.0.1.{stream // 10}:2181"


class Book(Telling):
    """Makes a report message by message."""

    def __init__(self, report: ReportType, ends: Ends = ends) -> None:
        super().__init__(report, ends)

    def tell(
        self,
        values: Mapping[str, Any],
        *,
        operation: str | None,
        role: Role,
        protocol: str = CLIENTS,
        stream: int = 1,
        from_client: bool = True,
        partner: int | None = None,
        xid: int | None = None,
        session: int | None = SESSION,
        after: int = 1,
    ) -> int:
        """The next message, some ms behind the one before; its row."""
        code = load_numbers("operation").get(operation or "") if protocol == CLIENTS else None
        if protocol == QUORUM and operation is not None:
            code = code_of(operation)
        client = None if session is None else hex(session)
        return self.receive(
            *(protocol, Context(role, code), values, operation),
            stream=stream,
            after=after,
            from_client=from_client,
            partner=partner,
            correlation=xid,
            client=client,
        )

    def call(
        self, operation: str, asked: Mapping[str, Any], answer: Mapping[str, Any] | None = None, **more: Any
    ) -> int:
        """A request and its answer, by default a right one; the row of the request."""
        after = more.pop("after", 1)
        row = self.tell(asked, operation=operation, role=Role.REQUEST, partner=self.row + 1, after=after, **more)
        self.reply(row, operation, answer, **more)
        return row

    def reply(self, row: int, operation: str, answer: Mapping[str, Any] | None = None, **more: Any) -> int:
        """The answer to a request."""
        found = {"err": 0, "zxid": 100 + row, **(answer or {})}
        return self.tell(found, operation=operation, role=Role.RESPONSE, partner=row, from_client=False, **more)

    def event(self, kind: str, path: str, zxid: int = -1, **more: Any) -> int:
        """A notification."""
        values = {"type": kind, "path": path, "zxid": zxid, "state": "SyncConnected"}
        return self.tell(values, operation="notification", role=Role.PUSH, from_client=False, **more)

    def packet(self, name: str, data: Mapping[str, Any] | None = None, *, zxid: int = 0, **more: Any) -> int:
        """A packet of the quorum."""
        stored = None if data is None else EmbeddedValue(b"", data)
        role = more.pop("role", Role.REQUEST if name == "PROPOSAL" else Role.ONEWAY)
        return self.tell(
            {"type": name, "zxid": zxid, "data": stored},
            operation=name,
            role=role,
            protocol=QUORUM,
            session=None,
            from_client=name in ("ACK", "REQUEST", "FOLLOWERINFO", "OBSERVERINFO"),
            **more,
        )


def txn(kind: int, zxid: int, session: int = SESSION, xid: int = 1, **content: Any) -> dict[str, Any]:
    """What a PROPOSAL carries."""
    return {"header": {"clientId": session, "cxid": xid, "zxid": zxid, "time": 0, "type": kind}, "txn": content}
