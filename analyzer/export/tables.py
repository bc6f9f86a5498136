"""The same tables from one process, without Spark: for exports, and what the Spark job is held against."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from analyzer.capture.output import create_scratch_folder, make_write_error, publish_folder
from analyzer.columns.arrays import Ints
from analyzer.errors import UserError
from analyzer.export.report_rows import build_report_rows
from analyzer.pipeline import finish
from analyzer.pipeline.commit import refuse_others
from analyzer.pipeline.file_notes import FileNote, build_file_tables
from analyzer.processes.jobs import divide, map_in_order
from analyzer.session import Session
from analyzer.tables.arrow_columns import TableBatch
from analyzer.tables.bodies import DecoderMemory
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins, RowSelection
from analyzer.tables.parquet_files import ParquetSink, WrittenFile
from analyzer.tables.table_builder import WINDOW, build_tables
from analyzer.tables.table_schemas import REPORTS
from analyzer.tables.views import write_views
from dissectors.finding import Severity

FILES = "files"
DIVIDED_TABLES = frozenset(("messages", "findings", "records"))
"""Tables of which several processes write some rows each."""


def check_tables(folder: str, named: Collection[str], *, force: bool) -> None:
    """Raises UserError if tables cannot be written, as far as that is known before the export begins."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise UserError(f"{folder} is a file. Tables are folders; give a folder.")
    there = [table for table in named if os.path.lexists(os.path.join(folder, table))]
    if force:
        refuse_others(folder, there)
    elif there:
        raise UserError(
            f"{folder} has tables already ({', '.join(there)}). Give another folder, or --force to replace them."
        )


def write_tables(
    session: Session,
    folder: str,
    rows: Ints | None,
    options: Options,
    named: Collection[str],
    *,
    force: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> Mapping[str, int]:
    """Writes tables of a session that was read to its end into a folder, FOLDER/TABLE/date=.../protocol=.../.

    Beside them is views.sql, with a view of each for DuckDB.

    rows: of messages only these, rising; see Chosen.rows. Returns how many rows each table has; one without any is no
    folder. A table appears whole; the folder may hold others, and is made if there is none. Raises UserError. tick:
    called now and then; what it raises ends the writing.
    """
    check_tables(folder, named, force=force)
    with _create_folder(folder), create_scratch_folder(folder, folder) as hidden:
        counts = _write_rows(session, hidden, rows, options, named, tick)
        for table in named:
            target = os.path.join(folder, table)
            if counts[table]:
                publish_folder(os.path.join(hidden, table), target, force=force)
            elif force:
                shutil.rmtree(target, ignore_errors=True)
        write_views(folder)
    return counts


@contextmanager
def _create_folder(folder: str) -> Iterator[None]:
    """A folder that is made if there is none; then it goes again where the block fails. Raises UserError."""
    new: list[str] = []
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        new.append(path)
        path = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise make_write_error(folder, error) from error
    try:
        yield
    except BaseException:
        with suppress(OSError):  # something is in there by now that is not ours
            for path in new:
                os.rmdir(path)
        raise


def _write_rows(
    session: Session,
    folder: str,
    rows: Ints | None,
    options: Options,
    named: Collection[str],
    tick: Callable[[], None],
) -> dict[str, int]:
    chosen = RowSelection.select_all(session) if rows is None else RowSelection.select_rows(session, rows)
    origins = _build_origins(session)
    parts = _divide_work(session, chosen, named)
    learn = lru_cache(maxsize=1)(DecoderMemory)

    def write_part(part: _WorkPart) -> list[WrittenFile] | UserError:
        sink = ParquetSink(folder, f"part-{part.number:05}")
        made = build_tables(session, origins, options, part.rows, finish.add_required_tables(part.named), learn)
        try:
            for found in finish.finish_tables(made, part.named):
                tick()
                sink.add(found)
            for found in _build_other_tables(session, rows, options, part.named, tick):
                sink.add(found)
            return sink.close()
        except OSError as error:
            return make_write_error(folder, error)  # of a forked process, too

    counts = dict.fromkeys(named, 0)
    for written in map_in_order(write_part, parts, session.jobs):
        if isinstance(written, UserError):
            raise written
        for each in written:
            counts[each.table] += each.rows
    return counts


@dataclass(frozen=True, slots=True)
class _WorkPart:
    """What one process writes at a time: these tables of these rows."""

    number: int
    rows: RowSelection
    named: Collection[str]


def _divide_work(session: Session, chosen: RowSelection, named: Collection[str]) -> list[_WorkPart]:
    """Divides the tables among processes: what is read of messages by rows, all else as one part."""
    divided = DIVIDED_TABLES.intersection(named)
    runs = divide(len(chosen.messages), session.jobs, WINDOW)
    if session.jobs == 1 or not divided or not runs:
        return [_WorkPart(0, chosen, named)]
    others = [_WorkPart(0, chosen, [each for each in named if each not in divided])]
    nothing = np.zeros(0, np.int64)
    return others + [
        _WorkPart(
            number,
            RowSelection(chosen.messages[run.start : run.stop], nothing, nothing, chosen.whole and number == 1),
            divided,
        )
        for number, run in enumerate(runs, 1)
    ]


def _build_other_tables(
    session: Session, rows: Ints | None, options: Options, named: Collection[str], tick: Callable[[], None]
) -> Iterator[TableBatch]:
    """The tables that are not made of messages one by one."""
    if FILES in named:
        yield from build_file_tables(list(_list_file_notes(session)), options)
    if REPORTS in named:
        tick()
        yield from build_report_rows(session, _find_capture(session), rows, options)


def _list_file_notes(session: Session) -> Iterator[FileNote]:
    """What is said of each file; findings about files are in their table already."""
    capture = _find_capture(session)
    for info in session.packets.files:
        texts = (each.text for each in session.packets.findings if each.severity is Severity.ERROR)
        reason = next((text for text in texts if text.startswith(info.path)), None)
        size = os.path.getsize(info.path) if os.path.isfile(info.path) else None
        yield FileNote(
            os.path.abspath(info.path),
            capture,
            os.path.basename(info.path),
            size,
            packets=info.packets,
            first=info.first,
            last=info.last,
            format=info.format or None,
            compression=info.compression,
            error=reason,
        )


def _build_origins(session: Session) -> CountingOrigins:
    """Where packets come from, told by the captures that were read; several are hopped over once more."""
    paths = [info.path for info in session.packets.files]
    origins = CountingOrigins(_find_capture(session), [os.path.basename(path) for path in paths])
    if len(paths) > 1:
        for records in session.packets.reread_records():
            origins.count_records(records)
    return origins


def _find_capture(session: Session) -> str:
    """The folder of files that are one timeline: that which they have in common. What comes through a pipe has none."""
    paths = [info.path for info in session.packets.files]
    files = [os.path.dirname(os.path.abspath(path)) for path in paths if os.path.exists(path)]
    return os.path.commonpath(files) if files else ""
