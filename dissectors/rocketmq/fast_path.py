"""RocketMQ's headers for many messages at once: the fast path of RocketMQ.header.

tests/dissectors/rocketmq/test_fast_path.py compares the fast paths with the slow path. A binary header has its fields
at fixed offsets. A JSON header has its members in any order, so its grammar is checked in columns: a table of all
strings, and of the gaps between them. Without escaped quotes, every other quote ends a string; the gaps in front of and
behind a string tell whether it is a key, and a sum over the gaps gives its depth. Other spellings (spaces, escaped
quotes, null, lists, non-ASCII letters) are left to header(). The grammar is in this module because no other may use
NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from dissectors.api import Context, Role, State
from dissectors.rocketmq.codes import decode_binary_code, find_language, operations
from dissectors.rocketmq.command import ANY_HEADER, BINARY, CODE, HEAD, JSON
from dissectors.rocketmq.header import format_client, read_header
from dissectors.rocketmq.labels import ONEWAY, RESPONSE
from dissectors.wire.fast_path import (
    NULL,
    Column,
    FastPath,
    Gathering,
    HeaderColumns,
    HeaderLayout,
    HeaderView,
    NameColumn,
    Reporting,
    Wire,
    be,
    distinct,
    view_keyed,
)
from dissectors.wire.primitive import INT32

ROW = np.dtype([(each.spec.name, f">{each.primitive.code}") for each in ANY_HEADER.numbers])
"""The numbers of a binary header."""

LONGEST = 4096
"""Longer JSON headers are read one by one."""

AT_ONCE = 1 << 20
"""Bytes of headers whose tables stay in the processor's caches."""

SPARE = 16
"""Bytes behind the last header that may be looked at."""

NUMBERS = tuple(each.spec.name for each in ANY_HEADER.numbers if not each.is_named)
LANGUAGE = next(each.spec.name for each in ANY_HEADER.numbers if each.is_named)
DIGITS = 10
_HEX = np.isin(np.arange(256), list(b"0123456789abcdefABCDEF"))
_ESCAPED = np.isin(np.arange(256), list(b"bfnrt/u"))
_TOGETHER = tuple(
    (np.uint64(power), np.uint64(width), np.uint64(mask))
    for power, width, mask in ((10, 8, 0x00FF_00FF_00FF_00FF), (100, 16, 0xFFFF_0000_FFFF), (10_000, 32, 0xFFFF_FFFF))
)
"""Powers of ten, and how neighbouring digits become one number in twice the width."""

_MASKS = np.array([(1 << 8 * width) - 1 for width in range(9)], np.uint64)


class RocketMQFastPath(FastPath):
    """Pairs by opaque; nothing in a message changes how later ones are read."""

    WIDTH = HEAD + ROW.itemsize

    def headers(self, wire: Wire) -> HeaderColumns:
        """Reads many headers; rows whose header spans segments or has an unusual form are `unsure`."""
        return _make_columns(self.read_members(wire))

    def read_members(self, wire: Wire) -> HeaderMembers:
        """Reads the members of many headers."""
        count = len(wire.view)
        kind = wire.view[:, 4]
        size = be(wire.view, 4, "i4").astype(np.int64) & 0xFF_FFFF
        found = HeaderMembers.make_empty(count)
        binary = np.flatnonzero((kind == BINARY) & (size >= ROW.itemsize) & (wire.available >= self.WIDTH))
        found.put(binary, _read_binary(wire.view[binary]))
        json = np.flatnonzero((kind == JSON) & (size <= LONGEST) & (wire.available >= HEAD + size) & (size > 0))
        json = json[np.argsort(size[json], kind="stable")]
        begin = 0
        while begin < len(json):
            width = int(size[json[begin]]) + 64
            end = min(begin + max(AT_ONCE // width, 1), int(np.searchsorted(size[json], width)))
            rows = json[begin:end]
            found.put(rows, _read_json(wire.gather(rows, np.full(len(rows), HEAD), width + SPARE), size[rows]))
            begin = end
        return found

    def reporting(self, context: Context) -> Reporting | None:
        """Returns where answers have their error: in the code of the header. Requests have none."""
        if context.role is Role.RAW:
            return None
        operation = operations().get(context.code) if context.code is not None else None
        success = 0 if operation is None else operation.success
        quiet = partial(self._find_quiet, success) if context.role is Role.RESPONSE else None
        return Reporting(HeaderLayout(INT32, INT32.size, (), (), whole=False), quiet=quiet)

    def _find_quiet(self, success: int, source: Gathering, at: Column, length: Column) -> Column:
        """Which answers say 0, or the other code for success. Reference: `message.find_error`."""
        wire = Wire(
            source.gather(at, self.WIDTH),
            length,
            np.zeros(len(at), bool),
            lambda rows, offset, width: source.gather(at[rows] + offset, width),
        )
        found = self.read_members(wire)
        code: Column = found.numbers[NUMBERS.index(CODE)]
        quiet: Column = found.sure & ((code == 0) | (code == success))
        return quiet

    def laden(self, prefix: Column, length: Column) -> Column:
        """Returns which messages may carry records: a frame that its header fills has no body."""
        filled: Column = (be(prefix, 4, "i4").astype(np.int64) & 0xFF_FFFF) + HEAD == length
        return ~filled

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads one header with the reference implementation, `header.read_header`."""
        return view_keyed(read_header(prefix, from_client))


@dataclass(slots=True)
class HeaderMembers:
    """n rows: the numbers of NUMBERS (int32, 4 x n), the language (a place in `languages`), whether all are there."""

    numbers: Column
    language: Column
    languages: list[str | int]
    sure: Column

    @classmethod
    def make_empty(cls, count: int) -> HeaderMembers:
        """Makes columns of n headers without any known value."""
        return cls(np.zeros((len(NUMBERS), count), np.int32), np.zeros(count, np.int32), [], np.zeros(count, bool))

    def put(self, rows: Column, part: HeaderMembers) -> None:
        """Fills in the columns of some rows."""
        self.numbers[:, rows], self.sure[rows] = part.numbers, part.sure
        self.languages += [each for each in part.languages if each not in self.languages]
        self.language[rows] = np.array([self.languages.index(each) for each in part.languages], np.int32)[part.language]


def _make_columns(found: HeaderMembers) -> HeaderColumns:
    """Role, operation and client of what was read."""
    code, version, opaque, flag = found.numbers
    answers = flag & RESPONSE != 0
    codes, place = distinct(code)
    known = [operations().get(each) for each in codes.tolist()]
    operation = np.where(answers | np.array([each is None for each in known])[place], NULL, place)
    none = np.full(len(code), NULL, np.int32)
    return HeaderColumns(
        role=np.where(answers, Role.RESPONSE, np.where(flag & ONEWAY, Role.ONEWAY, Role.REQUEST)).astype(np.int8),
        state=np.where(answers | (operation != NULL), State.COMPLETE, State.UNDECODED).astype(np.int8),
        operation=NameColumn(operation, ["" if each is None else each.name for each in known]),
        code=np.where(answers, NULL, code).astype(np.int32),
        version=none,
        correlation=opaque.astype(np.int64),
        client=_name_clients(found, version, answers),
        unsure=~found.sure,
        stepped=np.zeros(len(code), bool),
    )


def _name_clients(found: HeaderMembers, version: Column, answers: Column) -> NameColumn:
    """Languages and versions as clients; an answer takes its request's."""
    versions, place = distinct(version)
    both, place = distinct(found.language * np.int64(len(versions)) + place)
    pairs = zip((both // len(versions)).tolist(), versions[both % len(versions)].tolist(), strict=True)
    names = [format_client(found.languages[number], version) if found.languages else None for number, version in pairs]
    unnamed = answers | np.array([name is None for name in names], bool)[place]
    return NameColumn(np.where(unnamed, NULL, place), [name or "" for name in names])


def _read_binary(view: Column) -> HeaderMembers:
    """The members of binary headers, at their fixed places."""
    row = view[:, HEAD : HEAD + ROW.itemsize].view(ROW)[:, 0]
    columns = {name: row[name].astype(row.dtype[name].newbyteorder("=")) for name in ROW.names or ()}
    codes, place = distinct(columns[CODE])
    columns[CODE] = np.array([decode_binary_code(each) for each in codes.tolist()], np.int32)[place]
    languages, number = distinct(columns[LANGUAGE])
    names = [find_language(each) for each in languages.tolist()]
    return HeaderMembers(
        np.array([columns[name] for name in NUMBERS], np.int32), number, names, np.ones(len(view), bool)
    )


def _read_json(text: Column, size: Column) -> HeaderMembers:
    """The members of JSON headers, uint8, a row each: `size` bytes, rising, and at least SPARE that are not theirs."""
    least = int(size[0])
    places = np.arange(least, text.shape[1], dtype=np.int16)
    np.copyto(text[:, least:], ord(" "), where=places >= size.astype(np.int16)[:, None])
    strings = _Strings.read_strings(text, size)
    rows = len(text)
    sure = strings.sound
    top = np.flatnonzero(~strings.values & (strings.depth == 0))
    words, length = strings.words(top), strings.length[top]
    numbers = np.zeros((len(NUMBERS), rows), np.int32)
    for place, name in enumerate(NUMBERS):
        own = top[_match_names(words, length, name)]
        row = strings.row[own]
        numbers[place, row] = strings.number[own]
        sure &= np.bincount(row, minlength=rows) == 1
        sure[row[~strings.counted[own]]] = False
    own = top[_match_names(words, length, LANGUAGE)]
    sure &= np.bincount(strings.row[own], minlength=rows) == 1
    found = np.zeros(rows, np.uint64)
    following = np.minimum(own + 1, len(strings.row) - 1)
    found[strings.row[own]] = strings.words(following) & _MASKS[np.minimum(strings.length[following], 8)]
    sure[
        strings.row[own[~strings.values[following] | (strings.length[following] > 8) | strings.escaped[following]]]
    ] = False
    kinds, number = distinct(found)
    names: list[str | int] = [
        int(each).to_bytes(8, "little").rstrip(b"\0").decode("ascii", "replace") for each in kinds
    ]
    return HeaderMembers(numbers, number, names, sure)


def _match_names(words: Column, length: Column, name: str) -> Column:
    """Which strings are a name of at most eight letters, by their first eight bytes."""
    letters = np.uint64(int.from_bytes(name.encode(), "little"))
    found: Column = (length == len(name)) & (words & _MASKS[len(name)] == letters)
    return found


@dataclass(slots=True)
class _Strings:
    """All strings of many JSON headers: row, first byte and length; values (else keys), depth (0: the header's own).

    counted: keys with an integer behind them, `number`. escaped: strings with an escape.

    sound: by row, whether the header is what is understood here; the strings of others mean nothing.
    """

    text: Column
    row: Column
    begin: Column
    length: Column
    values: Column
    depth: Column
    counted: Column
    number: Column
    escaped: Column
    sound: Column

    @classmethod
    def read_strings(cls, text: Column, size: Column) -> _Strings:
        """Checks the grammar of every row."""
        rows, width = text.shape
        flat = text.reshape(-1)
        sound = np.ones(rows, bool)
        sound[np.flatnonzero(flat - np.uint8(32) > 94) // width] = False
        quotes = np.flatnonzero(flat == ord('"'))
        count = np.diff(np.searchsorted(quotes, np.arange(rows + 1) * width))
        even = (count > 0) & (count % 2 == 0)
        sound &= even
        quotes = quotes[np.repeat(even, count)]
        count = np.where(even, count // 2, 0)
        row = np.repeat(np.arange(rows), count)
        begin, end = quotes[0::2] + 1, quotes[1::2]
        some = np.flatnonzero(count)
        last = np.cumsum(count[some]) - 1
        first = last + 1 - count[some]
        stop = np.empty(len(row), np.int64)
        stop[:-1] = begin[1:] - 1
        stop[last] = some * width + size[some]
        values, depth, counted, number, wrong = _check_grammar(flat, end + 1, stop, first, last)
        wrong[first] |= (begin[first] != some * width + 2) | (flat[some * width] != ord("{"))
        escaped = np.zeros(len(row), bool)
        slashes = np.flatnonzero(flat == ord("\\"))
        slashes = slashes[even[slashes // width]]
        if len(slashes) and len(row):
            holder = np.maximum(np.searchsorted(begin, slashes, "right") - 1, 0)
            escaped[holder] = True
            wrong[holder[~values[holder] | ~_find_escapes(flat, slashes)]] = True
            sound[(slashes // width)[slashes >= end[holder]]] = False
        sound[row[wrong]] = False
        return cls(flat, row, begin, end - begin, values, depth, counted, number, escaped, sound)

    def words(self, chosen: Column) -> Column:
        """The first eight bytes of strings and what follows them, the first one lowest."""
        return _gather_words(self.text, self.begin[chosen])


def _check_grammar(flat: Column, at: Column, stop: Column, first: Column, last: Column) -> tuple[Column, ...]:
    """What stands between strings, from `at` to `stop`; first, last: places of each header's first and last one.

    Behind a key comes a colon and its value: a string (:), a number (:12,) or an object (:{ or :{},); behind a value
    the next key (,), perhaps of the object around it (},), or the end. One object in a header is understood. Nearly all
    is one byte, a colon or a comma; what is not, and what stands last, is looked at apart.

    Returns which strings are values, how deep each stands, which have a number behind them, which one, and which err.
    """
    head, single = flat[at], stop - at == 1
    single[last] = False
    values = np.zeros(len(at), bool)
    values[1:] = (single & (head == ord(":")))[:-1]
    wrong = head != np.where(values, np.uint8(ord(",")), np.uint8(ord(":")))
    odd = np.flatnonzero(~single)
    final = np.full(len(at), ord(","), np.uint8)
    final[last] = ord("}")
    size, colon, ends = stop[odd] - at[odd], head[odd] == ord(":"), flat[stop[odd] - 1] == final[odd]
    double = size == 2
    opens = colon & double & (flat[at[odd] + 1] == ord("{")) & (final[odd] == ord(","))
    closes = double & (head[odd] == ord("}")) & ends
    found = np.flatnonzero(colon & (size > 2) & ends)
    number = odd[found]
    counted, value = np.zeros(len(at), bool), np.zeros(len(at), np.int32)
    value[number], counted[number] = _parse_numbers(flat, at[number] + 1, size[found] - 2)
    bare = odd[found[size[found] == len(":{},")]]
    empty = np.zeros(len(at), bool)
    empty[bare] = (flat[at[bare] + 1] == ord("{")) & (flat[at[bare] + 2] == ord("}"))
    wrong[odd] = np.where(values[odd], ~((size == 1) & ends | closes), ~(opens | counted[odd] | empty[odd]))
    step = np.zeros(len(at), np.int32)
    step[odd] = opens.astype(np.int32) - closes
    after = np.cumsum(step, dtype=np.int32)
    depth = after - step
    if after[last].any():  # a header does not close what it opens, and those behind it seem to be deeper
        base = np.repeat(depth[first], last + 1 - first)
        depth, after = depth - base, after - base
    wrong |= (depth < 0) | (depth > 1)
    wrong[last] |= after[last] != 0
    return values, depth, counted, value, wrong


def _parse_numbers(flat: Column, at: Column, size: Column) -> tuple[Column, Column]:
    """Integers as JSON has them, that fit in 32 bits, and which texts are one."""
    minus = flat[at] == ord("-")
    at, size = at + minus, size - minus
    value, right = _parse_digits(_gather_words(flat, at), np.minimum(size, 8))
    right &= (size >= 1) & (size <= DIGITS) & ((flat[at] != ord("0")) | (size == 1))
    long = np.flatnonzero(right & (size > 8))
    rest, right[long] = _parse_digits(_gather_words(flat, at[long] + 8), size[long] - 8)
    value[long] = value[long] * 10 ** (size[long] - 8) + rest
    value = np.where(minus, -value, value)
    right &= (value == value.astype(np.int32)) & (value != NULL)
    return value.astype(np.int32), right


def _parse_digits(words: Column, size: Column) -> tuple[Column, Column]:
    """Numbers of up to eight digits, the first one lowest in a word, and which have digits alone.

    The eight bytes of a word are added up together: neighbours to tens, tens to hundreds, and those to the number.
    """
    lowest = np.uint64(0x0101_0101_0101_0101)
    digits = (words ^ lowest * np.uint64(ord("0"))) << (64 - 8 * np.clip(size, 1, 8)).astype(np.uint64)
    right = ((digits + lowest * np.uint64(0x7F - 9)) | digits) & lowest * np.uint64(0x80) == 0
    for power, width, mask in _TOGETHER:
        digits = (digits * (power << width | np.uint64(1))) >> width & mask
    return digits.astype(np.int64), right


def _gather_words(flat: Column, at: Column) -> Column:
    """The eight bytes at many places, the first one lowest."""
    found: Column = np.ndarray(len(flat) - 7, "<u8", flat, strides=(1,))[at]
    return found


def _find_escapes(flat: Column, at: Column) -> Column:
    """Which backslashes begin an escape, other than of a quote or a backslash."""
    kind = flat[at + 1]
    hexed = _HEX[_gather_bytes(flat, at + 2, 4)].all(axis=1)
    found: Column = _ESCAPED[kind] & ((kind != ord("u")) | hexed)
    return found


def _gather_bytes(flat: Column, at: Column, width: int) -> Column:
    """`width` bytes at many places."""
    windows = np.lib.stride_tricks.sliding_window_view(flat, width)
    return np.ascontiguousarray(windows[at])


FAST_PATH = RocketMQFastPath()
