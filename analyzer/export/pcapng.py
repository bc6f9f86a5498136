"""Writes chosen packets of a session's captures as one pcapng file, in the order of their timeline.

Theory. A second pass over the records finds the bytes of the chosen packets; this also works for a pipe, because its
spool still exists. All inputs become one section in little-endian order: each interface of each input becomes an
interface of it, with its options and a clock in nanoseconds. Comments, directions and hashes of pcapng packets are
copied from their blocks, and so are names of hosts. Counters are left out, because they are no longer true, and so are
secrets unless requested.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from analyzer.capture.output import Output
from analyzer.capture.pcapng_format import (
    COMMENT,
    ENHANCED,
    INTERFACE,
    INTERFACE_RESOLUTION,
    NAMES,
    NANOSECONDS,
    OBSOLETE,
    SECTION,
    InterfaceDescription,
    encode_block,
    encode_interface,
    encode_option,
    encode_secrets,
    encode_section,
    iterate_options,
)
from analyzer.capture.records import CaptureInfo, DescriptionBlock, RecordBlock
from analyzer.capture.store import POSITION, SHIFT, Store
from analyzer.columns.arrays import Array, Bools, Ints, list_distinct
from analyzer.render.objects import Out
from analyzer.session import Session

HARDWARE, SYSTEM, APPLICATION = 2, 3, 4
TOGETHER, TOGETHER_BYTES = 4096, 8 << 20
"""Number of packets, and of their bytes, that are written at a time."""

INTEGERS = {INTERFACE: {8, 16, 17}, ENHANCED: {2, 4, 5, 6}}
"""Options that are one integer in the section's byte order: speeds; flags, drops, packet ids, queues."""

OWN_CLOCK = frozenset({9, 10, 14})
"""Options of an interface that define its ticks; ours are nanoseconds since 1970."""

HEAD = 28
"""Bytes in front of an enhanced packet's data: type, length, interface, time in two halves, both lengths."""


ShareWindows = Callable[[Sequence[range], Callable[[range, Out], int]], int]
"""Has a function write windows of packets in order, maybe in several processes; returns the sum of its results."""


def write(
    session: Session, wanted: Bools, output: Output, key_log: bytes = b"", share: ShareWindows | None = None
) -> int:
    """Writes the packets whose number is flagged (number 0 is unused); returns how many. Raises UserError.

    key_log: lines of a TLS key log that are embedded in the file. share: None: this process writes all packets. The
    session has been read to its end, by the native reader.
    """
    writer = _PacketWriter(session, wanted)
    output.writelines(writer.head(key_log))
    windows = [range(first, min(first + TOGETHER, len(wanted))) for first in range(0, len(wanted), TOGETHER)]
    if share is None:
        count = sum(writer.write(window, output) for window in windows)
    else:
        count = share(windows, writer.write)
    comments = session.comments
    comments.mark_saved(number for number in [*comments.written] if wanted[number])
    return count


class _PacketWriter:
    """Writes the packets whose number is flagged, window by window; windows of one process must ascend."""

    def __init__(self, session: Session, wanted: Bools) -> None:
        self._session, self._wanted, self._store = session, wanted, session.packets.store
        self._infos = session.packets.files
        self._inputs = {info.file: _Input(info, self._store) for info in self._infos}
        self._blocks = session.packets.reread_numbered()
        self._block: tuple[int, RecordBlock] | None = None

    def head(self, key_log: bytes) -> Iterator[bytes]:
        """Yields what stands before the packets."""
        yield encode_section(_describe_section(self._infos))
        first = 0
        for each in self._inputs.values():
            interfaces = list(each.interfaces())
            each.first = first
            first += len(interfaces)
            yield from interfaces
        for each in self._inputs.values():
            yield from each.names()
        if key_log:
            yield encode_secrets(key_log)

    def write(self, numbers: range, output: Out) -> int:
        """Writes those of the packets with these numbers that are flagged; returns how many."""
        count = 0
        while (block := self._take_block()) is not None:
            before, records = block
            first = max(numbers.start - before - 1, 0)
            last = min(numbers.stop - before - 1, len(records))
            if first < last:
                count += self._write_records(before + first, records[first:last], output)
            if numbers.stop <= before + 1 + len(records):
                break
            self._block = None
        return count

    def _take_block(self) -> tuple[int, RecordBlock] | None:
        """Returns the block of records at hand, or the next one."""
        if self._block is None:
            self._block = next(self._blocks, None)
        return self._block

    def _write_records(self, before: int, records: RecordBlock, output: Out) -> int:
        rows = np.flatnonzero(self._wanted[before + 1 : before + 1 + len(records)])
        done = 0
        for part in _parts(records[rows]):
            numbers = rows[done : done + len(part)] + (before + 1)
            done += len(part)
            comments = _list_comments(self._session, numbers)
            output.write(b"".join(_blocks(self._store, self._inputs, part, comments)))
        return len(rows)


class _Input:
    """One capture: its interfaces and names, and its interfaces in the output, from `first` on."""

    def __init__(self, info: CaptureInfo, store: Store) -> None:
        self.first = 0
        self._base, self._info, self._store = info.file << SHIFT, info, store
        begins, before, sections = [], 0, []
        for one in info.described:
            if one.kind == SECTION:
                sections.append((before, one.order == ">"))
                begins.append(one.position)
            before += one.kind == INTERFACE
        self._begins = np.array(begins, np.int64)
        self._before = np.array([found[0] for found in sections], np.int64)
        self._big = np.array([found[1] for found in sections], bool)
        self._count = np.diff(self._before, append=before)

    def interfaces(self) -> Iterator[bytes]:
        """Yields a block for each interface, as the capture describes it."""
        if not self._info.described:
            for known in self._info.interfaces:
                yield encode_interface(InterfaceDescription(known.name, known.link & 0xFFFF, known.snaplen))
        for one in self._info.described:
            if one.kind == INTERFACE:
                data = self._body(one)
                link, snaplen = struct.unpack_from(one.order + "H2xI", data)
                options = _options(INTERFACE, data[8:], one.order, OWN_CLOCK)
                clock = encode_option(INTERFACE_RESOLUTION, NANOSECONDS)
                yield encode_block(
                    INTERFACE, struct.pack("<HHI", link, 0, snaplen) + options + clock + encode_option(0, b"")
                )

    def names(self) -> Iterator[bytes]:
        """Yields the blocks with names of hosts."""
        for one in self._info.described:
            if one.kind == NAMES:
                records = [encode_option(code, value) for code, value in iterate_options(self._body(one), one.order)]
                yield encode_block(NAMES, b"".join(records) + encode_option(0, b""))

    def _body(self, one: DescriptionBlock) -> bytes:
        (length,) = struct.unpack(one.order + "I", self._store.read_bytes(self._base | one.position + 4, 4))
        return self._store.read_bytes(self._base | one.position + 8, length - 12)

    def packets(self, at: Ints, captured: Ints) -> tuple[Ints, list[bytes]]:
        """Returns the output interfaces of packets of this capture, and their options."""
        if not len(self._begins):
            return np.full(len(at), self.first, np.int64), [b""] * len(at)
        which = np.searchsorted(self._begins, at & POSITION, "right") - 1
        big = self._big[which]
        # A packet block follows its section, so these reads never begin before the file.
        heads = self._store.gather(at - HEAD, HEAD)
        kind, length, interface, _, _, options, _ = np.where(
            big[:, None], heads.view(">u4"), heads.view("<u4")
        ).T.astype(np.int64)
        interface = np.where(kind == OBSOLETE, np.where(big, interface >> 16, interface & 0xFFFF), interface)
        rest = length - HEAD - (captured + 3 & ~3) - 4
        # The bytes before a simple packet are not such a header.
        plain = ((kind != ENHANCED) & (kind != OBSOLETE)) | (options != captured) | (interface >= self._count[which])
        interface[plain] = 0
        found = [b""] * len(at)
        more = np.flatnonzero(~plain & (rest >= 4))
        values = self._store.read_many(at[more] + (captured[more] + 3 & ~3), rest[more])
        for row, value, order in zip(more.tolist(), values, big[more].tolist(), strict=True):
            options_bytes = _options(ENHANCED, value, ">" if order else "<")
            found[row] = options_bytes + encode_option(0, b"") if options_bytes else b""
        return self.first + self._before[which] + interface, found


def _options(kind: int, data: bytes, order: str, without: frozenset[int] = frozenset()) -> bytes:
    """Returns options in our byte order, without the end marker; `kind`: of their block."""
    swapped = INTEGERS[kind] if order == ">" else ()
    return b"".join(
        encode_option(code, value[::-1] if code in swapped else value)
        for code, value in iterate_options(data, order)
        if code not in without
    )


def _describe_section(infos: Sequence[CaptureInfo]) -> bytes:
    """Returns the section's options: all comments of the inputs, and the first known hardware, system and program."""
    found = [encode_option(COMMENT, _text(text)) for info in infos for text in info.capture_comments]
    for code, name in ((HARDWARE, "hardware"), (SYSTEM, "os"), (APPLICATION, "application")):
        option_text = next((text for info in infos if (text := getattr(info, name))), None)
        if option_text:
            found.append(encode_option(code, _text(option_text)))
    return b"".join([*found, encode_option(0, b"")]) if found else b""


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")[:0xFFFF]


def _parts(records: RecordBlock) -> Iterator[RecordBlock]:
    sizes = np.cumsum(records.captured)
    first = 0
    while first < len(records):
        before = int(sizes[first - 1]) if first else 0
        last = min(first + TOGETHER, int(np.searchsorted(sizes, before + TOGETHER_BYTES)) + 1, len(records))
        yield records[first:last]
        first = last


def _list_comments(session: Session, numbers: Ints) -> dict[int, bytes]:
    """Returns the options of the user's comments on packets, by the packets' places in `numbers` (ascending)."""
    found: dict[int, bytes] = {}
    for number, text in session.comments.written.items():
        place = int(np.searchsorted(numbers, number))
        if place < len(numbers) and numbers[place] == number:
            found[place] = encode_option(COMMENT, _text(text))
    return found


def _blocks(
    store: Store, inputs: Mapping[int, _Input], records: RecordBlock, comments: Mapping[int, bytes]
) -> Iterator[bytes]:
    """Yields the blocks of packets, in pieces. comments: options to be added, by place."""
    interface, found = np.zeros(len(records), np.int64), [b""] * len(records)
    file = records.at >> SHIFT
    for number in list_distinct(file).tolist():
        rows = np.flatnonzero(file == number)
        interface[rows], mine = inputs[number].packets(records.at[rows], records.captured[rows])
        for row, value in zip(rows.tolist(), mine, strict=True):
            found[row] = value
    for row, option in comments.items():
        end = encode_option(0, b"")
        found[row] = found[row].removesuffix(end) + option + end
    padding = -records.captured & 3
    length = HEAD + records.captured + padding + np.array([len(value) for value in found], np.int64) + 4
    heads = _heads(records, interface, length).tobytes()
    ends = length.astype("<u4").tobytes()
    for row, (data, fill, value) in enumerate(
        zip(store.read_many(records.at, records.captured), padding.tolist(), found, strict=True)
    ):
        yield heads[row * HEAD : row * HEAD + HEAD]
        yield data
        yield bytes(fill) + value + ends[row * 4 : row * 4 + 4]


def _heads(records: RecordBlock, interface: Ints, length: Ints) -> Array:
    """Returns the first HEAD bytes of each block, shape (n, 7), 32 bits each."""
    time = np.maximum(records.time, 0)  # times before 1970 cannot be written
    columns = (np.full(len(time), ENHANCED), length, interface, time >> 32, time, records.captured, records.original)
    return np.stack([column & 0xFFFFFFFF for column in columns], axis=1).astype("<u4")
