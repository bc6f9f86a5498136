"""A message for its dissector: its header, its context from earlier messages, and its values.

Theory. While a capture is indexed, a message is a MessageHeader, which its Conversation completes to an Outcome. When
the message is shown, its bytes and the stored Context become a Body.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from dissectors.finding import Finding
from dissectors.slotted import make_slotted

Values = Mapping[str, Any]
"""The decoded fields of a message by name."""

Path = tuple[str, ...]
"""Names of fields from the body inwards; arrays on the way are implicit."""


class Role(IntEnum):
    """The role of a message in its conversation; printed in lower case.

    A REQUEST expects an answer, a ONEWAY message none, whoever sends it. A RESPONSE answers a request, a PUSH is what a
    server sends unasked. RAW is what has no header: a token between messages, or bytes too few for one.
    """

    REQUEST = 0
    RESPONSE = 1
    ONEWAY = 2
    PUSH = 3
    RAW = 4


class State(IntEnum):
    """How far a message can be trusted, known from framing, header and pairing alone.

    A dissector says COMPLETE, GUESSED where the layout is not certain (an answer without its request, a version newer
    than its tables), UNDECODED where there is none. PARTIAL is the engine's: bytes are missing.
    """

    COMPLETE = 0
    PARTIAL = 1
    GUESSED = 2
    UNDECODED = 3


@make_slotted
class MessageHeader:
    """The values of a message that pairing and the list of messages need, read without a full decode. None: unknown.

    operation: the protocol's own name for what is done, and `code` its number on the wire. correlation: the number that
    an answer repeats, -2^63 < n < 2^64. scope: what that number counts in, as a text to be put before it ("send:0/"),
    where one connection has several countings; few different ones. client: how the client calls itself.
    """

    role: Role
    operation: str | None = None
    code: int | None = None
    version: int | None = None
    correlation: int | None = None
    client: str | None = None
    state: State = State.COMPLETE
    scope: str | None = None

    @property
    def key(self) -> int | str | None:
        """The correlation as it is printed: with its scope, as a text."""
        return self.correlation if self.scope is None else f"{self.scope}{self.correlation}"


HEADLESS = MessageHeader(Role.RAW, state=State.UNDECODED)
"""The header of bytes that are too few for one."""


@make_slotted
class Context:
    """The facts of a connection that decoding one message needs: small, picklable, stored with the row.

    `code` and `version` are the operation's (a response carries neither); `extra` is the protocol's own.
    """

    role: Role
    code: int | None = None
    version: int | None = None
    extra: Mapping[str, str] | None = None


@make_slotted
class Outcome:
    """The result of Conversation.step for one message.

    header: its own, completed with what its partner tells (with_request). partner: the handle of the request that it
    answers. extra: what decoding it needs besides role, code and version; kept with the row as Context.extra. owed:
    False for a request that may well have no answer.
    """

    header: MessageHeader
    partner: int | None = None
    extra: Mapping[str, str] | None = None
    owed: bool = True


class Body(NamedTuple):
    """A message decoded to plain values. `error` is the first error that the message itself reports, as (code, name).

    Values are what JSON knows (int, float, str, bool, None, list, dict with str keys), bytes, and wire.secret.Secret.
    request: for info() only, the values of the request that the message answers, at least Dissector.request_fields;
    None if the request is unknown. request_code: the code of that request, which may differ from that of the answer.
    """

    values: dict[str, Any]
    error: tuple[int, str] | None
    findings: tuple[Finding, ...] = ()
    request: Mapping[str, Any] | None = None
    request_code: int | None = None


def with_request(header: MessageHeader, request: MessageHeader) -> MessageHeader:
    """Completes a response's header from its request; its certainty is at most that of the request."""
    return MessageHeader(
        header.role,
        request.operation,
        request.code,
        request.version,
        header.correlation,
        request.client,
        request.state,
        header.scope,
    )
