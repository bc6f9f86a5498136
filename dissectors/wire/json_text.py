"""JSON to nodes, token by token, as leniently as fastjson writes and reads it.

Theory. In the dialect of fastjson, which RocketMQ uses, keys may be bare words, numbers, even whole objects, and texts
may have single quotes and non-standard escapes. A key that is not a text keeps its form on the wire. In the tree, a
leaf extends to the next token: a member begins with its key and includes the comma behind its value. Strict JSON gives
the same values as a strict parser, so a protocol that only knows strict JSON validates first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from functools import lru_cache

from dissectors.errors import MalformedField, TooLarge
from dissectors.field import FieldSpec
from dissectors.wire.nonfinite import float_value
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, Many

DEPTH = 64
"""Objects and arrays within each other; deeper ones are not decoded."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_SPACES = frozenset(b" \t\r\n")
_COMMA = ord(",")
_TEXT = re.compile(rb"""(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(")?|'[^'\\]*+(?:\\.[^'\\]*+)*+(')?""")
_BARE = re.compile(rb"""[^\s"'{}\[\]:,]++""")
_JUMP = re.compile(_TEXT.pattern + rb"|([{\[])|([}\]])")
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(_INTEGER.pattern + rb"(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: dict[bytes, tuple[object, str]] = {
    b"true": (True, "json_boolean"),
    b"false": (False, "json_boolean"),
    b"null": (None, "json_null"),
    **{word: (float_value(float(word)), "json_number") for word in (b"NaN", b"Infinity", b"-Infinity")},
}
_STANDARD = json.JSONDecoder(strict=False)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {**dict(zip("bfnrtv", "\b\f\n\r\t\v", strict=True)), **{str(number): chr(number) for number in range(8)}}

OPEN = {b"{": LayoutSpec("{", "json_token"), b"[": LayoutSpec("[", "json_token")}
CLOSE = {b"}": LayoutSpec("}", "json_token"), b"]": LayoutSpec("]", "json_token")}
_CLOSER = {b"{": b"}", b"[": b"]"}


@lru_cache(maxsize=4096)
def _make_spec(name: str, kind: str, secret: bool = False) -> FieldSpec:
    return FieldSpec(name, kind, None, secret)


def space(reader: Reader, at: int) -> int:
    """Returns the offset of the next token, at or after `at`."""
    found = _SPACE.match(reader.data, at, reader.end)
    return reader.end if found is None else found.end()


def find_next_token(reader: Reader, at: int) -> int:
    """Returns where the next token begins after a value that ends at `at`, and after its comma."""
    at = space(reader, at)
    return space(reader, at + 1) if reader.data[at : min(at + 1, reader.end)] == b"," else at


def extent(reader: Reader, at: int, name: str) -> int:
    """Returns where a key or value that begins at `at` ends; containers are matched by brackets only.

    What no quote or bracket ends must be followed by something: else nobody knows whether it is whole.
    """
    reader.need(1, at, name)
    depth = 0
    if reader.data[at : at + 1] not in _CLOSER:
        end = _scalar_end(reader, at, name)
        reader.need(end + 1 - at, at, name)
        return end
    for found in _JUMP.finditer(reader.data, at, reader.end):
        depth += 1 if found[3] else -1 if found[4] else 0
        if depth == 0:
            return found.end()
    raise MalformedField(reader.path(name), at, "does not end")


def _scalar_end(reader: Reader, at: int, name: str) -> int:
    pattern = _TEXT if reader.data[at] in b"\"'" else _BARE
    found = pattern.match(reader.data, at, reader.end)
    if found is None:
        raise MalformedField(reader.path(name), at, "is no JSON value")
    if pattern is _TEXT and not (found[1] or found[2]):
        raise MalformedField(reader.path(name), at, "is a text that does not end")
    return found.end()


def key(reader: Reader, at: int) -> tuple[str, int]:
    """Returns the key that stands at `at`, and where its value begins. What is no text is taken as it stands."""
    end = extent(reader, at, "key")
    raw = reader.data[at:end]
    found = text(raw) if raw[:1] in (b'"', b"'") else raw
    colon = space(reader, end)
    reader.need(1, colon, "key")
    if reader.data[colon : colon + 1] != b":":
        raise MalformedField(reader.path("key"), colon, "is not followed by a colon")
    return found if isinstance(found, str) else found.decode("utf-8", "backslashreplace"), space(reader, colon + 1)


def text(raw: bytes) -> str | bytes:
    """Returns the content of a quoted text; its bytes where they are not UTF-8."""
    try:
        inner = raw[1:-1].decode()
    except UnicodeDecodeError:
        return raw[1:-1]
    if "\\" not in inner:
        return inner
    try:
        found: str = _STANDARD.decode(f'"{inner}"')
    except json.JSONDecodeError:
        return _ESCAPE.sub(_unescape, inner).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return found


def _unescape(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else _ESCAPED.get(found[3], found[3])


def scalar(reader: Reader, at: int, end: int, name: str) -> tuple[object, str]:
    """Returns the value of a token that is no container, and the name of its type."""
    raw = reader.data[at:end]
    if raw[:1] in (b'"', b"'"):
        return text(raw), "json_string"
    if raw in _CONSTANTS:
        return _CONSTANTS[raw]
    try:
        if _INTEGER.fullmatch(raw):
            return int(raw), "json_number"
        if _NUMBER.fullmatch(raw):
            return float_value(float(raw)), "json_number"
    except ValueError:
        raise MalformedField(reader.path(name), at, f"is a number of {len(raw)} digits") from None
    raise MalformedField(reader.path(name), at, "is no JSON value")


def members(reader: Reader, at: int, name: str) -> Iterator[tuple[str, int]]:
    """The members of an object whose brace is at `at`, for the node that is open: keys, and where their values begin.

    Whoever iterates adds one leaf or container for each, from the cursor to where `behind` says.
    """
    reader.need(1, at, name)
    if reader.data[at : at + 1] != b"{":
        raise MalformedField(reader.path(name), at, "is no JSON object")
    yield from _parts(reader, at)


def elements(reader: Reader, at: int) -> Iterator[tuple[str, int]]:
    """Yields the elements of an array, with their index in place of a key."""
    return _parts(reader, at)


def _parts(reader: Reader, at: int) -> Iterator[tuple[str, int]]:
    opener = reader.data[at : at + 1]
    closer, index = _CLOSER[opener], 0
    reader.leaf(OPEN[opener], opener.decode(), space(reader, at + 1))
    more = reader.data[reader.at : min(reader.at + 1, reader.end)] != closer
    while more:
        yield (f"[{index}]", reader.at) if opener == b"[" else key(reader, reader.at)
        more = _behind_comma(reader.data, reader.at)
        index += 1
    reader.need(1, reader.at, closer.decode())
    if reader.data[reader.at : reader.at + 1] != closer:
        raise MalformedField(reader.path(), reader.at, "goes on without a comma")
    reader.leaf(CLOSE[closer], closer.decode(), find_next_token(reader, reader.at + 1))


def _behind_comma(data: bytes, at: int) -> bool:
    """Whether the last thing before `at` is a comma: no value ends in one."""
    at -= 1
    while data[at] in _SPACES:
        at -= 1
    return data[at] == _COMMA


def read_json(reader: Reader, name: str, secrets: Set[str] = frozenset()) -> None:
    """Reads one value, and nothing behind it, from the cursor to the reader's end. Members named in `secrets` are."""
    begin = space(reader, reader.at)
    reader.need(1, begin, name)
    if reader.data[begin] in b"{[":
        _value(reader, name, begin, 0, secrets)
    else:
        end = _scalar_end(reader, begin, name)
        value, kind = scalar(reader, begin, end, name)
        reader.leaf(_make_spec(name, kind), value, find_next_token(reader, end), begin - reader.at)
    if reader.at < reader.end or _behind_comma(reader.data, reader.at):
        raise MalformedField(reader.path(name), reader.at, f"is followed by {reader.end - reader.at} bytes more")


def read_object(reader: Reader, name: str) -> None:
    """Reads one object, and nothing behind it, from the cursor to the reader's end, into the node that is open."""
    for inner, content in members(reader, space(reader, reader.at), name):
        _value(reader, inner, content, 1, frozenset())
    if reader.at < reader.end or _behind_comma(reader.data, reader.at):
        raise MalformedField(reader.path(name), reader.at, f"is followed by {reader.end - reader.at} bytes more")


def _value(reader: Reader, name: str, at: int, depth: int, secrets: Set[str]) -> None:
    """Reads a value whose node begins at the cursor and whose token at `at`."""
    reader.need(1, at, name)
    if name in secrets:
        _secret(reader, name, at)
    elif reader.data[at] in b"{[":
        _container(reader, name, at, depth, secrets)
    else:
        end = extent(reader, at, name)
        value, kind = scalar(reader, at, end, name)
        reader.leaf(_make_spec(name, kind), value, find_next_token(reader, end), at - reader.at)


def _container(reader: Reader, name: str, at: int, depth: int, secrets: Set[str]) -> None:
    if depth == DEPTH:
        raise TooLarge(reader.path(name), at, f"is within {DEPTH} other objects and arrays")
    opener = reader.data[at : at + 1]
    many, end = opener == b"[", space(reader, at + 1)
    if reader.data[end : min(end + 1, reader.end)] == _CLOSER[opener]:
        empty = _make_spec(name, "json_array" if many else "json_object")
        reader.leaf(empty, [] if many else {}, find_next_token(reader, end + 1), at - reader.at)
        return
    reader.enter(Many(name, "json_array") if many else _make_spec(name, "json_object"))
    for inner, content in elements(reader, at) if many else members(reader, at, name):
        _value(reader, inner, content, depth + 1, secrets)
    reader.leave()


def _secret(reader: Reader, name: str, at: int) -> None:
    """A value that is hidden, whatever it is; null has nothing to hide."""
    end = extent(reader, at, name)
    raw = reader.data[at:end]
    value, kind = (raw, "json_object") if raw[:1] in _CLOSER else scalar(reader, at, end, name)
    if value is not None:
        value = Secret(value if isinstance(value, str | bytes) else raw)
    reader.leaf(_make_spec(name, kind, True), value, find_next_token(reader, end), at - reader.at)
