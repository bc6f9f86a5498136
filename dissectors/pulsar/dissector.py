"""Apache Pulsar's binary protocol, as the DISSECTOR interface asks for it.

Theory. A frame is two sizes and a command, a Protocol Buffers message whose type is one of seventy; behind two of them
a payload with metadata may follow. Every frame tells by itself how it is to be read, so decoding needs nothing from
earlier; only pairing does, and the client's version, which CONNECT alone tells. header.py and probe.py read the first
bytes, conversation.py pairs, frame.py and frame_fields.py read everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.api import Body, Context, Conversation, Dissector, LengthPrefixed, MessageHeader, Pick, Stencil
from dissectors.field import Tree
from dissectors.pulsar.frame import values
from dissectors.pulsar.header import MAXIMUM, PREFIX, command_of, sight
from dissectors.pulsar.info import info_line, recalled
from dissectors.pulsar.labels import error_of
from dissectors.pulsar.notices import SIZE, of_tree, of_values
from dissectors.pulsar.probe import evidence, too_large
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import folded

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.lesson import Lesson, Path, Reference, Taught, Teacher
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.portion import Other, Portion
    from dissectors.report import ReportType


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

    def refused(self, prefix: bytes, from_client: bool) -> str | None:
        """Frames that are larger than what is believed."""
        return too_large(prefix, from_client)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The command, and the number that it carries or repeats."""
        return sight(prefix, from_client).header

    def conversation(self) -> Conversation:
        """The questions without an answer, and the client's version."""
        from dissectors.pulsar.conversation import PulsarConversation  # decoding one message needs no pairing

        return PulsarConversation()

    def values(self, message: bytes, context: Context) -> Body:
        """The command's fields by the names of the proto, and the payload with its metadata."""
        command, _, _ = command_of(message)
        try:
            found = values(message)
        except FAILURES:
            body = folded(self.tree(message, context))
        else:
            body = Body(found, None, of_values(command, found, context, int.from_bytes(message[:SIZE])))
        reported = None if command is None or command.error is None else body.values.get(command.error)
        return body._replace(error=error_of(reported)) if isinstance(reported, int | str) else body

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """Commands of the tables, and payloads behind them."""
        from dissectors.pulsar.stencil import stencil  # decoding one message has no use for it

        return stencil(message, context, request)

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Commands of frames with a payload, without it."""
        from dissectors.pulsar.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Sizes, command, metadata and payload with their places."""
        from dissectors.pulsar.inside import open_tree  # values need neither, but for what is out of the ordinary

        return open_tree(_read(message, context))

    def portioned(self) -> frozenset[int]:
        """SEND and MESSAGE, which may carry chunks."""
        from dissectors.pulsar.portions import PORTIONED  # few messages are chunks

        return PORTIONED

    def portion(self, prefix: bytes) -> Portion | None:
        """The chunk, by its uuid and the number of its producer or consumer."""
        from dissectors.pulsar.portions import portion  # the same

        return portion(prefix)

    def joined(self, message: bytes, context: Context, others: Sequence[Other]) -> Tree:
        """The chunks of a message, joined and decompressed."""
        from dissectors.pulsar.chunks import join  # the same
        from dissectors.pulsar.inside import open_tree

        tree = _read(message, context)
        join(tree, message, others)
        return open_tree(tree)

    def whole(self, message: bytes, context: Context, others: Sequence[Other]) -> Body | None:
        """The same as values."""
        from dissectors.pulsar.chunks import whole  # the same

        found = whole(message, others)
        return None if found is None else Body(found, None)

    def recalls(self, context: Context) -> frozenset[Path]:
        """What an answer is about: topics, producers, consumers, transactions."""
        return recalled(context)

    def info(self, body: Body, context: Context) -> str:
        """Topic, subscription, ids, sizes and errors, briefly."""
        return info_line(body, context)

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

    def reports(self) -> Sequence[ReportType]:
        """Producers, consumers, and what became of messages."""
        from dissectors.pulsar.reports import reports  # for who asks what happened

        return reports()

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

    def checks(self) -> Sequence[type[Check]]:
        """What only several messages show to be wrong."""
        from dissectors.pulsar.checks import checks  # for checkups alone

        return checks()


def _read(message: bytes, context: Context) -> Tree:
    """A frame's nodes, and what there is to say of it."""
    from dissectors.pulsar.frame_fields import read

    tree = read(message)
    tree.findings.extend(of_tree(command_of(message)[0], tree, context))
    return tree
