"""The dissector of ZooKeeper's leader election.

Theory. Votes are not answered, so there is no pairing and no state. A connection begins without framing (framer.py). A
dropped one is normal, because between two servers only the one with the larger number may connect.
"""

from __future__ import annotations

from functools import lru_cache, partial

from dissectors.api import WEAK, Body, Context, Dissector, Framer, lazy
from dissectors.field import Tree
from dissectors.pairing import pair_by_key
from dissectors.wire.fields import read_members
from dissectors.wire.message import Recipe, read_framed, values_by
from dissectors.wire.plan import Plan
from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.framer import (
    INITIAL_EVIDENCE,
    LEGACY_ALONE,
    LEGACY_AND_MORE,
    NOTIFICATION,
    ElectionFramer,
    client_evidence,
    header,
    is_versioned,
    kind,
    notification_evidence,
    server_evidence,
)
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.nested.content import open_tree
from dissectors.zookeeper.sasl import is_packet
from dissectors.zookeeper.schemas import INT, make_form, plan_by_size, plan_of
from dissectors.zookeeper.summaries import say


def begins(prefix: bytes) -> bool:
    """Returns whether it is an initial message; one of eight bytes if a notification follows."""
    return client_evidence(prefix) in (INITIAL_EVIDENCE, LEGACY_AND_MORE)


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the fields of a message by their names."""
    name = kind(message)
    if name == sasl.NAME:
        return sasl.decode_values(message)
    if name != NOTIFICATION:
        return sasl.decode_record(plan_of(name), message)
    return values_by(_recipe(_notification(message)), message, context)


def decode_tree(message: bytes, context: Context) -> Tree:
    """Decodes a message of the election port to an annotated tree."""
    name = kind(message)
    if name == sasl.NAME:
        return sasl.decode_tree(message)
    if name != NOTIFICATION:
        return sasl.decode_record_tree(plan_of(name), message)
    return open_tree(read_framed(message, INT, partial(read_members, steps=_notification(message).steps)))


def _notification(message: bytes) -> Plan:
    """The layout of the release that writes notifications of this size."""
    return plan_by_size(NOTIFICATION, min(int.from_bytes(message[:4]), 64))


@lru_cache(maxsize=4)
def _recipe(plan: Plan) -> Recipe:
    form = make_form(plan.steps)
    return Recipe(INT, lambda _: 4, form.read, form.first_error, error_name, decode_tree)


def info_line(body: Body, context: Context) -> str:
    """Who votes for whom, or who connects. Who looks for a leader votes; any other server names the one that it has."""
    values = body.values
    name = "vote" if "leader" in values else "opening" if "sid" in values else "authentication"
    return ", ".join(say(name, values))


class ZooKeeperElection(Dissector):
    """ZooKeeper 3.3 to 3.9, the election port: initial messages, notifications, SASL."""

    name = "zookeeper-election"
    ports = (3888,)
    framing = None
    conversation = pair_by_key
    header = staticmethod(header)
    values = staticmethod(decode_values)
    tree = staticmethod(decode_tree)
    info = staticmethod(info_line)
    opens = staticmethod(begins)
    catalog = lazy("dissectors.zookeeper.catalog.quorum:ELECTION")
    guide = lazy("dissectors.zookeeper.guide:ELECTION")
    reports = lazy("dissectors.zookeeper.reports:reports")
    triage = lazy("dissectors.zookeeper.checks:triage")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Returns the first message leaves hardly a doubt, nor does a notification."""
        return server_evidence(prefix) if from_client is False else client_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Any message whose first bytes nothing else begins with, and a server's number alone."""
        initial = from_client and (is_versioned(prefix) or client_evidence(prefix) == LEGACY_ALONE)
        return initial or is_packet(prefix) or notification_evidence(prefix) >= WEAK

    def make_framer(self, from_client: bool, opening: bool) -> Framer:
        """Makes a framer for an initial message and the notifications after it."""
        return ElectionFramer(from_client and opening)
