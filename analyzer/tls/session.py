"""One TLS connection: bytes of both directions in, plaintext out (RFC 5246, RFC 8446). No I/O.

Theory. Hellos contain randoms, version and suite. The secrets for the client's random decrypt the records. In TLS 1.2 a
direction is protected after its ChangeCipherSpec. In TLS 1.3 it is protected after the ServerHello: under the
handshake's secret up to the Finished message, then under the traffic secret, which each KeyUpdate replaces (RFC 8446,
section 4.6.3).

A client's protected records wait for the ServerHello. All waiting records are bounded. The state is plain data without
any secret; ciphers are created again when a session continues from a state.
"""

from __future__ import annotations

from analyzer.tls import handshake
from analyzer.tls.facts import Refusal, TlsFacts
from analyzer.tls.handshake import MessageJoiner
from analyzer.tls.keys import Epoch, Parameters, Secrets
from analyzer.tls.negotiation import Negotiation
from analyzer.tls.record_opener import HalfSession, Plaintext, RecordOpener, divide_plaintext
from analyzer.tls.records import ALERT, APPLICATION_DATA, CHANGE_CIPHER, HANDSHAKE, HEADER, Record, Span

MOST_WAITING = 1 << 20
"""Maximum bytes of one direction that wait for the ServerHello."""


class TlsSession:
    """Decrypts one connection.

    inspects: reads only unencrypted records, and skips protected ones.
    """

    __slots__ = ("_inspects", "_negotiation", "_opener", "halves")

    def __init__(self, *, inspects: bool = False) -> None:
        self._inspects = inspects
        self.halves = (HalfSession(), HalfSession())
        self._negotiation = Negotiation()
        self._opener = RecordOpener(self._negotiation, self.halves)

    def __getstate__(self) -> tuple[object, ...]:
        for half in self.halves:
            half.cipher = None
        return self._inspects, self.halves, self._negotiation, self._opener

    def __setstate__(self, state: tuple[bool, tuple[HalfSession, HalfSession], Negotiation, RecordOpener]) -> None:
        self._inspects, self.halves, self._negotiation, self._opener = state

    @property
    def client(self) -> int:
        """The side of the client, -1 until its hello comes."""
        return self._negotiation.client

    @property
    def parameters(self) -> Parameters | None:
        """The parameters that both hellos agreed on, from the ServerHello on."""
        return self._negotiation.parameters

    @property
    def facts(self) -> TlsFacts:
        """The facts of the connection, and the state of its decryption."""
        return self._negotiation.facts

    @property
    def over(self) -> bool:
        """Whether no more plaintext will come."""
        return self.facts.refusal is not None

    @property
    def is_steady(self) -> bool:
        """Whether both directions are past the handshake and in step, so that records may be decrypted in runs."""
        return not self.over and all(half.is_steady for half in self.halves)

    @property
    def waits(self) -> bool:
        """Whether a record of a direction is incomplete or waits for the other direction."""
        return any(half.reader.buffered for half in self.halves)

    def prepare(self, secrets: Secrets) -> bool:
        """Creates the ciphers of both directions; returns whether their secrets are there."""
        self._opener.secrets = secrets
        return self._opener.prepare()

    def feed(self, side: int, data: bytes, packet: int, time: int, secrets: Secrets | None) -> list[Plaintext]:
        """Adds the next bytes of a side; returns the plaintext that is readable now. secrets None: nothing is."""
        if self.over:
            return []
        self.halves[side].reader.feed(data, packet, time)
        return self._advance(side, secrets)

    def lose(self, side: int, length: int, packet: int, time: int, secrets: Secrets | None) -> list[Plaintext]:
        """Marks the next `length` bytes of a side as lost; returns the plaintext that is readable now."""
        if self.over:
            return []
        self.halves[side].reader.lose(length, packet, time)
        return self._advance(side, secrets)

    def _advance(self, side: int, secrets: Secrets | None) -> list[Plaintext]:
        self._opener.secrets = secrets
        found: list[Plaintext] = []
        hello = self.parameters
        self._drain(side, found)
        if self.parameters is not hello:  # records that waited for the ServerHello
            self._drain(1 - side, found)
        return found

    def _drain(self, side: int, found: list[Plaintext]) -> None:
        reader = self.halves[side].reader
        while not self.over:
            if self._is_blocked(side):
                if reader.buffered > MOST_WAITING:
                    self._negotiation.refuse(Refusal.INCOMPLETE)
                return
            record = reader.next_record()
            if record is not None:
                self._take(side, record, found)
            elif not (reader.hunting and self._hunt(side, found)):
                return

    def _is_blocked(self, side: int) -> bool:
        """Returns whether the next record of a side can only be decoded after the ServerHello."""
        if self.parameters is not None or self.client != side:
            return False
        return self.halves[side].reader.kind in (CHANGE_CIPHER, APPLICATION_DATA)

    def _hunt(self, side: int, found: list[Plaintext]) -> bool:
        """Looks for the next record after a loss; returns whether there is one."""
        reader = self.halves[side].reader
        spans = tuple(reader.spans)[:1]
        lost = self._opener.hunt(side)
        if lost is None:
            return False
        self.facts.lost[side != self.client] += 1
        self._lose(side, lost, spans or tuple(reader.spans)[:1], found)
        return True

    def _take(self, side: int, record: Record, found: list[Plaintext]) -> None:
        """Handles the next record of a side."""
        half, is_tls13 = self.halves[side], self._negotiation.is_tls13
        if half.epoch is Epoch.CLEAR:
            self._take_clear(side, record)
        elif is_tls13 and record.kind == CHANGE_CIPHER:
            return
        elif is_tls13 and record.kind == ALERT and len(record.body) == 2 and not record.lost:
            self._negotiation.note_alert(side, record.body, False)
        elif self._inspects:
            return
        elif record.lost:
            half.number += 1
            half.uncertain = True
            self.facts.lost[side != self.client] += 1
            self._lose(side, len(record.body) - self._negotiation.overhead, record.spans, found)
        else:
            self._take_protected(side, record, found)

    def _take_clear(self, side: int, record: Record) -> None:
        half, negotiation = self.halves[side], self._negotiation
        if record.lost:
            half.joiner = MessageJoiner()
            if negotiation.parameters is None:
                negotiation.refuse(Refusal.INCOMPLETE)
            half.uncertain = True
        elif record.kind == HANDSHAKE:
            before = negotiation.is_tls13
            for kind, body, whole in half.joiner.feed(record.body):
                negotiation.take_message(side, kind, body, whole, self._opener.secrets)
            if negotiation.is_tls13 and not before:
                self._protect(side)
        elif record.kind == ALERT and len(record.body) == 2:
            negotiation.note_alert(side, record.body, False)
        elif record.kind == CHANGE_CIPHER:
            if negotiation.parameters is None:
                negotiation.refuse(negotiation.missing_part)
            elif not negotiation.is_tls13:
                half.change(Epoch.TRAFFIC)
        elif record.kind == APPLICATION_DATA:
            negotiation.refuse(negotiation.missing_part)

    def _protect(self, server: int) -> None:
        """Continues after the ServerHello of TLS 1.3; the client may have sent 0-RTT data (RFC 8446, section 2.3)."""
        self.halves[server].change(Epoch.HANDSHAKE)
        early = self._negotiation.offers_early_data and not self.facts.retried and self._opener.secrets is not None
        if early and self._opener.find_cipher(1 - server, Epoch.EARLY, 0) is not None:
            self.halves[1 - server].change(Epoch.EARLY)
        else:
            self.halves[1 - server].change(Epoch.HANDSHAKE)

    def _take_protected(self, side: int, record: Record, found: list[Plaintext]) -> None:
        half, from_client = self.halves[side], side == self.client
        opened = self._opener.open(side, half.number, record)
        if opened is None and not self.over:
            opened = self._opener.open_elsewhere(side, record)
        if self.over:
            return
        half.number += 1
        if opened is None:
            self.facts.failed[not from_client] += 1
            if self._is_dropped(half, from_client):
                return
            if not any(self.facts.opened):
                self._negotiation.refuse(Refusal.WRONG_KEY)
            self._lose(side, len(record.body) - self._negotiation.overhead, record.spans, found)
            return
        half.uncertain = False
        self.facts.opened[not from_client] += 1
        self._take_plaintext(side, record, *opened, found)

    def _is_dropped(self, half: HalfSession, from_client: bool) -> bool:
        """Returns whether an undecryptable record is no loss: rejected 0-RTT, or a handshake without its secret."""
        if half.epoch is not Epoch.HANDSHAKE:
            return False
        if not (from_client and self._negotiation.offers_early_data) and half.cipher is not None:
            return False
        half.number = 0
        return True

    def _lose(self, side: int, length: int, spans: tuple[Span, ...], found: list[Plaintext]) -> None:
        if length > 0 and spans:
            last = spans[-1]
            found.append(Plaintext(side, b"", (Span(length, last.packet, last.time),), length))

    def _take_plaintext(self, side: int, record: Record, kind: int, data: bytes, found: list[Plaintext]) -> None:
        half = self.halves[side]
        if kind == APPLICATION_DATA:
            if data:
                assert self.parameters is not None
                before = HEADER + self.parameters.suite.explicit_nonce
                found.append(Plaintext(side, data, divide_plaintext(len(data), record.spans, before)))
        elif kind == HANDSHAKE:
            for message, body, _ in half.joiner.feed(data):
                self._take_inner_message(side, message, body)
        elif kind == ALERT and len(data) == 2:
            self._negotiation.note_alert(side, data, True)
        elif kind == CHANGE_CIPHER:
            self._negotiation.refuse(Refusal.RENEGOTIATED)

    def _take_inner_message(self, side: int, kind: int, body: bytes) -> None:
        """Handles an encrypted handshake message."""
        half = self.halves[side]
        if not self._negotiation.is_tls13:
            if kind == handshake.CLIENT_HELLO:
                self._negotiation.refuse(Refusal.RENEGOTIATED)
        elif kind == handshake.FINISHED:
            half.change(Epoch.TRAFFIC)
        elif kind == handshake.END_OF_EARLY_DATA and half.epoch is Epoch.EARLY:
            half.change(Epoch.HANDSHAKE)
        elif kind == handshake.KEY_UPDATE and half.epoch is Epoch.TRAFFIC:
            self.facts.key_updates += 1
            half.change(Epoch.TRAFFIC, half.generation + 1)
        elif kind == handshake.ENCRYPTED_EXTENSIONS:
            self.facts.alpn = handshake.parse_encrypted_extensions(body)
        elif kind == handshake.CERTIFICATE and side != self.client:
            self._negotiation.note_certificates(body)
