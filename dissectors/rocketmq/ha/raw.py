"""An HA connection that nobody asked to have framed: one run of bytes, told in a line and shown as a tree.

Theory. All frames of a run stand in one tree, so what one frame alone can't show is whole here: a message that a
transfer cut is a source of its own, made of its pieces. A run may be all of a log, so of a line the first MiB of log is
looked at, and a tree ends where it has enough frames, or bytes; what is left is one leaf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

from dissectors.errors import TooLarge
from dissectors.field import Tree
from dissectors.raw import RawRun
from dissectors.rocketmq.ha.chain import Link, links
from dissectors.rocketmq.ha.fields import read_frame
from dissectors.rocketmq.ha.forms import HANDSHAKE, HEARTBEAT, SLAVE_OFFSET, TRANSFER
from dissectors.rocketmq.ha.info import counted, of_topics
from dissectors.rocketmq.ha.known import Seen, seen
from dissectors.rocketmq.ha.log import CONTINUED, CONTINUES, size_of, spans
from dissectors.rocketmq.stored import MESSAGES, message_at
from dissectors.wire.budget import USUAL, Budget, get_allowance
from dissectors.wire.emit import FAILURES, projection
from dissectors.wire.message import read_unframed
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, element

PORT = 10912

_LOOK = 1 << 20
"""Bytes of log in which a line counts messages."""

_BYTES_A_FRAME, _SHARE = 4096, 8
"""A tree has so many frames that each may take a page, and of the bytes an eighth of what it may grow to."""

_NAME = "RocketMQ HA"
_TOPIC = frozenset({("topic",)})
_FRAMES = Many("frames", "array")


def line(run: RawRun) -> str | None:
    """What a slave reports, or how much log a master sends; None where it is not sure to be either."""
    known = _known(run)
    return None if known is None else f"{_NAME}: {', '.join(_told(run.data, *known))}"


def tree(run: RawRun) -> Tree | None:
    """Frame by frame; None where it is not sure to be any."""
    known = _known(run)
    if known is None:
        return None
    from_slave, found = known
    return read_unframed(run.data, partial(_read, from_slave=from_slave, found=found))


def _known(run: RawRun) -> tuple[bool, Seen] | None:
    """Whether a slave sent it, and what it is: on the HA port if it fits, elsewhere if nothing else does."""
    if PORT in run.ports:
        from_slave = run.ports[1] == PORT
        found = seen(run.data, from_slave)
        return None if found is None else (from_slave, found)
    found = seen(run.data, False)
    return (False, found) if found is not None and found.certain else None


def _bounds() -> tuple[int, int]:
    size = max(get_allowance(), USUAL)
    return size // _BYTES_A_FRAME, size // _SHARE


def _told(data: bytes, from_slave: bool, found: Seen) -> Iterator[str]:
    most, _ = _bounds()
    met = list(islice(links(data, from_slave, found.kind), most + 1))
    more = "more than " if len(met) > most else ""
    count = Counter(link.frame.form.operation for link in met[:most])
    offsets = [link.frame.offset for link in met if link.frame.form.operation != HANDSHAKE and link.frame.offset >= 0]
    if count[HANDSHAKE]:
        yield "a slave says who it is" if from_slave else "a master says its epochs"
    if from_slave and offsets:
        yield f"{more}{counted(count[SLAVE_OFFSET], 'report')} of a slave, offsets {offsets[0]:,} to {offsets[-1]:,}"
    if count[TRANSFER]:
        last = met[-1].frame
        yield f"{more}{counted(count[TRANSFER], 'block')} of log, {offsets[0]:,} to {last.offset + last.data:,}"
        yield _messages(data, met)
    if count[HEARTBEAT]:
        yield counted(count[HEARTBEAT], "heartbeat")


def _messages(data: bytes, met: list[Link]) -> str:
    """The messages of a run's blocks together."""
    topics: Counter[str | bytes | None] = Counter()
    left = _LOOK
    for base, log in _stretches(data, met):
        for span in spans(log, 0, min(len(log), left), base):
            if span.spec is None:
                topics.update(_topics(log, span.start, span.stop))
        left -= len(log)
        if left <= 0:
            break
    return of_topics(topics, at_least=left <= 0)


def _stretches(data: bytes, met: list[Link]) -> Iterator[tuple[int, bytes]]:
    """Log without a jump: where it begins, and its bytes, not much more than are looked at."""
    parts: list[bytes] = []
    base = end = size = 0
    for link in met:
        found = link.frame
        if not found.is_transfer or not found.data or size >= _LOOK:
            continue
        if parts and found.offset != end:
            yield base, b"".join(parts)
            parts.clear()
        if not parts:
            base = found.offset
        begin = link.at + found.form.size
        parts.append(data[begin : begin + found.data])
        end, size = found.offset + found.data, size + found.data
    if parts:
        yield base, b"".join(parts)


def _topics(log: bytes, at: int, stop: int) -> Iterator[str | bytes | None]:
    budget = Budget()
    while at < stop:
        try:
            yield projection(message_at(log, at, str), _TOPIC)(log, at, budget)[0]["topic"]
        except FAILURES:
            yield None
        at += int.from_bytes(log[at : at + INT32.size])


def _read(reader: Reader, from_slave: bool, found: Seen) -> None:
    most, limit = _bounds()
    cut = b""
    reader.enter(_FRAMES)
    for index, link in enumerate(links(reader.data, from_slave, found.kind)):
        stop = min(link.at + link.frame.size, reader.end)
        if index == most or stop > limit:
            raise TooLarge(reader.path(), reader.at, f"and what follows is not shown, {reader.end - reader.at} bytes")
        reader.enter(element(index, link.frame.form.operation))
        reader.guard(partial(read_frame, found=link.frame, from_slave=from_slave), stop)
        if link.frame.form.operation == TRANSFER:
            cut = _whole(reader, cut if link.follows else b"")
        reader.leave()
    reader.leave()


def _whole(reader: Reader, cut: bytes) -> bytes:
    """Adds the message that ends in the block read last, of which `cut` came before; gives what goes on behind it."""
    nodes = {node.spec.name: node for node in reader.into}
    end, begin = nodes.get(CONTINUED.name), nodes.get(CONTINUES.name)
    if end is not None and cut:
        cut += end.value
        if len(cut) == size_of(cut):
            reader.read_decoded(end, "a message of several blocks", cut).guard(MESSAGES.read_items, len(cut))
        elif len(cut) < size_of(cut):
            return cut
    return b"" if begin is None else begin.value
