"""Reassembles IP fragments, within bounds.

Theory. A reassembled datagram lies nowhere in the capture. It is written to the annex of the store, as a whole packet
with a corrected header, and is decoded like any other packet. Where fragments overlap, the first bytes win. A datagram
is given up 30 seconds of capture time after its first fragment, or when all unfinished ones together take too much
memory; then the oldest goes first.
"""

from __future__ import annotations

from dissectors.slotted import field, make_slotted

LONGEST = 65_535
"""Bytes of the longest packet that the length field allows."""
PATIENCE = 30_000_000_000
MOST = 64 << 20
UNIT = 8

DatagramKey = tuple[int, int, int, int]


@make_slotted(frozen=False)
class _Datagram:
    """Holds an unfinished datagram; `filled` has a byte for each eight of `data`, the last fragment gives `total`."""

    since: int
    header: bytes = b""
    data: bytearray = field(default_factory=bytearray)
    filled: bytearray = field(default_factory=bytearray)
    total: int | None = None

    @property
    def size(self) -> int:
        return len(self.data) + len(self.filled) + 200

    def put(self, offset: int, part: bytes) -> None:
        end = offset + len(part)
        if end > len(self.data):
            self.data.extend(bytes(end - len(self.data)))
            self.filled.extend(bytes(-(-end // UNIT) - len(self.filled)))
        first, last = offset // UNIT, -(-end // UNIT)
        if not self.filled.count(1, first, last):
            self.data[offset:end] = part
        else:
            for unit in range(first, last):
                if not self.filled[unit]:
                    place = unit * UNIT
                    self.data[place : place + UNIT] = part[place - offset : place - offset + UNIT]
        self.filled[first:last] = b"\1" * (last - first)

    @property
    def whole(self) -> bool:
        if self.total is None or not self.header:
            return False
        return self.filled.count(1, 0, -(-self.total // UNIT)) * UNIT >= self.total


class DatagramReassembler:
    """Holds unfinished datagrams by (source, destination, identification, protocol). It can be pickled."""

    def __init__(self, most: int = MOST) -> None:
        self._open: dict[DatagramKey, _Datagram] = {}
        self._buffered_bytes = 0
        self._most = most
        self.abandoned = 0

    @property
    def unfinished(self) -> int:
        """Number of datagrams that lack a fragment, given up or still waiting."""
        return self.abandoned + len(self._open)

    def add(self, time: int, key: DatagramKey, offset: int, more: bool, header: bytes, part: bytes) -> bytes | None:
        """Takes a fragment; returns the whole packet if no other fragment is missing.

        `header`: the IP header; of IPv6 only its 40 bytes, with the protocol of the fragmented part.
        """
        if len(header) + offset + len(part) > LONGEST or (more and len(part) % UNIT) or not part:
            return None
        datagram = self._open.get(key)
        if datagram is not None and time - datagram.since > PATIENCE:
            self._drop(key)
            datagram = None
        if datagram is None:
            datagram = self._open[key] = _Datagram(time)
        else:
            self._buffered_bytes -= datagram.size
        datagram.put(offset, part)
        self._buffered_bytes += datagram.size
        if offset == 0 and not datagram.header:
            datagram.header = header
        if not more and datagram.total is None:
            datagram.total = offset + len(part)
        if datagram.whole:
            self._buffered_bytes -= datagram.size
            del self._open[key]
            return _rebuild_packet(datagram.header, bytes(datagram.data[: datagram.total]))
        self._evict()
        return None

    def _evict(self) -> None:
        # By size only. The age is checked when another fragment comes, so the order of reading does not matter.
        while self._buffered_bytes > self._most:
            self._drop(next(iter(self._open)))

    def _drop(self, key: DatagramKey) -> None:
        self._buffered_bytes -= self._open.pop(key).size
        self.abandoned += 1


def _rebuild_packet(header: bytes, data: bytes) -> bytes:
    """Returns a whole packet that is no fragment any more, with a correct length field."""
    if header[0] >> 4 == 4:
        return header[:2] + (len(header) + len(data)).to_bytes(2, "big") + header[4:6] + b"\0\0" + header[8:] + data
    return header[:4] + len(data).to_bytes(2, "big") + header[6:] + data
