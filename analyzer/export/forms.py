"""The forms of exports: the output of each, and its requirements.

Theory. Impossible requests are rejected before anything is written, and output appears completely or not at all
(analyzer.capture.output). A form is a function of a session and rows that reports its progress to a callback. If the
callback raises, the export stops and leaves nothing behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from analyzer.capture.output import STANDARD, Output, check_file, check_folder, create_file
from analyzer.columns.arrays import Ints
from analyzer.config.model import Config, TimeFormat
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import RowReader, split_rows
from analyzer.errors import UserError
from analyzer.processes import jobs
from analyzer.processes.jobs import DeferredOutput, divide, print_in_turns
from analyzer.render import extras
from analyzer.render.objects import Out
from analyzer.render.printer import RowPrinter
from analyzer.render.shared_printing import print_shared_rows
from analyzer.session import Session

LINES = ("ndjson", "json", "csv", "tsv")
TABLES = ("messages", "exchanges", "streams", "findings", "records", "summaries", "names")
"""The tables of analyzer.tables.table_schemas, whose import would bring pyarrow."""

MORE_TABLES = ("files", "reports")
"""Tables that are written only on request; `reports` needs another reading of all messages."""

TOGETHER = 98_304
"""Number of rows between two progress reports."""

TOGETHER_BYTES = 8 << 20
"""Bytes of messages that each of several processes keeps until its turn."""


def ignore_progress(done: int | None) -> None:
    """Ignores progress; the default callback of an export."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The options of an export. fields: None if not given; operations: those of which a table has typed
    bodies; tables: empty for all.

    together: number of rows after which `watch` gets the number of written rows (None if the form cannot count them);
    an exception from `watch` ends the export. config: called for sets of columns.
    """

    out: str
    form: str
    force: bool
    limits: Limits
    chosen: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    fields: bool | None = None
    operations: Sequence[str] = ()
    time: TimeFormat | None = None
    tables: tuple[str, ...] = ()
    handshakes: bool = False
    embed_keys: bool = False
    split: bool = False
    most_files: int | None = None
    config: Callable[[], Config] = Config
    watch: Callable[[int | None], None] = ignore_progress
    together: int = TOGETHER


def check(request: ExportRequest) -> None:
    """Raises UserError if the export cannot be written, as far as that is known in advance."""
    if request.form == "parquet":
        extras.require_extra("parquet", "export --as parquet")
        if request.out == STANDARD:
            raise UserError("Tables are folders. Give a folder with -o, not standard output.")
        from analyzer.export import tables

        find_bodies(request)
        tables.check_tables(request.out, request.tables or TABLES, force=request.force)
    elif FORMS[request.form].folder or request.split:
        check_folder(request.out, force=request.force)
    else:
        check_file(request.out, force=request.force)
    if request.form in LINES:
        _printer(request, BytesIO())  # raises for an unknown key


def _parts(request: ExportRequest, rows: Ints) -> Iterator[Ints]:
    """Yields the rows in parts, and reports progress."""
    for first in range(0, len(rows), request.together):
        request.watch(first)
        yield rows[first : first + request.together]
    request.watch(len(rows))


def _share(
    session: Session,
    windows: Sequence[range],
    output: Output,
    write: Callable[[range, Out], int],
    watch: Callable[[int], None],
) -> int:
    """Writes windows of rows or packets in order; returns the sum of what `write` returns.

    At most session.jobs processes share the work; this one reports progress.
    """
    count, processes = 0, min(session.jobs, len(windows))
    if processes <= 1:
        for window in windows:
            watch(window.start)
            count += write(window, output)
    else:
        this, output.tick = os.getpid(), lambda: None

        def work(window: range, out: DeferredOutput) -> int:
            if os.getpid() == this:
                watch(window.start)
            return write(window, out)

        count = print_in_turns(windows, processes, work, 0, output)
    watch(windows[-1].stop if windows else 0)
    return count


def _share_rows(
    request: ExportRequest, session: Session, rows: Ints, output: Output, write: Callable[[Session, Ints, Out], object]
) -> None:
    def write_window(window: range, out: Out) -> int:
        write(session, rows[window.start : window.stop], out)
        return len(window)

    _share(session, _split(request, session, rows), output, write_window, request.watch)


def _split(request: ExportRequest, session: Session, rows: Ints) -> list[range]:
    """Divides rows into windows; several processes keep the bytes of one each."""
    if session.jobs == 1:
        return divide(len(rows), 1, request.together)
    ends = accumulate(len(part) for part in split_rows(session, rows, jobs.LEAST, TOGETHER_BYTES))
    return [range(*window) for window in pairwise((0, *ends))]


def _printer(request: ExportRequest, out: Out) -> RowPrinter:
    return RowPrinter(
        request.chosen,
        request.form,
        bool(request.fields),
        request.limits,
        sets=request.sets,
        time=request.time,
        config=request.config,
        out=out,
    )


def _lines(request: ExportRequest, session: Session, rows: Ints) -> str:
    reader = RowReader(session)
    with create_file(request.out, force=request.force) as output:
        printer = _printer(request, output)
        printer.print_head()
        if session.jobs > 1 and printer.divisible:
            print_shared_rows(printer, reader, lambda window: rows[window.start : window.stop], len(rows), output)
        else:
            for part in _parts(request, rows):
                printer.print_rows(reader, part)
        printer.end()
    return f"{len(rows):,} messages"


def _tables(request: ExportRequest, session: Session, rows: Ints) -> str:
    from analyzer.export import tables
    from analyzer.tables.options import Options

    options = Options(limits=request.limits, fields=request.fields is not False, bodies=find_bodies(request))
    counts = tables.write_tables(
        session,
        request.out,
        rows,
        options,
        request.tables or TABLES,
        force=request.force,
        tick=lambda: request.watch(None),
    )
    return ", ".join(f"{count:,} {table}" for table, count in counts.items())


def find_bodies(request: ExportRequest) -> Any:
    """Returns the Arrow type of the column `fields` of a table; None for JSON. Raises UserError."""
    from analyzer.tables.typed_bodies import parse_bodies

    return parse_bodies(request.operations, request.fields)


def _packets(request: ExportRequest, session: Session, rows: Ints) -> str:
    from analyzer.export import packets, pcapng

    request.watch(None)
    if request.embed_keys:
        from analyzer.export.secrets import list_secrets

        # A reader needs the connections from their handshakes on.
        wanted, key_log = packets.packets_of_streams(session, rows), list_secrets(session, rows)
    else:
        wanted, key_log = packets.packets_of(session, rows, handshakes=request.handshakes), []
    with create_file(request.out, force=request.force) as output:
        output.tick = lambda: request.watch(None)
        count = pcapng.write(
            session,
            wanted,
            output,
            "".join(key_log).encode(),
            lambda windows, write: _share(session, windows, output, write, lambda _: request.watch(None)),
        )
    keys = f", and {len(key_log):,} secrets" if request.embed_keys else ""
    return f"{count:,} packets of {len(rows):,} messages{keys}"


def _pdus(request: ExportRequest, session: Session, rows: Ints) -> str:
    from analyzer.export import pdus

    with create_file(request.out, force=request.force) as output:
        if len(rows):
            output.write(pdus.HEAD)
        _share_rows(request, session, rows, output, pdus.write)
    return f"{len(rows):,} messages"


def _bytes(request: ExportRequest, session: Session, rows: Ints) -> str:
    from analyzer.export import raw
    from analyzer.export.folder import create_filled_folder

    if request.split:
        with create_filled_folder(request.out, force=request.force, most=request.most_files) as folder:
            for part in _parts(request, rows):
                raw.write_each(session, part, folder)
    else:
        with create_file(request.out, force=request.force) as output:
            _share_rows(request, session, rows, output, raw.write)
    return f"{len(rows):,} messages"


def _objects(request: ExportRequest, session: Session, rows: Ints) -> str:
    from analyzer.export.folder import create_filled_folder
    from analyzer.export.objects import Objects

    with create_filled_folder(request.out, force=request.force, most=request.most_files) as folder:
        writer = Objects(session, folder, show_secrets=request.limits.show_secrets)
        for part in _parts(request, rows):
            writer.write(part)
        secrets, items = writer.finish()
    left_out = f" ({secrets:,} secrets left out: --show-secrets)" if secrets else ""
    left_out += f" ({items:,} items of long lists left out: --max-decompressed)" if items else ""
    return f"{folder.count:,} files of {len(rows):,} messages{left_out}"


def write_bytes(data: bytes, path: str, *, force: bool = False) -> None:
    """Writes bytes, such as those of a field, to a new file. Raises UserError."""
    with create_file(path, force=force) as output:
        output.write(data)


class ExportFormat(NamedTuple):
    """A form of export. write: writes rows and returns a description. suffixes: file name endings that select it.

    says: an option that selects it, too. folder: the output is a folder. about: a description for people. bare: what
    the output contains, if secrets in it cannot be masked.
    """

    write: Callable[[ExportRequest, Session, Ints], str]
    about: str
    suffixes: tuple[str, ...] = ()
    says: str | None = None
    folder: bool = False
    bare: str | None = None


_RAW = "raw bytes"

FORMS: Mapping[str, ExportFormat] = {
    "ndjson": ExportFormat(_lines, "a JSON object for each message", (".ndjson", ".jsonl")),
    "json": ExportFormat(_lines, "the same in one JSON array", (".json",)),
    "csv": ExportFormat(_lines, "a line for each message, comma between", (".csv",)),
    "tsv": ExportFormat(_lines, "a line for each message, tabulator between", (".tsv",)),
    "parquet": ExportFormat(_tables, "tables, in a folder", (".parquet",), "tables", folder=True),
    "pcapng": ExportFormat(
        _packets, "the packets that brought them", (".pcapng", ".ntar"), "handshakes", bare="packets"
    ),
    "pdus": ExportFormat(_pdus, "the same, a packet each, decrypted", bare="messages"),
    "raw": ExportFormat(_bytes, "their bytes, one after the other", (".bin", ".raw"), "split", bare=_RAW),
    "objects": ExportFormat(
        _objects, "what they carry, a file each, in a folder", folder=True, bare="keys, values and bodies"
    ),
    "stream": ExportFormat(_bytes, "the bytes of a connection", bare=_RAW),
}


def warning(form: ExportFormat) -> str | None:
    """Returns the warning to print before output that cannot be masked, or None."""
    if form.bare is None:
        return None
    return f"Passwords and tokens are not masked in {form.bare}. Check the output before you share it."
