"""RESP as it is written: what follows a line, and a message as a tree."""

import re

from dissectors.errors import TooLarge
from dissectors.field import Field, FieldSpec
from dissectors.wire.lines import find_line
from dissectors.wire.parts import text_of
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Many, Wrapping, element
from tests.examples.resp.tables import ERRORS, TYPES

MOST_DEEP = 32
VALUE = re.compile(
    rb"(?:[+-][^\r\n]*|:[+-]?\d{1,18}|\([+-]?\d+|_|#[tf]|,(?:[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?inf|nan)"
    rb"|[$*]-1|[$!=*~>%|]\d{1,10})\r\n"
)
INLINE = re.compile(rb"(?:[A-Za-z\"'][^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n")
WORD = re.compile(rb"\s*(\"[^\"]*\"|'[^']*'|\S+)")
COUNT, END = LayoutSpec("count", "count"), LayoutSpec("end", "end")


def error_name(text: object) -> str:
    """The first word of an error, if it is one that servers send."""
    return word if (word := str(text).partition(" ")[0]) in ERRORS else "ERR"


def measure_value(line: bytes) -> tuple[int, int]:
    """How many bytes of a string, and how many values follow a line."""
    if VALUE.fullmatch(line) is None:
        return -1, 0
    sign, number = line[:1], line[1:-2]
    if sign not in b"$!=*~>%|" or number == b"-1":
        return 0, 0
    if sign in b"$!=":
        return int(number) + 2, 0
    return 0, 2 * int(number) + (sign == b"|") if sign in b"%|" else int(number)


def measure_request(line: bytes) -> tuple[int, int]:
    """The same of the first line of a request, which may be an inline command."""
    return (0, 0) if INLINE.fullmatch(line) else measure_value(line)


def read_message(reader: Reader) -> None:
    """An inline command, or a value."""
    if re.match(rb"[A-Za-z\"'\r\n]", reader.data) is None:
        read_value(reader, "value")
        return
    line, stop, _ = find_line(reader, "value", measure_request)
    reader.enter(Many("value", "inline"))
    for index, word in enumerate(WORD.finditer(line)):
        reader.leaf(element(index, "word"), text_of(word[1]), word.end(), word.start(1) - word.start())
    reader.leave()
    reader.leaf(END, None, stop)


def read_value(reader: Reader, name: str, depth: int = 0) -> Field:
    """A value of any type, its attributes in front. Attributes and keys of maps are in trees alone."""
    line, stop, items = find_line(reader, name, measure_value)
    sign = chr(line[0])
    if depth > MOST_DEEP:
        raise TooLarge(reader.path(name), reader.at, f"is nested more than {MOST_DEEP} deep")
    if sign not in "*~>%|" or line == b"*-1\r\n":
        value, head = decode_value(line, reader.data[reader.at + len(line) : stop])
        return reader.leaf(FieldSpec(name, TYPES[sign], error_name if sign in "-!" else None), value, stop, head)
    kind = {"|": Wrapping, "%": FieldSpec}.get(sign, Many)
    reader.enter(kind("attributes" if sign == "|" else name, TYPES[sign]))
    node = reader.open[-1]
    reader.leaf(COUNT, items, stop)
    for index in range(items // 2 if sign in "%|" else items):
        member = read_key(reader, depth + 1) if sign in "%|" else None
        read_value(reader, member if isinstance(member, str) else f"[{index}]", depth + 1)
    reader.leave()
    return node if sign != "|" else read_value(reader, name, depth + 1)


def read_key(reader: Reader, depth: int) -> object:
    """A key of a map, which names the value behind it."""
    node = read_value(reader, "key", depth)
    node.spec = Wrapping("key", node.spec.type)
    return node.value


def decode_value(line: bytes, string: bytes) -> tuple[object, int]:
    """The value of a line and the string behind it, and how many bytes stand in front of the value."""
    if string:
        kind = 4 if line[:1] == b"=" and string[3:4] == b":" else 0
        return text_of(string[kind:-2]), len(line) + kind
    sign, text = chr(line[0]), text_of(line[1:-2])
    convert = {":": int, ",": float, "#": "t".__eq__}.get(sign)
    return None if sign in "_$*" else convert(text) if convert else text, 1
