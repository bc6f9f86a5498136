"""ZooKeeper's leader election, as the DISSECTOR interface asks for it.

Theory. Votes are told and never answered, so nothing pairs and nothing is remembered. A connection begins without
framing (framer.py); a dropped one is ordinary, for of two servers only the one with the larger number may connect.
"""

from __future__ import annotations

from dissectors.api import WEAK, Body, Context, Dissector, Framer, MessageHeader, lazy
from dissectors.field import Tree
from dissectors.pairing import pair_by_key
from dissectors.zookeeper.election.body import decode_tree, decode_values
from dissectors.zookeeper.election.framer import ElectionFramer
from dissectors.zookeeper.election.header import header, is_versioned
from dissectors.zookeeper.election.info import info_line
from dissectors.zookeeper.election.probe import (
    INITIAL,
    LEGACY_ALONE,
    LEGACY_AND_MORE,
    client_evidence,
    notification_evidence,
    server_evidence,
)
from dissectors.zookeeper.sasl import is_packet


def begins(prefix: bytes) -> bool:
    """Whether it is an initial message; one of eight bytes if a notification follows."""
    return client_evidence(prefix) in (INITIAL, LEGACY_AND_MORE)


class ZooKeeperElection(Dissector):
    """ZooKeeper 3.3 to 3.9, the election port: initial messages, notifications, SASL."""

    name = "zookeeper-election"
    ports = (3888,)
    framing = None
    conversation = pair_by_key
    opens = staticmethod(begins)
    catalog = lazy("dissectors.zookeeper.catalog.quorum:ELECTION")
    guide = lazy("dissectors.zookeeper.guide:ELECTION")
    reports = lazy("dissectors.zookeeper.reports:reports")
    checks = lazy("dissectors.zookeeper.checks.election:list_election_checks")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """The first message leaves hardly a doubt, nor does a notification."""
        return server_evidence(prefix) if from_client is False else client_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Any message whose first bytes nothing else begins with, and a server's number alone."""
        initial = from_client and (is_versioned(prefix) or client_evidence(prefix) == LEGACY_ALONE)
        return initial or is_packet(prefix) or notification_evidence(prefix) >= WEAK

    def make_framer(self, from_client: bool, opening: bool) -> Framer:
        """An initial message first, then notifications."""
        return ElectionFramer(from_client and opening)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The name of a message."""
        return header(prefix, from_client)

    def values(self, message: bytes, context: Context) -> Body:
        """State, leader, zxid and epochs of a notification."""
        return decode_values(message, context)

    def tree(self, message: bytes, context: Context) -> Tree:
        """The same with their places."""
        return decode_tree(message, context)

    def info(self, body: Body, context: Context) -> str:
        """Who votes for whom."""
        return info_line(body, context)
