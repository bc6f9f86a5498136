"""`wireanalyze list`: one line for each message."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.capture.packets import ReaderName
from analyzer.cli.inputs import files_options, is_pipe, load_session, open_session, progress
from analyzer.cli.memory import memory_option
from analyzer.cli.nothing import tell_findings, tell_nothing_passes, tell_unread
from analyzer.cli.options import decode_as_option, filter_option, jobs_option
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.cli.printing import rows_options
from analyzer.cli.terminal import wide_option
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.query.selection import Selection
from analyzer.render.printer import RowPrinter
from analyzer.render.shared_printing import print_shared_rows
from analyzer.session import Session, grow_within

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


_Command = TypeVar("_Command", bound=Callable[..., Any])


def selection_options(command: _Command) -> Callable[..., Any]:
    """Adds -c, -Y, --sort, --head and --tail; the command gets `selection`."""

    @click.option("-c", "--count", type=Whole(0), metavar="N", help="Stop reading after N messages.")
    @filter_option
    @click.option(
        "--sort",
        "order",
        multiple=True,
        metavar="KEY",
        help="Sort by a key or field. -KEY or KEY:desc puts the largest first. Repeat it, or separate keys by commas.",
    )
    @click.option("--head", type=Whole(0), metavar="N", help="Print only the first N of the selected rows.")
    @click.option(
        "--tail", type=Whole(0), metavar="N", help="Print only the last N of the selected rows, after --head."
    )
    @wraps(command)
    def with_selection(
        *args: Any,
        count: int | None,
        wanted: Filter | None,
        order: tuple[str, ...],
        head: int | None,
        tail: int | None,
        **rest: Any,
    ) -> Any:
        return command(*args, selection=_selection(count, wanted, order, head, tail), **rest)

    return with_selection


def _selection(
    count: int | None, wanted: Filter | None, order: tuple[str, ...], head: int | None, tail: int | None
) -> Selection:
    if not order:
        return Selection(count, wanted, (), head, tail)
    from analyzer.query.ordering import parse_sort_keys  # not needed without --sort

    return Selection(count, wanted, tuple(parse_sort_keys(",".join(order))), head, tail)


@click.command("list", cls=SectionedCommand)
@files_options
@selection_options
@rows_options
@wide_option()
@decode_as_option
@memory_option()
@jobs_option()
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    printer: RowPrinter,
    selection: Selection,
    memory: int | None,
    jobs: int | None,
) -> None:
    """List the messages of captures, one line each.

    Examples:

    \b
      wireanalyze list captures/kafka.pcap
      wireanalyze list captures/kafka.pcap -Y 'latency > 400ms' -e number,operation,latency
      wireanalyze list captures/kafka.pcap --sort -latency --head 10 --format ndjson --fields

    Several files are one timeline. The options apply in this order: -c, -Y, --sort, --head, --tail.

    From a pipe, the command prints each row when its message is complete. A value that only a later packet can supply
    is null in this row. It is also null if -c stops the reading before that packet. --memory is for pipes only.
    """
    # Decoded values have no reference cycles, so the garbage collector need not scan imported objects again.
    gc.freeze()
    comes = any(map(is_pipe, files))
    if memory is not None and not comes:
        raise UserError("--memory is for pipes only, because files are read as a whole. Leave it out.")
    if comes:
        with open_session(files, decode_as, reader) as session:
            _print_growing(session, printer, selection, memory)
            tell_findings(session)
    elif selection.count is None:
        with load_session(files, decode_as, reader, jobs) as session:
            _print_read(session, printer, selection, len(session.rows))
    else:
        with open_session(files, decode_as, reader) as session:
            count = sum(len(rows) for rows in selection.limit_rows(progress(session)))
            _print_read(session, printer, selection, count)
            tell_findings(session)
            tell_unread(session)


def _print_read(session: Session, printer: RowPrinter, selection: Selection, count: int) -> None:
    """Prints rows that have been read. If the input continues, they show only what a stream would know by then."""
    printer.print_head()
    read_format, printed = (
        RowReader(session, streaming=not session.ended, hindsight=late) for late in (False, printer.for_people)
    )
    if session.jobs > 1 and selection.divisible and printer.divisible and printer.out_is_standard:
        choose = partial(selection.filter_rows, read_format)
        passing = print_shared_rows(printer, printed, choose, count, sys.stdout.buffer)
    else:
        passing = 0
        for rows in selection.select_rows(read_format, count):
            printer.print_rows(printed, rows)
            passing += len(rows)
    printer.end()
    if selection.wanted is not None:
        tell_nothing_passes(passing, count)


def _print_growing(session: Session, printer: RowPrinter, selection: Selection, memory: int | None) -> None:
    printer.print_head()
    reading = RowReader(session, streaming=True)
    growth = session.grow() if memory is None else grow_within(session, memory)
    for rows in selection.iterate_selected(reading, selection.limit_rows(growth)):
        printer.print_rows(reading, rows)
        sys.stdout.buffer.flush()
    printer.end()
