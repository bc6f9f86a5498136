"""The dissector of the client protocol of Apache ZooKeeper.

Theory. Every message is behind a four-byte size, except the four-letter commands (four_letter_commands), which a
client may send instead. The state of a connection is small: its session, and the opcodes of its xids (conversation.py).
header.py and probe.py read the first bytes, body.py everything; the layouts are records of jute (schemas.py) in tables.
"""

from __future__ import annotations

from dissectors.api import WEAK, Dissector, Framer, LengthPrefixed, MessageHeader, lazy
from dissectors.zookeeper.body import decode_tree, decode_values
from dissectors.zookeeper.four_letter_commands import ClientOpening, ServerOpening, is_alone
from dissectors.zookeeper.header import MAXIMUM, client_header, server_header
from dissectors.zookeeper.info import info_line, list_request_fields
from dissectors.zookeeper.probe import REPLY_EVIDENCE, reply_evidence, request_evidence


class ZooKeeper(Dissector):
    """ZooKeeper 3.3 to 3.9, the client port: all operations, multi, events, four-letter words."""

    name = "zookeeper"
    ports = (2181,)
    answers_in_order = True
    outstanding_limit = (1000, "globalOutstandingLimit")
    tls_ports = (2281,)
    framing = LengthPrefixed(4, 0, MAXIMUM)
    columns = ("role", "operation", "correlation", "client", "latency", "zookeeper.path")
    settings = ("connect.request.timeOut", "connect.request.readOnly", "connect.request.protocolVersion")
    client = "session"
    color = "green"
    fast_path = "dissectors.zookeeper.fast_path"
    opens = staticmethod(is_alone)
    conversation = lazy("dissectors.zookeeper.conversation:ZooKeeperConversation")
    values = staticmethod(decode_values)
    tree = staticmethod(decode_tree)
    info = staticmethod(info_line)
    projection = lazy("dissectors.zookeeper.layouts:make_projection")
    template = lazy("dissectors.zookeeper.layouts:TEMPLATE")
    request_fields = staticmethod(list_request_fields)
    catalog = lazy("dissectors.zookeeper.catalog:CATALOG")
    operations = lazy("dissectors.zookeeper.schemas:operations")
    guide = lazy("dissectors.zookeeper.guide:CLIENTS")
    reports = lazy("dissectors.zookeeper.reports:reports")
    participants = lazy("dissectors.zookeeper.reports:participants")
    checks = lazy("dissectors.zookeeper.checks:list_client_checks")
    triage = lazy("dissectors.zookeeper.checks:triage")
    payloads = lazy("dissectors.zookeeper.payloads:PAYLOADS")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates first bytes: a connect or a path is nearly certain, a reply is weak evidence."""
        if from_client is None:
            return max(request_evidence(prefix), reply_evidence(prefix))
        return request_evidence(prefix) if from_client else reply_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Strict where there is a path or an error to be strict about."""
        return request_evidence(prefix) >= WEAK if from_client else reply_evidence(prefix) >= REPLY_EVIDENCE

    def make_framer(self, from_client: bool, opening: bool) -> Framer | None:
        """Makes a framer for a four-letter word and its answer, which have no length prefix."""
        if not opening:
            return None
        return ClientOpening() if from_client else ServerOpening()

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Reads the xid and opcode of a request, or the xid of a reply (Jute records of ZooKeeper)."""
        return client_header(prefix) if from_client else server_header(prefix)
