"""The incident page of a capture: one file that loads nothing and runs nothing.

Theory. The page is for readers who do not have the program: on a phone, printed, years later. So it contains its style
and its charts, and a policy forbids loading or running anything. Its size is bounded, and it says what it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files as package_files

from analyzer.columns.values import format_iso_time
from analyzer.insight.diagnosis import ERROR_ANSWER
from analyzer.insight.incident import Incident
from analyzer.insight.problems import Problem, as_sentence
from analyzer.insight.reports import ReportTable
from analyzer.render.amounts import format_count, format_counted, format_size
from analyzer.render.bug_report import PROGRAM, find_version
from analyzer.render.durations import format_duration
from analyzer.render.html.capture_charts import list_charts
from analyzer.render.html.elements import Html, escape_text, join_parts, make_details, make_element, make_table
from analyzer.render.html.messages import MessageLinks, make_messages
from analyzer.render.reports_text import format_cell, make_title
from analyzer.session import Session
from dissectors.report import ReportRow

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Forbids loading, running and sending anything; the style is in the page."""

PROBLEMS, MESSAGES, OPERATIONS, ENTRIES, LINKS = 60, 60, 40, 100, 6
"""Largest numbers of problems, messages, operations, rows of a report, and messages of one such row."""

LONGEST = 400
"""Length of a sentence and of a cell in characters."""

_NUMBERS = frozenset({"number", "duration", "time"})


def make_page(session: Session, names: Sequence[str], incident: Incident) -> str:
    """Makes the whole HTML page; names: those of the captures."""
    rows = list(dict.fromkeys(row for problem in incident.problems[:PROBLEMS] for row in list_rows(problem)))
    messages, shown = make_messages(session, rows[:MESSAGES])
    links = MessageLinks(shown)
    title = f"Incident: {', '.join(names)}"
    parts = [
        make_element("h1", title),
        _make_head(session, names, incident),
        _make_navigation(incident, messages),
        _make_section("problems", "Problems", _list_problems(session, incident, links)),
        _make_section("time", "Over time", list_charts(incident)),
        _make_section("operations", "Operations", _list_operations(incident)),
        _make_section("reports", "Reports", _list_reports(incident, links)),
        _make_section("messages", "Messages", [*messages, *_note_rest(len(rows) - len(shown), "message")]),
        make_element("footer", f"{PROGRAM} {find_version()} wrote this page. Secrets are masked."),
    ]
    style = Html(f"<style>{package_files(__package__).joinpath('page.css').read_text()}</style>")
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("title", title),
        style,
    )
    return f"<!DOCTYPE html>\n{make_element('html', head, make_element('body', *parts), lang='en')}\n"


def _make_section(id_: str, title: str, parts: Sequence[Html] | Iterator[Html]) -> Html:
    found = list(parts)
    return make_element("section", make_element("h2", title), *found, id=id_) if found else Html()


def _make_navigation(incident: Incident, messages: Sequence[Html]) -> Html:
    there = {"problems": True, "time": True, "operations": True, "reports": incident.reports, "messages": messages}
    names = [name for name, parts in there.items() if parts]
    return make_element("nav", *(make_element("a", name.capitalize(), href=f"#{name}") for name in names))


def _make_head(session: Session, names: Sequence[str], incident: Incident) -> Html:
    """Makes the summary of the capture: files, time and size."""
    counts, total, first, last = session.packets.counts, incident.over_time.total, *_find_span(incident)
    facts = {
        "captures": ", ".join(names),
        "from": "" if first is None else format_iso_time(first),
        "to": "" if last is None else format_iso_time(last),
        "lasts": "" if first is None or last is None else format_duration(last - first),
        "packets": f"{counts.packets:,} ({format_size(counts.bytes)})",
        "messages": f"{total.messages:,} ({format_size(total.bytes)}) in {format_counted(incident.streams, 'stream')}",
        "errors": format_count(total.errors),
        "unanswered": format_count(total.unanswered),
        "latency": f"p50 {format_duration(total.p50_ns)}, p99 {format_duration(total.p99_ns)}" if total.timed else "",
    }
    pairs = [(make_element("dt", key), make_element("dd", text)) for key, text in facts.items() if text]
    return make_element("dl", *(part for pair in pairs for part in pair))


def _find_span(incident: Incident) -> tuple[int | None, int | None]:
    return incident.over_time.first, incident.over_time.last


def _list_problems(session: Session, incident: Incident, links: MessageLinks) -> Iterator[Html]:
    """Yields the problems, the gravest first."""
    for problem in incident.problems[:PROBLEMS]:
        yield make_problem(session, problem, links)
    yield from _note_rest(len(incident.problems) - PROBLEMS, "problem")
    for finding in incident.defects:
        yield make_element("p", finding.text[:LONGEST])
    if not incident.problems:
        yield make_element("p", "No problems were found.")


def _list_operations(incident: Incident) -> Iterator[Html]:
    head = ["protocol", "operation", "messages", "bytes", "unanswered", "errors", "p50", "p99", "max"]
    rows = [
        [
            group.key[0],
            group.key[1] or "",
            f"{metrics.messages:,}",
            format_size(metrics.bytes),
            format_count(metrics.unanswered),
            format_count(metrics.errors),
            *map(format_duration, (metrics.p50_ns, metrics.p99_ns, metrics.max_ns)),
        ]
        for group in incident.operations[:OPERATIONS]
        for metrics in [group.metrics]
    ]
    if rows:
        yield make_table(head, rows, frozenset(range(2, 9)))
        yield from _note_rest(len(incident.operations) - OPERATIONS, "operation")


def _list_reports(incident: Incident, links: MessageLinks) -> Iterator[Html]:
    for name, table in incident.reports.items():
        summary = join_parts([make_element("b", name), f" {len(table.entries) + table.more:,}: {table.report.about}"])
        yield make_details(summary, *_list_entries(table, links), class_="report")


def _list_entries(table: ReportTable, links: MessageLinks) -> Iterator[Html]:
    """Yields the rows of a report, without empty columns."""
    entries = table.entries[:ENTRIES]
    places = [
        place
        for place, column in enumerate(table.report.columns)
        if not place or any(format_cell(column, entry.values[place]) not in ("", "0") for entry in entries)
    ]
    columns = [table.report.columns[place] for place in places]
    rows = [
        [
            format_iso_time(entry.first)[11:23],
            *(
                escape_text(format_cell(column, entry.values[place])[:LONGEST])
                for place, column in zip(places, columns, strict=True)
            ),
            _join_links(entry, links),
        ]
        for entry in entries
    ]
    numbers = frozenset(place for place, column in enumerate(columns, 1) if column.kind in _NUMBERS)
    yield make_table(["first", *map(make_title, columns), "messages"], rows, numbers)
    yield from _note_rest(len(table.entries) + table.more - len(entries), "row")


def _join_links(entry: ReportRow, links: MessageLinks) -> Html:
    rows = [row for _, row in entry.rows]
    return join_parts([links.join_links(rows[:LINKS]), ", ..." * (len(rows) > LINKS)])


def _note_rest(count: int, noun: str) -> Iterator[Html]:
    """Yields a note about what is left out, if anything is."""
    if count > 0:
        what = f"{format_counted(count, noun)} {'is' if count == 1 else 'are'} left out."
        yield make_element("p", what, class_="rest")


ROWS, EFFECTS = 6, 20
"""Number of messages that a problem names, and of effects on the page."""

LONGEST = 600
"""Characters of a sentence."""


def list_rows(problem: Problem) -> Iterator[int]:
    """Yields the rows of the first messages of a problem, and of the problems that it explains."""
    yield from problem.rows[:ROWS]
    for effect in problem.effects[:EFFECTS]:
        yield from effect.rows[:1]


def make_problem(session: Session, problem: Problem, links: MessageLinks) -> Html:
    """Makes the HTML of a problem with its messages; problems that it explains are folded below it."""
    severity, what = problem.severity.name.lower(), problem.label
    head = join_parts([make_element("b", f"{severity} {what}"), f", {format_counted(problem.count, 'time')}"])
    lines = [make_element("p", head, _format_span(session, problem)), make_element("p", problem.text[:LONGEST])]
    for row, finding, *_ in problem.examples[1:] if problem.code != ERROR_ANSWER else ():
        number = [] if row is None else [links.make_link(row), ": "]
        lines.append(make_element("p", join_parts([*number, as_sentence(finding.text)[:LONGEST]])))
    if problem.concerned:
        lines.append(make_element("p", f"It concerns {problem.concerned}."[:LONGEST]))
    if problem.advice:
        lines.append(make_element("p", make_element("b", "To do: "), problem.advice[:LONGEST]))
    if problem.rows:
        more = ", ..." if problem.count > len(problem.rows[:ROWS]) else ""
        lines.append(make_element("p", "Messages ", links.join_links(problem.rows[:ROWS]), more, class_="left"))
    if problem.effects:
        effects = [make_element("p", _format_effect(each, links)) for each in problem.effects[:EFFECTS]]
        count = len(problem.effects)
        rest = [make_element("p", f"{count - EFFECTS:,} more", class_="rest")] * (count > EFFECTS)
        lines.append(make_details(f"It explains {format_counted(count, 'more problem')}.", *effects, *rest, open=""))
    return make_element("section", *lines, class_=f"kind {severity}")


def _format_span(session: Session, problem: Problem) -> str:
    """Returns when the problem showed first and last; for connections, their number and port."""
    if problem.streams:
        return f", in {format_counted(len(problem.streams), 'stream')} to port {problem.port}"
    if problem.first is None or problem.last is None:
        return ""
    begin, end = (format_iso_time(int(session.rows.cell("time", row)))[11:23] for row in (problem.first, problem.last))
    return f", {begin}" if begin == end else f", {begin} to {end}"


def _format_effect(effect: Problem, links: MessageLinks) -> Html:
    first = [] if effect.first is None else [" (first: ", links.make_link(effect.first), ")"]
    return join_parts([f"{effect.count:,} x {effect.label}: {effect.text[:LONGEST]}", *first])
