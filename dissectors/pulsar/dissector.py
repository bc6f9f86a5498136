"""Apache Pulsar's binary protocol, as the DISSECTOR interface asks for it.

Theory. A frame is two sizes and a command, a Protocol Buffers message whose type is one of seventy; behind two of them
a payload with metadata may follow. Every frame tells by itself how it is to be read, so decoding needs nothing from
earlier; only pairing does, and the client's version, which CONNECT alone tells. header.py and probe.py read the first
bytes, conversation.py pairs, frame.py and frame_fields.py read everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dissectors.api import Body, Context, Conversation, Dissector, LengthPrefixed, MessageHeader, Pick
from dissectors.field import Tree
from dissectors.pulsar.frame import values
from dissectors.pulsar.header import MAXIMUM, PREFIX, command_of, sight
from dissectors.pulsar.info import info_line
from dissectors.pulsar.labels import error_of
from dissectors.pulsar.probe import evidence
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import folded

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.lesson import Lesson, Path, Reference, Taught, Teacher
    from dissectors.payload import Asked, Carriers, Payload


class Pulsar(Dissector):
    """Pulsar 2.8 to 5.0, all 70 commands, payloads and batches."""

    name = "pulsar"
    ports = (6650,)
    framing = LengthPrefixed(4, 4, MAXIMUM)
    prefix = PREFIX
    bulk = "dissectors.pulsar.bulk"

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """A frame of a known command leaves hardly a doubt."""
        return evidence(prefix, from_client)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The command, and the number that it carries or repeats."""
        return sight(prefix, from_client).header

    def conversation(self) -> Conversation:
        """The questions without an answer, and the client's version."""
        from dissectors.pulsar.conversation import PulsarConversation  # decoding one message needs no pairing

        return PulsarConversation()

    def values(self, message: bytes, context: Context) -> Body:
        """The command's fields by the names of the proto, and the payload with its metadata."""
        try:
            body = Body(values(message), None)
        except FAILURES:
            body = folded(self.tree(message, context))
        command, _, _ = command_of(message)
        reported = None if command is None or command.error is None else body.values.get(command.error)
        return body._replace(error=error_of(reported)) if isinstance(reported, int | str) else body

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Commands of frames with a payload, without it."""
        from dissectors.pulsar.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Sizes, command, metadata and payload with their places."""
        from dissectors.pulsar.frame_fields import read  # values need it only for what is out of the ordinary

        return read(message)

    def info(self, body: Body, context: Context) -> str:
        """Topic, subscription, ids, sizes and errors, briefly."""
        return info_line(body)

    def teachers(self) -> Iterable[Teacher]:
        """The commands that make producers and consumers."""
        from dissectors.pulsar.lessons import teachers  # for who shows what numbers stand for

        return teachers()

    def lessons(self, taught: Taught) -> Iterable[Lesson]:
        """Topics and subscriptions by the numbers that stand for them on a connection."""
        from dissectors.pulsar.lessons import lessons

        return lessons(taught)

    def references(self, context: Context) -> tuple[Reference, ...]:
        """Numbers of producers and consumers."""
        from dissectors.pulsar.lessons import references

        return () if context.code is None else references(context.code)

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """What was sent, each message of a batch by itself."""
        from dissectors.pulsar.payloads import payloads  # for exports alone

        return payloads(values)

    def catalog(self) -> Catalog:
        """All fields by name."""
        from dissectors.pulsar.catalog import PulsarCatalog  # for who asks by name

        return PulsarCatalog()

    def carriers(self) -> Carriers | None:
        """SEND and MESSAGE."""
        from dissectors.pulsar.payloads import carriers  # the same

        return carriers()
