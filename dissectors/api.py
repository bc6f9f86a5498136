"""What a protocol implements.

Theory. A message is decoded in two steps that are far apart in time. While a capture is indexed, only `framing`, `header`
and the Conversation see it: they cut it out, name it and pair it. Whenever somebody looks, `values` or `tree` reads the
whole of it, alone, helped only by the Context that the conversation kept for it. So a row can be decoded later,
elsewhere and in any order, and decoding one message never needs another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dissectors.field import Tree
from dissectors.finding import Finding


class Role(IntEnum):
    """What a message is in its conversation; printed in lower case without underscore."""

    REQUEST = 0
    RESPONSE = 1
    ONEWAY = 2
    PUSH = 3
    RAW = 4


class State(IntEnum):
    """How far a message can be trusted, known from framing, header and pairing alone."""

    COMPLETE = 0
    PARTIAL = 1
    GUESSED = 2
    UNDECODED = 3


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """What framing, pairing and the list need, read without a full decode. None: unknown."""

    role: Role
    operation: str | None = None
    code: int | None = None
    version: int | None = None
    correlation: int | None = None
    client: str | None = None
    state: State = State.COMPLETE


@dataclass(frozen=True, slots=True)
class Context:
    """What decoding one message needs from earlier in its connection: small, picklable, kept with the row.

    `code` and `version` are the operation's (a response carries neither); `extra` is the protocol's own.
    """

    role: Role
    code: int | None = None
    version: int | None = None
    extra: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversation says of one message: its header with what the partner tells, the partner, and the extra context."""

    header: MessageHeader
    partner: int | None = None
    extra: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """A message decoded to plain values. `error` is the first error that it reports, as (code, name)."""

    values: dict[str, Any]
    error: tuple[int, str] | None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class LengthPrefixed:
    """Messages behind a big-endian length of `width` bytes that does not count itself; bounds are of that length."""

    width: int
    minimum: int
    maximum: int


class Conversation(ABC):
    """The state of one connection: requests not yet answered, and what decoding needs later. Plain data: it pickles."""

    @abstractmethod
    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Takes the next message in order of completion.

        handle: the engine's number for it, given back as `partner` of its answer. prefix: its first bytes (PREFIX at
        most), length prefix included.
        """


class Dissector(ABC):
    """One protocol. Stateless: everything that a connection remembers is in its Conversation."""

    name: str
    ports: tuple[int, ...]
    framing: LengthPrefixed
    bulk: str | None = None
    """The module with the bulk twins (dissectors.wire.bulk.BulkDissector), if there is one."""

    @abstractmethod
    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """How sure the first bytes of a direction make us that they are ours: 0 (surely not) to 100 (no doubt).

        `from_client` is None when nobody knows which side opened the connection.
        """

    @abstractmethod
    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Whether a message can begin with these bytes: used to find the way back behind a gap."""

    @abstractmethod
    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Reads what the list needs from the first bytes of a message; never raises."""

    @abstractmethod
    def conversation(self) -> Conversation:
        """A new connection's state."""

    @abstractmethod
    def values(self, message: bytes, context: Context) -> Body:
        """The fast way to plain values. Never raises DecodeError: what could be read is there, the rest is a Finding."""

    @abstractmethod
    def tree(self, message: bytes, context: Context) -> Tree:
        """The annotated way; its leaves tile each source, also where the bytes break."""

    @abstractmethod
    def info(self, body: Body, context: Context) -> str:
        """One line for people, from this message alone."""


PREFIX = 512
"""Bytes of a message that header() and Conversation.step() may look at."""


def with_request(header: MessageHeader, request: MessageHeader) -> MessageHeader:
    """A response's header completed with what only its request carried; no surer than the request was."""
    return MessageHeader(
        header.role,
        request.operation,
        request.code,
        request.version,
        header.correlation,
        request.client,
        request.state,
    )
