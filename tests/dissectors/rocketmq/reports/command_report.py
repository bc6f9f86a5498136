"""RocketMQ's commands as stories of standing things are told of them: made by hand, rows that count up."""

from __future__ import annotations

from typing import Any

from dissectors.api import Context, Role
from dissectors.report import ReportType
from dissectors.rocketmq.reports.fields import ROCKETMQ, request_codes
from tests.dissectors.telling import Telling

NAME_SERVER, BROKER = "10.0.1.1:9876", "10.0.2.1:10911"


def ends(stream: int) -> tuple[str, str]:
    """Connections 1 to 9 go to the name server, 10 to 19 to the broker; the last digit is the client's host."""
    return f"10.0.0.{stream % 10}:{50_000 + stream}", BROKER if stream >= 10 else NAME_SERVER


class CommandReportBuilder(Telling):
    """Makes a report command by command."""

    def __init__(self, report: ReportType) -> None:
        super().__init__(report, ends)

    def tell(
        self,
        name: str,
        role: Role = Role.ONEWAY,
        *,
        partner: int | None = None,
        stream: int = 11,
        after: int = 1,
        from_client: bool = True,
        body: Any = None,
        error: tuple[int, str] | None = None,
        client: str | None = "JAVA V5_5_0",
        **header: Any,
    ) -> int:
        """The next command, some ms behind the one before; its row."""
        return self.receive(
            *(ROCKETMQ, Context(role, request_codes()[name]), {"header": header, "body": body}, name),
            stream=stream,
            after=after,
            from_client=from_client,
            partner=partner,
            client=client,
            error=error,
        )

    def call(
        self,
        name: str,
        said: dict[str, Any] | None = None,
        *,
        took: int = 1,
        error: tuple[int, str] | None = None,
        answer: Any = None,
        **more: Any,
    ) -> int:
        """A request and its answer, whose header is `said` and whose body is `answer`; the row of the request."""
        row = self.tell(name, Role.REQUEST, partner=self.row + 1, **more)
        stream, side = more.get("stream", 11), more.get("from_client", True)
        self.tell(
            name,
            Role.RESPONSE,
            partner=row,
            stream=stream,
            after=took,
            from_client=not side,
            error=error,
            body=answer,
            **(said or {}),
        )
        return row
