"""Reads fields of a request for the summary line of its response.

Theory. A response often repeats little of the exchange: it has a size or a version, but not the object they belong to.
The dissector lists the fields of the request that the line of the response should show (Dissector.request_fields), and
the code that formats lines reads their values here. A request counts only if its row is before that of its response and
has not been evicted. So a row looks the same in a live capture and in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.content import Undecoded, read_undecoded
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, Pick, Role, State
from dissectors.message import Path

SHORT = 4096
"""Length in bytes up to which requests are read together."""

_NONE = -1


class RequestFields(NamedTuple):
    """Holds the fields of a request that its response repeats, and the code of its operation."""

    code: int | None
    values: Mapping[str, Any]

    def add_to_body(self, body: Body) -> Body:
        """Returns the body of the response with these fields."""
        return body._replace(request=self.values, request_code=self.code)


def read_fields(found: Undecoded, paths: frozenset[Path]) -> Mapping[str, Any]:
    """Returns the values of a message, at least those at the paths; none for raw bytes."""
    dissector, message, context = found
    if dissector is None:
        return {}
    pick = None
    if context.extra is None:
        pick = _make_projection(dissector, context.role, context.code, context.version, paths)
    return defects.project_values(dissector, pick, message, context)


@lru_cache(maxsize=4096)
def _make_projection(
    dissector: Dissector, role: Role, code: int | None, version: int | None, paths: frozenset[Path]
) -> Pick | None:
    return defects.make_projection(dissector, Context(role, code, version, None), paths)


def find_requests(session: Analysis, rows: Ints, undecoded: Sequence[Undecoded]) -> Iterator[RequestFields | None]:
    """Yields for n `undecoded` rows the fields of their requests; None where they are not needed."""
    known: dict[int, frozenset[Path]] = {}
    for dissector, _, context in undecoded:
        if id(context) not in known:
            known[id(context)] = list_request_fields(dissector, context)
    if not any(known.values()):
        return repeat(None, len(rows))
    paths = [known[id(context)] for _, _, context in undecoded]
    wanted = np.array([bool(each) for each in paths])
    return _read_requests(session, np.where(wanted, find_request_rows(session, rows), _NONE), paths)


def add_request(session: Analysis, row: int, body: Body, dissector: Dissector, context: Context) -> Body:
    """Returns the body of a row with the request fields that its line needs."""
    paths = list_request_fields(dissector, context)
    if not paths:
        return body
    request = next(_read_requests(session, find_request_rows(session, np.array([row])), [paths]))
    return body if request is None else request.add_to_body(body)


def _read_requests(
    session: Analysis, requests: Ints, paths: Sequence[frozenset[Path]]
) -> Iterator[RequestFields | None]:
    """Yields the fields of requests, None for _NONE; reads long requests only when their turn comes."""
    there = np.flatnonzero(requests >= 0)
    short = there[session.rows.column("length")[requests[there]] <= SHORT]
    together = dict(zip(short.tolist(), read_undecoded(session, requests[short]), strict=True))
    for place, row in enumerate(requests.tolist()):
        if row < 0:
            yield None
            continue
        found = together.pop(place, None) or read_undecoded(session, np.array([row]))[0]
        yield None if found[0] is None else RequestFields(found[2].code, read_fields(found, paths[place]))


def list_request_fields(dissector: Dissector | None, context: Context) -> frozenset[Path]:
    """Returns the request fields that the line of such a message needs."""
    if dissector is None or context.role is not Role.RESPONSE:
        return frozenset()
    return defects.list_request_fields(dissector, context)


def find_request_rows(session: Analysis, rows: Ints) -> Ints:
    """Returns the row of the request that each row answers, if it came before and is in memory; -1 for the others."""
    requests = session.rows.column("partner")[rows].astype(np.int64)
    usable = (requests >= session.rows.first) & (requests < rows) & (session.rows.column("role")[rows] == Role.RESPONSE)
    return np.where(usable, requests, _NONE)


def find_own_request_rows(session: Analysis, rows: Ints) -> Ints:
    """Returns the same as find_request_rows(), but for a request its own row."""
    found: Ints = np.where(session.rows.column("role")[rows] == Role.REQUEST, rows, find_request_rows(session, rows))
    return found


def are_short(session: Analysis, requests: Ints) -> Bools:
    """Returns which requests are complete, and short enough to be read together (bool, n)."""
    found: Bools = session.rows.column("state")[requests] == State.COMPLETE
    return found & (session.rows.column("length")[requests] <= SHORT)
