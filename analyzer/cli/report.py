"""`wireanalyze report`: reports across messages, and the incident page.

A report has a line for each session, watch, transaction or election.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

import click

from analyzer.capture.output import STANDARD, check_file, create_file
from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.inputs import files_options, load_session, patiently
from analyzer.cli.options import decode_as_option, jobs_option
from analyzer.cli.parameters import SectionedCommand
from analyzer.cli.terminal import line_width, print_fitted, wide_option
from analyzer.errors import UserError
from analyzer.insight.reports import (
    ReportReading,
    ReportTable,
    choose_report,
    full_names,
    list_reports,
    reports_by_name,
)
from analyzer.insight.timeline import Timeline, build_timeline
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.amounts import format_size
from analyzer.render.columns_text import align_rows
from analyzer.render.objects import write_objects
from analyzer.render.reports_text import describe_worst, format_table, list_entry_keys, make_entry_object
from analyzer.session import Session
from dissectors.registry import dissectors
from dissectors.report import ReportType, UnknownChoice

FAULT = 1
"""The exit status if a row of the report is a fault."""


@click.command("report", cls=SectionedCommand)
@files_options
@click.option("--list", "columns", is_flag=True, help="Print the reports, or the columns of the named ones, and exit.")
@click.option(
    "--to",
    "to",
    metavar="RELEASE",
    help="With the report upgrade: the release that the brokers will have, such as 4.0.  [default: the newest]",
)
@click.option("--html", "page", metavar="FILE", help="Write all reports, findings and charts to FILE as one HTML page.")
@click.option("--force", is_flag=True, help="With --html: replace FILE if it exists.")
@format_options(*ROWS)
@wide_option()
@decode_as_option
@jobs_option()
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    columns: bool,
    to: str | None,
    page: str | None,
    force: bool,
    form: str,
    jobs: int | None,
) -> int:
    """Report what happened across messages, such as sessions.

    Examples:

    \b
      wireanalyze report
      wireanalyze report deliveries captures/rocketmq.pcap.zst
      wireanalyze report timeline captures/zookeeper-ensemble.pcap.zst
      wireanalyze report --html incident.html captures/kafka-4.4.pcap.zst

    `wireanalyze report NAME FILE...` prints the report NAME, a line for each session, delivery and so on. Without
    NAME, it prints how many lines each report has in these captures, and what stands out among them. Without FILE, it
    lists all reports. --list NAME explains the columns of a report.

    --html FILE writes one page for a browser, with findings, charts, all reports and the messages that findings name.

    If several protocols have a report NAME, you get that of the protocol in the captures. PROTOCOL.NAME chooses one.
    """
    known = {**reports_by_name(dissectors()), Timeline.name: Timeline}
    full = full_names(known)
    if page is None and (columns or not files):
        _print_known(known, [full.get(each, each) for each in files])
        return 0
    wanted = next((each for each in files if each in known or each in full), None)
    inputs = [each for each in files if each != wanted]
    if page is not None:
        _check_page(wanted, inputs, form, columns=columns)
        write_incident(page, inputs, decode_as, reader, jobs, force=force)
        return 0
    _check(known, wanted, inputs, form)
    if to is not None:
        chosen = full.get(wanted or "", wanted or "")
        known[chosen] = _choose(known, chosen, to)
    gc.freeze()  # imported objects are never freed
    with load_session(inputs, decode_as, reader, jobs) as session:
        if wanted is None:
            filled, _ = list_reports(session)
            _print_counts(filled, _read_report(session, list(filled.values())))
        elif wanted == Timeline.name:
            with patiently() as bar:
                table = build_timeline(session, lambda rows: bar("messages examined", rows, lambda: len(session.rows)))
            _print(wanted, table, form)
        else:
            name = full[wanted] if wanted in full else choose_report(session, wanted)
            table = _read_report(session, [known[name]])[0]
            _print(name, table, form)
            return FAULT if table.has_fault() else 0
    return 0


def _check(known: Mapping[str, ReportType], name: str | None, inputs: Sequence[str], form: str) -> None:
    """Raises UserError for meaningless arguments, such as a report that does not exist."""
    missing = [each for each in inputs if each != "-" and not os.path.exists(each)]
    if name is None and missing:
        raise UserError(f"There is no report and no file {missing[0]}. Reports are {', '.join(known)}.")
    if name is None and form != "table":
        raise UserError(f"--format {form} needs the name of a report. Reports are {', '.join(known)}.")
    if name is not None and not inputs:
        raise UserError(f"No capture was given. Use wireanalyze report {name} FILE.")


def _check_page(name: str | None, inputs: Sequence[str], form: str, *, columns: bool) -> None:
    """Raises UserError for arguments that have no meaning with --html."""
    if name is not None or columns or form != "table":
        what = f"the report {name}" if name is not None else "--list" if columns else f"--format {form}"
        raise UserError(f"--html writes a page of all reports. Leave out {what}.")
    if not inputs:
        raise UserError("No capture was given. Use wireanalyze report --html FILE CAPTURE.")


def _choose(known: Mapping[str, ReportType], name: str, to: str) -> ReportType:
    """Returns the report with the value of --to. Raises UserError if it has no such choice, or for a bad value."""
    report = known.get(name)
    if report is None or report.choice != "to":
        takers = [each for each, one in known.items() if one.choice == "to"]
        raise UserError(
            f"--to is an option of the report {takers[0]}. Use wireanalyze report {takers[0]} --to {to} FILE."
        )
    try:
        return report.choose(to)
    except UnknownChoice as error:
        raise UserError(str(error)) from None


def _read_report(session: Session, wanted: Sequence[ReportType]) -> list[ReportTable]:
    reading = ReportReading(session, wanted)
    with patiently() as bar:
        tables = reading.run(lambda rows: bar("messages read", rows, lambda: len(session.rows)))
    for finding in reading.problems:
        click.echo(sentence(finding.text), err=True)
    return tables


def _print_known(known: Mapping[str, ReportType], wanted: Sequence[str]) -> None:
    """Prints the reports, or the columns of the wanted ones."""
    for name in wanted:
        if name not in known:
            raise UserError(f"There is no report {name}. Reports are {', '.join(known)}.")
    if not wanted:
        print_fitted(align_rows([[name, report.about] for name, report in known.items()], frozenset({0, 1})))
    for name in wanted:
        print_fitted([f"{name}: {known[name].about}"])
        rows = [[f"  {each.name}", each.kind, each.about] for each in known[name].columns]
        print_fitted(align_rows(rows, frozenset({0, 1, 2})))


def _print_counts(wanted: Mapping[str, ReportType], tables: Sequence[ReportTable]) -> None:
    if not wanted:
        return
    rows = [
        [name, f"{len(table.entries) + table.more:,}", describe_worst(report, table.entries) or report.about]
        for (name, report), table in zip(wanted.items(), tables, strict=True)
        if table.entries
    ]
    print_fitted(align_rows(rows, frozenset({0, 2})))


def _print(name: str, table: ReportTable, form: str) -> None:
    """Prints the rows of one report."""
    report, entries = table.report, table.entries
    if form == "table":
        print_fitted(format_table(report, entries, line_width()) if entries else ())
    else:
        objects = ({"story": name, **make_entry_object(report, entry)} for entry in entries)
        write_objects(sys.stdout.buffer, form, list_entry_keys(report), objects)
    sys.stdout.flush()
    if not entries:
        whose = f"no message of {report.needs}" if report.needs else "no message"
        text = f"the report {name} is empty: {whose} has data for it"
        click.echo(sentence(text), err=True)
    if table.more:
        click.echo(sentence(f"{table.more:,} more lines are not shown"), err=True)


def write_incident(
    path: str,
    files: Sequence[str],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    jobs: int | None = 1,
    *,
    force: bool,
) -> None:
    """Writes the page of some captures, completely or not at all. Raises UserError."""
    from analyzer.insight.incident import gather_incident  # not needed for other reports
    from analyzer.render.html.page import make_page

    check_file(path, force=force)
    with load_session(files, decode_as, reader, jobs) as session:
        with patiently() as bar:
            incident = gather_incident(session, lambda what, rows: bar(what, rows, lambda: len(session.rows)))
        names = ["standard input" if name == STANDARD else os.path.basename(name) for name in files]
        data = make_page(session, names, incident).encode("utf-8", "backslashreplace")
    with create_file(path, force=force) as output:
        output.write(data)
    where = "standard output" if path == STANDARD else path
    click.echo(sentence(f"a page of {format_size(len(data))} written to {where}"), err=True)
