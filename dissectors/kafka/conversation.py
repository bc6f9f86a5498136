"""Pairing on a Kafka connection.

Theory. A broker answers the requests of one connection strictly in order, so pairing uses a queue. The correlation id,
which the client chooses and the broker repeats, is only a check, because clients may reuse it. A Produce with acks=0 is
never answered (its header says one-way). If the id at the head does not match, a request was lost or dropped, and all
requests before the first match are given up. An answer that matches none is an orphan.

SASL (KIP-12, KIP-43): after SaslHandshake version 0 the tokens of both sides are bare frames without a header. The
exchange is over when a frame from the client is a request header again. A client of the 0.9 releases may begin with a
bare GSSAPI token (its first byte is 0x60, the ASN.1 application tag of RFC 2743, section 3.1).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from struct import unpack_from

from dissectors.api import Context, Conversation, MessageHeader, Outcome, Role, State, with_request
from dissectors.kafka.body import decode_values
from dissectors.kafka.header import ENVELOPE, body_offset, request_header, response_header
from dissectors.kafka.nested.envelope import DEEPEST, SEPARATOR
from dissectors.kafka.nested.rules import GROUP_KIND, INNER_KEY, INNER_VERSION
from dissectors.kafka.probe import plausible_request
from dissectors.kafka.reading import body_plan
from dissectors.kafka.sasl.exchange import Sasl
from dissectors.pairing import MOST_WAITING, Waiting
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, projection
from dissectors.wire.sasl.gssapi import GSSAPI
from dissectors.wire.varint import Unfit, uvarint

JOIN_GROUP, SYNC_GROUP, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 11, 14, 17, 18, 36
SASL = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})
UNSUPPORTED_VERSION = 35
GROUP = frozenset({JOIN_GROUP, SYNC_GROUP})
MOST_ENVELOPES = 256
"""Envelopes whose content is remembered until they are answered: a broker has few of them on their way."""

_PROTOCOL_TYPE = frozenset({("protocolType",)})
GSSAPI_TOKEN = 0x60
TOKEN = MessageHeader(Role.RAW, state=State.COMPLETE)


@dataclass(slots=True)
class KafkaConversation(Conversation):
    """`tokens` is true while bare SASL frames may come; `waiting_counts` counts the correlation ids of `waiting`."""

    waiting: list[Waiting] = field(default_factory=list)
    waiting_counts: Counter[int | None] = field(default_factory=Counter)
    tokens: bool = False
    waiting_tokens: list[int] = field(default_factory=list)
    protocol_type: str | None = None
    begun: bool = False
    envelopes: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Key and version of the request in each Envelope that is not answered, by the Envelope's correlation id."""
    sasl: Sasl = field(default_factory=Sasl)

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Pairs a message: a request joins the queue, and a response takes its request from it.

        Tokens have another queue.
        """
        header = request_header(prefix) if from_client else response_header(prefix)
        outcome = self._from_client(handle, prefix, header) if from_client else self._from_broker(prefix, header)
        self.begun = True
        return outcome

    def _from_client(self, handle: int, prefix: bytes, header: MessageHeader) -> Outcome:
        if not self.begun and prefix[4:5] == bytes([GSSAPI_TOKEN]):
            self.tokens = True
            self.sasl.ask(GSSAPI)
        if self.tokens and not (header.role is Role.REQUEST and plausible_request(prefix)):
            self.waiting_tokens.append(handle)
            if len(self.waiting_tokens) > MOST_WAITING:
                self.waiting_tokens.pop(0)
            return Outcome(TOKEN, extra=self.sasl.send())
        self.tokens = False
        if header.role is Role.REQUEST:
            self.ask(Waiting(handle, header))
        if header.code in SASL:
            return Outcome(header, extra=self._note_sasl(header, prefix))
        return Outcome(header, extra=self.note(header.code, header.version, prefix))

    def _from_broker(self, prefix: bytes, header: MessageHeader) -> Outcome:
        if self.waiting_tokens:
            return Outcome(TOKEN, self.waiting_tokens.pop(0), self.sasl.answer(failed=False, empty=len(prefix) <= 4))
        request = self._claim(header.correlation)
        if request is None:
            return Outcome(header)
        requested = request.header
        error = unpack_from(">h", prefix, 8)[0] if len(prefix) >= 10 else None
        if requested.code == SASL_HANDSHAKE and requested.version == 0:
            self.tokens = error == 0
        header = with_request(header, requested)
        if requested.code in SASL:
            return Outcome(header, request.handle, self._note_sasl(header, prefix))
        if requested.code == API_VERSIONS and error == UNSUPPORTED_VERSION:
            header = replace(header, state=State.COMPLETE)  # the answer's layout is known whatever was asked (KIP-511)
        return Outcome(header, request.handle, self.note(requested.code, None, prefix))

    def _note_sasl(self, header: MessageHeader, prefix: bytes) -> Mapping[str, str] | None:
        """What reading a token needs; a handshake has none, and says which mechanism it will be."""
        context = Context(header.role, header.code, header.version)
        body = decode_values(prefix, context)
        if header.role is Role.RESPONSE:
            if header.code == SASL_AUTHENTICATE:
                return self.sasl.answer(body.error is not None, len(body.values.get("authBytes", b"?")) == 0)
            if body.error is not None:
                self.sasl.refuse()
            return None
        if header.code == SASL_AUTHENTICATE:
            return self.sasl.send()
        self.sasl.ask(body.values.get("mechanism"))
        return self.sasl.handshake()

    def is_unrequested(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether a response answers no known request, by its correlation id. Tokens have no id."""
        if from_client or not self.waiting or self.tokens:
            return False
        return not self.waiting_counts[response_header(prefix).correlation]

    def handles(self) -> Iterable[int]:
        """Returns the handles of all requests and tokens that wait for an answer."""
        return [*(request.handle for request in self.waiting), *self.waiting_tokens]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the handles of waiting requests and tokens by the ones in `numbers`."""
        self.waiting = [request.with_number(numbers) for request in self.waiting]
        self.waiting_tokens = [numbers[handle] for handle in self.waiting_tokens]

    def ask(self, request: Waiting) -> None:
        """Puts a request at the end of the queue; the oldest goes when there are too many."""
        self.waiting.append(request)
        self.waiting_counts[request.header.correlation] += 1
        if len(self.waiting) > MOST_WAITING:
            self._next()

    def _claim(self, correlation: int | None) -> Waiting | None:
        """The first request with this id; those before it will not be answered any more."""
        if correlation is None or not self.waiting_counts[correlation]:
            return None
        while (request := self._next()).header.correlation != correlation:
            pass
        return request

    def _next(self) -> Waiting:
        request = self.waiting.pop(0)
        self.waiting_counts[request.header.correlation] -= 1
        if not self.waiting_counts[request.header.correlation]:
            del self.waiting_counts[request.header.correlation]
        return request

    def note(self, code: int | None, version: int | None, prefix: bytes) -> Mapping[str, str] | None:
        """Returns the context that decoding this message needs. `version` is None for a response.

        JoinGroup says what kind of group this is; SyncGroup before version 5 and the answers do not. An Envelope says
        what it asks, and its answer does not.
        """
        if code == ENVELOPE:
            return self._note_envelope(version, prefix)
        if code == JOIN_GROUP and version is not None:
            self.protocol_type = protocol_type(prefix, version)
        return {GROUP_KIND: self.protocol_type} if code in GROUP and self.protocol_type is not None else None

    def _note_envelope(self, version: int | None, prefix: bytes) -> Mapping[str, str] | None:
        if version is None:
            inner = self.envelopes.pop(int.from_bytes(prefix[4:8], signed=True), None)
            return None if inner is None else {INNER_KEY: inner[0], INNER_VERSION: inner[1]}
        inner = read_enveloped_requests(prefix, version)
        if inner is not None:
            if len(self.envelopes) == MOST_ENVELOPES:
                del self.envelopes[next(iter(self.envelopes))]
            self.envelopes[int.from_bytes(prefix[8:12], signed=True)] = inner
        return None


def protocol_type(prefix: bytes, version: int) -> str | None:
    """Reads the protocol type from a JoinGroup request; None if the prefix ends before it."""
    plan = body_plan(JOIN_GROUP, version, False)
    if plan is not None:
        try:
            start = body_offset(prefix, JOIN_GROUP, version, False)
            values, stop = projection(plan, _PROTOCOL_TYPE)(prefix, start, Budget())
        except FAILURES:
            stop = len(prefix) + 1
        if stop <= len(prefix):
            kind: str | None = values["protocolType"]
            return kind
    # Cut, broken, or of a version without layout: the careful way tells what can be told.
    found = decode_values(prefix, Context(Role.REQUEST, JOIN_GROUP, version)).values.get("protocolType")
    return found if isinstance(found, str) else None


def read_enveloped_requests(prefix: bytes, version: int) -> tuple[str, str] | None:
    """Key and version of the request in an Envelope, and behind them those of a request in that, if it is one, too.

    None where it, or what is here of it, is too short for them.
    """
    keys: list[str] = []
    versions: list[str] = []
    key = ENVELOPE
    while key == ENVELOPE and len(keys) < DEEPEST:
        try:
            size, at = uvarint(prefix, body_offset(prefix, ENVELOPE, version, False))
            key, version = unpack_from(">hh", prefix, at)
        except (IndexError, Unfit, struct.error):
            break
        if size <= 4:
            break
        keys.append(str(key))
        versions.append(str(version))
        prefix = prefix[at - 4 :]  # as a frame, which has its size in front
    return (SEPARATOR.join(keys), SEPARATOR.join(versions)) if keys else None
