"""The same tables from one process, without Spark: for exports, and what the Spark job is held against."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby

from analyzer.capture.output import create_scratch_folder, make_write_error, publish_folder
from analyzer.capture.packets import PacketReader
from analyzer.columns.arrays import Ints
from analyzer.errors import UserError
from analyzer.messages.decode_as import make_rules, merge_rules
from analyzer.pipeline import finish
from analyzer.pipeline.arrow_columns import TableBatch
from analyzer.pipeline.commit import refuse_others
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import CountingOrigins, RowSelection
from analyzer.pipeline.parquet_files import ParquetSink
from analyzer.pipeline.report_rows import build_report_rows
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.table_builder import build_tables
from analyzer.pipeline.table_schemas import REPORTS, TABLES
from analyzer.pipeline.tls_secrets import find_secrets
from analyzer.pipeline.views import write_views
from analyzer.session import Analysis, Session

PART_NAME = "part-00000"
"""What the files of a table are called; there is one in each of its folders."""


def build_all_tables(files: Sequence[CaptureFile], options: Options) -> Iterator[TableBatch]:
    """Yields the tables' rows of all captures, one capture after the other. Raises CaptureError."""
    for _, group in groupby(files, key=lambda file: file.capture):
        inputs = list(group)
        origins = CountingOrigins(inputs[0].capture_name, [file.name for file in inputs])
        packets = PacketReader([file.path for file in inputs], watch=origins.count_records)
        known, orders = make_rules(merge_rules(options.decode_as))
        secrets = find_secrets(options, [file.path for file in inputs])
        with Analysis(packets, known, orders=orders, secrets=secrets) as session:
            yield from finish.finish_tables(
                build_tables(session.load(), origins, options, named=finish.add_required_tables(TABLES)), TABLES
            )


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
    sink = ParquetSink(folder, PART_NAME)
    try:
        chosen = RowSelection.select_all(session) if rows is None else RowSelection.select_rows(session, rows)
        for found in finish.finish_tables(
            build_tables(session, _build_origins(session), options, chosen, finish.add_required_tables(named)), named
        ):
            tick()
            sink.add(found)
        if REPORTS in named:
            tick()
            for found in build_report_rows(session, _find_capture(session), rows, options):
                sink.add(found)
        written = sink.close()
    except OSError as error:
        raise make_write_error(folder, error) from error
    counts = dict.fromkeys(named, 0)
    for each in written:
        counts[each.table] += each.rows
    return counts


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
