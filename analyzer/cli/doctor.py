"""`wireanalyze doctor`: the problems of captures, in single messages and across messages.

Theory. Problems are printed when the whole capture has been examined, because the gravest come first and some explain
others. Until then, a terminal shows next to the progress bar how many findings there are, and which is the gravest. To
show something early, the first messages are examined while the capture is still being read.
"""

from __future__ import annotations

import gc
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.inputs import Bar, files_options, open_session, patiently, progress
from analyzer.cli.nothing import streams_to, tell_nothing_passes, tell_unread
from analyzer.cli.options import decode_as_option, decompression_option, filter_option, jobs_option, share_work
from analyzer.cli.parameters import OneOf, SectionedCommand
from analyzer.cli.problem_choice import make_choice
from analyzer.cli.settings import is_verbose
from analyzer.cli.terminal import line_width, print_fitted, wide_option
from analyzer.columns.arrays import Ints
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import count_streams
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, diagnose, diagnose_rows
from analyzer.insight.problems import Problem
from analyzer.insight.root_causes import find_problems
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.amounts import format_counted
from analyzer.render.fitting import count_cells
from analyzer.render.objects import write_objects
from analyzer.render.problems import KEYS, ProblemLines, is_retried, make_problem_objects
from analyzer.session import Session
from dissectors.finding import Severity

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


FAILED = 1
"""The exit status if --fail-on matches a problem."""

EXAMPLES = 1000
"""Number of findings of a problem that are printed with -v."""

_LEVELS = [each.name.lower() for each in Severity]


@click.command("doctor", cls=SectionedCommand)
@files_options
@click.option(
    "--severity",
    type=OneOf(_LEVELS),
    default="note",
    show_default=True,
    help="Print problems of this severity and above.",
)
@click.option(
    "--fail-on",
    metavar="LEVEL|CODE,...",
    help="Exit with status 1 if there is a problem of this severity or above, or with one of these codes or errors.",
)
@click.option("--ignore", multiple=True, metavar="CODE,...", help="Leave out problems with these codes or errors.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="Leave out problems that are in FILE, the output of an earlier run with --format ndjson or json.",
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
    ignore: tuple[str, ...],
    baseline: str | None,
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

    The command prints what is wrong with messages, connections and files, the most severe first: what happened, whom it
    concerns, and what to do. If one problem explains others, it prints these below the cause. Some problems show only
    in several messages, such as missing sequence numbers of a producer.

    With -Y, the command prints only problems of the selected messages.
    """
    gc.freeze()  # imported objects are never freed
    choice = make_choice(severity, fail_on, ignore, baseline)
    with open_session(files, decode_as, reader, block=FIRST_PACKETS) as session:
        found = FirstFindings()
        for _ in progress(session, partial(found.describe_reading, session)):
            pass
        found.restart()
        share_work(session, jobs)
        chosen = None if wanted is None else wanted.select_rows(RowReader(session), np.arange(len(session.rows)))
        if chosen is not None:
            tell_nothing_passes(len(chosen), len(session.rows))
        with patiently() as bar:
            examples = EXAMPLES if is_verbose() else 1
            problems = choice.select(find_problems(session, _run_diagnosis(session, chosen, bar, found), examples))
        if form == "table":
            print_summary(session, chosen, files, problems)
        else:
            write_objects(sys.stdout.buffer, form, KEYS, make_problem_objects(session, problems))
        tell_unread(session)
    if choice.fails(problems):
        raise SystemExit(FAILED)


def _run_diagnosis(session: Session, chosen: Ints | None, bar: Bar, first: FirstFindings) -> Iterator[LocatedFinding]:
    """Yields the findings and shows progress. If rows are chosen, yields only findings of these rows."""
    total = len(session.rows)
    found = first.count(
        diagnose(session, lambda rows: bar(f"messages examined{first.describe()}", rows, lambda: total))
    )
    if chosen is None:
        return found
    mine = np.zeros(total, bool)
    mine[chosen] = True
    return (each for each in found if each.row is not None and mine[each.row])


def print_summary(session: Session, chosen: Ints | None, files: Sequence[str], problems: Sequence[Problem]) -> None:
    """Prints problems with their messages, and then their number."""
    describe = partial(_describe_message, RowReader(session), TopicNamer(session))
    lines = ProblemLines(session, describe, partial(_name_streams, session), line_width())
    retried = [] if is_verbose() else [each for each in problems if is_retried(each)]
    for problem in problems:
        if problem not in retried:
            print_fitted(lines.format_problem(problem))
    if retried:
        print_fitted(lines.format_retried(retried))
    messages = len(session.rows) if chosen is None else len(chosen)
    where = f"in {format_counted(messages, 'message')} of {format_counted(count_streams(session, chosen), 'stream')}"
    print_fitted([format_total(problems, where)])
    if any(problem.rows for problem in problems) and "-" not in files:
        print_fitted(_hint(files, line_width()))


def format_total(problems: Sequence[Problem], where: str) -> str:
    """Formats as `1 error and 2 notes in ...`; if there are only notes, says that there is no problem."""
    counts = Counter(problem.severity for problem in problems)
    parts = [format_counted(counts[each], each.name.lower()) for each in sorted(Severity, reverse=True) if counts[each]]
    if max(counts, default=Severity.NOTE) == Severity.NOTE:
        return "; ".join([f"No problems found {where}", *parts])
    return f"{' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))} {where}"


def _describe_message(reader: RowReader, naming: TopicNamer, row: int) -> str:
    """Returns operation and info of a message, as `list` prints them; an empty text if it has no info."""
    (cells,) = reader.read_objects(("operation", "info"), np.array([row]), naming.fill_in_names)
    return f"{cells['operation'] or ''} {cells['info']}".strip() if cells["info"] else ""


def _name_streams(session: Session, problem: Problem) -> str:
    return f"in {streams_to(session, len(problem.streams), problem.port)}"


def _hint(files: Sequence[str], width: int | None) -> Iterator[str]:
    """Yields the next command to use; it contains the file names if they fit into a line."""
    text = f"(wireanalyze show {' '.join(map(shlex.quote, files))} NUMBER shows a message)"
    yield text if width is None or count_cells(text) <= width else "(wireanalyze show FILE NUMBER shows a message)"


FIRST_PACKETS = 2048
"""Number of packets in the first block; each further block has twice as many, so findings appear early."""

FIRST_ROWS = 2000
"""Number of messages that are examined before all are read."""


class FirstFindings:
    """Counts findings as they arrive, for the progress display."""

    def __init__(self) -> None:
        self._counts: Counter[Severity] = Counter()
        self._gravest = ""
        self._is_begun = False

    def describe_reading(self, session: Session) -> str:
        """Describes the findings of the first messages while a capture is read; empty if stderr is no terminal."""
        if not self._is_begun and sys.stderr.isatty() and not session.ended:
            self._is_begun = True
            for _ in self.count(diagnose_rows(session, min(len(session.rows), FIRST_ROWS))):
                pass
        return self.describe()

    def restart(self) -> None:
        """Resets the counts, because all findings are counted again from the first."""
        self._counts.clear()

    def count(self, found: Iterable[LocatedFinding]) -> Iterator[LocatedFinding]:
        """Yields findings, and counts them."""
        for each in found:
            severity = each.finding.severity
            if severity > max(self._counts, default=0):
                self._gravest = (each.error or "") if each.finding.code == ERROR_ANSWER else each.finding.code
            self._counts[severity] += 1
            yield each

    def describe(self) -> str:
        """Describes the counts: `; found so far: 2 warnings, 1 note (leader-changed)`; empty if there are none."""
        if not self._counts:
            return ""
        parts = [
            format_counted(self._counts[each], each.name.lower())
            for each in sorted(Severity, reverse=True)
            if self._counts[each]
        ]
        return f"; found so far: {', '.join(parts)} ({self._gravest})"
