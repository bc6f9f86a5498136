"""RocketMQ's remoting protocol, as the Dissector interface asks for it.

Theory. Clients, brokers, name servers and controllers all speak the same frames: a length, a header as JSON or in a
compact form, a body. Either side may ask; a command says itself whether it is a request, an answer, or wants none, and
an answer repeats the asker's number. So pairing needs the numbers alone; what an answer's body is, is known from its
request. header.py and probe.py read the first bytes, message.py reads everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dissectors.api import Body, Context, Dissector, LengthPrefixed, MessageHeader, Pick
from dissectors.field import Tree
from dissectors.pairing import pair_by_key
from dissectors.rocketmq.header import MAXIMUM, PREFIX, message_header
from dissectors.rocketmq.probe import evidence, probe

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.lesson import Path
    from dissectors.payload import Asked, Carriers, Payload

_PLAUSIBLE = 50


class RocketMQ(Dissector):
    """RocketMQ 3.2 to 5.5: remoting commands in both serializations."""

    name = "rocketmq"
    ports = (9876, 10911, 10909)
    framing = LengthPrefixed(4, 4, MAXIMUM)
    prefix = PREFIX
    bulk = "dissectors.rocketmq.bulk"
    conversation = pair_by_key

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Nearly proof, where a header is there to be checked."""
        return probe(prefix, from_client)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Whether a header begins here; either side may ask and answer."""
        return evidence(prefix).score > _PLAUSIBLE

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Role, operation, opaque and client."""
        return message_header(prefix, from_client)

    def values(self, message: bytes, context: Context) -> Body:
        """The header's members, what its class makes of extFields, and the body."""
        from dissectors.rocketmq.message import decode  # finding out who asked what needs no bodies

        return decode(message, context)

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Headers without their bodies."""
        from dissectors.rocketmq.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Length, header and body with their places."""
        from dissectors.rocketmq.message import read

        return read(message, context)

    def info(self, body: Body, context: Context) -> str:
        """Topics, groups, counts and errors, briefly."""
        from dissectors.rocketmq.info import info_line

        return info_line(body)

    def carriers(self) -> Carriers | None:
        """What names a topic, or holds messages that do."""
        from dissectors.rocketmq.payloads import carriers  # the same

        return carriers()

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """Bodies of messages."""
        from dissectors.rocketmq.payloads import payloads  # for exports alone

        return payloads(values)

    def catalog(self) -> Catalog:
        """All fields by name."""
        from dissectors.rocketmq.catalog import RocketMQCatalog  # for who asks by name

        return RocketMQCatalog()
