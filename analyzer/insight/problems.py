"""Combines findings about the same thing into problems, with the affected clients, the meaning and advice.

Theory. A fault shows in many messages: each retry is refused again, each follower learns that the leader has changed.
The reader of a diagnosis wants to know what happened, not how often it was reported. Findings with the same code, error
and subject are one problem, which counts its messages and keeps the first of them. A problem that follows from another
one (dissectors.triage, RootCause) is its effect, and is shown with it (analyzer.insight.root_causes).

Memory is bounded: a problem keeps the rows of at most MOST_ROWS messages, a code has at most MOST_SUBJECTS problems,
and there are at most MOST_PROBLEMS; findings about further subjects, errors and ports are counted together.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.decode.bodies import decode_body
from analyzer.decode.endpoints import find_server_port, find_server_ports, name_endpoint
from analyzer.decode.rows import RowReader
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, load_triage
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT
from analyzer.query.fields import FieldPath, FieldReader, find_field
from analyzer.session import Analysis
from dissectors.api import Dissector
from dissectors.finding import ADVICE, ADVISED_BY_ERROR, Severity
from dissectors.slotted import field, make_slotted

MOST_ROWS = 65_536
"""Number of messages of a problem whose rows are kept."""

MOST_SUBJECTS = 12
"""Number of problems of the same code with different subjects."""

MOST_PROBLEMS = 1024
"""Number of problems of a capture; above it, all findings with the same code are one problem."""

NAMED = 64
"""Number of messages of a problem that are read for clients and subjects."""

DESCRIBED = 16
"""Number of messages of a problem whose requests are read for the description."""

_MOST_DETAILS = 2
"""Number of requests that a text describes."""

_LONGEST = 100
"""Length of a name in characters."""

MOST_NAMES = 4
"""Number of names that a text lists; the others are counted."""

_ATTEMPTS = frozenset({"connection-refused", "no-handshake"})
"""Findings of attempts to connect: those before a server begins to listen, and later ones, are two problems."""

_Key = tuple[str, str, str, str | None, int, Severity | None]
"""Protocol, code, error, subject (None: several); port of the server and severity if it is only about connections."""


@make_slotted(frozen=False, eq=False)
class Problem:
    """Findings of one code about one subject, reported as one problem.

    protocol, error, subject: empty if there is none. port: of the server, if it is about connections and not about
    messages. rows: the first messages that show it, ascending; last: the last one. streams: the connections of findings
    without a message. operations: the number of its messages by operation. clients: the affected clients. cause: the
    problem that explains this one; effects: those that this one explains.
    """

    severity: Severity
    code: str
    protocol: str
    error: str
    subject: str
    port: int
    text: str = ""
    advice: str = ""
    count: int = 0
    rows: array[int] = field(default_factory=lambda: array("q"))
    last: int | None = None
    streams: set[int] = field(default_factory=set)
    operations: Counter[str] = field(default_factory=Counter)
    clients: list[str] = field(default_factory=list)
    examples: list[LocatedFinding] = field(default_factory=list)
    cause: Problem | None = None
    effects: list[Problem] = field(default_factory=list)

    @property
    def first(self) -> int | None:
        """The row of the first message that shows the problem; None if no message does."""
        return self.rows[0] if self.rows else None

    @property
    def label(self) -> str:
        """Returns the name of a problem: the error in responses, or the code of its findings."""
        return self.error if self.code == ERROR_ANSWER and self.error else self.code

    @property
    def effect_names(self) -> list[str]:
        """Returns the labels of the effects with their counts, such as `26 x NODEEXISTS`."""
        counts: Counter[str] = Counter()
        for each in self.effects:
            counts[each.label] += each.count
        return [f"{count:,} x {label}" if count > 1 else label for label, count in counts.items()]

    @property
    def concerned(self) -> str:
        """Returns clients and subject for people, `clients a, b; topic c`; the subject only if the text lacks it."""
        parts = [f"client{'s' * (len(self.clients) > 1)} {join_names(self.clients)}"] if self.clients else []
        if self.subject and self.subject.lower() not in self.text.lower():
            parts.append(self.subject)
        return "; ".join(parts)

    def add(self, found: LocatedFinding, examples: int = 1) -> None:
        """Counts one more finding, and keeps it if its text is new; examples: how many are kept."""
        self.count += 1
        self.severity = max(self.severity, found.finding.severity)
        if found.stream is not None:
            self.streams.add(found.stream)
        if found.row is not None:
            if len(self.rows) < MOST_ROWS and (not self.rows or self.rows[-1] != found.row):
                self.rows.append(found.row)
            self.last = found.row if self.last is None else max(self.last, found.row)
        if len(self.examples) < examples and found.finding.text not in (each.finding.text for each in self.examples):
            self.examples.append(found)


class ProblemTable:
    """Collects the findings of a session as problems, in any order. examples: findings kept for each problem."""

    def __init__(self, session: Analysis, examples: int) -> None:
        self._session, self._examples = session, examples
        self._found: dict[_Key, Problem] = {}
        self._alike: Counter[tuple[str, str]] = Counter()
        self._by_port: dict[int, Dissector] | None = None
        self._names = _Names(session)

    def add(self, found: LocatedFinding) -> Problem:
        """Counts a finding for its problem; returns the problem."""
        dissector = self._find_dissector(found)
        protocol = "" if dissector is None else dissector.name
        port = find_server_port(self._session, found.stream) if found.stream is not None else 0
        finding = found.finding
        severity = finding.severity if finding.code in _ATTEMPTS else None
        key: _Key = (protocol, finding.code, found.error or "", finding.subject, port, severity)
        problem = self._found.get(key)
        if problem is None:
            alike = protocol, finding.code
            if self._alike[alike] >= MOST_SUBJECTS and finding.subject:
                key = (*key[:3], None, port, severity)
            if key not in self._found and len(self._found) >= MOST_PROBLEMS:
                key = (protocol, finding.code, "", None, 0, None)
            problem = self._found.get(key)
        if problem is None:
            self._alike[alike] += 1
            problem = self._found[key] = Problem(finding.severity, finding.code, protocol, key[2], key[3] or "", key[4])
        problem.add(found, self._examples)
        if finding.code == ERROR_ANSWER and found.row is not None:
            problem.operations[self._name_operation(found.row)] += 1
        return problem

    def count_unexplained(self) -> int:
        """Returns the number of problems that are more than notes and that no other problem explains."""
        return sum(each.severity > Severity.NOTE and each.cause is None for each in self._found.values())

    def sort_by_severity(self) -> list[Problem]:
        """Returns the problems without their texts, in the order of list_problems()."""
        return sort_problems(self._found.values())

    def list_problems(self) -> list[Problem]:
        """Returns the problems with their texts, the gravest first, and those with more messages before others."""
        for problem in self._found.values():
            self.describe(problem)
        return self.sort_by_severity()

    def describe(self, problem: Problem) -> None:
        """Sets the texts and names of a problem from its findings so far."""
        problem.rows = array("q", sorted(problem.rows))
        self.name(problem)
        problem.text, problem.advice = self._explain(problem)

    def name(self, problem: Problem) -> None:
        """Sets the clients and subjects of a problem from its messages, unless its check has set them."""
        self._names.add_names(problem)

    def _explain(self, problem: Problem) -> tuple[str, str]:
        first = max(problem.examples, key=lambda each: each.finding.severity).finding
        has_error = bool(problem.error and problem.protocol)
        dissector = self._session.engine.known.find_by_name(problem.protocol) if has_error else None
        triage = None if dissector is None else load_triage(dissector)
        meaning = None if triage is None else triage.explain_error(problem.error, problem.operations)
        general, of_error = ADVICE.get(problem.code, ""), "" if meaning is None else meaning.advice
        by_error = problem.code in ADVISED_BY_ERROR
        advice = first.advice or ((of_error or general) if by_error else (general or of_error))
        details = "" if dissector is None or first.subject else self._describe_requests(problem, dissector)
        if problem.code != ERROR_ANSWER or not problem.error:
            return f"{as_sentence(first.text)}{details}", advice
        operations = join_names([name for name, _ in problem.operations.most_common()])
        text = f"{operations}: {problem.error}."
        return f"{text if meaning is None else f'{text} {meaning.meaning}'}{details}", advice

    def _describe_requests(self, problem: Problem, dissector: Dissector) -> str:
        """Returns what the first requests of a problem contained, if the protocol can add something to the error."""
        session, describe = self._session, dissector.describe_error
        if describe is None:
            return ""
        found: dict[str, None] = {}
        for row in problem.rows[:DESCRIBED]:
            partner = int(session.rows.cell("partner", row))
            if partner >= session.rows.first:
                request, answer = (decode_body(session, each).values for each in (partner, row))
                text = defects.call_or_default(partial(describe, problem.error, request, answer), None)
                found |= {} if text is None else {text: None}
        more = " ..." if len(found) > _MOST_DETAILS else ""
        return "".join(f" {each}" for each in _join_details(list(found)[:_MOST_DETAILS])) + more

    def _find_dissector(self, found: LocatedFinding) -> Dissector | None:
        session = self._session
        if found.row is not None:
            return session.engine.dissector(session.rows.cell("protocol", found.row))
        if found.stream is not None:
            dissector = session.engine.dissector(session.engine.streams.cell("protocol", found.stream))
            return dissector or self._find_by_port(find_server_port(session, found.stream))
        return None

    def _find_by_port(self, port: int) -> Dissector | None:
        """Returns the protocol of a connection that was never opened: the one on its port, here or usually."""
        if self._by_port is None:
            known = self._session.engine.known.dissectors
            self._by_port = {usual: each for each in known for usual in (*each.tls_ports, *each.ports)}
            ports, protocols = find_server_ports(self._session), self._session.engine.streams.column("protocol")
            for actual, protocol in zip(ports.tolist(), protocols.tolist(), strict=True):
                dissector = self._session.engine.dissector(protocol)
                if dissector is not None:
                    self._by_port[actual] = dissector
        return self._by_port.get(port)

    def _name_operation(self, row: int) -> str:
        """Returns the operation of the request; for a message without request, its own."""
        rows, names = self._session.rows, self._session.engine.names
        partner = int(rows.cell("partner", row))
        operation = None if partner < 0 else names.text(rows.cell("operation", partner))
        return operation or names.text(rows.cell("operation", row)) or "a message"


def sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Returns problems, the gravest first; within a severity, errors in responses last, the frequent ones first."""
    return sorted(
        problems,
        key=lambda each: (-each.severity, each.code == ERROR_ANSWER, -each.count, each.code, each.error, each.subject),
    )


def _join_details(texts: Sequence[str]) -> Iterator[str]:
    """Yields descriptions as sentences; one that begins as the one before, such as "the broker says", as "Also"."""
    before = None
    for text in texts:
        begin, colon, rest = text.partition(": ")
        yield as_sentence(f"Also: {rest}" if colon and begin == before else text)
        before = begin


def as_sentence(text: str) -> str:
    """Returns a text with a capital at its beginning and a period at its end."""
    text = text.strip(" \n:")
    # A name at the beginning, such as a topic, keeps its case.
    shown = text[:1].upper() + text[1:] if text[:1].islower() and text.split(" ", 1)[0].isalpha() else text
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."


def join_names(names: Sequence[str]) -> str:
    """Joins names for people: `a, b and 3 more`."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1:,} more"


class _Names:
    """Finds the clients and subjects of problems."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._reader = RowReader(session)
        self._fields: dict[str, list[tuple[FieldPath, FieldReader]]] = {}

    def add_names(self, problem: Problem) -> None:
        """Sets the clients of a problem, and its subject if its check has not set it."""
        rows = np.array(problem.rows[:NAMED], np.int64)
        streams = dict.fromkeys(self._session.rows.column("stream")[rows].tolist()) if len(rows) else problem.streams
        ends = {name_endpoint(self._session, stream, FROM_CLIENT): None for stream in list(streams)[:NAMED]}
        clients = [name for name in self._reader.read_columns(("client",), rows)[0] if name] if len(rows) else []
        problem.clients = list(dict.fromkeys(clients)) or list(ends)
        if not problem.subject and len(rows) and problem.protocol:
            problem.subject = self._find_subject(problem.protocol, rows)

    def _find_subject(self, protocol: str, rows: Ints) -> str:
        """Returns the topics, groups or paths that the messages or their partners name."""
        partners = self._reader.find_partner_rows(rows)
        every = list_distinct(np.concatenate([rows, partners[partners >= 0]]))
        for path, fields in self._load_fields(protocol):
            found = fields.read_by_row(path, every)
            names = dict.fromkeys(str(value) for values in found for value in values if value not in (None, ""))
            if names:
                return f"{path.name.rpartition('.')[2]} {join_names([name[:_LONGEST] for name in names])}"
        return ""

    def _load_fields(self, protocol: str) -> list[tuple[FieldPath, FieldReader]]:
        if protocol not in self._fields:
            dissector = next(each for each in self._session.engine.known.dissectors if each.name == protocol)
            paths = [find_field(key) for key in dissector.columns if key.startswith(f"{protocol}.")]
            self._fields[protocol] = [(path, FieldReader(self._reader, [path])) for path in paths]
        return self._fields[protocol]
