"""Reads some values of many rows at once, for code that handles messages and prints none of them.

Theory. Similar rows match a template (analyzer.decode.template_decoder). The values of its message have symbolic values
where those of the others differ. Each symbolic value becomes a column. The values of each row are put together from the
columns; parts that are the same in all of them are shared, so nobody may change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from types import NoneType
from typing import Any

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.decode.template_decoder import TemplateDecoder
from analyzer.decode.templates import TemplateMatch
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector
from dissectors.message import Path
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import Bytes, Integer, NestedValue, Text

WantedPaths = Callable[[Dissector, Context], frozenset[Path]]
"""Which fields of a kind of messages are read."""

ReadBody = tuple[dict[str, Any], tuple[int, str] | None]
"""At least the wanted values of a message, and the error that it reports."""


_PLAIN = frozenset((str, int, float, bool, bytes, NoneType, Bytes, NestedValue))
"""Types of values without symbolic values inside. Rows with others (EmbeddedValue, say) are decoded alone."""


class ManyValues:
    """Reads the wanted values of rows that match templates, and keeps the templates."""

    def __init__(self, session: Analysis, paths: WantedPaths) -> None:
        self._paths = paths
        self._decoder = TemplateDecoder(RowReader(session), self._mark, needs_requests=False)

    def read_rows(self, rows: Ints) -> list[ReadBody | None]:
        """Returns the values of n rows; None for a row that must be decoded alone."""
        found: list[ReadBody | None] = [None] * len(rows)
        for group in self._decoder.find_groups(rows):
            body, wanted = group.match.template.body, group.match.template.texts
            values = _narrow(body.values, [tuple(path.split("/")) for path in wanted])
            for place, each in zip(group.places.tolist(), _spread((values, body.error), group.match), strict=False):
                found[place] = each
        return found

    def _mark(self, body: Body, dissector: Dissector, context: Context) -> dict[str, str]:
        """Marks what is wanted, so that templates check it. The slots are the paths."""
        paths = self._paths(dissector, context)
        wanted = _narrow(body.values, paths), body.error
        _mark_all(wanted)
        needed = set(map(id, _list_nested(wanted)))
        for nested in _list_nested(body.values):
            if id(nested) not in needed and isinstance(nested.builder, TemplateBuilder):
                nested.builder.leave_unread(nested)
        return {"/".join(path): "" for path in paths}


def _narrow(value: Any, paths: Iterable[Path]) -> Any:
    """Returns the parts of a value to which paths lead."""
    rests: dict[str, list[Path]] = {}
    for path in paths:
        if not path:
            return value
        rests.setdefault(path[0], []).append(path[1:])
    if type(value) is dict:
        return {name: _narrow(value[name], rest) for name, rest in rests.items() if name in value}
    return [_narrow(each, paths) for each in value] if type(value) is list else value


def _mark_all(value: Any) -> None:
    if type(value) in (dict, list, tuple):
        for each in value.values() if type(value) is dict else value:
            _mark_all(each)
    elif type(value) in (Integer, Text, PiecewiseText):
        str(value)
    elif type(value) not in _PLAIN:
        raise TypeError


def _list_nested(value: Any) -> Iterator[NestedValue]:
    if type(value) in (dict, list, tuple):
        for each in value.values() if type(value) is dict else value:
            yield from _list_nested(each)
    elif type(value) is NestedValue:
        yield value


def _spread(value: Any, match: TemplateMatch) -> Iterable[Any]:
    """Returns a value of the template's message as each of n messages has it; what all share comes without end."""
    kind = type(value)
    if kind in (dict, list, tuple):
        parts = [_spread(each, match) for each in (value.values() if kind is dict else value)]
        if all(type(part) is repeat for part in parts):
            return repeat(value)
        rows: Iterable[tuple[Any, ...]] = zip(*parts, strict=False)
        return [dict(zip(value, row, strict=True)) for row in rows] if kind is dict else list(map(kind, rows))
    if kind is PiecewiseText:
        return list(map("".join, zip(*(_spread(each, match) for each in value.pieces), strict=False)))
    return match.list_values(value) if kind in (Integer, Text, Bytes, NestedValue) else repeat(value)
