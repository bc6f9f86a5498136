"""What a message itself says that it is about: topics, groups of consumers, paths of nodes.

Theory. The values stand at the places that a filter asks (`kafka.topic`, analyzer.query.fields.getting). They are read
from the body that the other columns are made of: from decoded values, or once for all rows of a template. In a template
a value may be symbolic, so they become a JSON text there, as a body does. A list that each message has for itself is
searched message by message, after it was decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from analyzer.columns.arrays import Ints, make_group_keys
from analyzer.decode.content import make_context
from analyzer.decode.template_json import MarkingWriter
from analyzer.query.fields import find_field
from analyzer.query.fields.getting import Getter, NestedLeaves, ScopedNumber, find_leaves, make_getter
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import escape_surrogates
from dissectors.api import Context, Dissector
from dissectors.catalog import FieldAlias
from dissectors.symbolic_values import WrittenValue
from dissectors.wire.fast_path import NULL

ALIASES: Mapping[str, Collection[str]] = {
    "topics": ("topic",),
    "groups": ("group", "subscription"),
    "paths": ("path",),
}
"""The columns, and how protocols call what stands in them; a protocol has one of these names or none."""

TopicItem = str | ScopedNumber


class TopicValues(NamedTuple):
    """What a message names: for each column of ALIASES its texts, and numbers that stand for some."""

    protocol: str
    columns: tuple[tuple[TopicItem, ...], ...]


NO_TOPICS = TopicValues("", ((),) * len(ALIASES))

Getters = Sequence[Getter | None]
"""One for each column of ALIASES; none at all where a message never names anything."""


class TopicValueReader:
    """Reads the values that messages of a context name. Keeps the getters of each context."""

    def __init__(self) -> None:
        self._getters: dict[tuple[object, ...], Getters] = {}

    def find_getters(self, dissector: Dissector | None, context: Context) -> Getters:
        """Returns what reads the messages of a context."""
        if dissector is None:
            return ()
        key = (dissector.name, context.role, context.code, context.version)
        if key not in self._getters:
            found = [
                None
                if alias is None
                else make_getter(find_field(f"{dissector.name}.{alias.name}"), dissector, context, None)
                for alias in list_aliases(dissector)
            ]
            self._getters[key] = found if any(found) else ()
        return self._getters[key]

    def find_row_getters(self, session: Analysis, rows: Ints) -> tuple[list[Getters], Ints]:
        """Returns the getters of n rows: the different ones, and for each row which of them it has."""
        contexts, keys = list_contexts(session, rows)
        return [self.find_getters(*context) for context in contexts], keys


def list_contexts(session: Analysis, rows: Ints) -> tuple[list[tuple[Dissector | None, Context]], Ints]:
    """Returns the dissectors and contexts of n rows, but `extra`: the different ones, and for each row its index."""
    columns, keys = make_group_keys(
        [session.rows.column(name)[rows] for name in ("protocol", "role", "code", "version")]
    )
    kinds = zip(*(column.tolist() for column in columns), strict=True)
    return [
        (session.engine.dissector(protocol), make_context(session, role, code, version, NULL))
        for protocol, role, code, version in kinds
    ], keys


def list_aliases(dissector: Dissector) -> list[FieldAlias | None]:
    """Returns for each column of ALIASES the field alias of a protocol that it has."""
    aliases = () if dissector.catalog is None else dissector.catalog.field_aliases()
    return [next((alias for alias in aliases if alias.name in names), None) for names in ALIASES.values()]


def read_topic_values(protocol: str, getters: Getters, values: Mapping[str, Any]) -> TopicValues:
    """Returns what a message with these decoded values names."""
    columns = tuple(() if each is None else tuple(filter(_is_item, each.get(values))) for each in getters)
    return TopicValues(protocol, columns) if any(columns) else NO_TOPICS


def _is_item(value: object) -> bool:
    return type(value) is str or type(value) is ScopedNumber


def format_topic_values(protocol: str, getters: Getters, values: Mapping[str, Any], writer: MarkingWriter) -> str:
    """Returns the same of the symbolic values of a template, as JSON with marks."""
    columns = [[] if each is None else list(map(_make_json_item, each.get(values))) for each in getters]
    return writer.dumps([protocol, *columns] if any(columns) else []).decode()


def _make_json_item(value: Any) -> Any:
    if type(value) is ScopedNumber:
        return {value.scope: value.number}
    if type(value) is NestedLeaves:
        write = partial(_format_nested, path=value.path)
        return orjson.Fragment(value.nested.builder.mark(WrittenValue(value.nested, write)))
    return value if isinstance(value, str) else None


def _format_nested(values: Sequence[Any], path: Sequence[str]) -> list[bytes]:
    lists = ([leaf for leaf in find_leaves(value, tuple(path)) if type(leaf) is str] for value in values)
    return [orjson.dumps(escape_surrogates(each)) for each in lists]


def parse_topic_values(text: bytes | str) -> TopicValues:
    """Returns the values of a JSON text of format_topic_values() whose marks are filled in."""
    protocol, *columns = orjson.loads(text) or [NO_TOPICS.protocol]
    if not columns:
        return NO_TOPICS
    return TopicValues(protocol, tuple(tuple(_parse_items(column)) for column in columns))


def _parse_items(items: list[Any]) -> Iterator[TopicItem]:
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from map(ScopedNumber, item, item.values())
        elif item is not None:
            yield from item
