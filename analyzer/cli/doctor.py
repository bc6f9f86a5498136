"""`wireanalyze doctor`: what is wrong in captures, message by message and across messages."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import click
import numpy as np

from analyzer.capture.packets import Reader
from analyzer.cli.inputs import files_options, open_session, progress
from analyzer.cli.options import decode_as_option
from analyzer.insight.checkup import Found, checkup
from analyzer.render.jsonable import JsonWriter
from analyzer.rows import Rows
from analyzer.session import Session
from analyzer.text import safe_text
from dissectors.finding import Finding, Severity

FAILED = 1
"""The exit status where --fail-on found what it was to look for."""

SHOWN, EXAMPLES = 6, 2
"""Messages that are named, and sentences that are shown, of each kind of finding."""

_LEVELS = [each.name.lower() for each in Severity]


class Kind(NamedTuple):
    """What findings are counted together by, the gravest first."""

    severity: Severity
    code: str


@click.command("doctor")
@files_options
@click.option("--severity", type=click.Choice(_LEVELS), default="note", show_default=True, help="The least to tell.")
@click.option("--fail-on", type=click.Choice(_LEVELS), help="Exit with 1 if there is a finding as grave as this.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "ndjson"]),
    default="table",
    show_default=True,
    help="A summary by kind, or one finding a line.",
)
@decode_as_option
def command(
    files: tuple[str, ...],
    decode_as: tuple[tuple[int, str], ...],
    reader: Reader,
    severity: str,
    fail_on: str | None,
    form: str,
) -> None:
    """Examine captures: everything there is to say about messages, connections and files, the gravest first.

    Besides what `list` and `show` say of single messages these are findings across messages, such as sequence numbers
    of producers that come twice or are missing.
    """
    gc.freeze()  # what was imported stays
    least = Severity[severity.upper()]
    with open_session(files, decode_as, reader) as session:
        for _ in progress(session):
            pass
        found = (each for each in checkup(session) if each.finding.severity >= least)
        worst = _print_lines(session, found) if form == "ndjson" else _print_summary(session, found)
    if fail_on is not None and worst is not None and worst >= Severity[fail_on.upper()]:
        raise SystemExit(FAILED)


def _print_lines(session: Session, found: Iterable[Found]) -> Severity | None:
    """A JSON object for each finding; returns the gravest severity."""
    writer, rows, worst = JsonWriter(), Rows(session), None
    for row, finding in found:
        worst = finding.severity if worst is None else max(worst, finding.severity)
        place: dict[str, object] = {"number": None, "id": None}
        if row is not None:
            place = {"number": row + 1, "id": rows.column("id", np.array([row])).values()[0]}
        said = {"severity": finding.severity.name.lower(), "code": finding.code, "text": finding.text}
        sys.stdout.buffer.write(writer.line(place | said))
    return worst


class _Group:
    """Findings of one kind: how many, the first messages that have one, the first sentences."""

    def __init__(self) -> None:
        self.count = 0
        self.rows: list[int] = []
        self.findings: list[Found] = []

    def add(self, found: Found) -> None:
        self.count += 1
        if found.row is not None and len(self.rows) <= SHOWN and found.row not in self.rows[-1:]:
            self.rows.append(found.row)
        texts = {each.finding.text for each in self.findings}
        if len(self.findings) < EXAMPLES and found.finding.text not in texts:
            self.findings.append(found)


def _print_summary(session: Session, found: Iterable[Found]) -> Severity | None:
    """The kinds of findings with examples; returns the gravest severity."""
    groups: dict[Kind, _Group] = {}
    for each in found:
        groups.setdefault(Kind(each.finding.severity, each.finding.code), _Group()).add(each)
    kinds = sorted(groups, key=lambda kind: (-kind.severity, -groups[kind].count, kind.code))
    for kind in kinds:
        click.echo("\n".join(_lines(kind, groups[kind])))
    streams, messages = len(session.engine.streams), len(session.rows)
    total = sum(group.count for group in groups.values())
    click.echo(f"{total:,} findings in {messages:,} messages of {streams:,} streams")
    return max((kind.severity for kind in kinds), default=None)


def _lines(kind: Kind, group: _Group) -> Iterator[str]:
    yield f"{kind.severity.name.lower():<8} {kind.code:<24} {group.count:>7,}  {_places(group)}".rstrip()
    for row, finding in group.findings:
        yield f"         {'' if row is None else f'{row + 1}: '}{_sentence(finding)}"


def _places(group: _Group) -> str:
    if not group.rows:
        return ""
    numbers = ", ".join(f"{row + 1}" for row in group.rows[:SHOWN])
    more = ", ..." if group.count > len(group.rows[:SHOWN]) else ""
    return f"message {numbers}{more}"


def _sentence(finding: Finding) -> str:
    return safe_text(finding.text, 400)
