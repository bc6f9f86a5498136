"""RocketMQ's remoting protocol, as the Dissector interface asks for it.

Theory. Clients, brokers, name servers and controllers all speak the same frames: a length, a header as JSON or in a
compact form, a body. Either side may ask; a command says itself whether it is a request, an answer, or wants none, and
an answer repeats the asker's number. So pairing needs the numbers alone; what an answer's body is, is known from its
request. header.py and probe.py read the first bytes, message.py reads everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.api import Body, Context, Dissector, LengthPrefixed, MessageHeader, Pick, Role, Stencil
from dissectors.field import Tree
from dissectors.pairing import pair_by_key
from dissectors.rocketmq.header import MAXIMUM, PREFIX, message_header
from dissectors.rocketmq.probe import evidence, probe, too_large

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.lesson import Path
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.report import ReportType

_PLAUSIBLE = 50


class RocketMQ(Dissector):
    """RocketMQ 3.2 to 5.5: remoting commands in both serializations."""

    name = "rocketmq"
    ports = (9876, 10911, 10909)
    framing = LengthPrefixed(4, 4, MAXIMUM)
    prefix = PREFIX
    lone_numbers = True
    held = frozenset({11, 361, 200050, 200054, 200070})  # PULL, LITE_PULL, POP, NOTIFICATION, POP_LITE
    bulk = "dissectors.rocketmq.bulk"
    conversation = pair_by_key

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Nearly proof, where a header is there to be checked."""
        return probe(prefix, from_client)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Whether a header begins here; either side may ask and answer."""
        return evidence(prefix).score > _PLAUSIBLE

    def refused(self, prefix: bytes, from_client: bool) -> str | None:
        """Frames that are larger than what is believed."""
        return too_large(prefix)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Role, operation, opaque and client."""
        return message_header(prefix, from_client)

    def values(self, message: bytes, context: Context) -> Body:
        """The header's members, what its class makes of extFields, and the body."""
        from dissectors.rocketmq.message import decode  # finding out who asked what needs no bodies

        return decode(message, context)

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """The same with holes, and those of the request that it answers."""
        from dissectors.rocketmq.stencil import stencil  # decoding one message has no use for it

        return stencil(message, context, request)

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Headers without their bodies."""
        from dissectors.rocketmq.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Length, header and body with their places."""
        from dissectors.rocketmq.body import body_kind
        from dissectors.rocketmq.inside import open_tree  # values need it as little as lines do
        from dissectors.rocketmq.message import read

        return open_tree(read(message, context), body_kind(context.code, context.role is Role.RESPONSE))

    def recalls(self, context: Context) -> frozenset[Path]:
        """What an answer is about: topics, queues, groups."""
        from dissectors.rocketmq.info import recalled  # for who reads lines

        return recalled(context)

    def info(self, body: Body, context: Context) -> str:
        """Topics, groups, counts and errors, briefly."""
        from dissectors.rocketmq.info import info_line

        return info_line(body, context)

    def carriers(self) -> Carriers | None:
        """What names a topic, or holds messages that do."""
        from dissectors.rocketmq.payloads import carriers  # the same

        return carriers()

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """Bodies of messages."""
        from dissectors.rocketmq.payloads import payloads  # for exports alone

        return payloads(values)

    def reports(self) -> Sequence[ReportType]:
        """What happened to messages, transactions, pops, and more."""
        from dissectors.rocketmq.reports import reports  # for who asks what happened

        return reports()

    def checks(self) -> Sequence[type[Check]]:
        """What only several messages show to be wrong."""
        from dissectors.rocketmq.checks import checks  # for checkups alone

        return checks()

    def catalog(self) -> Catalog:
        """All fields by name."""
        from dissectors.rocketmq.catalog import RocketMQCatalog  # for who asks by name

        return RocketMQCatalog()
