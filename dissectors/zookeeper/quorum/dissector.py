"""The dissector of ZooKeeper's quorum protocol, between leader and learners.

Theory. Packets follow each other without a length in front (framer.py); a SNAP is followed by the leader's whole tree
(snapshot.py). A learner answers proposals and pings, a leader answers for sessions (conversation.py). A packet carries
a record of the client's protocol or a transaction (body.py, layouts.py).

Theory. The subject of a packet is in its data: a transaction or a request, summarised as in clients' lines, or numbers
of servers, sessions and epochs.
"""

from __future__ import annotations

from dissectors.api import WEAK, Body, Context, Dissector, Framer, lazy
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper.quorum.body import decode_tree, decode_values, stream_values
from dissectors.zookeeper.quorum.framer import Packets
from dissectors.zookeeper.quorum.header import header
from dissectors.zookeeper.quorum.probe import evidence
from dissectors.zookeeper.summaries import say


def info_line(body: Body, context: Context) -> str:
    """Returns the operation that a packet carries and what it is about; else its zxid."""
    values = body.values
    if "nodes" in values:
        return ", ".join(say("snapshot", values))
    if "token" in values:
        return ", ".join(say("authentication", values))
    data = values.get("data")
    if not isinstance(data, EmbeddedValue) or not isinstance(data.value, dict):
        return ", ".join(say("packet", values))
    inside = data.value
    record = inside.get("txn", inside.get("request")) or {}
    about = [*say("carried", record), *say("record", record)]
    operation = " ".join([*say("operation", inside), *about[:1]])
    parts = [*([operation] if operation else []), *about[1:], *say("data", inside)]
    return ", ".join([*parts, *say("packet", values), *say("whose", inside)])


class ZooKeeperQuorum(Dissector):
    """ZooKeeper 3.3 to 3.9, the quorum port: packets, transactions, snapshots, SASL."""

    name = "zookeeper-quorum"
    ports = (2888,)
    framing = None
    columns = ("role", "operation", "length", "latency")
    color = "bright_green"
    sign = "q"
    fast_path = "dissectors.zookeeper.quorum.fast_path"
    conversation = lazy("dissectors.zookeeper.quorum.conversation:QuorumConversation")
    header = staticmethod(header)
    values = staticmethod(decode_values)
    tree = staticmethod(decode_tree)
    info = staticmethod(info_line)
    streaming = staticmethod(stream_values)
    template = lazy("dissectors.zookeeper.quorum.layouts:TEMPLATE")
    catalog = lazy("dissectors.zookeeper.catalog.quorum:QUORUM")
    operations = lazy("dissectors.zookeeper.quorum.header:packets")
    guide = lazy("dissectors.zookeeper.guide:QUORUM")
    reports = lazy("dissectors.zookeeper.reports:reports")
    server_roles = lazy("dissectors.zookeeper.reports:list_quorum_roles")
    checks = lazy("dissectors.zookeeper.checks:list_quorum_checks")
    triage = lazy("dissectors.zookeeper.checks:triage")
    payloads = lazy("dissectors.zookeeper.payloads:QUORUM")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates first bytes: a complete packet must be decodable to its end."""
        if from_client is None:
            return max(evidence(prefix, True), evidence(prefix, False))
        return evidence(prefix, from_client)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether these bytes may begin a packet after a gap."""
        return evidence(prefix, from_client) >= WEAK

    def make_framer(self, from_client: bool, opening: bool) -> Framer:
        """Packet by packet; a leader may send a snapshot."""
        return Packets(not from_client)
