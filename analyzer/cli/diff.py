"""`wireanalyze diff`: the changes from one capture to another, the most important first."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.inputs import files_options, load_session, patiently
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import decode_as_option, decompression_option, filter_option, jobs_option
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.cli.terminal import line_width, print_fitted, wide_option
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.insight.difference import Difference
from analyzer.insight.differences import find_differences
from analyzer.insight.profile import Profile, make_profile
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.amounts import format_counted
from analyzer.render.differences_text import KEYS, format_difference, make_difference_objects
from analyzer.render.fitting import wrap_text
from analyzer.render.objects import write_objects

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

SHOWN = 40
"""Number of differences in a table, unless --top is given; other formats print all."""

_KIND_WIDTH = 13


@click.command("diff", cls=SectionedCommand)
@files_options
@click.option("--before", "earlier", multiple=True, metavar="FILE", help="Add this capture to BEFORE.")
@click.option("--after", "later", multiple=True, metavar="FILE", help="Add this capture to AFTER.")
@click.option(
    "--top",
    type=Whole(min=1),
    metavar="N",
    help=f"Print at most N differences.  [default: {SHOWN} in a table, else all]",
)
@click.option("--errors/--no-errors", default=True, show_default=True, help="Decode responses to count errors.")
@format_options(*ROWS)
@wide_option()
@filter_option
@decode_as_option
@decompression_option
@jobs_option(1)  # as in `stats`: most runs are shorter than the start of a second process
def command(
    files: tuple[str, ...],
    earlier: tuple[str, ...],
    later: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    top: int | None,
    errors: bool,
    form: str,
    wanted: Filter | None,
    jobs: int | None,
) -> None:
    """Compare two captures and print the largest changes first.

    Examples:

    \b
      wireanalyze diff captures/kafka.pcap captures/kafka-4.4.pcap.zst
      wireanalyze diff captures/kafka.pcap captures/kafka-4.4.pcap.zst -Y 'operation == Fetch'
      wireanalyze diff --before captures/kafka.pcap --after captures/kafka-4.4.pcap.zst --after captures/mixed.pcapng

    `wireanalyze diff BEFORE AFTER` prints a sentence for each difference: errors, latencies, settings that clients
    send, their software and names, operations, versions, rates and sizes.

    The command prints a change of a figure if it matters and is unlikely to be chance; p is the probability of chance.
    docs/how-to/compare.md explains the tests. With -Y, the command compares the selected messages of both captures.
    """
    sides = _split_sides(files, earlier, later)
    gc.freeze()  # imported objects are never freed
    before, after = (_read_profile(side, decode_as, reader, wanted, jobs, with_errors=errors) for side in sides)
    found = find_differences(before, after)
    shown = found[: SHOWN if top is None and form == "table" else top]
    if form == "table":
        _print_table(shown, len(found), before.total.messages, after.total.messages)
    else:
        objects = (found for each in shown for found in make_difference_objects(each))
        write_objects(sys.stdout.buffer, form, KEYS, objects)


def _split_sides(
    files: Sequence[str], earlier: Sequence[str], later: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the captures before and those after. Raises UserError if the sides are not clear."""
    if len(files) == 2:
        sides = ((files[0], *earlier), (files[1], *later))
    elif not files and earlier and later:
        sides = (tuple(earlier), tuple(later))
    else:
        raise UserError("diff compares two captures. Use wireanalyze diff BEFORE AFTER; --before and --after add more.")
    if "-" in sides[0] and "-" in sides[1]:
        raise UserError("Standard input can be read only once. Give a file for BEFORE or AFTER.")
    return sides


def _read_profile(
    files: Sequence[str],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    wanted: Filter | None,
    jobs: int | None,
    *,
    with_errors: bool,
) -> Profile:
    """Returns the profile of some captures, which are closed again."""
    with load_session(files, decode_as, reader, jobs) as session, patiently() as bar:
        rows = None if wanted is None else wanted.select_rows(RowReader(session), np.arange(len(session.rows)))
        if rows is not None:
            tell_nothing_passes(len(rows), len(session.rows))
        return make_profile(
            RowReader(session),
            rows,
            with_errors=with_errors,
            looked=lambda done, total: bar("messages examined", done, lambda: total),
        )


def _print_table(shown: Sequence[Difference], count: int, before: int, after: int) -> None:
    """Prints one sentence for each difference, and their number."""
    width = line_width()
    messages = f"{before:,} and {after:,} messages"
    if not count:
        print_fitted([f"No differences found in {messages}."])
        return
    for each in shown:
        head, text = f"{each.kind:<{_KIND_WIDTH}} ", format_difference(each)
        print_fitted([head + text] if width is None else wrap_text(text, width, head))
    rest = f"; --top {count} prints all" if len(shown) < count else ""
    print_fitted([f"{format_counted(count, 'difference')} in {messages}{rest}"])
