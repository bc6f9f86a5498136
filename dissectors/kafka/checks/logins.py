"""Checks of logins: brokers that close a connection instead of answering a login.

Facts (KIP-43, KIP-152). Behind SaslHandshake of version 0 the client sends its tokens without a header, and a broker
that refuses them closes the connection without a word; SaslAuthenticate, which has an answer with an error, came with
Kafka 1.0. Old clients use the former to this day.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, subscribe
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import KAFKA, REQUESTS, subscribe_to
from dissectors.message import Role
from dissectors.values import text


class UnansweredLogins(Check):
    """Finds logins behind SaslHandshake that end with the end of the connection."""

    def _begin(self) -> None:
        self.mechanisms: BoundedTable[int, str] = BoundedTable()
        """By connection the mechanism that was agreed on."""
        self.waiting: BoundedTable[int, str] = BoundedTable()
        """By connection the mechanism of a token that has no answer yet."""

    def receive_handshake(self, event: MessageEvent) -> None:
        """Notes that a login begins, with SaslHandshake."""
        self.mechanisms[event.stream] = text(event.values, "mechanism") or ""

    def receive_token(self, event: MessageEvent) -> None:
        """Notes that a token of the client waits for an answer."""
        if event.from_client:
            self.waiting[event.stream] = self.mechanisms.get(event.stream) or ""
        else:
            self.waiting.pop(event.stream)

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

    on = subscribe_to("SaslHandshake", REQUESTS, receive_handshake, "mechanism") | subscribe(
        [(KAFKA, None, Role.RAW)], receive_token
    )
