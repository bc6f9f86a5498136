"""Checks of logins: brokers that close a connection instead of answering a login, or because nobody logs in.

Facts (KIP-43, KIP-152). After SaslHandshake version 0 the client sends its tokens without a header, and a broker that
refuses them closes the connection without an answer. SaslAuthenticate, whose answer has an error, came with Kafka 1.0.
Some clients still use the older way.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, subscribe
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import ANSWERS, KAFKA, REQUESTS, read_error, subscribe_to
from dissectors.message import Role
from dissectors.values import text

_LOGIN = "Give the client the security.protocol and sasl.mechanism of the listener."


class UnansweredLogins(Check):
    """Finds logins behind SaslHandshake that end with the end of the connection, and clients that do not log in."""

    def _begin(self) -> None:
        self.mechanisms: BoundedTable[int, str] = BoundedTable()
        """By connection the mechanism that was agreed on."""
        self.waiting: BoundedTable[int, str] = BoundedTable()
        """By connection the mechanism of a token that has no answer yet."""
        self.listeners: BoundedTable[str, bool] = BoundedTable()
        """By server whether its listener asks for a login, as answers show."""
        self.questions: BoundedTable[int, bool] = BoundedTable()
        """Connections without a login, and whether an answer to Metadata has come."""

    def receive_handshake(self, event: MessageEvent) -> None:
        """Notes that a login begins, with SaslHandshake."""
        self.mechanisms[event.stream] = text(event.values, "mechanism") or ""

    def receive_mechanisms(self, event: MessageEvent) -> None:
        """Notes that a broker takes a login."""
        if read_error(event.values) is None and event.server not in self.listeners:
            self.listeners[event.server] = True

    def receive_token(self, event: MessageEvent) -> None:
        """Notes that a token of the client waits for an answer."""
        if event.from_client:
            self.waiting[event.stream] = self.mechanisms.get(event.stream) or ""
        else:
            self.waiting.pop(event.stream)

    def receive_question(self, event: MessageEvent) -> None:
        """Notes a request for Metadata before any login."""
        if event.stream not in self.questions and event.stream not in self.mechanisms:
            self.questions[event.stream] = False

    def receive_metadata(self, event: MessageEvent) -> None:
        """Notes that a broker answers, so that it asks for no login."""
        if event.stream in self.questions:
            self.questions[event.stream] = True
            self.listeners[event.server] = False

    def end_connection(self, end: ConnectionEnd) -> None:
        """Reports a login whose connection the broker closes without an answer."""
        mechanism = self.waiting.pop(end.stream)
        if mechanism is not None and not end.by_client:
            sentence = (
                f"the broker closed the connection without answering a login by SASL{mechanism and f' {mechanism}'}: "
                "the credentials are probably wrong"
            )
            subject = mechanism and f"mechanism {mechanism}"
            self.emit(Finding(Severity.ERROR, "access-refused", sentence, subject=subject))
        if self.questions.pop(end.stream) is False and not end.by_client and self.listeners.get(end.server):
            sentence = (
                f"the broker closed the connection at the first request: its listener {end.server} asks for a login by "
                "SASL, with which other clients begin, and this client does not"
            )
            self.emit(
                Finding(Severity.ERROR, "access-refused", sentence, subject=f"listener {end.server}", advice=_LOGIN)
            )

    on = subscribe_to("SaslHandshake", REQUESTS, receive_handshake, "mechanism") | subscribe(
        [(KAFKA, None, Role.RAW)], receive_token
    )
    on |= subscribe_to("SaslHandshake", ANSWERS, receive_mechanisms, "errorCode")
    on |= subscribe_to("Metadata", REQUESTS, receive_question) | subscribe_to("Metadata", ANSWERS, receive_metadata)
