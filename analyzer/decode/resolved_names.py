"""Names in the place of ids in the line about a row, for people.

Theory. A line names topics where it would show their ids. This is done to the values, before the dissector makes its
line of them, so a text that only looks like an id is left alone, and both roads of analyzer.render.forms do the same.
An id keeps the first name that it had, so a line does not depend on the rows around it: of a file on all that is in it;
of a stream on what was told at or before its row, however rows come together in blocks. Nothing is learned before the
first row with a topic's id is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analyzer.columns.arrays import Ints, decode_null
from analyzer.decode.name_resolver import NameResolver
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, Role
from dissectors.message import Path

TOPIC = "topic"

_Key = tuple[str, int | None, int | None, Role]


class TopicNamer:
    """Names topics in bodies before a line is made of them. `streaming`: see Rows.

    resolver: names that were learned before; whoever passes it makes it learn more. edition: changes when names are
    learned; lines that were made of bodies before may have ids in place of these names.
    """

    def __init__(self, session: Analysis, *, streaming: bool = False, resolver: NameResolver | None = None) -> None:
        self.session, self.streaming = session, streaming
        self.edition = 0
        self._resolver = NameResolver(session, (TOPIC,)) if resolver is None else resolver
        self._learns = resolver is None
        self._paths: dict[_Key, tuple[Path, ...]] = {}
        self._last = 0

    def begin_rows(self, rows: Ints) -> bool:
        """Announces the rows that are written next, in rising order.

        Returns False if some of them bind a name that others use.
        """
        if not self.streaming or not len(rows):
            return True
        self._last = int(rows[-1])
        if not self._have_topic_ids(rows):
            return True
        if self._resolver.learn(int(rows[0])):
            self.edition += 1
        if not self._resolver.learn(self._last + 1):
            return True
        self.edition += 1
        return False

    def fill_in_names(self, dissector: Dissector, body: Body, context: Context, row: int | None = None) -> Body:
        """Returns the body with names in place of topic ids, as known at a row.

        Without a row, it uses the last one given to begin().
        """
        paths = self._list_paths(dissector, context)
        if not paths:
            return body
        row = self._last if row is None else row
        if self._learns:
            self._resolver.learn(row + 1 if self.streaming else len(self.session.rows))
        values = body.values
        for path in paths:
            values = self._replace_names(values, path, row)
        return body if values is body.values else body._replace(values=values)

    def find_topic(self, key: str) -> str:
        """Returns the name of a topic id, whichever row gives it; the id if none does."""
        if self._learns:
            self._resolver.learn(len(self.session.rows))
        return self._find_name(key, len(self.session.rows))

    def _find_name(self, key: str, row: int) -> str:
        known = self._resolver.find_first(TOPIC, key)
        return key if known is None or (self.streaming and known.row > row) else known.name

    def _replace_names(self, value: Any, path: Path, row: int) -> Any:
        """A copy with names at the end of a path; the value itself where there are none."""
        if isinstance(value, list):
            found = [self._replace_names(each, path, row) for each in value]
            return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
        if not path:
            return self._find_name(value, row) if type(value) is str else value
        if not isinstance(value, dict) or path[0] not in value:
            return value
        old = value[path[0]]
        new = self._replace_names(old, path[1:], row)
        return value if new is old else {**value, path[0]: new}

    def _list_paths(self, dissector: Dissector, context: Context) -> tuple[Path, ...]:
        key = dissector.name, context.code, context.version, context.role
        found = self._paths.get(key)
        if found is None:
            references = defects.list_references(dissector, context)
            found = tuple(each.path for each in references if each.kind == TOPIC and each.scope is None)
            self._paths[key] = found
        return found

    def _have_topic_ids(self, rows: Ints) -> bool:
        """Whether any of these rows may have the id of a topic."""
        columns = [self.session.rows.column(name)[rows] for name in ("protocol", "code", "version", "role")]
        for protocol, code, version, role in np.unique(np.stack(columns), axis=1).T.tolist():
            dissector = self.session.engine.dissector(protocol)
            context = Context(Role(role), decode_null(code), decode_null(version))
            if dissector is not None and self._list_paths(dissector, context):
                return True
        return False
