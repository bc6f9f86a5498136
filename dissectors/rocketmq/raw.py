"""Traffic on ports of RocketMQ that is no remoting command.

Facts. Default ports: haListenPort is 10912 (the broker's + 1); a proxy takes gRPC on 8081 (ProxyConfig, grpcServerPort)
and remoting commands on 8080 (remotingListenPort), where it also accepts HTTP/2, recognised by its first bytes. Other
programs use 8080 and 8081 as well, so a port alone tells only its usual protocol.

Theory. Reports of a slave may be anything; on the HA port they are taken for reports. The master's bytes can be
recognised with certainty: a message of the log at the offset that it contains is no accident, nor are consecutive
transfers of which each begins where the one before it ended.

Theory. All frames of a run are in one tree, so a message that a transfer cut is a source of its own, made of its
fragments. A run may be a whole log, so the line counts messages in its first MiB, and a tree ends when it has enough
frames or bytes; the rest is one leaf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple

from dissectors.errors import TooLarge
from dissectors.field import Tree
from dissectors.foreign import foreign
from dissectors.raw import RawRun
from dissectors.rocketmq.ha.body import format_topics, read_frame
from dissectors.rocketmq.ha.frames import (
    HANDSHAKE,
    HEARTBEAT,
    LOOK,
    SLAVE_OFFSET,
    TRANSFER,
    FrameLink,
    HAProtocol,
    iterate_links,
    recognise_protocol,
)
from dissectors.rocketmq.ha.log import CONTINUED, CONTINUES, iterate_spans, read_size
from dissectors.rocketmq.stored import MESSAGES, find_message_plan
from dissectors.wire.amounts import count_text
from dissectors.wire.budget import USUAL, Budget, get_allowance
from dissectors.wire.emit import FAILURES, projection
from dissectors.wire.message import read_unframed
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, element

_HTTP2 = "http2"
_PORTS: Mapping[int, str] = {
    8080: "a RocketMQ proxy's clients usually speak remoting commands, or gRPC over HTTP/2",
    8081: "a RocketMQ proxy's clients usually speak gRPC over HTTP/2",
}


class RocketMQRaw:
    """The HA port by what passes there; the proxy's by number."""

    def line(self, run: RawRun) -> str | None:
        """Describes unframed bytes in a line: reports and log of HA, or the purpose of a port."""
        other = foreign(run.data)
        if other is None and (found := describe_raw(run)) is not None:
            return found
        if other is not None and other.name != _HTTP2:
            return None
        port = next((port for port in run.ports if port in _PORTS), None)
        return None if port is None else f"on port {port} {_PORTS[port]}, which is not decoded here"

    def tree(self, run: RawRun) -> Tree | None:
        """Frames of an HA connection."""
        return decode_raw(run) if foreign(run.data) is None else None


RAW = RocketMQRaw()


class RecognisedRun(NamedTuple):
    """Bytes of one direction: which protocol they would be, and whether nothing else can look so."""

    kind: HAProtocol
    certain: bool


_FRAMES = 16
"""Frames that are looked at; so many offsets in order are no accident."""

_CHAINED = 3


def recognise_run(data: bytes, from_slave: bool) -> RecognisedRun | None:
    """What bytes are, if frames of one protocol fill them or come one behind the other; None: they are none.

    Certain is a master's whole message where it says it stands, or a few frames of which each goes on where it should.
    """
    kind = recognise_protocol(data[:LOOK], from_slave, ended=True)
    if kind is None:
        return None
    count, stop, proof = 0, 0, 0
    for link in iterate_links(data, from_slave, kind):
        if count == _FRAMES:
            break
        if not link.follows:
            return None
        count, stop = count + 1, link.at + link.frame.size
        proof += _weigh_link(data, link)
    if not count or (stop < len(data) and count < _FRAMES):
        return None
    return RecognisedRun(kind, not from_slave and proof >= _CHAINED)


def _weigh_link(data: bytes, link: FrameLink) -> int:
    """How much a frame proves: offsets in a row a little, a message at its own place all that is needed."""
    found, begin = link.frame, link.at + link.frame.form.size
    if not found.is_transfer or not found.data:
        return int(found.is_transfer and found.offset > 0 and link.at > 0)
    end = min(begin + found.data, len(data))
    whole = any(span.messages for span in iterate_spans(data, begin, end, found.offset) if span.spec is not CONTINUED)
    return _CHAINED if whole else int(link.at > 0)


PORT = 10912

_LOOK = 1 << 20
"""Bytes of log in which a line counts messages."""

_BYTES_A_FRAME, _SHARE = 4096, 8
"""A tree has so many frames that each may take a page, and of the bytes an eighth of what it may grow to."""

_NAME = "RocketMQ HA"
_TOPIC = frozenset({("topic",)})
_FRAME_LIST = Many("frames", "array")


def describe_raw(run: RawRun) -> str | None:
    """Describes raw bytes: the offset that a slave reports, or the log of a master; None if neither is certain."""
    known = _recognise_run(run)
    return None if known is None else f"{_NAME}: {', '.join(_describe_run(run.data, *known))}"


def decode_raw(run: RawRun) -> Tree | None:
    """Frame by frame; None where it is not sure to be any."""
    known = _recognise_run(run)
    if known is None:
        return None
    from_slave, found = known
    return read_unframed(run.data, partial(_read_run, from_slave=from_slave, found=found))


def _recognise_run(run: RawRun) -> tuple[bool, RecognisedRun] | None:
    """Whether a slave sent it, and what it is: on the HA port if it fits, elsewhere if nothing else does."""
    if PORT in run.ports:
        from_slave = run.ports[1] == PORT
        found = recognise_run(run.data, from_slave)
        return None if found is None else (from_slave, found)
    found = recognise_run(run.data, False)
    return (False, found) if found is not None and found.certain else None


def _find_bounds() -> tuple[int, int]:
    size = max(get_allowance(), USUAL)
    return size // _BYTES_A_FRAME, size // _SHARE


def _describe_run(data: bytes, from_slave: bool, found: RecognisedRun) -> Iterator[str]:
    most, _ = _find_bounds()
    links = list(islice(iterate_links(data, from_slave, found.kind), most + 1))
    more = "more than " if len(links) > most else ""
    count = Counter(link.frame.operation for link in links[:most])
    offsets = [link.frame.offset for link in links if link.frame.operation != HANDSHAKE and link.frame.offset >= 0]
    if count[HANDSHAKE]:
        yield "a slave says who it is" if from_slave else "a master says its epochs"
    if from_slave and offsets:
        reports = count_text(count[SLAVE_OFFSET], ",report")
        yield f"{more}{reports} of a slave, offsets {offsets[0]:,} to {offsets[-1]:,}"
    if count[TRANSFER]:
        last = links[-1].frame
        yield f"{more}{count_text(count[TRANSFER], ',block')} of log, {offsets[0]:,} to {last.offset + last.data:,}"
        yield _describe_messages(data, links)
    if count[HEARTBEAT]:
        yield count_text(count[HEARTBEAT], ",heartbeat")


def _describe_messages(data: bytes, links: list[FrameLink]) -> str:
    """The messages of a run's blocks together."""
    topics: Counter[str | bytes | None] = Counter()
    left = _LOOK
    for base, log in _iterate_stretches(data, links):
        for span in iterate_spans(log, 0, min(len(log), left), base):
            if span.spec is None:
                topics.update(_iterate_topics(log, span.start, span.stop))
        left -= len(log)
        if left <= 0:
            break
    return format_topics(topics, at_least=left <= 0)


def _iterate_stretches(data: bytes, links: list[FrameLink]) -> Iterator[tuple[int, bytes]]:
    """Log without a jump: where it begins, and its bytes, not much more than are looked at."""
    parts: list[bytes] = []
    base = end = size = 0
    for link in links:
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


def _iterate_topics(log: bytes, at: int, stop: int) -> Iterator[str | bytes | None]:
    budget = Budget()
    while at < stop:
        try:
            yield projection(find_message_plan(log, at, str), _TOPIC)(log, at, budget)[0]["topic"]
        except FAILURES:
            yield None
        at += int.from_bytes(log[at : at + INT32.size])


def _read_run(reader: Reader, from_slave: bool, found: RecognisedRun) -> None:
    most, limit = _find_bounds()
    cut = b""
    reader.enter(_FRAME_LIST)
    for index, link in enumerate(iterate_links(reader.data, from_slave, found.kind)):
        stop = min(link.at + link.frame.size, reader.end)
        if index == most or stop > limit:
            raise TooLarge(reader.path(), reader.at, f"and what follows is not shown, {reader.end - reader.at} bytes")
        reader.enter(element(index, link.frame.operation))
        reader.guard(partial(read_frame, found=link.frame, from_slave=from_slave), stop)
        if link.frame.operation == TRANSFER:
            cut = _add_cut_message(reader, cut if link.follows else b"")
        reader.leave()
    reader.leave()


def _add_cut_message(reader: Reader, cut: bytes) -> bytes:
    """Adds the message that ends in the block read last, of which `cut` came before; gives what goes on behind it."""
    nodes = {node.spec.name: node for node in reader.into}
    end, begin = nodes.get(CONTINUED.name), nodes.get(CONTINUES.name)
    if end is not None and cut:
        cut += end.value
        if len(cut) == read_size(cut):
            reader.read_decoded(end, "a message of several blocks", cut).guard(MESSAGES.read_items, len(cut))
        elif len(cut) < read_size(cut):
            return cut
    return b"" if begin is None else begin.value
