"""The members of a JSON object with their places: what of them is told, and what stays secret.

The bytes are read as Latin-1 to find the places, for JSON's own marks are ASCII and one character is one byte then;
names and values are decoded from their bytes as UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

from dissectors.field import FieldSpec, Label
from dissectors.wire.parts import Part, mark
from dissectors.wire.secret import Secret

LARGEST = 65_536
"""Bytes of an object that are looked at; a token of more is none that a broker takes."""

_MOST, _DEEPEST = 256, 256
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_TYPES = {str: "json_string", bool: "json_bool", int: "json_number", float: "json_number", list: "json_array"}
Told = Mapping[str, Label | None]
"""The names of members that everybody may see, with the labels of their values."""


class _Member(NamedTuple):
    """A name, the value, and where the name begins and the value begins and ends."""

    name: str
    value: object
    start: int
    content: int
    stop: int


def object_parts(data: bytes, told: Told) -> tuple[Part, ...] | None:
    """Parts that tile the text of an object; None for what is none, or too much of one."""
    if len(data) > LARGEST or data.count(b"{") + data.count(b"[") > _DEEPEST:
        return None
    try:
        members = list(_members(data))
    except (ValueError, RecursionError):
        return None
    if len(members) > _MOST:
        return None
    if not members:
        return (mark("object", data, 0, len(data), "json_object"),)
    ends = [member.start for member in members[1:]] + [len(data)]
    opening = mark("object", data, 0, members[0].start, "json_object")
    return (opening, *(_part(data, member, stop, told) for member, stop in zip(members, ends, strict=True)))


def values_of(parts: tuple[Part, ...]) -> Mapping[str, object]:
    """The values that everybody may see, by name."""
    return {part.spec.name: part.value for part in parts if not part.spec.secret}


def _members(data: bytes) -> Iterator[_Member]:
    """Raises ValueError where the text is no object in UTF-8."""
    data.decode()
    text = data.decode("latin-1")
    at = _skip_sign(text, 0, "{")
    if text[at : at + 1] == "}":
        _end(text, at)
        return
    while True:
        start = at
        if text[at : at + 1] != '"':
            raise ValueError
        _, stop = _DECODER.raw_decode(text, at)
        name = json.loads(data[start:stop])
        content = at = _skip_sign(text, stop, ":")
        _, at = _DECODER.raw_decode(text, at)
        yield _Member(name, json.loads(data[content:at]), start, content, at)
        at = _skip_space(text, at)
        if text[at : at + 1] == "}":
            _end(text, at)
            return
        at = _skip_sign(text, at, ",")


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _skip_sign(text: str, at: int, sign: str) -> int:
    """The offset of what follows a sign, around which there may be space."""
    at = _skip_space(text, at)
    if text[at : at + 1] != sign:
        raise ValueError
    return _skip_space(text, at + 1)


def _end(text: str, at: int) -> None:
    if _skip_space(text, at + 1) != len(text):
        raise ValueError


def _part(data: bytes, member: _Member, stop: int, told: Told) -> Part:
    value, head = member.value, member.content - member.start
    kind = _TYPES.get(type(value), "json_value")
    if member.name in told and _is_plain(value):
        return Part(FieldSpec(member.name, kind, told[member.name]), value, member.start, stop, head)
    secret = Secret(data[member.content : member.stop].decode())
    return Part(FieldSpec(member.name, kind, secret=True), secret, member.start, stop, head)


def _is_plain(value: object) -> bool:
    """A word, a number, or a list of words."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, str | bool) or (isinstance(value, int) and abs(value) < 1 << 63)
