"""A line for each producer, or each consumer: what both stories do alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from dissectors.old_report import ConnectionEnd, Ends, MessageEvent, OldReport, ReportRow
from dissectors.pulsar.reports.asked import number, text
from dissectors.pulsar.reports.members import Member, Members

_Member = TypeVar("_Member", bound=Member)


class MemberLines(OldReport, Generic[_Member]):
    """One is over when its number is given to another, or its connection ends.

    member: what is kept of each. resource: what TOPIC_MIGRATED calls one, by name or number.
    """

    member: ClassVar[type[Any]]
    resource: ClassVar[tuple[str, int]]

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._over: list[ReportRow] = []
        self._known: Members[_Member] = Members(self.member, ends, self._give)

    @abstractmethod
    def entry(self, found: _Member) -> ReportRow:
        """The line of one that is over."""

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """See OldReport."""
        self._known.ended(ending)
        return self._given()

    def finish(self) -> Iterable[ReportRow]:
        """See OldReport."""
        self._known.finish()
        return self._given()

    def _give(self, found: _Member) -> None:
        self._over.append(self.entry(found))

    def _given(self) -> list[ReportRow]:
        over, self._over = self._over, []
        return over

    def _migrated(self, told: MessageEvent) -> None:
        """A TOPIC_MIGRATED, if it is of such a member."""
        if told.values.get("resource_type") in self.resource:
            found = self._known.of(told, number(told.values, "resource_id"))
            found.to = text(told.values, "brokerServiceUrl") or text(told.values, "brokerServiceUrlTls")
            found.note("migrated", told)
