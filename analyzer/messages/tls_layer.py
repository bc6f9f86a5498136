"""Between reassembly and framing: decrypts the bytes of a TLS connection, if keys are known.

Theory. The first bytes show that a connection is TLS. From then on its pieces go through a TlsSession, and wait until
the first data is decrypted. Then plaintext replaces them, and recognition, framing and pairing process it like any
stream. If the session turns out not to be readable, the waiting pieces continue as they came.

Plaintext is in the store's annex. Offsets count in the plaintext of each direction. A piece of plaintext has the packet
and time of the bytes that carried it; the last byte of a record has those of the packet that completed the record.
Records that cannot be decrypted are a gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from analyzer.tcp.reassembly import GAP, Piece
from analyzer.tls.facts import Refusal, TlsFacts
from analyzer.tls.keys import Secrets
from analyzer.tls.record_opener import Plaintext
from analyzer.tls.session import TlsSession
from dissectors.foreign import foreign

MOST_WAITING = 4 << 20
"""Bytes of a connection that wait for its first data; a handshake has some ten thousand."""


PATIENCE_NS = 3_000_000_000
"""How long bytes wait for a key that may still come, in capture time."""


class TlsStore(Protocol):
    """Reads ciphertext and keeps plaintext; implemented by Store."""

    def read_bytes(self, location: int, length: int) -> bytes:
        """Returns `length` bytes at a location."""

    def append(self, data: bytes) -> int:
        """Keeps bytes; returns their location."""


@dataclass(slots=True)
class TlsLayer:
    """The state of one TLS connection. `is_open`: data was decrypted. preamble: bytes before TLS, by side.

    offsets: of the next byte of plaintext by side. waiting: bytes that have come while it was not open. began: time of
    the first piece. version: that of the secrets that the session was tried with.
    """

    preamble: list[int]
    session: TlsSession = field(default_factory=TlsSession)
    is_open: bool = False
    offsets: list[int] = field(default_factory=lambda: [0, 0])
    waiting: int = 0
    began: int = 0
    version: int = 0
    before: list[tuple[int, Piece]] = field(default_factory=list)

    @property
    def facts(self) -> TlsFacts:
        """Returns the facts of the TLS session, such as version, cipher suite and certificate."""
        return self.session.facts

    @property
    def is_refused(self) -> bool:
        """Whether nothing will be decrypted."""
        return not self.is_open and (self.session.over or self.waiting > MOST_WAITING)

    @property
    def is_steady(self) -> bool:
        """Whether the fast path may decrypt the next packets."""
        return self.is_open and not any(self.preamble) and self.session.is_steady

    def may_get_key(self, piece: Piece, secrets: Secrets | None) -> bool:
        """Returns whether a session without keys still waits for them at this piece."""
        waits = secrets is not None and secrets.grows and self.facts.refusal is Refusal.NO_KEY
        return waits and self.waiting <= MOST_WAITING and piece.time - self.began <= PATIENCE_NS

    def holds_part(self, side: int) -> bool:
        """Returns whether a record of a side is incomplete."""
        return self.session.halves[side].reader.buffered > 0

    def feed(self, side: int, piece: Piece, store: TlsStore, secrets: Secrets | None) -> Iterator[tuple[int, Piece]]:
        """Takes the next piece of a side; yields sides and pieces of plaintext, and a proxy's preamble."""
        self.began = self.began or piece.time
        if self.preamble[side]:
            size = min(self.preamble[side], piece.length)
            self.preamble[side] -= size
            self.before.append((side, piece.cut(piece.offset, piece.offset + size)))
            self.offsets[side] += size
            piece = piece.cut(piece.offset + size, piece.end)
        if not piece.length:
            return
        if piece.lost:
            found = self.session.lose(side, piece.length, piece.packet, piece.time, secrets)
        else:
            data = store.read_bytes(piece.at, piece.length)
            found = self.session.feed(side, data, piece.packet, piece.time, secrets)
        if self.is_open:
            if self.session.over and not found:
                yield side, self._place(side, GAP, piece)
        else:
            self.waiting += piece.length
            if not any(each.data for each in found):
                return
            self.is_open = True
            yield from self.before
            self.before = []
        for each in found:
            yield from self._store(each, store)

    def _store(self, found: Plaintext, store: TlsStore) -> Iterator[tuple[int, Piece]]:
        at = GAP if found.lost else store.append(found.data)
        for span in found.spans:
            yield found.side, self._place(found.side, at, Piece(0, at, span.length, span.packet, span.time))
            if at >= 0:
                at += span.length

    def _place(self, side: int, at: int, piece: Piece) -> Piece:
        """Returns a piece at the next offset of the plaintext."""
        offset = self.offsets[side]
        self.offsets[side] += piece.length
        return piece._replace(offset=offset, at=at)

    def give_up(self) -> TlsFacts:
        """Returns the facts of a connection that was not decrypted, with the reason."""
        if self.facts.refusal is None:
            complete = self.session.parameters is not None
            self.facts.refusal = Refusal.NO_DATA if complete else Refusal.INCOMPLETE
        return self.facts

    def renumber(self, number: Callable[[int], int], move: Callable[[Piece], Piece]) -> None:
        """Replaces packet numbers and pieces, when the connection continues elsewhere."""
        for half in self.session.halves:
            half.reader.spans = deque(span._replace(packet=number(span.packet)) for span in half.reader.spans)
        self.before = [(side, move(piece)) for side, piece in self.before]


def find_opening(prefixes: tuple[bytes, bytes], client: int) -> list[int] | None:
    """Returns the bytes before TLS by side, if a connection that begins with these bytes is TLS; else None.

    client: the side of the client, -1 while unknown. A proxy's preamble may precede TLS.
    """
    before, found = [0, 0], False
    for side, prefix in enumerate(prefixes):
        other = foreign(prefix) if prefix else None
        if other is not None and other.preamble and side != 1 - client:
            before[side] = other.preamble
            other = foreign(prefix[other.preamble :]) if len(prefix) > other.preamble else None
        found |= other is not None and other.name == "tls"
    return before if found else None
