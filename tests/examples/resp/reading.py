"""RESP as it is written: what follows a line, and a message as a tree."""

import re
from functools import partial

from dissectors.field import FieldSpec
from dissectors.wire.lines import find_line
from dissectors.wire.nested_values import Head, read_value
from dissectors.wire.parts import text_of
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Many, Wrapping, element
from tests.examples.resp.tables import TYPES

VALUE = re.compile(
    rb"(?:[+-][^\r\n]*|:[+-]?\d{1,18}|\([+-]?\d+|_|#[tf]|,(?:[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?inf|nan)"
    rb"|[$*]-1|[$!=*~>%|]\d{1,10})\r\n"
)
REQUEST = re.compile(VALUE.pattern + rb"|(?:[A-Za-z\"'][^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n")
WORD = re.compile(rb"\s*(\"[^\"]*\"|'[^']*'|\S+)")


def error_name(text: object) -> str:
    """The first word of an error, if it is in upper case."""
    found = re.match("[A-Z]+(?= )", str(text))
    return found[0] if found else "ERR"


def measure_line(line: bytes, form: re.Pattern[bytes] = VALUE) -> tuple[int, int]:
    """How many bytes of a string, and how many values follow a line; -1 bytes where it has not this form."""
    if form.fullmatch(line) is None:
        return -1, 0
    sign, number = line[:1], line[1:-2]
    if sign not in b"$!=*~>%|" or number == b"-1":
        return 0, 0
    if sign in b"$!=":
        return int(number) + 2, 0
    return 0, 2 * int(number) + (sign == b"|") if sign in b"%|" else int(number)


def read_message(reader: Reader) -> None:
    """An inline command, or a value."""
    if re.match(rb"[A-Za-z\"'\r\n]", reader.data) is None:
        read_value(reader, "value", read_head)
        return
    line, stop, _ = find_line(reader, "value", partial(measure_line, form=REQUEST))
    reader.enter(Many("value", "inline"))
    for index, word in enumerate(WORD.finditer(line)):
        reader.leaf(element(index, "word"), text_of(word[1]), word.end(), word.start(1) - word.start())
    reader.leave()
    reader.leaf(LayoutSpec("end", "end"), None, stop)


def read_head(reader: Reader, name: str) -> Head:
    """How a value of any type begins."""
    line, stop, items = find_line(reader, name, measure_line)
    sign = chr(line[0])
    if sign in "*~>%|" and line != b"*-1\r\n":
        kind = {"|": Wrapping, "%": FieldSpec}.get(sign, Many)
        spec = kind("attributes" if sign == "|" else name, TYPES[sign])
        return Head(spec, stop, items=items // 2 if sign in "%|" else items)
    value, head = decode_value(line, reader.data[reader.at + len(line) : stop])
    return Head(FieldSpec(name, TYPES[sign], error_name if sign in "-!" else None), stop, value, head)


def decode_value(line: bytes, string: bytes) -> tuple[object, int]:
    """The value of a line and the string behind it, and how many bytes stand in front of the value."""
    if string:
        kind = 4 if line[:1] == b"=" and string[3:4] == b":" else 0
        return text_of(string[kind:-2]), len(line) + kind
    sign, text = chr(line[0]), text_of(line[1:-2])
    convert = {":": int, ",": float, "#": "t".__eq__}.get(sign)
    return None if sign in "_$*" else convert(text) if convert else text, 1
