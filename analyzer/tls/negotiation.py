"""Follows the handshake of a connection up to the parameters that both sides agree on (RFC 5246 and 8446, section 4).

Hellos contain randoms, version and suite. In TLS 1.2 the key exchange follows unencrypted. With RSA it holds the
premaster secret, encrypted for the server's key (RFC 5246, section 7.4.7.1). Everything here is public.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.tls import handshake
from analyzer.tls.facts import MOST_CERTIFICATES, MOST_VERSIONS, Alert, Refusal, TlsFacts, parse_certificate
from analyzer.tls.handshake import TLS12, TLS13, ClientHello, ServerHello
from analyzer.tls.keys import Parameters, RsaExchange, Secrets, name_ticket
from analyzer.tls.suites import find_suite

MOST_TRANSCRIPT = 1 << 16
"""Maximum bytes of handshake messages kept for the extended master secret (RFC 7627)."""


@dataclass(slots=True)
class Negotiation:
    """Holds the contents of the hellos. client: the side of the client, -1 before its hello.

    parameters: known from the ServerHello on. certificate: of the server (DER). transcript: the messages up to the key
    exchange. facts: for the user.
    """

    client: int = -1
    client_hello: ClientHello | None = None
    parameters: Parameters | None = None
    facts: TlsFacts = field(default_factory=TlsFacts)
    certificate: bytes = b""
    transcript: bytes = b""

    @property
    def is_tls13(self) -> bool:
        """Whether the server chose TLS 1.3."""
        return self.parameters is not None and self.parameters.suite.is_tls13

    @property
    def overhead(self) -> int:
        """Minimum bytes by which a record's body is longer than its plaintext; known after the ServerHello."""
        assert self.parameters is not None
        return self.parameters.suite.overhead

    @property
    def missing_part(self) -> Refusal:
        """The reason why a connection with incomplete hellos is not decrypted."""
        return Refusal.NO_HANDSHAKE if self.client_hello is None else Refusal.INCOMPLETE

    @property
    def offers_early_data(self) -> bool:
        """Whether the client announced 0-RTT data."""
        return self.client_hello is not None and self.client_hello.early

    def refuse(self, why: Refusal) -> None:
        """Ends decryption; the first reason is kept."""
        if self.facts.refusal is None:
            self.facts.refusal = why

    def take_message(self, side: int, kind: int, body: bytes, whole: bytes, secrets: Secrets | None) -> None:
        """Handles an unencrypted handshake message. whole: with its header."""
        if len(self.transcript) + len(whole) <= MOST_TRANSCRIPT and kind != handshake.HELLO_REQUEST:
            self.transcript += whole
        if kind == handshake.CLIENT_HELLO:
            self._take_client_hello(side, handshake.parse_client_hello(body))
        elif kind == handshake.SERVER_HELLO:
            self._take_server_hello(side, handshake.parse_server_hello(body))
        elif kind == handshake.CERTIFICATE and side != self.client:
            self.note_certificates(body)
        elif kind == handshake.CLIENT_KEY_EXCHANGE:
            self._take_key_exchange(body, secrets)
        elif kind == handshake.NEW_TICKET and self.parameters is not None and secrets is not None:
            self.parameters.learn_session(secrets, name_ticket(handshake.parse_ticket(body)))

    def _take_client_hello(self, side: int, hello: ClientHello) -> None:
        if self.parameters is not None:
            return
        self.client, self.client_hello, facts = side, hello, self.facts
        facts.server_name, facts.offered = hello.server_name, hello.versions[:MOST_VERSIONS]
        facts.random, facts.fingerprint = hello.random, handshake.fingerprint(hello)

    def _take_server_hello(self, side: int, hello: ServerHello) -> None:
        facts, client = self.facts, self.client_hello
        if hello.is_retry:
            facts.retried = True
            return
        facts.version, facts.suite, facts.alpn, facts.resumed = hello.version, hello.suite, hello.alpn, hello.resumes
        suite = find_suite(hello.suite)
        if client is None or self.client == side or self.parameters is not None:
            self.refuse(Refusal.INCOMPLETE)
        elif hello.version not in (TLS12, TLS13):
            self.refuse(Refusal.OLD_VERSION)
        elif suite is None or suite.is_tls13 != (hello.version == TLS13):
            self.refuse(Refusal.SUITE)
        elif hello.compression:
            self.refuse(Refusal.COMPRESSED)
        else:
            self.parameters = Parameters(client, hello, suite)
            if not suite.is_tls13 and hello.session_id and hello.session_id == client.session_id:
                facts.resumed = True

    def _take_key_exchange(self, body: bytes, secrets: Secrets | None) -> None:
        """Keeps the data of an RSA key exchange; after another one, the messages before it are not needed any more."""
        parameters = self.parameters
        if parameters is not None and parameters.suite.exchange == "RSA" and self.certificate:
            encrypted = handshake.Reader(body).vector(2)
            transcript = self.transcript if parameters.server.extended_master else b""
            self.parameters = parameters._replace(exchange=RsaExchange(self.certificate, encrypted, transcript))
            if secrets is not None and parameters.server.session_id:
                self.parameters.learn_session(secrets, parameters.server.session_id)
        self.transcript = b""

    def note_certificates(self, body: bytes) -> None:
        """Handles the body of the server's Certificate message."""
        version = TLS13 if self.is_tls13 else TLS12
        chain = handshake.parse_certificates(body, version)[:MOST_CERTIFICATES]
        self.certificate = chain[0] if chain else b""
        self.facts.certificates = [found for each in chain if (found := parse_certificate(each)) is not None]

    def note_alert(self, side: int, body: bytes, encrypted: bool) -> None:
        """Handles an alert (two bytes: level and description; RFC 8446, section 6)."""
        self.facts.add_alert(Alert(side == self.client, body[0] == 2, body[1], encrypted))
