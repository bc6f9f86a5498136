"""Reads the answer to a four-letter word line by line, by the table of lines (tables/words.json).

Theory. An answer does not name its word and need not, because the formats of lines exclude each other. So an answer is
read in the same way with its word and without, from any release; a line of no known format stays text. Lines are
matched as Latin-1, in which a character is a byte; names and values are decoded from their bytes as UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import isfinite
from typing import NamedTuple

from dissectors.field import FieldSpec
from dissectors.wire.parts import ValuePart, text_of
from dissectors.wire.specs import LayoutSpec, Many, RepeatedSpec, element
from dissectors.zookeeper.labels import labels
from dissectors.zookeeper.tables import table

MOST_LINES, LONGEST_LINE = 65_536, 65_536
"""Lines of an answer that are looked at, and bytes of one; what is beyond stays text."""

_MOST_ATTRIBUTES = 64
_LINE = re.compile(r"([^\r\n]*)[\r\n]*")
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,32}\.\d{1,32}(?:E-?\d{1,3})?", re.ASCII)
_ATTRIBUTE = re.compile(r",?(?:([^,=]+)=)?([^,]*)")
_PLAIN = LayoutSpec("line", "text")


class AnswerForm(NamedTuple):
    """A row of the table: `into` is the list whose element a line is, `item` the form of its `items`."""

    line: re.Pattern[str]
    into: str | None
    items: str | None
    item: re.Pattern[str] | None
    opens: str | None
    under: str | None


class AnswerLine(NamedTuple):
    """Where a line begins, its text ends, and the next one begins."""

    start: int
    end: int
    stop: int


class Section(NamedTuple):
    """Consecutive parts of an answer: elements of the list of that name, or (None) values and text."""

    into: str | None
    parts: list[ValuePart]


@cache
def forms() -> tuple[AnswerForm, ...]:
    """Returns all forms of lines, from the table."""
    return tuple(
        AnswerForm(
            re.compile(row["line"], re.ASCII),
            row.get("list"),
            row.get("items"),
            re.compile(row["item"], re.ASCII) if "item" in row else None,
            row.get("opens"),
            row.get("under"),
        )
        for row in table("four_letter_commands")["lines"]
    )


def answer_parts(data: bytes) -> tuple[ValuePart, ...]:
    """Makes a part that covers an answer, with the values in it; none if it has no lines of a known form."""
    sections: list[Section] = []
    known = False
    for part, name in _lines(data):
        known = known or not isinstance(part.spec, LayoutSpec)
        if not sections or sections[-1].into != name:
            sections.append(Section(name, []))
        sections[-1].parts.append(part)
    if not known:
        return ()
    inside = tuple(part for section in sections for part in _join_section(section))
    return (ValuePart(FieldSpec("values", "struct"), None, 0, len(data), inside=inside),)


def _join_section(section: Section) -> list[ValuePart]:
    """The parts of a section, elements in a list of their own."""
    parts = section.parts
    if section.into is None:
        return parts
    return [ValuePart(RepeatedSpec(section.into, "array"), None, parts[0].start, parts[-1].stop, inside=tuple(parts))]


def _lines(data: bytes) -> Iterator[tuple[ValuePart, str | None]]:
    """The parts in order, each with the list whose element it is."""
    text = data.decode("latin-1")
    section: str | None = None
    counts: dict[str, int] = {}
    at, left = 0, MOST_LINES
    while at < len(text) and left:
        line = _line_at(text, at)
        form, found = _form_of(text, line, section)
        at, left = line.stop, left - 1
        if form is None or found is None or not (found.groupdict() or form.opens):
            yield _plain(data, line.start, line.stop, line.end), None
            continue
        section = form.opens or section
        parts = list(_groups(data, found, line.start, line.stop))
        if form.into is None:
            for part in parts or [_plain(data, line.start, line.stop, line.end)]:
                yield part, None
            continue
        if form.item is not None:
            items = list(_items(data, text, line.stop, form.item, left))
            left -= len(items)
            if items:
                at = items[-1].stop
                parts.append(ValuePart(Many(form.items or "items", "array"), None, line.stop, at, inside=tuple(items)))
        index = counts[form.into] = counts.get(form.into, -1) + 1
        yield ValuePart(element(index, "struct"), None, line.start, at, inside=tuple(parts)), form.into
    if at < len(data):
        yield _plain(data, at, len(data), len(data)), None


def _line_at(text: str, at: int) -> AnswerLine:
    """The line there, with the empty ones behind it."""
    found = _LINE.match(text, at)
    assert found is not None
    return AnswerLine(at, found.end(1), max(found.end(), at + 1))


def _form_of(text: str, line: AnswerLine, section: str | None) -> tuple[AnswerForm | None, re.Match[str] | None]:
    if line.end - line.start <= LONGEST_LINE:
        for form in forms():
            if form.under is None or form.under == section:
                found = form.line.fullmatch(text, line.start, line.end)
                if found is not None:
                    return form, found
    return None, None


def _items(data: bytes, text: str, at: int, form: re.Pattern[str], most: int) -> Iterator[ValuePart]:
    """The indented lines from an offset on: each a value, or a struct of several."""
    for index in range(most):
        if at == len(text):
            return
        line = _line_at(text, at)
        found = form.fullmatch(text, line.start, line.end) if line.end - line.start <= LONGEST_LINE else None
        if found is None:
            return
        parts = tuple(_groups(data, found, line.start, line.stop))
        if len(parts) == 1:
            (one,) = parts
            yield ValuePart(element(index, one.spec.type), one.value, one.start, one.stop, one.head)
        else:
            yield ValuePart(element(index, "struct"), None, line.start, line.stop, inside=parts)
        at = line.stop


def _groups(data: bytes, found: re.Match[str], start: int, stop: int) -> Iterator[ValuePart]:
    """What a line's groups say; the parts tile it."""
    names = found.groupdict()
    if "key" in names:
        yield _value(_text(data, *found.span("key")), data, found.span("value"), start, stop)
    elif "what" in names:
        yield _make_value_list(data, found, start, stop)
    elif names:
        pairs = [pair for name in names for pair in _find_named_spans(name, found)]
        last = len(pairs) - 1
        for index, (name, span) in enumerate(pairs):
            end = stop if index == last else span[1]
            yield _value(name, data, span, start, end)
            start = end


def _find_named_spans(name: str, found: re.Match[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """A group with its place; attributes are many."""
    if name != "attributes":
        yield name, found.span(name)
        return
    at, end = found.span(name)
    for _ in range(_MOST_ATTRIBUTES):
        match = _ATTRIBUTE.match(found.string, at, end)
        if at == end or match is None:
            return
        yield match[1] or "attribute", match.span(2)
        at = match.end()


def _make_value_list(data: bytes, found: re.Match[str], start: int, stop: int) -> ValuePart:
    """`Latency min/avg/max: 0/0.5/12`: several values, as there are names for them; else it is one text."""
    names, (at, end) = found["names"].split("/"), found.span("values")
    values = found["values"].split("/")
    if len(values) != len(names):
        return _value(f"{found['what']} {found['names']}", data, (at, end), start, stop)
    inside = []
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        until = at + len(value)
        close = stop if index == len(names) - 1 else until
        inside.append(_value(f"{found['what']} {name}", data, (at, until), start, close))
        start, at = close, until + 1
    return ValuePart(
        LayoutSpec(f"{found['what']} {found['names']}", "text"), None, inside[0].start, stop, inside=tuple(inside)
    )


def _value(name: str, data: bytes, span: tuple[int, int], start: int, stop: int) -> ValuePart:
    value = (
        None if name in table("four_letter_commands")["texts"] else _number(data[span[0] : span[1]].decode("latin-1"))
    )
    kind = "text" if value is None else "number"
    enum = table("four_letter_commands")["labels"].get(name) if isinstance(value, int) else None
    spec = FieldSpec(name, kind, None if enum is None else labels(enum))
    return ValuePart(spec, text_of(data[span[0] : span[1]]) if value is None else value, start, stop, span[0] - start)


def _number(text: str) -> int | float | None:
    """A number as Java prints a long or a double; None for what is none."""
    if _INTEGER.fullmatch(text) and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    if _DECIMAL.fullmatch(text) and isfinite(float(text)):
        return float(text)
    return None


def _plain(data: bytes, start: int, stop: int, end: int) -> ValuePart:
    return ValuePart(_PLAIN, text_of(data[start:end]), start, stop)


def _text(data: bytes, start: int, stop: int) -> str:
    return data[start:stop].decode("utf-8", "replace")
