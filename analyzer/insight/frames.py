"""The packets that carried a message, as in the capture: whole frames, with their TCP headers.

Theory. For a packet the index keeps only its number, and where its bytes are. Everything else is read from the capture
again, up to the last wanted packet; only wanted packets are decoded. A frame may contain bytes of other messages, too,
and secrets in them. So whatever is hidden in a message is hidden in its frames, and so are bytes of no known message.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.capture.flows import FlowTable
from analyzer.capture.packet_decoder import PacketDecoder
from analyzer.capture.records import RecordBlock, make_empty_block
from analyzer.capture.tcp_segments import TcpSegments, read_usual_segments
from analyzer.columns.arrays import Ints, list_distinct
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import list_pieces
from analyzer.decode.masking import Span, find_secret_spans
from analyzer.decode.packets import list_packets
from analyzer.decode.tls_facts import is_decrypted
from analyzer.session import Session
from analyzer.tcp.reassembly import HALF, SNAPPED
from analyzer.tcp.streams import ACK, FIN, RST, SYN
from dissectors.slotted import make_slotted

FLAGS = ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST"), (0x08, "PSH"), (ACK, "ACK"), (0x20, "URG"))


@make_slotted
class Tcp:
    """The TCP header of a frame. head: bytes before the payload; payload: captured bytes of it."""

    seq: int
    ack: int
    flags: int
    head: int
    payload: int

    @property
    def names(self) -> str:
        """The names of the TCP flags that are set, such as `PSH ACK` (RFC 9293)."""
        return " ".join(name for bit, name in FLAGS if self.flags & bit)


@make_slotted
class CapturedFrame:
    """A packet with `length` bytes of a message, from its byte `offset` on.

    number: in the timeline; time: ns since 1970; at: location of its first byte in the store; captured, original:
    captured bytes, and bytes on the wire. again: the bytes are a retransmission. tcp: None for an IP fragment, and if
    it could not be read. begin: where its payload begins in its half-stream; own: where the message's bytes are in the
    frame; None if unknown.
    """

    number: int
    time: int
    at: int
    captured: int
    original: int
    offset: int
    length: int
    again: bool
    tcp: Tcp | None
    begin: int | None
    own: int | None


@make_slotted
class LostBytes:
    """Bytes of a message that are in no packet of the capture; cut: the snap length cut them off."""

    offset: int
    length: int
    cut: bool


def frames_of(session: Session, row: int) -> list[CapturedFrame]:
    """Returns the frames with a row's bytes, by number. Reads the capture up to the last of them."""
    brought = list_packets(session, row)
    numbers = list_distinct(np.array([each["number"] for each in brought], np.int64))
    records = _records(session, numbers)
    known = {int(number): place for place, number in enumerate(numbers[: len(records)])}
    tcp = _tcp(session, records)
    begins = {} if is_decrypted(session, row) else _begins(session, row, numbers, records, tcp)
    found = []
    for each in brought:
        number = int(each["number"])
        place = known.get(number)
        if place is None:
            continue
        columns = (records.time, records.at, records.captured, records.original)
        time, at, captured, original = (int(column[place]) for column in columns)
        offset, length, segment, begin = int(each["offset"]), int(each["length"]), tcp.get(place), begins.get(place)
        own = (
            None
            if segment is None or begin is None
            else segment.head + session.rows.cell("offset", row) + offset - begin
        )
        again = bool(each["retransmission"])
        found.append(CapturedFrame(number, time, at, captured, original, offset, length, again, segment, begin, own))
    return found


def find_lost_bytes(session: Session, row: int) -> list[LostBytes]:
    """Returns the bytes of a row's message that the capture lacks."""
    offset, found = 0, []
    for at, length, _ in list_pieces(session, row):
        if at < 0:
            found.append(LostBytes(offset, length, at == SNAPPED))
        offset += length
    return found


def frame_bytes(
    session: Session, row: int, frame: CapturedFrame, rows: int, *, show_secrets: bool
) -> tuple[bytes, list[Span]]:
    """Returns the bytes of a frame, and the spans of them to hide. rows: number of known messages.

    If it is unknown where its payload belongs, all of it is hidden. Ciphertext is not hidden.
    """
    data = session.source.store.read_bytes(frame.at, frame.captured)
    if show_secrets or is_decrypted(session, row):
        return data, []
    if frame.tcp is None or frame.begin is None:
        return data, [(0 if frame.tcp is None else frame.tcp.head, len(data))]
    first, end = frame.begin, frame.begin + frame.tcp.payload
    payload = data[frame.tcp.head : frame.tcp.head + frame.tcp.payload]
    spans: list[Span] = []
    at = first
    for other in _rows_in(session, row, first, end, rows).tolist():
        begin, length = session.rows.cell("offset", other), session.rows.cell("length", other)
        spans += [(at, begin), *_find_hidden(session, other, begin, first, payload if frame.again else None)]
        at = max(at, begin + length)
    spans.append((at, end))
    inside = [(max(begin, first), min(stop, end)) for begin, stop in spans]
    shift = frame.tcp.head - first
    return data, [(begin + shift, stop + shift) for begin, stop in inside if begin < stop]


def _find_hidden(session: Session, row: int, begin: int, first: int, again: bytes | None) -> Iterator[Span]:
    """Yields the hidden spans of a row in the half-stream; all of it if `again`, from `first` on, differs from it."""
    tree = decode_tree(session, row)
    segment = tree.sources[0].data
    if again is not None:
        low, high = max(begin, first), min(begin + len(segment), first + len(again))
        if segment[low - begin : high - begin] != again[low - first : high - first]:
            yield begin, begin + len(segment)
    for low, high in find_secret_spans(tree).get(0, ()):
        yield begin + low, begin + high


def _rows_in(session: Session, row: int, first: int, end: int, rows: int) -> Ints:
    """Returns the rows of the same direction with bytes in a range, in the order of these bytes."""
    before = session.rows.first
    remaining = slice(before, rows)
    columns = {name: session.rows.column(name)[remaining] for name in ("stream", "side", "offset", "length")}
    mine = (columns["stream"] == session.rows.cell("stream", row)) & (columns["side"] == session.rows.cell("side", row))
    places = np.flatnonzero(mine & (columns["offset"] < end) & (columns["offset"] + columns["length"] > first))
    return places[np.argsort(columns["offset"][places], kind="stable")] + before


def _records(session: Session, numbers: Ints) -> RecordBlock:
    """Returns the records of packets (ascending numbers); fewer if the capture has become shorter."""
    parts = [make_empty_block()]
    for before, block in session.packets.reread_numbered() if len(numbers) else ():
        first, stop = np.searchsorted(numbers, [before, before + len(block)], "right").tolist()
        mine = numbers[first:stop]
        if len(mine):
            parts.append(block[mine - (before + 1)])
        if before + len(block) >= numbers[-1]:
            break
    return RecordBlock.concatenate(parts)


def _tcp(session: Session, records: RecordBlock) -> dict[int, Tcp]:
    """Returns the TCP headers of records, by index."""
    segments = _segments(session, records)
    if segments is None:
        return {}
    heads = segments.at - records.at[segments.row]
    columns = (segments.row, segments.seq, segments.ack, segments.flags, heads, segments.captured)
    cells = zip(*(column.tolist() for column in columns), strict=True)
    # The payload of an IP fragment is elsewhere; the padding of a short frame is no payload.
    return {place: Tcp(*rest) for place, *rest in cells if 0 <= rest[3] <= records.captured[place]}


def _segments(session: Session, records: RecordBlock) -> TcpSegments | None:
    store = session.source.store
    if not len(records):
        return None
    if session.ended or not session.packets.counts.fragments:
        return PacketDecoder(store, FlowTable(), []).decode_segments(records)
    # The decoder changes the reassembly state, and the reading thread may be using it.
    usual = read_usual_segments(store, records)
    return None if usual is None else usual[0]


def _begins(session: Session, row: int, numbers: Ints, records: RecordBlock, tcp: dict[int, Tcp]) -> dict[int, int]:
    """Returns where the payload of each record begins in its half-stream.

    It is known for a packet with bytes of the row. The others follow from their sequence numbers, which count modulo
    2^32.
    """
    offset = session.rows.cell("offset", row)
    for at, length, packet in list_pieces(session, row):
        place = int(np.searchsorted(numbers, packet))
        found = tcp.get(place) if at >= 0 and place < len(records) and numbers[place] == packet else None
        if found is not None:
            begin = offset - (at - int(records.at[place]) - found.head)
            behind = {each: (other.seq - found.seq + HALF & 0xFFFFFFFF) - HALF for each, other in tcp.items()}
            return {each: begin + distance for each, distance in behind.items()}
        offset += length
    return {}
