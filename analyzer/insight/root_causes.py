"""Folds problems into the problem that caused them.

Theory. When a leader moves, every client is redirected; when a member is expelled, its group rebalances. Each of these
shows as errors of its own. Protocols say which findings and errors may follow from which (RootCause), within what time,
and what both must have in common. Messages of a problem within the time of a cause become its effect; the others remain
a problem of their own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import RowReader
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, load_triage
from analyzer.insight.problems import MOST_ROWS, Problem, ProblemTable, as_sentence, sort_problems
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.triage import RootCause, Triage

_MINUTE = 60_000_000_000
_UNANSWERED = frozenset({"closed-unanswered", "unanswered", "connection-lost", "connection-reset"})
ABSENT_SERVER = RootCause("connection-refused", _UNANSWERED, _MINUTE, _MINUTE, "server")
"""A server that does not listen leaves requests unanswered. Effects of these are effects of this cause, too."""

_UNREAD = frozenset({*_UNANSWERED, "unfinished", "no-receipt"})
_SECOND = 1_000_000_000
_ALWAYS = 1 << 62

GENERAL = (
    RootCause("gap", frozenset({"gap", "unfinished"}), _ALWAYS, _ALWAYS, "stream"),
    *(RootCause(code, _UNREAD, 0, _SECOND, "stream") for code in ("malformed-body", "unknown-operation")),
    RootCause("unsupported-version", _UNREAD, 0, _SECOND, "stream"),
    RootCause("connection-lost", _UNANSWERED - {"connection-lost"}, _MINUTE, _MINUTE, "stream"),
    RootCause("orphan-response", frozenset({"guessed-layout"}), 0, 0, "stream"),
    RootCause("closed-unanswered", frozenset({"connection-reset"}), _MINUTE, _MINUTE, "stream"),
    RootCause("no-receipt", _UNANSWERED - {"connection-lost"}, _MINUTE, _MINUTE, "stream"),
)
"""Rules for all protocols; for example, a receiver that cannot read a request closes the connection."""


MOST_EXAMPLES = 16
"""Number of findings of a problem that are kept until effects are folded, so that some remain for the rest."""


def find_problems(session: Analysis, found: Iterable[LocatedFinding], examples: int = 1) -> list[Problem]:
    """Returns the problems of a session from its findings, the gravest first; see fold_effects().

    examples: number of findings with different texts that a problem keeps.
    """
    table = ProblemTable(session, max(examples, MOST_EXAMPLES))
    for each in found:
        table.add(each)
    problems = settle_problems(session, table)
    for problem in problems:
        problem.examples = problem.examples[:examples]
    return problems


def settle_problems(session: Analysis, table: ProblemTable) -> list[Problem]:
    """Returns the problems of a complete table, with problems that others explain folded."""
    every = table.list_problems()
    counts = [each.count for each in every]
    problems = fold_effects(session, every)
    for problem, count in zip(every, counts, strict=True):
        if problem.count != count and problem.rows:
            table.name(problem)
    return problems


def fold_effects(session: Analysis, problems: Sequence[Problem]) -> list[Problem]:
    """Returns the problems that no other problem explains, sorted; the others are among the effects of their causes."""
    for triage, mine in _group_by_triage(session, problems):
        for rule in (ABSENT_SERVER, *GENERAL) if triage is None else (ABSENT_SERVER, *triage.causes, *GENERAL):
            causes = [each for each in mine if rule.code in (each.code, each.error) and each.cause is None]
            for cause in sorted(causes, key=lambda each: not each.streams):
                if cause.cause is not None:
                    continue
                parts = list(_fold(session, rule, cause, mine))
                mine += parts
                problems = [*problems, *parts]
    return sort_problems(each for each in problems if each.cause is None and each.count)


def _group_by_triage(session: Analysis, problems: Sequence[Problem]) -> list[tuple[Triage | None, list[Problem]]]:
    """Groups problems by their triage tables: protocols of one system share a table, and so their causes."""
    triages = {each.name: load_triage(each) for each in session.engine.known.dissectors}
    found: dict[int, tuple[Triage | None, list[Problem]]] = {}
    for each in problems:
        triage = triages.get(each.protocol)
        found.setdefault(id(triage), (triage, []))[1].append(each)
    return list(found.values())


def _fold(session: Analysis, rule: RootCause, cause: Problem, problems: Sequence[Problem]) -> Iterator[Problem]:
    """Turns messages of other problems that match a rule into effects of a cause; yields the problems split off."""
    for each in problems:
        if each is cause or each.cause is not None or not ({each.code, each.error} & rule.effects):
            continue
        if rule.same == "subject" and not _share_subject(cause, each):
            continue
        taken = _find_taken(session, rule, cause, each)
        if rule.same == "stream" and taken.any():
            cause.severity = max(cause.severity, each.severity)
        if taken.all() and len(each.rows) < MOST_ROWS:
            each.cause = cause
            cause.effects += [each, *each.effects]
            each.effects = []
        elif taken.any() and each.rows:
            part = _split(each, np.array(each.rows, np.int64), taken)
            part.cause = cause
            cause.effects.append(part)
            yield part


def _share_subject(cause: Problem, effect: Problem) -> bool:
    """Returns whether two problems name the same thing; a problem without subject may be about anything."""
    first, second = ({*each.subject.replace(",", "").split(" ")[1:]} for each in (cause, effect))
    return not first or not second or bool(first & second)


def _split(problem: Problem, rows: Ints, taken: Bools) -> Problem:
    """Moves messages out of a problem into a problem of their own."""
    part = Problem(
        problem.severity, problem.code, problem.protocol, problem.error, problem.subject, problem.port,
        problem.text, problem.advice, int(np.count_nonzero(taken)), clients=problem.clients,
    )  # fmt: skip
    part.rows.extend(rows[taken].tolist())
    part.last = part.rows[-1]
    problem.count -= part.count
    explained = set(part.rows)
    part.examples = [each for each in problem.examples if each.row in explained]
    problem.examples = [each for each in problem.examples if each.row not in explained] or problem.examples
    if problem.code != ERROR_ANSWER:
        problem.text = as_sentence(problem.examples[0].finding.text)
    problem.rows = array("q", rows[~taken].tolist())
    return part


def _find_taken(session: Analysis, rule: RootCause, cause: Problem, effect: Problem) -> Bools:
    """Returns which messages, or connections, of a problem match a rule: by time, and by what both share."""
    marks, causing = _list_moments(session, cause)
    times, streams = _list_moments(session, effect)
    if not len(marks) or not len(times):
        return np.zeros(max(len(times), 1), bool)
    marks = np.sort(marks)
    behind = np.searchsorted(marks, times, "right") - 1
    since = times - marks[np.maximum(behind, 0)]
    until = marks[np.minimum(behind + 1, len(marks) - 1)] - times
    found = ((behind >= 0) & (since <= rule.after)) | ((until >= 0) & (until <= rule.before))
    if rule.same == "stream":
        found &= np.isin(streams, causing)
    elif rule.same == "name":
        found &= _have_same_name(session, cause, effect) if effect.rows else np.isin(streams, causing)
    elif rule.same in ("client", "server"):
        known = {_find_host(session, each, rule.same) for each in set(causing.tolist())}
        hosts = {each: _find_host(session, each, rule.same) in known for each in set(streams.tolist())}
        found &= np.array([hosts[each] for each in streams.tolist()], bool)
    return np.asarray(found, bool)


def _have_same_name(session: Analysis, cause: Problem, effect: Problem) -> Bools:
    """Returns for each message of an effect whether its client's name is also that of a client of the cause."""
    reader = RowReader(session)
    first, second = (reader.read_columns(("client",), np.array(each.rows, np.int64))[0] for each in (cause, effect))
    known = set(first) - {None}
    return np.array([name in known for name in second], bool)


def _list_moments(session: Analysis, problem: Problem) -> tuple[Ints, Ints]:
    """Returns when a problem showed, and on which connections: at its messages, else at the ends of its connections."""
    if problem.rows:
        rows = np.array(problem.rows, np.int64)
        return session.rows.column("time")[rows], session.rows.column("stream")[rows].astype(np.int64)
    streams = np.array(sorted(problem.streams), np.int64)
    return session.engine.streams.column("end")[streams], streams


def _find_host(session: Analysis, stream: int, same: str) -> str:
    """Returns the server of a connection, or the address of its client without the port."""
    if same == "server":
        return name_endpoint(session, stream, 1 - FROM_CLIENT)
    return name_endpoint(session, stream, FROM_CLIENT).rpartition(":")[0]
