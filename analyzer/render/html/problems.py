"""The problems of an incident page: what happened, whom it concerns, what it explains, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.columns.values import format_iso_time
from analyzer.insight.diagnosis import ERROR_ANSWER
from analyzer.insight.problems import Problem, as_sentence
from analyzer.render.amounts import format_counted
from analyzer.render.html.elements import Html, join_parts, make_details, make_element
from analyzer.render.html.messages import MessageLinks
from analyzer.session import Session

ROWS, EFFECTS = 6, 20
"""Messages that a problem names, and effects that it has on the page."""

LONGEST = 600
"""Characters of a sentence."""


def list_rows(problem: Problem) -> Iterator[int]:
    """Returns the rows of the first messages of a problem, and of the problems that it explains."""
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
    """When the first and the last message showed it; of connections, to which port they are."""
    if problem.streams:
        return f", in {format_counted(len(problem.streams), 'stream')} to port {problem.port}"
    if problem.first is None or problem.last is None:
        return ""
    begin, end = (format_iso_time(int(session.rows.cell("time", row)))[11:23] for row in (problem.first, problem.last))
    return f", {begin}" if begin == end else f", {begin} to {end}"


def _format_effect(effect: Problem, links: MessageLinks) -> Html:
    first = [] if effect.first is None else [" (first: ", links.make_link(effect.first), ")"]
    return join_parts([f"{effect.count:,} x {effect.label}: {effect.text[:LONGEST]}", *first])
