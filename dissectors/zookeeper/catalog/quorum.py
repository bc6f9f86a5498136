"""Catalog of the field names of quorum and election messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Catalog, FieldAlias, Layout, Member, holding, merge_members
from dissectors.wire.field_aliases import load_field_aliases
from dissectors.zookeeper import sasl
from dissectors.zookeeper.catalog import REST, body_members, record_members
from dissectors.zookeeper.election.framer import INITIAL, LEGACY_INITIAL, NOTIFICATION
from dissectors.zookeeper.quorum.header import SNAPSHOT, Packet, packets
from dissectors.zookeeper.schemas import operations
from dissectors.zookeeper.tables import table

_AUTH = Layout(sasl.NAME, None, lambda: (*record_members(sasl.NAME), REST))
_MULTI = "MultiTxn"


class QuorumCatalog(Catalog):
    """The catalog of quorum packets, snapshots and SASL packets."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts by packet type."""
        return _layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Returns the short names for paths, sessions and transactions."""
        return _field_aliases()

    def errors(self) -> Collection[str]:
        """Returns nothing: quorum packets report no errors."""
        return ()


class ElectionCatalog(Catalog):
    """Notifications, and what comes before them."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts of packets, transactions and snapshots."""
        initial = Layout(INITIAL, None, lambda: merge_members(*map(record_members, (INITIAL, LEGACY_INITIAL)), (REST,)))
        return initial, Layout(NOTIFICATION, None, lambda: (*record_members(NOTIFICATION), REST)), _AUTH

    def errors(self) -> Collection[str]:
        """Returns nothing: election messages report no errors."""
        return ()


@cache
def _layouts() -> tuple[Layout, ...]:
    assert SNAPSHOT.operation is not None
    snapshot = Layout(SNAPSHOT.operation, None, _snapshot)
    return (*(Layout(each.name, None, partial(_packet, each)) for each in packets().values()), snapshot, _AUTH)


def _packet(packet: Packet) -> list[Member]:
    """QuorumPacket, and what the data of this one holds, whoever sends it."""
    parts = dict.fromkeys((*packet.data, *packet.answer))
    list_parts = partial(_of_parts, tuple(parts)) if parts else None
    members = (_of_packet(member, list_parts) for member in record_members("QuorumPacket"))
    return [*members, REST]


def _of_packet(member: Member, list_parts: Callable[[], Sequence[Member]] | None) -> Member:
    if member.name == "type":
        return member._replace(type="string", about="of the packet, by name")
    return holding(member, list_parts) if member.name == "data" and list_parts is not None else member


def _of_parts(parts: tuple[str, ...]) -> list[Member]:
    return merge_members(*(_PARTS[part]() if part in _PARTS else record_members(part) for part in parts), (REST,))


def _txn() -> list[Member]:
    return [
        Member("header", "struct", members=partial(record_members, "TxnHeader")),
        Member("txn", "struct", members=lambda: merge_members(_of_txns(), map(_in_multi, record_members(_MULTI)))),
        Member("digest", "struct", members=partial(record_members, "TxnDigest")),
    ]


def _of_txns() -> list[Member]:
    """The members of all transactions but a multi, which holds the others."""
    names = dict.fromkeys(name for each in operations().values() for name in each.txn)
    return merge_members(*(record_members(name) for name in names if name is not None and name != _MULTI))


def _in_multi(member: Member) -> Member:
    inside = member.members
    assert inside is not None
    return member._replace(
        members=lambda: [holding(each, _of_txns) if each.name == "data" else each for each in inside()]
    )


def _request() -> list[Member]:
    return merge_members(*(body_members(each.request) for each in operations().values()))


_PARTS: Mapping[str, Callable[[], Sequence[Member]]] = {
    "txn": _txn,
    "sessions": lambda: [Member("sessions", "struct", True, members=partial(record_members, "SessionTimeout"))],
    "config": lambda: [Member("config", "string")],
    "request": lambda: [Member("request", "struct", members=_request)],
}
"""What stands in the data of packets beside records; see quorum/body.py."""


def _snapshot() -> list[Member]:
    nodes = Member("nodes", "struct", True, members=partial(record_members, "SnapshotNode"))
    return [*record_members("SnapshotHead"), nodes, *record_members("SnapshotTail"), REST]


@cache
def _field_aliases() -> tuple[FieldAlias, ...]:
    return load_field_aliases(table("field_aliases")["quorum"], _list_packet_members)


def _list_packet_members(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    """A message without a code is a snapshot, or has nothing that is asked for."""
    if code is None:
        return SNAPSHOT.operation, _snapshot()
    packet = packets().get(code)
    return (None, ()) if packet is None else (packet.name, _packet(packet))


QUORUM, ELECTION = QuorumCatalog(), ElectionCatalog()
