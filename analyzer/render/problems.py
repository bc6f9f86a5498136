"""Formats problems as lines for people, and as objects for programs (docs/reference/output.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.rows import RowReader
from analyzer.insight.diagnosis import ERROR_ANSWER
from analyzer.insight.problems import Problem, as_sentence, join_names
from analyzer.messages.index import FROM_CLIENT
from analyzer.render.clock import format_clock
from analyzer.render.fitting import wrap_text
from analyzer.session import Analysis
from dissectors.finding import Severity

SHOWN = 6
"""Number of messages that a line names."""

LONGEST = 600
"""Length of a sentence in characters."""

INDENT = " " * 9

KEYS = (
    *("number", "id", "severity", "code", "time", "protocol", "stream", "client", "server", "subject", "error"),
    *("count", "first", "last", "text", "advice", "caused_by"),
)
"""The keys of a problem."""


def make_problem_objects(session: Analysis, problems: Sequence[Problem]) -> Iterator[dict[str, Any]]:
    """Yields an object for each problem, followed by its effects; `caused_by` is CODE#NUMBER of the cause."""
    reader = RowReader(session)
    for problem in problems:
        yield _make_object(session, reader, problem)
        yield from make_problem_objects(session, problem.effects)


def _make_object(session: Analysis, reader: RowReader, problem: Problem) -> dict[str, Any]:
    row, cause = problem.first, problem.cause
    place: dict[str, Any] = {"number": None, "id": None, "time": None}
    stream = next(iter(problem.streams), None)
    if row is not None:
        (place,) = reader.read_objects(tuple(place), np.array([row]))
        stream = int(session.rows.cell("stream", row))
    ends = [None if stream is None else name_endpoint(session, stream, side) for side in (FROM_CLIENT, 1 - FROM_CLIENT)]
    return {
        "number": place["number"],
        "id": place["id"],
        "severity": problem.severity.name.lower(),
        "code": problem.code,
        "time": place["time"],
        "protocol": problem.protocol or None,
        "stream": None if stream is None else name_stream(session, stream),
        "client": ends[0],
        "server": ends[1],
        "subject": problem.subject or None,
        "error": problem.error or None,
        "count": problem.count,
        "first": place["number"],
        "last": None if problem.last is None else problem.last + 1,
        "text": problem.text,
        "advice": problem.advice or None,
        "caused_by": None if cause is None else name_problem(cause),
    }


def name_problem(problem: Problem) -> str:
    """Returns `CODE#NUMBER` with the number of the first message; only CODE if no message shows it."""
    return problem.code if problem.first is None else f"{problem.code}#{problem.first + 1}"


def format_live_problem(session: Analysis, problem: Problem) -> str:
    """Formats a problem as one line, with the time at which it showed first."""
    if problem.first is not None:
        time = int(session.rows.cell("time", problem.first))
    else:
        begins = [session.engine.streams.cell("begin", each) for each in problem.streams]
        time = int(min(begins, default=session.engine.streams.column("end").max(initial=0)))
    advice = f" To do: {problem.advice}" if problem.advice else ""
    explains = f" It explains {join_names(problem.effect_names)}." if problem.effects else ""
    where = f" (message {problem.first + 1})" if problem.first is not None else ""
    text = safe_text(f"{problem.text}{explains}{advice}{where}", LONGEST)
    return f"{format_clock(format_iso_time(time))[:12]}  {problem.severity.name.lower():<8} {problem.label}  {text}"


class ProblemLines:
    """Formats the lines of problems.

    describe: returns the operation and info of a message. where: describes connections to a port. width: cells of a
    line, or None.
    """

    def __init__(
        self,
        session: Analysis,
        describe: Callable[[int], str],
        where: Callable[[Problem], str],
        width: int | None,
    ) -> None:
        self._describe, self._where, self._width = describe, where, width
        self._reader = RowReader(session)

    def format_problem(self, problem: Problem) -> Iterator[str]:
        """Yields the lines of a problem: messages, what happened, affected clients, effects, advice."""
        head = f"{problem.severity.name.lower():<8} {problem.label:<24} {problem.count:>7,}  "
        yield from self._wrap(head, self._format_places(problem))
        yield from self._format_examples(problem)
        if problem.rows and problem.concerned:
            yield from self._wrap(INDENT, f"Concerns {problem.concerned}.")
        if problem.effects:
            yield from self._wrap(INDENT, f"It explains {self._format_effects(problem)}.")
        if problem.advice:
            yield from self._wrap(INDENT, f"To do: {problem.advice}")

    def format_retried(self, problems: Sequence[Problem]) -> Iterator[str]:
        """Yields a line for each problem that is_retried()."""
        count = sum(each.count for each in problems)
        head = f"{Severity.NOTE.name.lower():<8} {'retried errors':<24} {count:>7,}  "
        yield from self._wrap(head, "clients try again after these, and nothing is to be done unless they last")
        for each in problems:
            yield from self._wrap(INDENT, f"{_count_times(each)}{each.text} ({_format_rows(each)})")

    def _format_places(self, problem: Problem) -> str:
        if problem.streams:
            return self._where(problem)
        first = problem.first
        if first is None or problem.last is None:
            return ""
        begin, end = self._reader.read_columns(("time",), np.array([first, problem.last]))[0]
        span = format_clock(begin)[:12]
        if format_clock(end)[:12] != span:
            span += f" to {format_clock(end)[:12]}"
        return f"{_format_rows(problem)}, {span}"

    def _format_examples(self, problem: Problem) -> Iterator[str]:
        """Yields what happened, and the message that shows it; also further findings with other texts."""
        yield from self._wrap(INDENT, problem.text)
        for known, finding, *_ in problem.examples:
            row = known if known in problem.rows else problem.first
            if finding is not problem.examples[0].finding:
                yield from self._wrap(INDENT, as_sentence(finding.text))
            request = self._find_request(problem, row)
            for each in (request, row):
                if each is not None and (message := self._describe(each)):
                    yield f"{INDENT}{each + 1}: {safe_text(message, LONGEST)}"

    def _find_request(self, problem: Problem, row: int | None) -> int | None:
        """Returns the request of a response with an error; None if the problem is no error."""
        if row is None or not problem.error:
            return None
        partner = int(self._reader.session.rows.cell("partner", row))
        return partner if partner >= self._reader.session.rows.first else None

    def _format_effects(self, problem: Problem) -> str:
        """Formats each effect with its messages."""
        return join_names(
            [f"{_count_times(each)}{each.error or each.code} ({self._format_places(each)})" for each in problem.effects]
        )

    def _wrap(self, begin: str, text: str) -> Iterator[str]:
        shown = safe_text(text, LONGEST)
        if self._width is None:
            return iter([f"{begin}{shown}".rstrip()])
        return map(str.rstrip, wrap_text(shown, self._width, begin))


def _count_times(problem: Problem) -> str:
    """Formats as `26 x `; an empty text for one."""
    return f"{problem.count:,} x " if problem.count > 1 else ""


def is_retried(problem: Problem) -> bool:
    """Returns whether a problem is an error after which clients retry; these are listed together."""
    return problem.code == ERROR_ANSWER and problem.severity == Severity.NOTE and not problem.effects


def _format_rows(problem: Problem) -> str:
    """Formats as `messages 3, 9, ...`."""
    shown = problem.rows[:SHOWN]
    more = ", ..." if problem.count > len(shown) else ""
    return f"message{'s' if problem.count > 1 else ''} {', '.join(f'{row + 1}' for row in shown)}{more}"
