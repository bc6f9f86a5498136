"""RESP as it is written: how long a message is, and a message as a tree."""

import re
from dataclasses import dataclass
from string import ascii_letters

from dissectors.api import Framer, Window
from dissectors.errors import MalformedField, TooLarge, TruncatedField
from dissectors.field import Field, FieldSpec
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Many, Wrapping, element
from tests.examples.resp.tables import ERRORS, TYPES

MOST_LINE, MOST_STRING, MOST_ITEMS, MOST, MOST_DEEP, CHUNK = 1 << 16, 512 << 20, 1 << 24, 1 << 30, 32, 512
VALUE = re.compile(
    rb"(?:[+-][^\r\n]*|:[+-]?\d{1,18}|\([+-]?\d+|_|#[tf]|,(?:[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?inf|nan)"
    rb"|[$*]-1|[$!=*~>%|]\d{1,10})\r\n"
)
ASKED, ARGUMENT = re.compile(rb"\*(?:-1|\d{1,8})\r\n"), re.compile(rb"\$\d{1,9}\r\n")
INLINE = re.compile(rb"(?:[A-Za-z\"'][^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n")
WORD = re.compile(rb"\s*(\"[^\"]*\"|'[^']*'|\S+)")
VALUES, ASKS = b"-+:(_#,$*!=~>%|", b"*\r\n\"'" + ascii_letters.encode()
COUNT, END = LayoutSpec("count", "count"), LayoutSpec("end", "end")


class _Aside(LayoutSpec, Wrapping):
    __slots__ = ()


def error_name(text: object) -> str:
    """The first word of an error, if it is one that servers send."""
    return word if (word := str(text).partition(" ")[0]) in ERRORS else "ERR"


def announced(line: bytes, form: re.Pattern[bytes]) -> tuple[int, int]:
    """How many bytes of a string, and how many values follow a line; negative where it has not this form."""
    if form.fullmatch(line) is None:
        return -1, -1
    kind, number = line[:1], max(int(line[1:]), 0) if line[:1] in b"$!=*~>%|" else 0
    if kind in b"$!=":
        return 0 if line[1:2] == b"-" else number + 2, 0
    return 0, number * (2 if kind in b"%|" else 1) + (kind == b"|")


@dataclass(slots=True)
class RespFramer(Framer):
    """Of one direction. at: how far a message was read; left: values to come; looked: up to there no line ends."""

    from_client: bool
    at: int = 0
    left: int = 1
    looked: int = 0

    def length(self, message: Window, ended: bool) -> int:
        """See Framer. Negative: minus the bytes that must be there to tell more, for hunting asks for them."""
        while self.left:
            stop = self._line(message)
            if stop <= 0:
                return stop
            line = message.read_bytes(self.at, stop - self.at)
            form = ARGUMENT if self.at else ASKED if line[:1] == b"*" else INLINE
            size, items = announced(line, form if self.from_client else VALUE)
            stop, left = stop + size, self.left + items - 1
            if not 0 <= size <= MOST_STRING or left > MOST_ITEMS or stop > MOST:
                return 0
            if len(message) < stop and left:
                return -stop
            if size and not b"\r\n".startswith(message.read_bytes(stop - 2, 2)):
                return 0
            self.at, self.looked, self.left = stop, stop, left
        found, self.at, self.looked, self.left = self.at, 0, 0, 1
        return found

    def _line(self, message: Window) -> int:
        if message.read_bytes(self.at, 1) not in (VALUES if not self.from_client else b"$" if self.at else ASKS):
            return 0
        while b"\n" not in (part := message.read_bytes(self.looked, CHUNK)):
            if self.looked + len(part) - self.at > MOST_LINE:
                return 0
            if len(part) < CHUNK:
                return -self.looked - len(part) - 1
            self.looked += CHUNK
        return self.looked + part.find(b"\n") + 1


def read_message(reader: Reader) -> None:
    """An inline command, or a value."""
    if reader.data[reader.at : reader.at + 1] in VALUES:
        read_value(reader, "value", 0, False)
        return
    line, stop, _, _ = _line(reader, "value", INLINE)
    begin = reader.at
    reader.enter(Many("value", "inline"))
    for index, word in enumerate(WORD.finditer(line)):
        reader.leaf(element(index, "word"), _text(word[1]), begin + word.end(), begin + word.start(1) - reader.at)
    reader.leave()
    reader.leaf(END, None, stop)


def read_value(reader: Reader, name: str, depth: int, aside: bool) -> Field:
    """A value of any type, its attributes in front. What stands aside (a map's key, attributes) is in trees alone."""
    line, start, stop, items = _line(reader, name, VALUE)
    sign = chr(line[0])
    if depth > MOST_DEEP:
        raise TooLarge(reader.path(name), reader.at, f"is nested more than {MOST_DEEP} deep")
    if sign not in "*~>%|" or line[1:2] == b"-":
        value, head = _plain(line, sign, reader.data[start : stop - 2]) if stop > start else _plain(line, sign, None)
        label = error_name if sign in "-!" else None
        return reader.leaf((_Aside if aside else FieldSpec)(name, TYPES[sign], label), value, stop, head)
    kind = _Aside if aside or sign == "|" else FieldSpec if sign == "%" else Many
    reader.enter(kind("attributes" if sign == "|" else name, TYPES[sign]))
    node = reader.open[-1]
    reader.leaf(COUNT, items, start)
    for index in range(items // 2 if sign in "%|" else items):
        key = read_value(reader, "key", depth + 1, True).value if sign in "%|" else None
        read_value(reader, key if isinstance(key, str) and len(key) < 100 else f"[{index}]", depth + 1, aside)
    reader.leave()
    return node if sign != "|" else read_value(reader, name, depth + 1, aside)


def _line(reader: Reader, name: str, form: re.Pattern[bytes]) -> tuple[bytes, int, int, int]:
    """A line, the offset behind it and behind its string, and how many values follow."""
    at, most = reader.at, min(reader.end, reader.at + 2 * MOST_LINE)
    stop = reader.data.find(b"\n", at, most) + 1
    if not stop:
        raise TruncatedField(reader.path(name), at, most - at + 1, most - at)
    line = reader.data[at:stop]
    size, items = announced(line, form)
    reader.need(size, stop, name)
    if size < 0 or (size and reader.data[stop + size - 2 : stop + size] != b"\r\n"):
        raise MalformedField(reader.path(name), at, "is not written as RESP has it")
    reader.room(1, name)
    return line, stop, stop + size, items


def _plain(line: bytes, sign: str, content: bytes | None) -> tuple[object, int]:
    """A value, and how many bytes stand in front of it."""
    if content is not None:
        kind = 4 if sign == "=" and content[3:4] == b":" else 0
        return _text(content[kind:]), len(line) + kind
    said = line[1:-2]
    plain = {":": int, ",": float}[sign](said) if sign in ":," else said == b"t" if sign == "#" else _text(said)
    return None if sign in "_$*" else plain, 1


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
