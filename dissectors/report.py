"""What happened, told by a whole reading of a capture: tables whose lines are made of many messages.

Theory. A message is a row, and an exchange two of them. A session, a watch, a transaction, an election are told by
many, of several connections and even of several protocols. A Report is a table of such things. One is made for each
reading; it is shown the messages that it asks for in the order of rows, hears when connections end, remembers what it
needs, bounded, and gives an ReportRow for each thing as soon as nothing more can come of it, and at the end for what is
still open. Nobody pays for it but who asks (analyzer.insight.reports).

What is wrong, rather than what happened, is a Watch's (dissectors.check).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from dissectors.message import Context, Role
from dissectors.lesson import Path

Kind = Literal["text", "texts", "number", "time", "duration", "message"]
"""What a cell holds: a text, a list of texts, an integer, ns since 1970, ns, a row. Any may be None."""

What = tuple[str, int | None, Role]
"""Protocol, code and role of a message."""

Ends = Callable[[int], tuple[str, str]]
"""`address:port` of the client and of the server of a connection, by its number."""


REPORTED: Path = ("(reported)",)
"""Among the fields that a story looks at: the error that the message itself reports, which is MessageEvent.error then.

No field is called so. A picker that is asked for it gives it under this name, as Body.error is, beside the fields.
"""


class Column(NamedTuple):
    """A column: how programs call it (a duration ends in `_ns`), what it holds, and what that is, for people."""

    name: str
    kind: Kind
    about: str


class MessageEvent(NamedTuple):
    """A message in its place.

    time: of its completion, ns since 1970. stream: the number of its connection. operation, correlation and client are
    its header's. partner: the row of the other half of its exchange, also of an answer that is still to come. size: the
    bytes of the message. losses: how often bytes of the connection were missing up to it, of what is told. error: what
    it reports, as Body.error, where the story wants REPORTED; else it may be missing.
    """

    row: int
    protocol: str
    context: Context
    values: Mapping[str, Any]
    stream: int
    time: int
    from_client: bool
    operation: str | None
    correlation: int | None
    client: str | None
    partner: int | None
    size: int = 0
    losses: int = 0
    error: tuple[int, str] | None = None


class ConnectionEnd(NamedTuple):
    """The end of a connection: who sent the first FIN or RST, and when the last packet came, ns since 1970."""

    stream: int
    time: int
    by_client: bool


class ReportRow(NamedTuple):
    """A line: a value for each column; the rows that it is made of, each with a word for its part; its first and last
    time, ns since 1970.
    """

    values: tuple[Any, ...]
    rows: tuple[tuple[str, int], ...]
    first: int
    last: int


class Report(ABC):
    """A table. name: as typed and printed, of one word; about: a sentence for people.

    wants: which messages see() is to get, and the fields of each that it looks at; others may be missing from
    MessageEvent.values, and all of them where there are none. needs: a protocol without which there is nothing to tell.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    columns: ClassVar[Sequence[Column]]
    wants: ClassVar[Mapping[What, frozenset[Path]]]
    needs: ClassVar[str]

    def __init__(self, ends: Ends) -> None:
        """A new reading."""
        self.ends = ends

    @abstractmethod
    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """What is over with this message. Never raises: values may lack anything."""

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """What is over with this connection; heard behind its last message, in the order of time."""
        return ()

    def finish(self) -> Iterable[ReportRow]:
        """What is open when the capture ends."""
        return ()

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Whether a line may name a message that it wants, by the message alone; True, as by default: maybe.

        What is around a message is read for its part in a story only then. Never raises.
        """
        return True

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """What an entry says of one of its rows, for people; rows are called as they are printed, counted from 1."""
        words = ", ".join(dict.fromkeys(word for word, each in entry.rows if each == row))
        named = ", ".join(
            f"{column.name} {value}" for column, value in list(zip(cls.columns, entry.values, strict=True))[:2]
        )
        return f"{words} of {named}"


def said_of(cls: type[Report], entry: ReportRow) -> dict[str, Any]:
    """The values of an entry by the names of its columns."""
    return {column.name: value for column, value in zip(cls.columns, entry.values, strict=True)}
