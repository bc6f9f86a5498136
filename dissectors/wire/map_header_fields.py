"""A header of members and a map (map_header.py) to nodes, with the place of every value and what is broken.

Theory. The map is shown as on the wire. Below each of its texts is the value that the description makes of it. JSON is
read as leniently as fastjson reads it (json_text.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dissectors.errors import MalformedField
from dissectors.field import Field, FieldSpec
from dissectors.wire import json_text
from dissectors.wire.map_header import HIGHEST, LOWEST, MapHeader
from dissectors.wire.parts import text_of
from dissectors.wire.primitive import LENGTHS, Length
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LENGTH, Wrapping
from dissectors.wire.varint import Unfit

ALL = -1
"""The mask of a part that is all of its node."""

_BEHIND = b", \t\r\n"
"""What is behind a member's value and belongs to its node."""


@lru_cache(maxsize=4096)
def _make_spec(name: str, kind: str, secret: bool = False) -> FieldSpec:
    return FieldSpec(name, kind, None, secret)


@lru_cache(maxsize=1024)
def _respell(spec: FieldSpec, kind: str, is_number: bool) -> FieldSpec:
    """The spec of a member in JSON. is_number: whether the value is one that labels know."""
    return type(spec)(spec.name, kind, spec.label if is_number else None)


def read_header(reader: Reader, layout: MapHeader, is_json: bool) -> None:
    """Reads a header, up to the reader's end, into the node that is open. Raises DecodeError."""
    (_read_json if is_json else _read_row)(reader, layout)
    if reader.at < reader.end:
        raise MalformedField("header", reader.at, f"is {reader.end - reader.at} bytes longer than what is in it")


def collect_typed(header: Field, layout: MapHeader) -> dict[str, object]:
    """Returns what the texts of the map mean, from the node of a header; of several maps the last one counts."""
    found: dict[str, object] = {}
    for pair in next((node.children for node in reversed(header.children) if node.spec.name == layout.pairs), ()):
        field = layout.fields.get(pair.spec.name)
        if field is not None and pair.value is not None:
            found[field.name] = next((part.value for part in pair.children if part.bits is not None), pair.value)
    return found


def _read_pair(
    reader: Reader, layout: MapHeader, name: str, kind: str, value: str | bytes | None, content: int, stop: int
) -> None:
    """One pair of the map, from the cursor to `stop`, its value from `content` on, and what the value means."""
    may_hide = kind == "json_value" and layout.may_hide(reader.data[content:stop])
    secret = (name in layout.secrets or may_hide) and value is not None
    shown = Secret(value) if secret and value is not None else value
    at = reader.at
    reader.leaf(_make_spec(name, kind, secret), shown, stop, content - at)
    field = layout.fields.get(name)
    if field is None or value is None:
        return
    typed: object = shown
    if field.convert is not None and isinstance(value, str):
        try:
            typed = field.convert(value)
        except Unfit:
            reader.warn("malformed-body", f"{reader.path(name)} is no {field.spec.type}", at, stop)
    if field.is_converted:
        reader.bits(field.spec, typed, ALL)


def _report_duplicates(reader: Reader, layout: MapHeader, pairs: Sequence[tuple[str, bytes]]) -> None:
    """Says which names stand twice in the container that ends here: other readers may take the first one.

    pairs: names, and what stands behind them. Where that is the same, each reader takes the same: RocketMQ's client
    writes fields twice when it signs a binary header (RemotingCommand.makeCustomHeaderToNet has put them into the map
    that fastEncode writes behind the header's own).
    """
    first: dict[str, bytes] = {}
    if len({name for name, _ in pairs}) == len(pairs):
        return
    name = next((name for name, value in pairs if first.setdefault(name, value) != value), None)
    if name is not None:
        text = layout.sentence("twice").format(name=reader.path(name))
        reader.warn("duplicate-key", text, reader.open[-1].offset, reader.at)


# ---- fields in a row

_NAME_LENGTH, _LENGTH = LENGTHS["int16"], LENGTHS["int32"]


def _read_row(reader: Reader, layout: MapHeader) -> None:
    for number in layout.numbers:
        reader.take(number.spec, number.primitive)
    size, at = _read_size(reader, _LENGTH, reader.at, layout.text.name)
    reader.leaf(layout.text, text_of(reader.data[at : at + size]) or None, at + size, at - reader.at)
    size, at = _read_size(reader, _LENGTH, reader.at, layout.pairs)
    spec = _make_spec(layout.pairs, "map")
    if size == 0:
        reader.leaf(spec, {}, at, at - reader.at)
        return
    stop = at + size
    reader.enter(spec)
    reader.leaf(LENGTH["int32"], size, at)
    pairs: list[tuple[str, bytes]] = []
    is_sensitive = layout.mentions(reader.data[at:stop])
    while reader.at < stop:
        size, at = _read_size(reader, _NAME_LENGTH, reader.at, "key")
        name = reader.data[at : at + size].decode("utf-8", "backslashreplace")
        called = "value" if is_sensitive and name not in layout.fields else name  # a wrong length may name a secret
        size, at = _read_size(reader, _LENGTH, at + size, called)
        if at + size > stop:
            raise MalformedField(reader.path(called), at, f"runs over the end of {layout.pairs}")
        value = reader.data[at : at + size]
        pairs.append((name, value))
        _read_pair(reader, layout, name, "string", text_of(value), at, at + size)
    _report_duplicates(reader, layout, pairs)
    reader.leave()


def _read_size(reader: Reader, length: Length, at: int, name: str) -> tuple[int, int]:
    """A length at an offset, of bytes that are there, and the offset behind it."""
    size, content = reader.number(length, at, name)
    if size < 0:
        raise MalformedField(reader.path(name), at, f"has length {size}")
    reader.need(size, content, name)
    return size, content


# ---- JSON


def _read_json(reader: Reader, layout: MapHeader) -> None:
    pairs: list[tuple[str, bytes]] = []
    for name, at in json_text.members(reader, json_text.space(reader, reader.at), "header"):
        if name == layout.pairs:
            _read_map(reader, layout, at)
        else:
            _read_member(reader, layout, name, at)
        pairs.append((name, reader.data[at : reader.at].rstrip(_BEHIND)))
    _report_duplicates(reader, layout, pairs)


def _read_member(reader: Reader, layout: MapHeader, name: str, at: int) -> None:
    value: object
    end = json_text.extent(reader, at, name)
    if reader.data[at] in b"{[":
        value, kind = text_of(reader.data[at:end]), "json_object"
    else:
        value, kind = json_text.scalar(reader, at, end, name)
    number = next((each for each in layout.numbers if each.spec.name == name), None)
    spec = number.spec if number is not None else layout.text if name == layout.text.name else None
    begin, stop = reader.at, json_text.find_next_token(reader, end)
    if (kind == "json_object" or spec is None) and layout.may_hide(reader.data[begin:stop]):
        hidden = (Wrapping if spec is None else type(spec))(name, kind, None, True)
        reader.leaf(hidden, Secret(reader.data[at:end]), stop, at - begin)
        return
    is_number = type(value) is int
    if number is not None and number.is_named and is_number and number.primitive.convert is not None:
        value = number.primitive.convert(value)
    shown = Wrapping(name, kind) if spec is None else _respell(spec, kind, is_number)
    reader.leaf(shown, value, stop, at - begin)
    if number is None or number.is_named or (isinstance(value, int) and is_number and LOWEST <= value <= HIGHEST):
        return
    text = layout.sentence("number").format(name=reader.path(name))
    reader.warn("malformed-body", text, begin, reader.at)


def _read_map(reader: Reader, layout: MapHeader, at: int) -> None:
    """The object of a map; null is an empty one. Values that are no text are given as they stand."""
    if reader.data[at : min(at + 4, reader.end)] == b"null":
        spec = _make_spec(layout.pairs, "json_null")
        reader.leaf(spec, {}, json_text.find_next_token(reader, at + 4), at - reader.at)
        return
    reader.enter(_make_spec(layout.pairs, "json_object"))
    pairs: list[tuple[str, bytes]] = []
    for name, content in json_text.members(reader, at, ""):
        end = json_text.extent(reader, content, name)
        raw = reader.data[content:end]
        pairs.append((name, raw))
        quoted = raw[:1] in (b'"', b"'")
        value = json_text.text(raw) if quoted else None if raw == b"null" else text_of(raw)
        kind = "json_string" if quoted else "json_value"
        _read_pair(reader, layout, name, kind, value, content, json_text.find_next_token(reader, end))
    _report_duplicates(reader, layout, pairs)
    reader.leave()
