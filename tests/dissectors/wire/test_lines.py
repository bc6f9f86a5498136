"""Messages of lines: NAME, NAME SIZE with a string of that size behind it, and LIST COUNT with so many lines."""

from __future__ import annotations

import pytest

from dissectors.field import FieldSpec, Tree
from dissectors.wire.lines import LineFramer, find_line
from dissectors.wire.message import read_unframed
from dissectors.wire.reader import Reader
from tests.dissectors.trees import assert_tiles


class Bytes(bytes):
    def read_bytes(self, offset: int, length: int) -> bytes:
        return self[offset : offset + length]


def measure(line: bytes) -> tuple[int, int]:
    name, _, number = line.strip().partition(b" ")
    if not name.isalpha() or not number.isdigit():
        return (0, 0) if name.isalpha() and not number else (-1, 0)
    return (0, int(number)) if name == b"LIST" else (int(number) + 2, 0)


def make_framer() -> LineFramer:
    return LineFramer(measure, measure, maximum=1000)


MESSAGES = [b"PING\r\n", b"PUT 4\r\na\nbc\r\n", b"LIST 3\r\nA\r\nB 0\r\n\r\nLIST 1\r\nC\n", b"LIST 0\r\n"]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_as_long_as_its_lines_say(message: bytes) -> None:
    framer = make_framer()
    for end in range(len(message)):
        reported = make_framer().length(Bytes(message[:end]), False)
        assert reported == framer.length(Bytes(message[:end]), False)
        assert reported == len(message) or end < -reported <= len(message)
    assert framer.length(Bytes(message + b"PING\r\n"), False) == len(message)
    assert framer.length(Bytes(b"PING\r\n"), False) == 6


@pytest.mark.parametrize("message", [b"1\r\n", b"PUT 3\r\nabcde", b"PUT 999\r\n", b"LIST 9999\r\n", b"A" * (1 << 16)])
def test_what_is_no_message(message: bytes) -> None:
    assert make_framer().length(Bytes(message), False) == 0


def read(message: bytes) -> Tree:
    def read_all(reader: Reader, left: int = 1) -> None:
        while left:
            line, stop, more = find_line(reader, "line", measure)
            reader.leaf(FieldSpec("line", "line"), line, stop)
            left += more - 1

    return read_unframed(message, read_all)


@pytest.mark.parametrize("message", MESSAGES)
def test_every_cut_is_one_finding(message: bytes) -> None:
    for end in range(len(message) + 1):
        tree = read(message[:end])
        assert_tiles(tree)
        assert [finding.code for finding in tree.findings] == ["malformed-body"] * (end < len(message))


def test_a_string_that_does_not_end_with_a_line() -> None:
    (finding,) = read(b"PUT 3\r\nabcde").findings
    assert finding.text == "line at offset 0 is not written as the protocol has it"
