"""The client's protocol of Apache ZooKeeper, as the DISSECTOR interface asks for it.

Theory. Every message is behind a four-byte size, but for the four-letter words (words.py), which a client may send
instead. What a connection remembers is small: its session, and which xid asked what (conversation.py). header.py and
probe.py read the first bytes, body.py everything; the layouts are records of jute (jute.py) in tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.api import WEAK, Body, Context, Conversation, Dissector, LengthPrefixed, Measure, MessageHeader
from dissectors.field import Tree
from dissectors.zookeeper.body import decode, read
from dissectors.zookeeper.header import MAXIMUM, client_header, server_header
from dissectors.zookeeper.info import info_line, recalled
from dissectors.zookeeper.probe import REPLY_EVIDENCE, reply_evidence, request_evidence
from dissectors.zookeeper.words import ClientOpening, ServerOpening, is_alone

if TYPE_CHECKING:
    from dissectors.api import Pick, Stencil
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.lesson import Path
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.report import ReportType


class ZooKeeper(Dissector):
    """ZooKeeper 3.3 to 3.9, the client port: all operations, multi, events, four-letter words."""

    name = "zookeeper"
    ports = (2181,)
    framing = LengthPrefixed(4, 0, MAXIMUM)
    bulk = "dissectors.zookeeper.bulk"

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """A connect or a path leaves hardly a doubt, a reply is weak evidence."""
        if from_client is None:
            return max(request_evidence(prefix), reply_evidence(prefix))
        return request_evidence(prefix) if from_client else reply_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Strict where there is a path or an error to be strict about."""
        return request_evidence(prefix) >= WEAK if from_client else reply_evidence(prefix) >= REPLY_EVIDENCE

    def opens(self, prefix: bytes) -> bool:
        """A word and nothing else."""
        return is_alone(prefix)

    def measure(self, from_client: bool, opening: bool) -> Measure | None:
        """A connection may open with a word and its answer, which have no length."""
        if not opening:
            return None
        return ClientOpening() if from_client else ServerOpening()

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Xid and opcode of a request, xid of a reply; what has no header is told by its form."""
        return client_header(prefix) if from_client else server_header(prefix)

    def conversation(self) -> Conversation:
        """Unanswered requests by xid, and the session."""
        from dissectors.zookeeper.conversation import ZooKeeperConversation  # decoding one message needs none

        return ZooKeeperConversation()

    def values(self, message: bytes, context: Context) -> Body:
        """The record's fields by jute's names, and zxid and err of a reply."""
        return decode(message, context)

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Fields of requests, and of replies without an error."""
        from dissectors.zookeeper.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """Requests, replies and events of one record."""
        from dissectors.zookeeper.stencil import stencil  # decoding one message has no use for it

        return stencil(message, context, request)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Length, header and record with their places."""
        return read(message, context)

    def recalls(self, context: Context) -> frozenset[Path]:
        """Path, version, modes of what was asked."""
        return recalled(context)

    def info(self, body: Body, context: Context) -> str:
        """Errors, paths, sizes, versions, briefly."""
        return info_line(body, context)

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """Data of nodes."""
        from dissectors.zookeeper.payloads import payloads  # for exports alone

        return payloads(values, asked)

    def carriers(self) -> Carriers | None:
        """None: nodes are no logs."""
        return frozenset()

    def checks(self) -> Sequence[type[Check]]:
        """Clients that nearly expire, and connections that are lost."""
        from dissectors.zookeeper.checks.clients import Clients  # for checkups alone

        return (Clients,)

    def reports(self) -> Sequence[ReportType]:
        """Sessions, watches, transactions, elections."""
        from dissectors.zookeeper.reports import reports  # for who asks what happened

        return reports()

    def catalog(self) -> Catalog:
        """All fields by name."""
        from dissectors.zookeeper.catalog import ZooKeeperCatalog  # for who asks by name

        return ZooKeeperCatalog()
