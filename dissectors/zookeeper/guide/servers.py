"""The pages about what servers say to each other: the quorum and the election."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from dissectors.guide import Page
from dissectors.wire.guide.shelf import Pages, Shelf, list_page
from dissectors.wire.guide.text import columns
from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.header import INITIAL, LEGACY_INITIAL, NOTIFICATION
from dissectors.zookeeper.guide.layouts import layout_data, layout_lines, record_page
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.quorum.header import SNAPSHOT, header
from dissectors.zookeeper.quorum.packets import Packet, packets
from dissectors.zookeeper.tables import table

_HEAD = ("QuorumPacket",)
_OF_SNAPSHOT = ("SnapshotHead", "SnapshotNode", "SnapshotTail")
_OF_TXN = ("TxnHeader", "TxnDigest")
_WHO = {"learner": "a learner to the leader", "leader": "the leader to a learner", "both": "both"}


@cache
def _quorum_pages() -> Pages:
    assert SNAPSHOT.operation is not None
    return {
        "packets": _packets,
        "transactions": _transactions,
        **{each.name: partial(_packet, each) for each in packets().values()},
        SNAPSHOT.operation: _snapshot,
        sasl.NAME: partial(_election_message, sasl.NAME),
        **{name: partial(record_page, name) for name in (*_HEAD, *_OF_TXN, "LearnerInfo", "SessionTimeout")},
    }


def _packets() -> Page:
    rows = [(f"{code}", each.name, *table("guide")["packets"][each.name]) for code, each in packets().items()]
    return list_page(("code", "name", "from", "what"), rows, "packets")


def _transactions() -> Page:
    rows = [
        (f"{row['code']}", row["name"], " or ".join(each or "no record" for each in row["txn"]))
        for row in table("operations")["operations"]
        if "txn" in row
    ]
    return list_page(("type", "name", "record"), rows, "transactions")


def _packet(packet: Packet) -> Page:
    facts = list(_list_packet_facts(packet))
    lines = [f"{packet.name} (packet type {packet.code})", *columns(facts)]
    data: dict[str, Any] = {"name": packet.name, "code": packet.code, **dict(facts)}
    layouts = []
    for name in _HEAD + _records(packet):
        lines += ["", name, *layout_lines(name)]
        layouts.append(layout_data(name))
    return Page(lines, data | {"layouts": layouts})


def _list_packet_facts(packet: Packet) -> Iterator[tuple[str, str]]:
    who, what = table("guide")["packets"][packet.name]
    yield "what", what
    yield "from", _WHO[who]
    yield "role", _roles(packet, who)
    yield "data", _parts(packet.data)
    if packet.answer != packet.data:
        yield "data of the answer", _parts(packet.answer)


def _roles(packet: Packet, who: str) -> str:
    """What it is in its conversation, which may depend on the side that sends it."""
    if packet.name == "ACK":
        return "the response to a PROPOSAL, else oneway"
    learner, leader = (header(packet.code.to_bytes(4), side).role.name.lower() for side in (True, False))
    return f"the leader's a {leader}, the learner's a {learner}" if who == "both" else leader


def _parts(parts: tuple[str, ...]) -> str:
    said = table("guide")["parts"]
    return ", then ".join(said.get(part, part) for part in parts) or "none"


def _records(packet: Packet) -> tuple[str, ...]:
    """The records that the data of a packet or of its answer has, whatever else there is."""
    known, found = table("records")["records"], dict.fromkeys((*packet.data, *packet.answer))
    held = [name for name in found if name in known]
    held += [
        name for part, names in (("txn", _OF_TXN), ("sessions", ("SessionTimeout",))) if part in found for name in names
    ]
    return tuple(held)


def _snapshot() -> Page:
    facts = [
        ("what", "the leader's whole tree, behind a SNAP"),
        ("from", _WHO["leader"]),
        ("layout", "SnapshotHead; SnapshotNode for each node, parents first; the path / alone; SnapshotTail"),
    ]
    lines = [f"{SNAPSHOT.operation}", *columns(facts)]
    for name in _OF_SNAPSHOT:
        lines += ["", name, *layout_lines(name)]
    layouts = [layout_data(name) for name in _OF_SNAPSHOT]
    return Page(lines, {"name": SNAPSHOT.operation, **dict(facts), "layouts": layouts})


@cache
def _election_pages() -> Pages:
    shown = (INITIAL, LEGACY_INITIAL, NOTIFICATION, sasl.NAME)
    return {"states": _states, **{name: partial(_election_message, name) for name in shown}}


def _election_message(name: str) -> Page:
    what = table("guide")["election"][name]
    return Page([name, f"  {what}", "", *layout_lines(name)], {"what": what, **(layout_data(name) or {})})


def _states() -> Page:
    return list_page(
        ("number", "name"), [(f"{number}", name) for number, name in load_names("peerState").items()], "states"
    )


QUORUM = Shelf("ZooKeeper's quorum", _quorum_pages, lambda: load_names("packet"))
ELECTION = Shelf("ZooKeeper's election", _election_pages, dict)
