"""Captures as Python objects: opened from anything, and asked for messages, tables, statistics and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.processes.jobs import choose_jobs
from analyzer.session import Session
from wireanalyze.arguments import make_filter, parse_duration, parse_severity, split_names
from wireanalyze.errors import UsageError, require_extra, translate_errors
from wireanalyze.inputs import DecodeAs, Names, Sources, list_files, make_key_ring, read_rules
from wireanalyze.message import Message, iterate_messages
from wireanalyze.rows import Rows
from wireanalyze.window import Closable, Owner, Window

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

FIELDS_OF_FINDINGS = ("severity", "code", "text", "number", "stream", "error")


class SelectionOptions(TypedDict, total=False):
    """The arguments of Capture.messages() behind the filter."""

    sort: str | Sequence[str]
    head: int | None
    tail: int | None


class TableOptions(SelectionOptions, total=False):
    """The arguments of Capture.to_arrow() behind the filter."""

    columns: str | Sequence[str] | None


def open(
    source: Sources,
    *,
    keylog: Names | None = None,
    key: Names | None = None,
    decode_as: DecodeAs | None = None,
    jobs: int | None = None,
) -> Capture:
    """Reads captures to their end, as one timeline of messages.

    Args:
        source: the name of a file, a pattern (`ring/*.pcapng`), the bytes of a capture, an open binary file, or several
            of these. Compressed captures are unpacked.
        keylog: key logs (SSLKEYLOGFILE) that decrypt TLS.
        key: private keys that decrypt TLS with RSA key exchange.
        decode_as: protocols of ports, ranges of ports or connections: `{19092: "kafka"}`.
        jobs: how many processes share the work of filters and statistics; None: as many as are worth it.

    Raises CaptureError, UsageError and MissingExtra.

    >>> with open("captures/kafka.pcap") as capture:
    ...     len(capture)
    648
    """
    return Capture(*load(source, keylog=keylog, key=key, decode_as=decode_as, jobs=jobs))


def load(
    source: Sources,
    *,
    keylog: Names | None = None,
    key: Names | None = None,
    decode_as: DecodeAs | None = None,
    jobs: int | None = None,
) -> tuple[Owner, ExitStack]:
    """Returns what a Capture is made of; see open()."""
    cleanup = ExitStack()
    try:
        with translate_errors():
            files = list_files(source, cleanup)
            session = Session(files, decode_as=read_rules(decode_as), secrets=make_key_ring(keylog, key))
            cleanup.callback(session.close)
            session.load()
        session.jobs = choose_jobs(session.packets.counts.bytes) if jobs is None else jobs
        return Owner(session), cleanup
    except BaseException:
        cleanup.close()
        raise


class Capture(Closable):
    """A capture that was read. Use `with`, or call `close`: then columns stay readable, bodies do not.

    >>> capture = open("captures/kafka.pcap")
    >>> capture
    <Capture: 648 messages of 37 streams>
    >>> for message in capture.messages("latency > 400ms", head=2):
    ...     print(message.number, message.operation, message.version, message.latency)
    53 Fetch 18 0:00:00.502466
    54 Fetch 18 0:00:00.501681
    >>> capture.close()
    """

    def __init__(self, owner: Owner, cleanup: ExitStack) -> None:
        self._owner, self._cleanup = owner, cleanup

    def __len__(self) -> int:
        return len(self._session.rows)

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def __repr__(self) -> str:
        return f"<Capture: {len(self):,} messages of {len(self._session.engine.streams):,} streams>"

    @property
    def _session(self) -> Session:
        return self._owner.session

    def close(self) -> None:
        """Closes the files. Calling it again does nothing."""
        self._owner.closed = True
        self._cleanup.close()

    def messages(
        self,
        filter: str | None = None,
        *,
        sort: str | Sequence[str] = (),
        head: int | None = None,
        tail: int | None = None,
    ) -> Iterator[Message]:
        """Yields the messages in the order of the capture.

        Args:
            filter: a display filter, as after -Y.
            sort: keys or fields to sort by; `-latency` puts the largest first.
            head: only the first so many of the selected ones.
            tail: only the last so many of them, after head.

        Raises FilterError, and UsageError for an unknown key.
        """
        return iterate_messages(self._owner, self._owner.select_rows(filter, sort, head, tail))

    def message(self, number: int) -> Message:
        """Returns the message of a number, from 1, as `list` prints it. Raises IndexError."""
        if not 1 <= number <= len(self):
            raise IndexError(f"There is no message {number}. The input has {len(self)} messages, counted from 1.")
        return Message(Window(self._owner, np.array([number - 1])), 0)

    def to_arrow(
        self,
        filter: str | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        sort: str | Sequence[str] = (),
        head: int | None = None,
        tail: int | None = None,
    ) -> pyarrow.Table:
        """Returns messages as a pyarrow Table, a row for each.

        Times are timestamp[ns, UTC], latencies duration[ns], names and addresses dictionaries; a field that a message
        can have several times is a list. Secrets are null.

        Args:
            filter: a display filter, as after -Y.
            columns: keys and fields, such as `["time", "source_ip", "kafka.topic"]`; None: all keys that need no body.
                `error` and `findings` are structures. `fields` is a structure with a member for each operation, such as
                `kafka.Fetch.request`, that has the body.
            sort: keys or fields to sort by, as in messages().
            head: only the first so many of the selected ones.
            tail: only the last so many of them, after head.

        Raises FilterError, UsageError for an unknown column, and MissingExtra.

        >>> with open("captures/kafka.pcap") as capture:
        ...     table = capture.to_arrow("kafka.Produce", columns=["time", "client", "kafka.topic", "latency"])
        >>> [str(table.schema.field(name).type) for name in ("time", "kafka.topic", "latency")]
        ['timestamp[ns, tz=UTC]', 'list<item: string>', 'duration[ns]']
        """
        require_extra("parquet", "An Arrow table")
        from wireanalyze import arrow

        chosen = arrow.choose_columns(arrow.DEFAULT if columns is None else split_names(columns))
        rows = np.concatenate([np.zeros(0, np.int64), *self._owner.select_rows(filter, sort, head, tail)])
        self._owner.open_session()
        return arrow.build_table(self._owner.reader, rows, chosen)

    def to_pandas(self, filter: str | None = None, **options: Unpack[TableOptions]) -> pandas.DataFrame:
        """Returns the same as a pandas DataFrame; the arguments are those of to_arrow()."""
        require_extra("pandas", "A pandas DataFrame")
        return self.to_arrow(filter, **options).to_pandas()

    def to_polars(self, filter: str | None = None, **options: Unpack[TableOptions]) -> polars.DataFrame:
        """Returns the same as a polars DataFrame; the arguments are those of to_arrow()."""
        require_extra("polars", "A polars DataFrame")
        import polars

        found = polars.from_arrow(self.to_arrow(filter, **options))
        assert isinstance(found, polars.DataFrame)
        return found

    def to_parquet(self, path: str | PathLike[str], filter: str | None = None, **options: Unpack[TableOptions]) -> int:
        """Writes the same as a Parquet file, and returns the number of its rows; see to_arrow()."""
        table = self.to_arrow(filter, **options)
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, fspath(path), compression="zstd")
        return int(table.num_rows)

    def register(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str = "messages",
        filter: str | None = None,
        **options: Unpack[TableOptions],
    ) -> None:
        """Registers the same as a view of a DuckDB connection: `connection.sql("from messages")`; see to_arrow()."""
        connection.register(name, self.to_arrow(filter, **options))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Gives all messages to whatever reads Arrow: `polars.DataFrame(capture)`, `duckdb.sql("from capture")`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def stats(
        self,
        by: str | Sequence[str] = "operation",
        *,
        filter: str | None = None,
        interval: str | None = None,
        errors: bool = True,
    ) -> Rows:
        """Returns figures of groups of messages, as `stats --by` prints them; times are in nanoseconds.

        Args:
            by: keys or fields, such as `kafka.topic`, or `time`; several as a list or with commas.
            filter: only the messages that pass.
            interval: the length of an interval of `time`, such as `1s`; about 60 intervals without it.
            errors: whether to decode responses to count errors.
        """
        from analyzer.insight.metrics import METRIC_NAMES
        from analyzer.insight.statistics import statistics
        from analyzer.render.overview_json import make_group_object

        names = split_names(by)
        with translate_errors():
            found = statistics(
                self._owner.reader,
                names,
                self._choose(filter),
                with_errors=errors,
                interval=None if interval is None else parse_duration(interval),
            )
        return Rows((make_group_object(names, group) for group in found.groups), (*names, *METRIC_NAMES))

    def conversations(self, filter: str | None = None) -> Rows:
        """Returns what each side of each connection sent, as `stats --conversations --json` prints it."""
        from analyzer.insight.traffic import Conversation, conversations
        from analyzer.render.overview_json import make_conversation_object

        rows = self._choose(filter)
        chosen = np.arange(len(self)) if rows is None else rows
        found = map(make_conversation_object, conversations(self._owner.reader, chosen))
        return Rows(found, list(Conversation.__annotations__))

    def report(self, name: str) -> Rows:
        """Returns the rows of a report, as `report NAME --format ndjson` prints them. Raises UsageError."""
        from analyzer.insight.reports import ReportReading, choose_report, full_names, reports_by_name
        from analyzer.insight.timeline import Timeline, build_timeline
        from analyzer.render.reports_text import list_entry_keys, make_entry_object

        session = self._owner.open_session()
        if name == Timeline.name:
            table = build_timeline(session)
            return Rows((make_entry_object(Timeline, entry) for entry in table.entries), list_entry_keys(Timeline))
        known = reports_by_name(session.engine.known.dissectors)
        full = full_names(known)
        chosen = full[name] if name in full else choose_report(session, name)
        if chosen not in known:
            raise UsageError(f"There is no report {name}. Reports are {', '.join((Timeline.name, *known))}.")
        report = known[chosen]
        (table,) = ReportReading(session, [report]).run()
        return Rows((make_entry_object(report, entry) for entry in table.entries), list_entry_keys(report))

    def reports(self) -> Rows:
        """Returns the reports that this capture can fill, with what each is about."""
        from analyzer.insight.reports import list_reports

        filled, _ = list_reports(self._owner.open_session())
        return Rows(({"report": name, "about": each.about} for name, each in filled.items()), ("report", "about"))

    def findings(self, *, severity: Literal["note", "warning", "error"] = "note") -> Rows:
        """Returns all findings of this severity and above: of messages (`number`), then of connections and files.

        Raises UsageError for another severity.
        """
        from analyzer.decode.endpoints import name_stream
        from analyzer.insight.diagnosis import diagnose

        session, least = self._owner.open_session(), parse_severity(severity)
        streams = session.rows.column("stream")
        found = []
        for row, finding, stream, error in diagnose(session):
            if finding.severity >= least:
                number = int(streams[row]) if row is not None else stream
                found.append(
                    {
                        "severity": finding.severity.name.lower(),
                        "code": finding.code,
                        "text": finding.text,
                        "number": None if row is None else row + 1,
                        "stream": None if number is None else name_stream(session, number),
                        "error": error,
                    }
                )
        return Rows(found, FIELDS_OF_FINDINGS)

    def doctor(self, *, severity: Literal["note", "warning", "error"] = "note") -> Rows:
        """Returns what is wrong, as `doctor --format ndjson` prints it: problems with advice, the most severe first."""
        from analyzer.insight.diagnosis import diagnose
        from analyzer.insight.root_causes import find_problems
        from analyzer.render.problems import KEYS, make_problem_objects

        session, least = self._owner.open_session(), parse_severity(severity)
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity >= least]
        return Rows(make_problem_objects(session, problems), KEYS)

    def _choose(self, filter: str | None) -> Ints | None:
        """The rows that pass a filter; None: all."""
        session = self._owner.open_session()
        wanted = make_filter(filter)
        return None if wanted is None else wanted.select_rows(self._owner.reader, np.arange(len(session.rows)))
