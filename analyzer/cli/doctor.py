"""`wireanalyze doctor`: what is wrong in captures, message by message and across messages."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.filtering import filter_option
from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.inputs import Bar, files_options, open_session, patiently, progress
from analyzer.cli.jobs import jobs_option, share_work
from analyzer.cli.notes import streams_to
from analyzer.cli.nothing import tell_nothing_passes, tell_unread
from analyzer.cli.options import decode_as_option, decompression_option
from analyzer.cli.sections import SectionedCommand
from analyzer.cli.settings import is_verbose
from analyzer.cli.terminal import line_width, print_fitted, wide_option
from analyzer.cli.values import OneOf
from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader, make_finding
from analyzer.insight.counts import count_streams
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, diagnose
from analyzer.insight.kinds import FindingGroup, FindingKind, group_findings
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.amounts import format_counted
from analyzer.render.fitting import count_cells, wrap_text
from analyzer.render.objects import write_objects
from analyzer.session import Session
from dissectors.finding import Severity

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

FAILED = 1
"""The exit status where --fail-on found what it was to look for."""

SHOWN, EXAMPLES = 6, 2
"""Messages that are named, and sentences that are shown, of each kind of finding."""

ERRORS = 12
"""Errors in answers, by operation, that stand for themselves."""

LONGEST = 400
"""Characters of a sentence."""

_INDENT = " " * 9

KEYS = ("number", "id", "severity", "code", "text")
"""The columns of a finding."""

_LEVELS = [each.name.lower() for each in Severity]


@click.command("doctor", cls=SectionedCommand)
@files_options
@click.option(
    "--severity",
    type=OneOf(_LEVELS),
    default="note",
    show_default=True,
    help="Print findings of this severity and above.",
)
@click.option(
    "--fail-on", type=OneOf(_LEVELS), help="Exit with status 1 if there is a finding of this severity or above."
)
@format_options(*ROWS)
@wide_option()
@filter_option
@decode_as_option
@decompression_option
@jobs_option()
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    severity: str,
    fail_on: str | None,
    form: str,
    wanted: Filter | None,
    jobs: int | None,
) -> None:
    """Find out what is wrong in captures.

    Examples:

    \b
      wireanalyze doctor captures/rocketmq.pcap.zst
      wireanalyze doctor captures/zookeeper-ensemble.pcap.zst --severity warning
      wireanalyze doctor captures/kafka.pcap --fail-on error --json

    The command prints all findings about messages, connections and files, the most severe first. It also counts the
    errors in responses, and finds what only several messages show, such as missing sequence numbers of a producer.

    With -Y it prints only findings about the selected messages.
    """
    gc.freeze()  # what was imported stays
    least = Severity[severity.upper()]
    with open_session(files, decode_as, reader) as session:
        for _ in progress(session):
            pass
        share_work(session, jobs)
        chosen = None if wanted is None else wanted.select_rows(RowReader(session), np.arange(len(session.rows)))
        if chosen is not None:
            tell_nothing_passes(len(chosen), len(session.rows))
        with patiently() as bar:
            found = (each for each in _run_diagnosis(session, chosen, bar) if each.finding.severity >= least)
            worst = (
                print_summary(session, chosen, files, found) if form == "table" else _print_each(session, found, form)
            )
        tell_unread(session)
    if fail_on is not None and worst is not None and worst >= Severity[fail_on.upper()]:
        raise SystemExit(FAILED)


def _run_diagnosis(session: Session, chosen: Ints | None, bar: Bar) -> Iterator[LocatedFinding]:
    """The checkup, and how far it has got; of chosen rows, what belongs to one of them."""
    total = len(session.rows)
    found = diagnose(session, lambda rows: bar("messages examined", rows, lambda: total))
    if chosen is None:
        return found
    mine = np.zeros(total, bool)
    mine[chosen] = True
    return (each for each in found if each.row is not None and mine[each.row])


def _print_each(session: Session, found: Iterable[LocatedFinding], form: str) -> Severity | None:
    """An object or a line for each finding; returns the gravest severity."""
    rows, severities = RowReader(session), set[Severity]()

    def objects() -> Iterator[dict[str, object]]:
        for row, finding, _ in found:
            severities.add(finding.severity)
            place: dict[str, object] = {"number": None, "id": None}
            if row is not None:
                place = {"number": row + 1, "id": rows.read_column("id", np.array([row])).values()[0]}
            yield place | make_finding(finding)

    write_objects(sys.stdout.buffer, form, KEYS, objects())
    return max(severities, default=None)


def print_summary(
    session: Session, chosen: Ints | None, files: Sequence[str], found: Iterable[LocatedFinding]
) -> Severity | None:
    """The kinds of findings with examples, the gravest first; returns the gravest severity."""
    groups = group_findings(session, found, SHOWN, None if is_verbose() else EXAMPLES)
    what = partial(_describe_kind, RowReader(session), TopicNamer(session))
    for kind, group in _fewer(groups):
        print_fitted(_lines(kind, group, what, _places(session, kind, group), line_width()))
    messages = len(session.rows) if chosen is None else len(chosen)
    total = sum(group.count for group in groups.values())
    findings = format_counted(total, "finding") if total else "nothing to say"
    print_fitted([f"{findings} in {messages:,} messages of {count_streams(session, chosen):,} streams"])
    if any(group.rows for group in groups.values()) and "-" not in files:
        print_fitted(_hint(files, line_width()))
    return max((kind.severity for kind in groups), default=None)


def _fewer(groups: Mapping[FindingKind, FindingGroup]) -> Iterator[tuple[FindingKind, FindingGroup]]:
    """The same, of errors in answers the most frequent ones; several others as one, unless all are to be told."""
    errors = [kind for kind in groups if kind.error]
    rest = errors[ERRORS:] if len(errors) > ERRORS + 1 and not is_verbose() else []
    yield from (each for each in groups.items() if each[0] not in rest)
    if rest:
        others = FindingGroup(SHOWN, 0)
        others.count = sum(groups[kind].count for kind in rest)
        for row in sorted({row for kind in rest for row in groups[kind].rows}):
            others.add_row(row)
        others.more |= any(groups[kind].more for kind in rest)
        yield FindingKind(rest[0].severity, ERROR_ANSWER, f"{len(rest):,} others"), others


def _describe_kind(reader: RowReader, naming: TopicNamer, row: int) -> str:
    """What a message is, as `list` says it; empty for one of which it says nothing."""
    (said,) = reader.read_objects(("operation", "info"), np.array([row]), naming.fill_in_names)
    return f"{said['operation']} {said['info']}" if said["operation"] and said["info"] else ""


def _hint(files: Sequence[str], width: int | None) -> Iterator[str]:
    """What to do next; with the files by name, where that fits a line."""
    text = f"(wireanalyze show {' '.join(map(shlex.quote, files))} NUMBER shows a message)"
    yield text if width is None or count_cells(text) <= width else "(wireanalyze show FILE NUMBER shows a message)"


def _lines(
    kind: FindingKind, group: FindingGroup, what: Callable[[int], str], places: str, width: int | None
) -> Iterator[str]:
    """A kind with its examples; sentences are wrapped where lines have a width, what messages are is cut."""
    head = f"{kind.severity.name.lower():<8} {kind.code:<24} {group.count:>7,}  "
    yield from _wrap_text(head, places, width)
    if kind.error:
        yield from _wrap_text(_INDENT, safe_text(kind.error, LONGEST), width)
        return
    for row, finding, _ in group.examples:
        place = "" if row is None else f"{row + 1}: "
        yield from _wrap_text(f"{_INDENT}{place}", safe_text(finding.text, LONGEST), width)
        if row is not None and (message := what(row)):
            yield f"{_INDENT}{' ' * len(place)}{safe_text(message, LONGEST)}"


def _wrap_text(begin: str, text: str, width: int | None) -> Iterator[str]:
    return iter([f"{begin}{text}".rstrip()]) if width is None else map(str.rstrip, wrap_text(text, width, begin))


def _places(session: Session, kind: FindingKind, group: FindingGroup) -> str:
    """Where findings of a kind are: the first messages, or how many connections."""
    if group.streams:
        return f"in {streams_to(session, len(group.streams), kind.port)}"
    if not group.rows:
        return ""
    numbers = ", ".join(f"{row + 1}" for row in group.rows)
    return f"message{'s' if len(group.rows) > 1 else ''} {numbers}{', ...' if group.more else ''}"
