"""What the line about an answer is made of besides the answer: fields of the request that it answers.

Theory. An answer often says the least of an exchange: a size, a version, and not of what. The dissector names the
fields of the request that people want to read beside it (Dissector.recalls), and whoever makes the line of a row asks
here for their values. A request counts only if its row stands before that of its answer and has not left memory: then a
row says the same while packets come as it does in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode import defects
from dissectors.api import Body, Context, Dissector, Pick, Role, State, Window

if TYPE_CHECKING:
    from analyzer.session import Analysis
    from dissectors.lesson import Path

SHORT = 4096
"""Bytes of a request up to which it is read together with others."""

_NONE = -1

Readable = tuple[Dissector | None, bytes | Window, Context]


class Request(NamedTuple):
    """What is known of one: the code of its operation, and values."""

    code: int | None
    values: Mapping[str, Any]

    def beside(self, body: Body) -> Body:
        """The body of its answer with it."""
        return body._replace(request=self.values, asked=self.code)


class Fields:
    """Reads some fields of messages, each by itself."""

    def __init__(self) -> None:
        self._picks: dict[tuple[object, ...], Pick | None] = {}

    def read(self, found: Readable, paths: frozenset[Path]) -> Mapping[str, Any]:
        """The values of a message, with at least those at the paths; none of raw bytes."""
        dissector, message, context = found
        if dissector is None:
            return {}
        key = dissector, context.role, context.code, context.version, paths
        if context.extra is None and key not in self._picks:
            self._picks[key] = defects.picker(dissector, context, paths)
        pick = None if context.extra is not None else self._picks[key]
        return defects.picked(dissector, pick, message, context)


class Recalled:
    """Reads fields of requests for the rows of a session."""

    def __init__(self, session: Analysis) -> None:
        self._session, self._fields = session, Fields()

    def of(self, rows: Ints, readable: Sequence[Readable]) -> Iterator[Request | None]:
        """For each of `rows`, which are `readable`, its request; None where nothing of it is wanted."""
        known: dict[int, frozenset[Path]] = {}
        for dissector, _, context in readable:
            if id(context) not in known:
                known[id(context)] = recalls(dissector, context)
        if not any(known.values()):
            return repeat(None, len(rows))
        paths = [known[id(context)] for _, _, context in readable]
        wanted = np.array([bool(each) for each in paths])
        return self._requests(np.where(wanted, requests(self._session, rows), _NONE), paths)

    def body(self, row: int, body: Body, dissector: Dissector, context: Context) -> Body:
        """The body of a row with what its line needs of its request."""
        paths = recalls(dissector, context)
        if not paths:
            return body
        request = next(self._requests(requests(self._session, np.array([row])), [paths]))
        return body if request is None else request.beside(body)

    def _requests(self, asked: Ints, paths: Sequence[frozenset[Path]]) -> Iterator[Request | None]:
        """Requests by their rows, _NONE for none; long ones are read when their turn comes."""
        session = self._session
        there = np.flatnonzero(asked >= 0)
        short = there[session.rows.column("length")[asked[there]] <= SHORT]
        together = dict(zip(short.tolist(), session.readable(asked[short]), strict=True))
        for place, row in enumerate(asked.tolist()):
            if row < 0:
                yield None
                continue
            found = together.pop(place, None) or session.readable(np.array([row]))[0]
            yield None if found[0] is None else Request(found[2].code, self._fields.read(found, paths[place]))


def recalls(dissector: Dissector | None, context: Context) -> frozenset[Path]:
    """The fields of its request that the line about such a message is made of, too."""
    if dissector is None or context.role is not Role.RESPONSE:
        return frozenset()
    return frozenset(defects.told(partial(dissector.recalls, context)))


def requests(session: Analysis, rows: Ints) -> Ints:
    """The row of the request that each of `rows` answers, if it came before and has not left; -1 for the others."""
    asked = session.rows.column("partner")[rows].astype(np.int64)
    usable = (asked >= session.first) & (asked < rows) & (session.rows.column("role")[rows] == Role.RESPONSE)
    return np.where(usable, asked, _NONE)


def own_requests(session: Analysis, rows: Ints) -> Ints:
    """The same, and of a request its own row."""
    found: Ints = np.where(session.rows.column("role")[rows] == Role.REQUEST, rows, requests(session, rows))
    return found


def are_short(session: Analysis, asked: Ints) -> Bools:
    """Which requests are whole, and short enough to be read together."""
    found: Bools = session.rows.column("state")[asked] == State.COMPLETE
    return found & (session.rows.column("length")[asked] <= SHORT)
