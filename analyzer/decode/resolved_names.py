"""Puts names in place of ids in the summary line of a row.

Theory. A line shows topic names instead of ids. The names are put into the values before the dissector formats the
line, so a text that only looks like an id stays unchanged, and the slow and the fast path of analyzer.render.forms show
the same. An id keeps its first name, so the line does not depend on the order in which rows are shown. For a file the
name may come from any row; for a stream, only from the row itself or an earlier one, however rows are divided into
blocks. Bindings are read only when the first row with a topic id is written.
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
    """Puts topic names into bodies before their line is formatted. `streaming`: see RowReader.

    resolver: a resolver with names; its owner must make it read bindings. edition: changes when names are read; lines
    formatted before may still show ids.
    """

    def __init__(self, session: Analysis, *, streaming: bool = False, resolver: NameResolver | None = None) -> None:
        self.session, self.streaming = session, streaming
        self.edition = 0
        self._resolver = NameResolver(session, (TOPIC,)) if resolver is None else resolver
        self._learns = resolver is None
        self._paths: dict[_Key, tuple[Path, ...]] = {}
        self._last = 0

    def begin_rows(self, rows: Ints) -> bool:
        """Announces the rows that are written next, in ascending order.

        Returns False if some of these rows bind a name, because other rows among them may use it.
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

        If `row` is None, the last row given to begin_rows() counts.
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
        """Returns the name of a topic id, from any row; the id itself if it has none."""
        if self._learns:
            self._resolver.learn(len(self.session.rows))
        return self._find_name(key, len(self.session.rows))

    def _find_name(self, key: str, row: int) -> str:
        known = self._resolver.find_first(TOPIC, key)
        return key if known is None or (self.streaming and known.row > row) else known.name

    def _replace_names(self, value: Any, path: Path, row: int) -> Any:
        """Returns a copy with names at the end of a path; the value itself if it has none."""
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
        """Returns whether any of these rows may have a topic id."""
        columns = [self.session.rows.column(name)[rows] for name in ("protocol", "code", "version", "role")]
        for protocol, code, version, role in np.unique(np.stack(columns), axis=1).T.tolist():
            dissector = self.session.engine.dissector(protocol)
            context = Context(Role(role), decode_null(code), decode_null(version))
            if dissector is not None and self._list_paths(dissector, context):
                return True
        return False
