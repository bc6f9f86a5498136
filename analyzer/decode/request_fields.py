"""Fields of a request that its answer's summary line shows.

Theory. An answer often says the least of an exchange: a size, a version, and not of what. The dissector names the
fields of the request that people want to read beside it (Dissector.request_fields); whoever makes a row's line asks
here for their values. A request counts only if its row stands before that of its answer and has not left memory: then a
row says the same while packets come as it does in the file.
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
"""Bytes of a request up to which it is read together with others."""

_NONE = -1


class RequestFields(NamedTuple):
    """The fields of a request that its response repeats, and the code of its operation."""

    code: int | None
    values: Mapping[str, Any]

    def add_to_body(self, body: Body) -> Body:
        """Returns the body of its answer with it."""
        return body._replace(request=self.values, request_code=self.code)


def read_fields(found: Undecoded, paths: frozenset[Path]) -> Mapping[str, Any]:
    """Returns the values of a message, with at least those at the paths; none of raw bytes."""
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
    """Returns for n `undecoded` rows the fields of their requests; None where they are not needed."""
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
    """Returns the body of a row with what its line needs of its request."""
    paths = list_request_fields(dissector, context)
    if not paths:
        return body
    request = next(_read_requests(session, find_request_rows(session, np.array([row])), [paths]))
    return body if request is None else request.add_to_body(body)


def _read_requests(
    session: Analysis, requests: Ints, paths: Sequence[frozenset[Path]]
) -> Iterator[RequestFields | None]:
    """Requests by their rows, _NONE for none; long ones are read when their turn comes."""
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
    """Returns the fields of its request that the line about such a message is made of, too."""
    if dissector is None or context.role is not Role.RESPONSE:
        return frozenset()
    return defects.list_request_fields(dissector, context)


def find_request_rows(session: Analysis, rows: Ints) -> Ints:
    """The row of the request that each of `rows` answers, if it came before and has not left; -1 for the others."""
    requests = session.rows.column("partner")[rows].astype(np.int64)
    usable = (requests >= session.rows.first) & (requests < rows) & (session.rows.column("role")[rows] == Role.RESPONSE)
    return np.where(usable, requests, _NONE)


def find_own_request_rows(session: Analysis, rows: Ints) -> Ints:
    """Does the same as find_request_rows(), and returns for a request its own row."""
    found: Ints = np.where(session.rows.column("role")[rows] == Role.REQUEST, rows, find_request_rows(session, rows))
    return found


def are_short(session: Analysis, requests: Ints) -> Bools:
    """Returns which requests are complete, and short enough to be read together (bool, n)."""
    found: Bools = session.rows.column("state")[requests] == State.COMPLETE
    return found & (session.rows.column("length")[requests] <= SHORT)
