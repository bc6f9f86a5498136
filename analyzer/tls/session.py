"""One TLS connection: bytes of both directions in, plaintext out (RFC 5246, RFC 8446). No I/O.

Theory. Hellos give randoms, version and suite; the secrets that belong to the client's random open the records. In
TLS 1.2 a direction is protected behind its ChangeCipherSpec. In TLS 1.3 it is behind the ServerHello, under the
handshake's secret up to the Finished message, then under the traffic secret, which each KeyUpdate replaces. Records of
a direction are counted, and the number is authenticated: behind lost bytes, the numbers that may be next are tried.

A client's protected records wait for the ServerHello. All that waits is bounded. The state is plain data without any
secret; ciphers are made again where a state goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from analyzer.tls import handshake
from analyzer.tls.certificates import parse_certificate
from analyzer.tls.cipher import BadRecord, RecordCipher
from analyzer.tls.facts import MOST_CERTIFICATES, Alert, Refusal, TlsFacts
from analyzer.tls.handshake import TLS12, TLS13, ClientHello, MessageJoiner, ServerHello
from analyzer.tls.keys import Epoch, Parameters, RsaExchange, Secrets, name_ticket
from analyzer.tls.records import (
    ALERT,
    APPLICATION_DATA,
    CHANGE_CIPHER,
    HANDSHAKE,
    HEADER,
    MOST_BODY,
    Record,
    RecordReader,
    Span,
)
from analyzer.tls.suites import find_suite

MOST_WAITING = 1 << 20
"""Bytes of one direction that wait for the ServerHello."""

MOST_TRANSCRIPT = 1 << 16
MOST_TRIES = 1 << 12
"""Sequence numbers that are tried behind one loss."""

FEW_TRIES = 4
"""Sequence numbers that are tried where the lost records were counted, in case they changed the secret."""

ALL_TRIES = 1 << 20
"""Records that are tried in vain in one session."""


class Plaintext(NamedTuple):
    """Plaintext of a direction, in order. `spans` divide it by packets; the last byte belongs to the completing packet.

    lost: bytes that are missing here, by the lengths of the records; then `data` is empty.
    """

    side: int
    data: bytes
    spans: tuple[Span, ...]
    lost: int = 0


@dataclass(slots=True)
class HalfSession:
    """One direction: `number` is that of the next record under the current secret, `generation` counts key updates.

    opened: a record was opened under the current secret. uncertain: a loss may hide a change of secrets.
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
        """Goes on under another secret."""
        self.epoch, self.generation, self.number, self.cipher = epoch, generation, 0, None


class TlsSession:
    """Decrypts one connection. `client` is the side of the client, -1 until its hello comes.

    inspects: only what is in the clear is read, and protected records are passed over.
    """

    __slots__ = (
        *("client", "halves", "client_hello", "parameters", "facts"),
        *("_inspects", "_certificate", "_transcript", "_tries", "_secrets"),
    )

    def __init__(self, *, inspects: bool = False) -> None:
        self._inspects = inspects
        self.client = -1
        self.halves = (HalfSession(), HalfSession())
        self.client_hello: ClientHello | None = None
        self.parameters: Parameters | None = None
        self.facts = TlsFacts()
        self._certificate = self._transcript = b""
        self._tries = ALL_TRIES
        self._secrets: Secrets | None = None

    def __getstate__(self) -> dict[str, object]:
        for half in self.halves:
            half.cipher = None
        return {name: getattr(self, name) for name in self.__slots__ if name != "_secrets"}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._secrets = None

    @property
    def over(self) -> bool:
        """Whether no more plaintext will come."""
        return self.facts.refusal is not None

    @property
    def is_steady(self) -> bool:
        """Whether both directions are behind the handshake and in step, so that records may be opened in runs."""
        return not self.over and all(half.is_steady for half in self.halves)

    def prepare(self, secrets: Secrets) -> bool:
        """Makes the ciphers of both directions; returns whether their secrets are there."""
        if self.parameters is None:
            return False
        for side, half in enumerate(self.halves):
            if half.cipher is None:
                half.cipher = self.parameters.find_cipher(secrets, side == self.client, half.epoch, half.generation)
        return all(half.cipher is not None for half in self.halves)

    @property
    def waits(self) -> bool:
        """Whether a record of a direction is incomplete or waits for the other direction."""
        return any(half.reader.buffered for half in self.halves)

    def feed(self, side: int, data: bytes, packet: int, time: int, secrets: Secrets | None) -> list[Plaintext]:
        """Takes the next bytes of a side; returns the plaintext that is readable now. secrets None: nothing is."""
        if self.over:
            return []
        self.halves[side].reader.feed(data, packet, time)
        return self._advance(side, secrets)

    def lose(self, side: int, length: int, packet: int, time: int, secrets: Secrets | None) -> list[Plaintext]:
        """Takes the next bytes of a side as lost."""
        if self.over:
            return []
        self.halves[side].reader.lose(length, packet, time)
        return self._advance(side, secrets)

    def _advance(self, side: int, secrets: Secrets | None) -> list[Plaintext]:
        self._secrets = secrets
        found: list[Plaintext] = []
        hello = self.parameters
        self._drain(side, found)
        if self.parameters is not hello:  # what waited for the ServerHello goes on
            self._drain(1 - side, found)
        return found

    def _drain(self, side: int, found: list[Plaintext]) -> None:
        reader = self.halves[side].reader
        while not self.over:
            if self._is_blocked(side):
                if reader.buffered > MOST_WAITING:
                    self._refuse(Refusal.INCOMPLETE)
                return
            record = reader.next_record()
            if record is not None:
                self._take(side, record, found)
            elif not (reader.hunting and self._hunt(side, found)):
                return

    def _refuse(self, why: Refusal) -> None:
        if self.facts.refusal is None:
            self.facts.refusal = why

    def _is_blocked(self, side: int) -> bool:
        """Returns whether the next record of a side can only be understood behind the ServerHello."""
        if self.parameters is not None or self.client != side:
            return False
        return self.halves[side].reader.kind in (CHANGE_CIPHER, APPLICATION_DATA)

    def _take(self, side: int, record: Record, found: list[Plaintext]) -> None:
        """Takes a record in its place."""
        half = self.halves[side]
        if half.epoch is Epoch.CLEAR:
            self._take_clear(side, record)
        elif self._is_tls13 and record.kind == CHANGE_CIPHER:
            return
        elif self._is_tls13 and record.kind == ALERT and len(record.body) == 2 and not record.lost:
            self._note_alert(side, record.body, False)
        elif self._inspects:
            return
        elif record.lost:
            half.number += 1
            half.uncertain = True
            self.facts.lost[side != self.client] += 1
            self._lose(side, len(record.body) - self._overhead, record.spans, found)
        else:
            self._take_protected(side, record, found)

    @property
    def _is_tls13(self) -> bool:
        return self.parameters is not None and self.parameters.suite.is_tls13

    @property
    def _overhead(self) -> int:
        assert self.parameters is not None
        return self.parameters.suite.overhead

    def _take_clear(self, side: int, record: Record) -> None:
        half = self.halves[side]
        if record.lost:
            half.joiner = MessageJoiner()
            if self.parameters is None:
                self._refuse(Refusal.INCOMPLETE)
            half.uncertain = True
        elif record.kind == HANDSHAKE:
            for kind, body, whole in half.joiner.feed(record.body):
                self._take_message(side, kind, body, whole)
        elif record.kind == ALERT and len(record.body) == 2:
            self._note_alert(side, record.body, False)
        elif record.kind == CHANGE_CIPHER:
            if self.parameters is None:
                self._refuse(Refusal.NO_HANDSHAKE if self.client_hello is None else Refusal.INCOMPLETE)
            elif not self._is_tls13:
                half.change(Epoch.TRAFFIC)
        elif record.kind == APPLICATION_DATA:
            self._refuse(Refusal.NO_HANDSHAKE if self.client_hello is None else Refusal.INCOMPLETE)

    def _take_protected(self, side: int, record: Record, found: list[Plaintext]) -> None:
        half, from_client = self.halves[side], side == self.client
        opened = self._open(side, half.number, record)
        if opened is None and not self.over:
            opened = self._open_elsewhere(side, record, FEW_TRIES)
        if self.over:
            return
        half.number += 1
        if opened is None:
            self.facts.failed[not from_client] += 1
            if self._is_dropped(half, from_client):
                return
            if not any(self.facts.opened):
                self._refuse(Refusal.WRONG_KEY)
            self._lose(side, len(record.body) - self._overhead, record.spans, found)
            return
        half.uncertain = False
        self.facts.opened[not from_client] += 1
        self._take_plaintext(side, record, *opened, found)

    def _is_dropped(self, half: HalfSession, from_client: bool) -> bool:
        """Returns whether a record that does not open is no loss: refused 0-RTT, or a handshake without its secret."""
        if half.epoch is not Epoch.HANDSHAKE:
            return False
        refused = from_client and self.client_hello is not None and self.client_hello.early
        if not refused and half.cipher is not None:
            return False
        half.number = 0
        return True

    def _open(self, side: int, number: int, record: Record) -> tuple[int, bytes] | None:
        """Opens a record under the current secret of its direction; None if it does not open."""
        half = self.halves[side]
        cipher = half.cipher
        if cipher is None:
            cipher = half.cipher = self._find_cipher(side, half.epoch, half.generation)
            if cipher is None:
                if half.epoch is Epoch.TRAFFIC:
                    self._refuse(Refusal.NO_KEY)
                return None
        return _try_open(cipher, number, record)

    def _find_cipher(self, side: int, epoch: Epoch, generation: int) -> RecordCipher | None:
        assert self.parameters is not None
        if self._secrets is None:
            self._refuse(Refusal.NO_KEY)
            return None
        return self.parameters.find_cipher(self._secrets, side == self.client, epoch, generation)

    def _open_elsewhere(self, side: int, record: Record, tries: int) -> tuple[int, bytes] | None:
        """Opens a record under the secrets that may follow, and goes on under the one that fits."""
        half = self.halves[side]
        for epoch, generation in self._following(half):
            cipher = self._find_cipher(side, epoch, generation)
            if cipher is None:
                continue
            for number in range(tries):
                opened = _try_open(cipher, number, record)
                if opened is not None:
                    half.change(epoch, generation)
                    half.number, half.cipher = number, cipher
                    return opened
                self._tries -= 1
                if self._tries <= 0:
                    return None
        if half.epoch is Epoch.HANDSHAKE and half.cipher is None and not self._has_secrets(side):
            self._refuse(Refusal.NO_KEY)
        return None

    def _has_secrets(self, side: int) -> bool:
        return self._find_cipher(side, Epoch.TRAFFIC, 0) is not None

    def _following(self, half: HalfSession) -> list[tuple[Epoch, int]]:
        """Returns the secrets that may come behind the current one."""
        if not self._is_tls13:
            return []
        if half.epoch is Epoch.EARLY:
            return [(Epoch.HANDSHAKE, 0), (Epoch.TRAFFIC, 0)]
        if half.epoch is Epoch.HANDSHAKE:
            return [(Epoch.TRAFFIC, 0)] if half.uncertain or half.cipher is None else []
        return [(Epoch.TRAFFIC, half.generation + 1), (Epoch.TRAFFIC, half.generation + 2)] if half.uncertain else []

    def _hunt(self, side: int, found: list[Plaintext]) -> bool:
        """Looks for the next record behind a loss; returns whether there is one."""
        half = self.halves[side]
        if half.epoch is Epoch.CLEAR:
            if self.parameters is None or self._is_tls13:
                self._refuse(Refusal.INCOMPLETE if self.client_hello is not None else Refusal.NO_HANDSHAKE)
                return False
            half.change(Epoch.TRAFFIC)  # the loss may hide the ChangeCipherSpec
        half.uncertain = True
        begin, spans = half.number, tuple(half.reader.spans)[:1]
        passed = 0

        def opens(record: Record, missing: int) -> bool:
            nonlocal passed
            tries = min(missing // (HEADER + self._overhead) + 2, MOST_TRIES, self._tries)
            if tries <= 0 or record.version != TLS12 or record.kind == CHANGE_CIPHER:
                return False
            for number in range(begin, begin + tries):
                if self._open(side, number, record) is not None:
                    half.number, passed = number, missing - (number - begin) * (HEADER + self._overhead)
                    return True
                if half.cipher is None:
                    break
                self._tries -= 1
            if self.over or self._open_elsewhere(side, record, tries) is None:
                return False
            passed = missing
            return True

        if not half.reader.hunt(opens):
            return False
        self.facts.lost[side != self.client] += 1
        self._lose(side, passed, spans or tuple(half.reader.spans)[:1], found)
        return True

    def _lose(self, side: int, length: int, spans: tuple[Span, ...], found: list[Plaintext]) -> None:
        if length > 0 and spans:
            last = spans[-1]
            found.append(Plaintext(side, b"", (Span(length, last.packet, last.time),), length))

    def _take_plaintext(self, side: int, record: Record, kind: int, data: bytes, found: list[Plaintext]) -> None:
        half = self.halves[side]
        if kind == APPLICATION_DATA:
            if half.epoch is Epoch.EARLY:
                self.facts.early += 1
            if data:
                assert self.parameters is not None
                explicit = self.parameters.suite.explicit_nonce
                found.append(Plaintext(side, data, _divide(len(data), record.spans, HEADER + explicit)))
        elif kind == HANDSHAKE:
            for message, body, _ in half.joiner.feed(data):
                self._take_inner_message(side, message, body)
        elif kind == ALERT and len(data) == 2:
            self._note_alert(side, data, True)
        elif kind == CHANGE_CIPHER:
            self._refuse(Refusal.RENEGOTIATED)

    def _take_inner_message(self, side: int, kind: int, body: bytes) -> None:
        """Takes a handshake message that was encrypted."""
        half = self.halves[side]
        if not self._is_tls13:
            if kind == handshake.CLIENT_HELLO:
                self._refuse(Refusal.RENEGOTIATED)
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
            self._note_certificates(body)

    def _take_message(self, side: int, kind: int, body: bytes, whole: bytes) -> None:
        """Takes a handshake message in the clear."""
        if len(self._transcript) + len(whole) <= MOST_TRANSCRIPT and kind != handshake.HELLO_REQUEST:
            self._transcript += whole
        if kind == handshake.CLIENT_HELLO:
            self._take_client_hello(side, handshake.parse_client_hello(body))
        elif kind == handshake.SERVER_HELLO:
            self._take_server_hello(side, handshake.parse_server_hello(body))
        elif kind == handshake.CERTIFICATE and side != self.client:
            self._note_certificates(body)
        elif kind == handshake.CLIENT_KEY_EXCHANGE:
            self._take_exchange(body)
        elif kind == handshake.NEW_TICKET and self.parameters is not None and self._secrets is not None:
            self.parameters.learn_session(self._secrets, name_ticket(handshake.parse_ticket(body)))

    def _take_client_hello(self, side: int, hello: ClientHello) -> None:
        if self.parameters is not None:
            return
        self.client, self.client_hello, facts = side, hello, self.facts
        facts.server_name, facts.offered_alpn, facts.offered = hello.server_name, hello.alpn, hello.versions
        facts.random, facts.fingerprint = hello.random, handshake.fingerprint(hello)

    def _take_server_hello(self, side: int, hello: ServerHello) -> None:
        facts, client = self.facts, self.client_hello
        if hello.is_retry:
            facts.retried = True
            return
        facts.version, facts.suite, facts.alpn, facts.resumed = hello.version, hello.suite, hello.alpn, hello.resumes
        suite = find_suite(hello.suite)
        if client is None or self.client == side or self.parameters is not None:
            self._refuse(Refusal.INCOMPLETE)
        elif hello.version not in (TLS12, TLS13):
            self._refuse(Refusal.OLD_VERSION)
        elif suite is None or suite.is_tls13 != (hello.version == TLS13):
            self._refuse(Refusal.SUITE)
        elif hello.compression:
            self._refuse(Refusal.COMPRESSED)
        else:
            self.parameters = Parameters(client, hello, suite)
            if suite.is_tls13:
                self._protect(side, client.early and not facts.retried)
            elif hello.session_id and hello.session_id == client.session_id:
                facts.resumed = True

    def _protect(self, server: int, early: bool) -> None:
        """Goes on behind the ServerHello of TLS 1.3. early: the client may have sent 0-RTT."""
        self.halves[server].change(Epoch.HANDSHAKE)
        if early and self._secrets is not None and self._find_cipher(1 - server, Epoch.EARLY, 0) is not None:
            self.halves[1 - server].change(Epoch.EARLY)
        else:
            self.halves[1 - server].change(Epoch.HANDSHAKE)

    def _take_exchange(self, body: bytes) -> None:
        """Keeps what an RSA key exchange shows; in others the messages up to here are not needed any more."""
        parameters = self.parameters
        if parameters is not None and parameters.suite.exchange == "RSA" and self._certificate:
            encrypted = handshake.Reader(body).vector(2)
            transcript = self._transcript if parameters.server.extended_master else b""
            self.parameters = parameters._replace(exchange=RsaExchange(self._certificate, encrypted, transcript))
            if self._secrets is not None and parameters.server.session_id:
                self.parameters.learn_session(self._secrets, parameters.server.session_id)
        self._transcript = b""

    def _note_certificates(self, body: bytes) -> None:
        version = TLS13 if self._is_tls13 else TLS12
        chain = handshake.parse_certificates(body, version)[:MOST_CERTIFICATES]
        self._certificate = chain[0] if chain else b""
        self.facts.certificates = [found for each in chain if (found := parse_certificate(each)) is not None]

    def _note_alert(self, side: int, body: bytes, encrypted: bool) -> None:
        self.facts.add_alert(Alert(side == self.client, body[0] == 2, body[1], encrypted))


def _try_open(cipher: RecordCipher, number: int, record: Record) -> tuple[int, bytes] | None:
    if len(record.body) > MOST_BODY:
        return None
    try:
        return cipher.open_record(number, record.kind, record.body)
    except BadRecord:
        return None


def _divide(length: int, spans: tuple[Span, ...], before: int) -> tuple[Span, ...]:
    """Divides plaintext, `before` bytes behind the begin of its record, by the packets that carried it."""
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
