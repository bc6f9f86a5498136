"""`wireanalyze stats`: what is going on in captures, on one screen or grouped by anything."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from analyzer.capture.packets import Reader
from analyzer.cli.filtering import filter_option
from analyzer.cli.inputs import files_options, loaded, patiently
from analyzer.cli.options import decode_as_option
from analyzer.columns import Ints
from analyzer.errors import UserError
from analyzer.insight.figures import FIGURES
from analyzer.render.delimited import delimited_lines, header_line
from analyzer.render.jsonable import JsonWriter
from analyzer.render.sparkline import bars_for
from analyzer.rows import Rows
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.decode_as import Where
    from analyzer.filter import Filter
    from analyzer.insight.statistics import Group, Statistics

SHOWN = 20
"""Groups in a table, unless --top says more; other forms have all."""

TIME = "time"


class Duration(click.ParamType[int]):
    """A length of time, such as 500ms."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Nanoseconds, at least 1."""
        if isinstance(value, int):
            return value
        from analyzer.filter.units import DURATIONS, number

        found = number(str(value))
        if found is None or found[1] not in DURATIONS or not 1 <= int(found[0]) < 1 << 62:
            self.fail(f"{value!r} is no length of time, such as 500ms, 1s or 5m", param, ctx)
        return int(found[0])


@click.command("stats")
@files_options
@click.option(
    "--by", "names", multiple=True, metavar="KEY[,KEY]", help="Group by these: topic, client, any field, time."
)
@click.option("--interval", type=Duration(), help="Of --by time, such as 1s.  [default: about 60 of them]")
@click.option("--conversations", "view", flag_value="conversations", help="Connections, and what each side sent.")
@click.option("--endpoints", "view", flag_value="endpoints", help="Addresses and ports, and what each sent.")
@click.option("--counts", "view", flag_value="counts", help="Only count messages, from the index alone.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help=f"Groups to print.  [default: {SHOWN}, or all]")
@click.option("--sort", type=click.Choice(FIGURES), help="The figure whose largest come first.  [default: messages]")
@click.option("--errors/--no-errors", default=True, show_default=True, help="Look into answers for errors.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@filter_option
@decode_as_option
def command(
    files: tuple[str, ...],
    decode_as: tuple[tuple[Where, str], ...],
    reader: Reader,
    names: tuple[str, ...],
    interval: int | None,
    view: str | None,
    top: int | None,
    sort: str | None,
    errors: bool,
    form: str,
    wanted: Filter | None,
) -> None:
    """Tell what is going on in captures: who speaks what, how much, how fast, and what failed.

    Without --by it is one screen. With it a line for each group: KEY is protocol, operation, version, client,
    connection, source, destination, role, error, time, a name that protocols share (topic, path, group, queue,
    partition) or any field of `wireanalyze fields`. Latencies are exact: percentiles by nearest rank, of the answers
    in a group. Rates are over the time from the first to the last message that is counted.
    """
    by = [name for each in names for name in each.split(",") if name]
    _check(by, view, interval=interval, sort=sort, top=top, errors=errors)
    gc.freeze()  # what was imported stays: looking through it for cycles, again and again, takes a tenth of the time
    with loaded(files, decode_as, reader) as session:
        rows = None if wanted is None else wanted.rows(Rows(session), np.arange(len(session.rows)))
        if view == "counts":
            from analyzer.cli.counting import print_counts

            print_counts(session, form, rows)
        elif view is not None:
            _print_traffic(session, rows, view, form, top)
        elif by:
            _print_groups(session, rows, by, interval, sort, top, form, with_errors=errors)
        else:
            _print_overview(session, rows, files, form, with_errors=errors)


def _check(by: Sequence[str], view: str | None, **options: object) -> None:
    """Raises UserError for options that have no meaning together."""
    if by and view is not None:
        raise UserError(f"--by and --{view} are different views; give one of them")
    if len(set(by)) < len(by):
        raise UserError(f"--by {','.join(by)}: the same key is named twice")
    if options["interval"] is not None and TIME not in by:
        raise UserError("--interval is for --by time")
    if options["sort"] is not None and not by:
        raise UserError("--sort is for --by")
    if options["top"] is not None and not by and view in (None, "counts"):
        raise UserError("--top is for --by, --conversations and --endpoints")
    if "error" in by and not options["errors"]:
        raise UserError("--by error looks into answers; leave out --no-errors")
    from analyzer.insight.grouping import WORDS, fields_of

    for name in by:
        fields_of(WORDS.get(name, name))


def _print_groups(
    session: Session,
    rows: Ints | None,
    by: Sequence[str],
    interval: int | None,
    sort: str | None,
    top: int | None,
    form: str,
    *,
    with_errors: bool,
) -> None:
    from analyzer.insight.statistics import statistics
    from analyzer.render.overview_json import key_values, statistics_object

    with _looking() as looked:
        found = statistics(Rows(session), by, rows, with_errors=with_errors, interval=interval, looked=looked)
    groups = _chosen(found, sort, top if top is not None or form != "table" or by == [TIME] else SHOWN)
    if form == "json":
        _write_json(statistics_object(found, groups))
    elif form == "csv":
        cells = [[*key_values(by, group.key), *_figures(group)] for group in groups]
        _write_csv([*by, *FIGURES], cells)
    else:
        from analyzer.render.figures_text import groups_lines

        _write_lines(groups_lines(found, groups, bars_for(sys.stdout.encoding)))


@contextmanager
def _looking() -> Iterator[Callable[[int, int], None]]:
    """Shows how many messages have been decoded, where that takes long."""
    with patiently() as bar:
        yield lambda done, total: bar("messages examined", done, lambda: total)


def _chosen(found: Statistics, sort: str | None, top: int | None) -> Sequence[Group]:
    """The groups that are printed, in order; those without the figure come last."""
    groups = found.groups
    if sort is not None:
        known = [group for group in groups if getattr(group.figures, sort) is not None]
        others = [group for group in groups if getattr(group.figures, sort) is None]
        groups = [*sorted(known, key=lambda group: -getattr(group.figures, sort)), *others]
    return groups[:top]


def _figures(group: Group) -> list[Any]:
    return [getattr(group.figures, name) for name in FIGURES]


def _print_overview(session: Session, rows: Ints | None, files: Sequence[str], form: str, *, with_errors: bool) -> None:
    from analyzer.insight.overview import overview

    with _looking() as looked:
        found = overview(session, rows, with_errors=with_errors, looked=looked)
    if form == "json":
        from analyzer.render.overview_json import overview_object

        _write_json(overview_object(found, Rows(session)))
    elif form == "csv":
        cells = [[each.protocol, each.operation, *asdict(each.figures).values()] for each in found.operations]
        _write_csv(["protocol", "operation", *FIGURES], cells)
    else:
        from analyzer.render.overview_text import overview_lines

        name = "standard input" if files[0] == "-" else os.path.basename(files[0])
        source = name if len(files) == 1 else f"{name} and {len(files) - 1} more"
        _write_lines(overview_lines(found, source, bars_for(sys.stdout.encoding)))


def _print_traffic(session: Session, rows: Ints | None, view: str, form: str, top: int | None) -> None:
    from analyzer.insight.traffic import conversations, endpoints
    from analyzer.render.figures_text import conversations_lines, endpoints_lines
    from analyzer.render.overview_json import conversation_object

    reader = Rows(session)
    rows = np.arange(len(session.rows)) if rows is None else rows
    most = SHOWN if top is None and form == "table" else top
    if view == "conversations":
        talks = conversations(reader, rows)
        lines, objects = conversations_lines(talks, most), [conversation_object(each) for each in talks]
    else:
        ends = endpoints(reader, rows)
        lines, objects = endpoints_lines(ends, most), [asdict(each) for each in ends]
    if form == "table":
        _write_lines(lines)
    elif form == "json":
        _write_json({view: objects[:most], f"{view}_in_all": len(objects)})
    else:
        _write_csv(list(objects[0]) if objects else [], [list(each.values()) for each in objects[:most]])


def _write_json(found: dict[str, Any]) -> None:
    sys.stdout.buffer.write(JsonWriter().line(found))


def _write_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    sys.stdout.buffer.write(header_line(names, ","))
    if rows:
        sys.stdout.buffer.write(
            delimited_lines([list(column) for column in zip(*rows, strict=True)], ",", JsonWriter())
        )


def _write_lines(lines: Iterator[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
