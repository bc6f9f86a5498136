"""Facts from the rest of a capture about one message: names of its ids, its session, its reports.

Theory. All of this is enrichment: a message is decoded and shown without it. Only what is needed is read: the messages
that bind ids of the kinds in the message, the earlier requests of its session on its connection, and for reports the
rows around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from analyzer.decode.content import find_dissector, read_cell, read_context
from analyzer.decode.name_annotations import NameAnnotation, annotate, list_kinds, make_annotation
from analyzer.decode.name_resolver import NameResolver, read_values
from analyzer.decode.resolved_names import TOPIC
from analyzer.insight.reports import ReportPart, parts_of
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.field import Tree
from dissectors.name_binding import Exchange, SessionContents

MOST = 20_000
"""Number of requests that are read to find where a session began."""


class RelatedValues(NamedTuple):
    """Values of a message that come from other messages: names of its ids, and the contents of its session.

    parts: the message's part in each report, if reports were requested.
    """

    named: tuple[NameAnnotation, ...] = ()
    session_contents: SessionContents | None = None
    parts: tuple[ReportPart, ...] = ()


def relate_row(session: Analysis, row: int, tree: Tree) -> RelatedValues:
    """Returns what other messages say about a row; adds the names of ids to its tree."""
    contents = read_session_contents(session, row)
    kinds = list_kinds(session, row, tree) | ({TOPIC} if contents is not None else set())
    resolver = NameResolver(session, kinds)
    if kinds:
        resolver.learn(len(session.rows))
    return relate_by_names(resolver, row, tree, contents)._replace(parts=tuple(parts_of(session, row)))


def relate_by_names(resolver: NameResolver, row: int, tree: Tree, contents: SessionContents | None) -> RelatedValues:
    """Returns the same as relate_row(), with the names that are resolved so far."""
    named = {each[:2]: each for each in annotate(resolver, row, tree)}
    for topic in dict.fromkeys(each.topic for each in contents.partitions) if contents is not None else ():
        resolved = resolver.find(TOPIC, topic, row)
        if resolved is not None:
            named.setdefault((TOPIC, topic), make_annotation(TOPIC, topic, resolved))
    return RelatedValues(tuple(named.values()), contents)


def read_session_contents(session: Analysis, row: int) -> SessionContents | None:
    """Returns the contents of the session of a request, or of the request that a response answers."""
    dissector = find_dissector(session, row)
    role = session.rows.cell("role", row)
    request = read_cell(session, "partner", row) if role == Role.RESPONSE else row
    if dissector is None or request is None or role not in (Role.REQUEST, Role.RESPONSE):
        return None
    return defects.find_session_state(dissector, read_context(session, request), _exchanges(session, request))


def _exchanges(session: Analysis, row: int) -> Iterator[Exchange]:
    """Yields the requests of a connection with the same operation, from this one back."""
    table = session.rows
    alike = np.ones(row + 1, bool)
    for name in ("stream", "protocol", "code", "role"):
        alike &= table.column(name)[: row + 1] == table.cell(name, row)
    for number in np.flatnonzero(alike)[: -MOST - 1 : -1].tolist():
        partner = read_cell(session, "partner", number)
        answer = partial(read_values, session, partner) if partner is not None else lambda: None
        yield Exchange(number + 1, partial(read_values, session, number), answer)
