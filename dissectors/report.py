"""Reports: tables whose rows are made of many messages of a capture.

Theory. A message is a row of `list`, and an exchange is two rows. A session, a watch, a transaction or an election
consists of many messages, of several connections and even of several protocols. A Report is a table of such things. It
is a Correlator (dissectors.correlator) whose rows are objects of a slotted class: each field declared by column() is a
column, and the other fields are state. A row is closed, and its cells are read, as soon as it is final, at the latest
at the end of the capture. Reports run only on demand (analyzer.insight.reports).

Problems, as opposed to events, are found by a Check (dissectors.check).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from dissectors.correlator import BoundedTable, Correlator, Ends, MergedMessages, MessageEvent
from dissectors.finding import Finding
from dissectors.message import Path, Role
from dissectors.slotted import field, make_slotted, metadata_of

Kind = Literal["text", "texts", "sentence", "number", "time", "duration", "message"]
"""What a cell holds: a text, a list of texts, a text that nobody shortens, an integer, ns since 1970, ns, a row.

Any may be None.
"""

REPORTED: Path = ("(reported)",)
"""Among the fields that a report looks at: the error that the message itself reports, which is MessageEvent.error then.

No field is called so. A picker that is asked for it gives it under this name, as Body.error is, beside the fields.
"""


BAD_ENDS = frozenset(
    {
        "aborted",
        "conflict",
        "dead",
        "expelled",
        "expired",
        "failed",
        "fenced",
        "late",
        "lost",
        "missing",
        "overdue",
        "popped again",
        "refused",
        "returned",
        "rolled back",
        "silent",
        "timed out",
        "unanswered",
        "unfinished",
        "unreceipted",
    }
)
"""Words in the columns of _ENDS that say that something did not go as it should."""

_ENDS = ("state", "outcome", "result", "verdict")
"""The columns that say how something ended."""


class ReportColumn(NamedTuple):
    """A column: how programs call it (a duration ends in `_ns`), what it holds, and what that is, for people."""

    name: str
    kind: Kind
    about: str


class ReportRow(NamedTuple):
    """A closed row: a value for each column; the messages that it is made of, each a word for its part and its row;
    its first and last time, ns since 1970.
    """

    values: tuple[Any, ...]
    rows: tuple[tuple[str, int], ...]
    first: int
    last: int


def column(
    kind: Kind,
    about: str,
    default: Any = None,
    *,
    of: str | Callable[[Any], Any] | None = None,
    default_factory: Callable[[], Any] | None = None,
) -> Any:
    """Declares a field of a row class as a column of the report.

    of: where the value is not in the field itself, the path of attributes to it, or what makes it of the row.
    """
    if of is not None:
        return field(init=False, metadata=(kind, about, of))
    if default_factory is not None:
        return field(default_factory=default_factory, metadata=(kind, about, None))
    return field(default=default, metadata=(kind, about, None))


@make_slotted(frozen=False, eq=False)
class OpenRow:
    """A row that may still change. first, last: times of its first and last message, ns since 1970."""

    first: int
    last: int
    rows: list[tuple[str, int]] = field(default_factory=list)

    most_rows = 64
    """Messages that a row names."""

    def hear(self, event: MessageEvent) -> None:
        """Notes the time of a message; clocks of two interfaces may differ."""
        self.last = max(self.last, event.time)

    def hear_all(self, merged: MergedMessages) -> None:
        """Notes the times of merged messages."""
        self.last = max(self.last, merged.latest)

    def note(self, word: str, event: MessageEvent) -> None:
        """Adds a message to the row, with the word for its part."""
        self.last = max(self.last, event.time)
        self.add(word, event.row)

    def add(self, word: str, row: int) -> None:
        """Adds the row of a message that the report does not have as an event."""
        if len(self.rows) < self.most_rows:
            self.rows.append((word, row))


MOST_NAMES = 64


def add_name(names: dict[str, None], name: str | None, most: int = MOST_NAMES) -> None:
    """Adds a name to a cell, each once, up to a bound."""
    if name is not None and len(names) < most:
        names[name] = None


_Row = TypeVar("_Row", bound=OpenRow)


class UnknownChoice(ValueError):
    """Raised for a value that a report does not know; the text names the values that it knows."""


class SayCells(Protocol):
    """Makes a sentence of the cells of a row, by their names."""

    def __call__(self, cells: Mapping[str, Any], /) -> str:
        """Returns the sentence."""


class Report(Correlator[ReportRow], Generic[_Row]):
    """A report: a table of rows. name: one word, as users type it; about: a sentence for people.

    needs: a protocol without which there is nothing to report; empty for any. row: the class of its rows; key: the
    fields by which one is found. limit: rows that are open; then the oldest is closed as it is. unnamed: operations
    that it wants, and of which no row names a message. choice: what a user may say of it, as the name of an option
    (`choose`).
    shares_name: whether an older report of another protocol keeps the name, and this one is PROTOCOL.NAME.
    diagnosed: whether a diagnosis of the capture reads it (`diagnose`); only one that wants few messages.
    has_events: whether its rows have events for the timeline (`list_events`).
    worst: the columns by which a row is worse where nothing failed, the larger the worse; by default its first measured
    duration. selects: the filter fields that choose all messages of a row, by the column with their value.
    sentence: what a message is to its row, from the cells (wire.row_sentence); verbs: the {word} in it.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[str]
    row: ClassVar[type[OpenRow]]
    key: ClassVar[Sequence[str]] = ()
    columns: ClassVar[Sequence[ReportColumn]]
    limit: ClassVar[int] = 65_536
    unnamed: ClassVar[Sequence[str]] = ()
    choice: ClassVar[str | None] = None
    shares_name: ClassVar[bool] = False
    diagnosed: ClassVar[bool] = False
    has_events: ClassVar[bool] = False
    worst: ClassVar[Sequence[str]] = ()
    selects: ClassVar[Sequence[tuple[str, str]]] = ()
    sentence: ClassVar[SayCells | None] = None
    verbs: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "row" in cls.__dict__:
            declared = metadata_of(cls.row)
            cls.columns = tuple(ReportColumn(name, kind, about) for name, (kind, about, _) in declared.items())
            plain = [not callable(of) and kind != "texts" for kind, _, of in declared.values()]
            paths = [str(of or name) for (name, (_, _, of)), each in zip(declared.items(), plain, strict=True) if each]
            cls.read_plain = staticmethod(attrgetter(*paths, "first", "last"))
            others = enumerate(zip(declared.items(), plain, strict=True))
            cls.readers = [(at, _reader(name, kind, of)) for at, ((name, (kind, _, of)), each) in others if not each]

    read_plain: ClassVar[Callable[[Any], tuple[Any, ...]]]
    """Reads the cells of a row that stand in it, and the times of its first and last message."""
    readers: ClassVar[Sequence[tuple[int, Callable[[Any], Any]]]]
    """The places of the other cells, from the left, and what makes each of a row."""

    def __init__(self, ends: Ends, emit: Callable[[ReportRow], object]) -> None:
        self.rows: BoundedTable[Any, _Row] = BoundedTable(self.limit, evict=self.close)
        super().__init__(ends, emit)

    def make(self, key: Any, event: MessageEvent) -> _Row:
        """Makes a row whose first message is this one."""
        made: Any = self.row(event.time, event.time)
        for name, value in zip(self.key, key if len(self.key) > 1 else (key,), strict=False):
            setattr(made, name, value)
        return made  # type: ignore[no-any-return]

    def find(self, key: Hashable, event: MessageEvent) -> _Row:
        """Returns the row of a key, and makes it if needed; notes the message in it."""
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = self.make(key, event)
        found.hear(event)
        return found

    def close(self, row: _Row) -> None:
        """Closes a row: no more messages will change it."""
        self.emit(self.read_row(row))

    @classmethod
    def read_row(cls, row: OpenRow) -> ReportRow:
        """Returns a row as it is now."""
        *values, first, last = cls.read_plain(row)
        for place, read in cls.readers:
            values.insert(place, read(row))
        return ReportRow(tuple(values), tuple(row.rows), first, last)

    def finish(self) -> None:
        """Closes the rows that are open when the capture ends."""
        for row in self.rows.values():
            self.close(row)

    @classmethod
    def choose(cls, value: str) -> ReportType:
        """Returns the report for a value of the user (`choice`). Raises UnknownChoice."""
        raise UnknownChoice(f"report {cls.name} has no choice, and {value!r} is one")

    @classmethod
    def is_fault(cls, cells: Mapping[str, Any]) -> bool:
        """Returns whether a closed row is a fault; a check in a CI pipeline then fails."""
        return False

    @classmethod
    def diagnose(cls, rows: Sequence[ReportRow]) -> Iterator[tuple[ReportRow, Finding]]:
        """Yields what somebody must look at among all rows of a capture, each with the row that shows it.

        Who diagnoses a capture reads the report only if it is `diagnosed`.
        """
        return iter(())

    @classmethod
    def list_names(cls, entry: ReportRow) -> Iterator[tuple[str | tuple[int, bool], str]]:
        """Yields who is who by a row, for diagrams: an address, or a connection's side (True: its client), and a name.

        Only reports of Dissector.participants are asked.
        """
        return iter(())

    @classmethod
    def list_events(cls, entry: ReportRow) -> Iterator[tuple[int, int | None, str]]:
        """Yields what a row has for a timeline: the time (ns since 1970), the row that shows it, and what happened.

        Nobody asks unless `has_events`.
        """
        return iter(())

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a row may mention this message, judged by the message alone. Never raises.

        What is around a message is read for its part in a report only then.
        """
        return operation not in cls.unnamed

    @classmethod
    def describe(cls, entry: ReportRow, row: int) -> str:
        """Describes for people what a row says about one of its messages; rows count from 1."""
        return cls.phrase(next(word for word, each in entry.rows if each == row), cls.cells(entry), entry)

    @classmethod
    def phrase(cls, word: str, cells: Mapping[str, Any], entry: ReportRow) -> str:
        """Describes for people what a message, which has this word for its part, means to its row."""
        if cls.sentence is not None:
            ended = cells.get("ended")
            lasted = {"lasted_ns": ended - entry.first} if isinstance(ended, int) else {}
            return cls.sentence({**cells, **lasted, "word": cls.verbs.get(word, word)})
        named = ", ".join(f"{name} {value}" for name, value in list(cells.items())[:2])
        return f"{word} of {named}"

    @classmethod
    def rank(cls, entry: ReportRow) -> tuple[int, int]:
        """Returns the sort key of a closed row; by default the time of its first message."""
        return entry.first, entry.rows[0][1] if entry.rows else -1

    @classmethod
    def list_worst(cls) -> Sequence[str]:
        """Returns `worst`, or its default."""
        return cls.worst or [each.name for each in cls.columns if each.kind == "duration" and not _is_limit(each)][:1]

    @classmethod
    def measure_badness(cls, entry: ReportRow) -> tuple[float, ...]:
        """Returns how bad a closed row is, for pages that show the worst first: a greater tuple is worse."""
        cells = cls.cells(entry)
        failed = any(cells.get(name) in BAD_ENDS for name in _ENDS)
        has_errors = bool(cells.get("errors") or cells.get("error"))
        return (
            cls.is_fault(cells),
            failed,
            has_errors,
            *(
                len(value) if isinstance(value := cells.get(name), str | list) else value or 0
                for name in cls.list_worst()
            ),
        )

    @classmethod
    def cells(cls, entry: ReportRow) -> dict[str, Any]:
        """Returns the values of a closed row, by column."""
        return {column.name: value for column, value in zip(cls.columns, entry.values, strict=True)}


ReportType: TypeAlias = type[Report[Any]]


def _is_limit(column: ReportColumn) -> bool:
    """Whether a duration is one that somebody asked for, not one that was measured."""
    return "timeout" in column.name


def _reader(name: str, kind: Kind, of: str | Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """What reads a cell of a row. Lists are copied, for the row may change."""
    read = of if callable(of) else attrgetter(of or name)
    return (lambda row: list(read(row))) if kind == "texts" else read
