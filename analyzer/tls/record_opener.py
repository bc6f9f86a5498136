"""Decrypts protected records, and finds the secret and number of records after a loss.

Theory. A lost record is counted if its header was captured. If headers are lost, too, the number of missing bytes
limits how many records they may hold. So all possible next numbers are tried on each candidate for a record; only the
right number decrypts it. A loss may also hide a change of secrets, so the secrets that may follow are tried as well.
All tries are bounded.

Under each secret, the records of a direction count from 0. The number is authenticated, so it has to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from analyzer.tls.cipher import BadRecord, RecordCipher
from analyzer.tls.facts import Refusal
from analyzer.tls.handshake import TLS12, MessageJoiner
from analyzer.tls.keys import Epoch, Secrets
from analyzer.tls.negotiation import Negotiation
from analyzer.tls.records import CHANGE_CIPHER, HEADER, MOST_BODY, Record, RecordReader, Span

MOST_TRIES = 1 << 12
"""Sequence numbers that are tried after one loss."""

FEW_TRIES = 4
"""Sequence numbers that are tried if the lost records were counted, in case they changed the secret."""

ALL_TRIES = 1 << 20
"""Maximum number of failed tries in one session."""


class RecordOpener:
    """Decrypts the records of both directions. secrets: set before each use; None: no record can be decrypted.

    tries: number of failed tries that are left.
    """

    __slots__ = ("_halves", "_negotiation", "secrets", "tries")

    def __init__(self, negotiation: Negotiation, halves: tuple[HalfSession, HalfSession]) -> None:
        self._negotiation, self._halves, self.tries = negotiation, halves, ALL_TRIES
        self.secrets: Secrets | None = None

    def __getstate__(self) -> tuple[Negotiation, tuple[HalfSession, HalfSession], int]:
        return self._negotiation, self._halves, self.tries

    def __setstate__(self, state: tuple[Negotiation, tuple[HalfSession, HalfSession], int]) -> None:
        self._negotiation, self._halves, self.tries = state
        self.secrets = None

    def prepare(self) -> bool:
        """Creates the ciphers of both directions; returns whether their secrets are there."""
        if self.secrets is None or self._negotiation.parameters is None:
            return False
        for side, half in enumerate(self._halves):
            if half.cipher is None:
                half.cipher = self.find_cipher(side, half.epoch, half.generation)
        return all(half.cipher is not None for half in self._halves)

    def find_cipher(self, side: int, epoch: Epoch, generation: int) -> RecordCipher | None:
        """Returns the cipher of a secret of a side; None if the secret is not there."""
        parameters = self._negotiation.parameters
        assert parameters is not None
        if self.secrets is None:
            self._negotiation.refuse(Refusal.NO_KEY)
            return None
        return parameters.find_cipher(self.secrets, side == self._negotiation.client, epoch, generation)

    def open(self, side: int, number: int, record: Record) -> tuple[int, bytes] | None:
        """Decrypts a record under the current secret of its direction; None if that fails."""
        half = self._halves[side]
        cipher = half.cipher
        if cipher is None:
            cipher = half.cipher = self.find_cipher(side, half.epoch, half.generation)
            if cipher is None:
                if half.epoch is Epoch.TRAFFIC:
                    self._negotiation.refuse(Refusal.NO_KEY)
                return None
        return _try_open(cipher, number, record)

    def open_elsewhere(self, side: int, record: Record, tries: int = FEW_TRIES) -> tuple[int, bytes] | None:
        """Decrypts a record under the secrets that may follow, and switches to the one that works."""
        half = self._halves[side]
        for epoch, generation in self._list_following(half):
            cipher = self.find_cipher(side, epoch, generation)
            if cipher is None:
                continue
            for number in range(tries):
                opened = _try_open(cipher, number, record)
                if opened is not None:
                    half.change(epoch, generation)
                    half.number, half.cipher = number, cipher
                    return opened
                self.tries -= 1
                if self.tries <= 0:
                    return None
        is_without_secret = half.epoch is Epoch.HANDSHAKE and half.cipher is None
        if is_without_secret and self.find_cipher(side, Epoch.TRAFFIC, 0) is None:
            self._negotiation.refuse(Refusal.NO_KEY)
        return None

    def _list_following(self, half: HalfSession) -> Iterator[tuple[Epoch, int]]:
        """Yields the secrets that may follow the current one."""
        if not self._negotiation.is_tls13:
            return
        if half.epoch is Epoch.EARLY:
            yield Epoch.HANDSHAKE, 0
            yield Epoch.TRAFFIC, 0
        elif half.epoch is Epoch.HANDSHAKE:
            if half.uncertain or half.cipher is None:
                yield Epoch.TRAFFIC, 0
        elif half.uncertain:
            yield Epoch.TRAFFIC, half.generation + 1
            yield Epoch.TRAFFIC, half.generation + 2

    def hunt(self, side: int) -> int | None:
        """Looks for the next record after a loss.

        Returns the number of plaintext bytes lost before it, 0 or less for none; None if no record can be decrypted.
        """
        half, negotiation = self._halves[side], self._negotiation
        if half.epoch is Epoch.CLEAR:
            if negotiation.parameters is None or negotiation.is_tls13:
                negotiation.refuse(negotiation.missing_part)
                return None
            half.change(Epoch.TRAFFIC)  # the loss may hide the ChangeCipherSpec
        half.uncertain = True
        begin, lost = half.number, 0

        def opens(record: Record, missing: int) -> bool:
            nonlocal lost
            each = HEADER + negotiation.overhead
            tries = min(missing // each + 2, MOST_TRIES, self.tries)
            if tries <= 0 or record.version != TLS12 or record.kind == CHANGE_CIPHER:
                return False
            for number in range(begin, begin + tries):
                if self.open(side, number, record) is not None:
                    half.number, lost = number, missing - (number - begin) * each
                    return True
                if half.cipher is None:
                    break
                self.tries -= 1
            if negotiation.facts.refusal is not None or self.open_elsewhere(side, record, tries) is None:
                return False
            lost = missing
            return True

        return lost if half.reader.hunt(opens) else None


def _try_open(cipher: RecordCipher, number: int, record: Record) -> tuple[int, bytes] | None:
    if len(record.body) > MOST_BODY:
        return None
    try:
        return cipher.open_record(number, record.kind, record.body)
    except BadRecord:
        return None


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
