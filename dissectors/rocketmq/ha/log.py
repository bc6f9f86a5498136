"""Pieces of a commit log: the messages that begin in them, and their nodes.

Facts (CommitLog, MessageDecoder). A log is stored messages back to back, in files of one size. If the next message does
not fit into a file, a blank one with a magic of its own fills the rest. Only size and magic of a blank one are written;
its other bytes are arbitrary. A stored message contains its own offset in the log.

Theory. A transfer takes the bytes that are available, and cuts messages anywhere. A piece may begin with the end of a
message from the one before. Reading begins at the first message whose place is the offset that it contains, so no piece
needs another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from dissectors.errors import MalformedField
from dissectors.field import FieldSpec
from dissectors.rocketmq.stored import MAGICS, MESSAGES, MINIMUM
from dissectors.wire.reader import Reader

BLANK = 0xCBD4_3194

CONTINUED = FieldSpec("continued", "bytes")
"""The end of a message that an earlier piece began."""

CONTINUES = FieldSpec("continues", "bytes")
"""The beginning of one that a later piece goes on with."""

_BLANK = FieldSpec("blank", "bytes")

MAXIMUM = 128 * 1024 * 1024
"""More than a message may have: brokers take 4 MiB by default, and no frame is larger."""

_WORDS, _PLACE = Struct(">iI"), Struct(">q")
_PLACED = 28
"""Where in a stored message its offset in the log stands."""

_MAGIC_AT = 4
_MAGICS = re.compile(b"|".join(re.escape(magic.to_bytes(4)) for magic in MAGICS))


class LogSpan(NamedTuple):
    """A span of bytes of the same kind in a piece of log; `messages` of them are complete messages."""

    spec: FieldSpec | None
    start: int
    stop: int
    messages: int = 0


def iterate_spans(data: bytes, start: int, stop: int, base: int) -> Iterator[LogSpan]:
    """What lies in data[start:stop], of which the first byte stands at `base` in the log; spec None: messages.

    Covers all of it, but for what neither is a message nor the end of one.
    """
    at = find_first_message(data, start, stop, base)
    if at > start:
        yield LogSpan(CONTINUED, start, at)
    begin, count = at, 0
    while stop - at >= _WORDS.size:
        size, magic = _WORDS.unpack_from(data, at)
        if magic == BLANK and size >= _WORDS.size:
            if count:
                yield LogSpan(None, begin, at, count)
            begin, count = min(at + size, stop), 0
            yield LogSpan(_BLANK, at, begin)
            at = begin
            continue
        if magic not in MAGICS or not MINIMUM <= size <= MAXIMUM:
            break
        if size > stop - at:
            break
        at, count = at + size, count + 1
    if count:
        yield LogSpan(None, begin, at, count)
    if at < stop and _can_continue(data, at, stop):
        yield LogSpan(CONTINUES, at, stop)


def find_first_message(data: bytes, start: int, stop: int, base: int) -> int:
    """Returns where the first message, or a blank one at the beginning, is; `stop` if there is none."""
    if stop - start >= _WORDS.size and _WORDS.unpack_from(data, start)[1] == BLANK:
        return start
    if _can_continue(data, start, stop) and stop - start < _PLACED + _PLACE.size:
        return start if stop - start >= _WORDS.size else stop
    for found in _MAGICS.finditer(data, start + _MAGIC_AT, stop):
        at = found.start() - _MAGIC_AT
        if at + _PLACED + _PLACE.size > stop:
            break
        if _PLACE.unpack_from(data, at + _PLACED)[0] == base + at - start:
            return at
    return stop


def read_size(data: bytes) -> int:
    """Returns the size of the message that begins here; 0 if too few bytes are there."""
    return int.from_bytes(data[:_MAGIC_AT]) if len(data) >= _MAGIC_AT else 0


def _can_continue(data: bytes, at: int, stop: int) -> bool:
    """Whether a message that ends behind `stop` may begin there."""
    head = data[at : min(at + _WORDS.size, stop)]
    size = int.from_bytes(head[:_MAGIC_AT])
    if len(head) >= _MAGIC_AT and not (MINIMUM <= size <= MAXIMUM and size > stop - at):
        return False
    return any(magic.to_bytes(4).startswith(head[_MAGIC_AT:]) for magic in MAGICS)


def read_log(reader: Reader, base: int) -> None:
    """Reads a piece of a log up to the reader's end; its first byte stands at `base`. Raises Malformed."""
    data, end = reader.data, reader.end
    for span in iterate_spans(data, reader.at, end, base):
        if span.spec is None:
            reader.guard(MESSAGES.read_items, span.stop)
        else:
            reader.leaf(span.spec, data[span.start : span.stop], span.stop)
    if reader.at < end:
        raise MalformedField(reader.path("messages"), reader.at, "is neither a message nor blank")
