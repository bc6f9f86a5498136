"""Columns of some rows of a session, read when they are first asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.selection import Selection
from analyzer.session import Session
from wireanalyze.arguments import make_filter, split_names
from wireanalyze.errors import CaptureError, UsageError, translate_errors

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Closable(ABC):
    """What a `with` block closes."""

    @abstractmethod
    def close(self) -> None:
        """Gives back what is open. Calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Owner:
    """A session whose messages are shown. closed: its bytes cannot be read any more."""

    __slots__ = ("closed", "reader", "session")

    def __init__(self, session: Session, *, streaming: bool = False) -> None:
        self.session, self.reader, self.closed = session, RowReader(session, streaming=streaming), False

    def open_session(self) -> Session:
        """Returns the session. Raises CaptureError if it is closed."""
        if self.closed:
            raise CaptureError("The capture is closed. Read the bodies of messages inside the `with` block.")
        return self.session

    def guard_parts(self, parts: Iterable[Ints]) -> Iterator[Ints]:
        """Yields rows that are found by decoding. Raises CaptureError once the session is closed."""
        self.open_session()
        for rows in parts:
            yield rows
            self.open_session()

    def select_rows(
        self, filter: str | None, sort: str | Sequence[str], head: int | None, tail: int | None
    ) -> Iterator[Ints]:
        """Yields the rows of Capture.messages() as numbers, in parts. Wrong arguments are raised at once."""
        from analyzer.query.ordering import parse_sort_keys

        if min(head or 0, tail or 0) < 0:
            raise UsageError("head and tail are numbers of messages. They must not be negative.")
        with translate_errors():
            order = tuple(parse_sort_keys(",".join(split_names(sort))))
            selection = Selection(None, make_filter(filter), order, head, tail)
        parts = selection.select_rows(self.reader, len(self.session.rows))
        if filter is None and not order:
            return parts
        self.open_session()
        return self.guard_parts(parts)

    def check_row(self, row: int) -> None:
        """Raises CaptureError if a live capture has evicted a row: its columns have undefined values then."""
        if row < self.session.rows.first:
            raise CaptureError(
                f"Message {row + 1} is not in memory any more. Read what you need of a live message inside the loop."
            )


class Window:
    """Columns of some rows as lists, each read when it is first asked for."""

    client: list[str | None]
    code: list[int | None]
    correlation: list[int | str | None]
    destination: list[str]
    first_packet: list[int]
    from_client: list[bool]
    id: list[str]
    last_packet: list[int]
    latency: list[timedelta | None]
    latency_ns: list[int | None]
    length: list[int]
    number: list[int]
    offset: list[int]
    operation: list[str | None]
    partner: list[int | None]
    protocol: list[str]
    role: list[str]
    source: list[str]
    state: list[str]
    stream: list[int]
    stream_id: list[str]
    time: list[datetime]
    time_ns: list[int]
    version: list[int | None]

    def __init__(self, owner: Owner, rows: Ints) -> None:
        self.owner, self.rows = owner, rows

    def __getattr__(self, key: str) -> list[Any]:
        if key not in Window.__annotations__:
            raise AttributeError(key)
        reader = self.owner.reader
        if len(self.rows):
            self.owner.check_row(int(self.rows[0]))
        if key == "time_ns":
            found: list[Any] = reader.take_cells("time", self.rows).tolist()
        elif key == "time":
            found = [EPOCH + since for since in make_durations(reader.take_cells("time", self.rows))]
        elif key == "latency":
            latencies = reader.read_latencies(self.rows)
            found = make_durations(latencies.numbers)
            for place in () if latencies.null is None else np.flatnonzero(latencies.null).tolist():
                found[place] = None
        else:
            found = reader.read_column(key, self.rows).values()
        setattr(self, key, found)
        return found


def make_durations(nanoseconds: Ints) -> list[Any]:
    """Returns durations in ns as timedeltas, cut to a microsecond."""
    found: list[Any] = (nanoseconds // 1000).astype("timedelta64[us]").tolist()
    return found
