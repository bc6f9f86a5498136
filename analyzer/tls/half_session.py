"""One direction of a TLS session: its record reader, its secret and its plaintext (RFC 8446, section 5).

Under each secret, the records of a direction count from 0. The number is authenticated, so it has to be right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from analyzer.tls.cipher import RecordCipher
from analyzer.tls.handshake import MessageJoiner
from analyzer.tls.keys import Epoch
from analyzer.tls.records import RecordReader, Span


class Plaintext(NamedTuple):
    """Holds plaintext of a direction, in order.

    side: 0 or 1, of the connection. spans: divide it by packets; the last byte belongs to the packet that completes the
    record. lost: number of bytes missing here, computed from the lengths of the records; then `data` is empty.
    """

    side: int
    data: bytes
    spans: tuple[Span, ...]
    lost: int = 0


@dataclass(slots=True)
class HalfSession:
    """Holds the state of one direction.

    epoch, generation: the secret; a generation is the number of key updates. number: sequence number of the next record
    under this secret. uncertain: a loss may hide a change of secrets. cipher: created when the first record needs it,
    and never part of a transferred state.
    """

    reader: RecordReader = field(default_factory=RecordReader)
    joiner: MessageJoiner = field(default_factory=MessageJoiner)
    epoch: Epoch = Epoch.CLEAR
    generation: int = 0
    number: int = 0
    uncertain: bool = False
    cipher: RecordCipher | None = None

    @property
    def is_steady(self) -> bool:
        """Whether records of application data follow under a known secret and number."""
        return self.epoch is Epoch.TRAFFIC and not self.uncertain and self.reader.is_steady

    def change(self, epoch: Epoch, generation: int = 0) -> None:
        """Continues under another secret, whose records count from 0."""
        self.epoch, self.generation, self.number, self.cipher = epoch, generation, 0, None


def divide_plaintext(length: int, spans: tuple[Span, ...], before: int) -> tuple[Span, ...]:
    """Divides the plaintext of a record by the packets that carried it.

    length: bytes of plaintext. spans: of the whole record. before: bytes of the record before the ciphertext. Reference
    implementation of tls_fast_path.
    """
    last = spans[-1]
    if len(spans) == 1:
        return (Span(length, last.packet, last.time),)
    found, at = [], -before
    for span in spans:
        begin, at = max(at, 0), at + span.length
        end = min(at, length - 1)
        if end > begin:
            found.append(Span(end - begin, span.packet, span.time))
    if found and found[-1].packet == last.packet:
        found[-1] = found[-1]._replace(length=found[-1].length + 1)
    else:
        found.append(Span(1, last.packet, last.time))
    return tuple(found)
