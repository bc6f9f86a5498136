"""Pulsar's commands as stories are told of them, made by hand: a clock of milliseconds, rows that count up."""

from __future__ import annotations

from typing import Any

from dissectors.api import Context, Role
from dissectors.pulsar.reports.fields import PULSAR, command_codes
from dissectors.report import ReportType
from tests.dissectors.telling import Telling


def ends(stream: int) -> tuple[str, str]:
    """Connections 1 to 9 are of one host, 10 to 19 of another; the last digit is the server."""
    return f"10.0.0.{stream // 10}:{50_000 + stream}", f"10.0.1.{stream % 10}:6650"


class CommandReportBuilder(Telling):
    """Makes a report command by command."""

    def __init__(self, report: ReportType) -> None:
        super().__init__(report, ends)

    def tell(
        self, name: str, role: Role = Role.REQUEST, *, partner: int | None = None, stream: int = 1, after: int = 1,
        from_client: bool = True, **values: Any,
    ) -> int:  # fmt: skip
        """The next command, some ms behind the one before; its row."""
        return self.receive(
            *(PULSAR, Context(role, command_codes()[name]), values, name),
            stream=stream,
            after=after,
            from_client=from_client,
            partner=partner,
        )

    def call(self, name: str, answer: str, told: dict[str, Any] | None = None, *, took: int = 1, **more: Any) -> int:
        """A request and its answer, which says `told`; the row of the request."""
        row = self.tell(name, partner=self.row + 1, **more)
        stream = more.get("stream", 1)
        self.tell(answer, Role.RESPONSE, partner=row, stream=stream, after=took, from_client=False, **(told or {}))
        return row
