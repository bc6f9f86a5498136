"""Conversations (connections) and endpoints, with the traffic of each side; the service map of all of them.

Theory. This is similar to tshark's `-z conv,tcp` and `-z endpoints,tcp`, but counts messages of the protocols and their
bytes, not packets: retransmissions and bare acknowledgements belong to no message.

Theory. Nodes are the participants of sequence diagrams. Clients without a name are one node for each host, because
their ports change with every connection. The rows between a client and a server are a group, so rate, latency and
errors are those of statistics. A server has the roles of the operations that it answers without an error
(Dissector.server_roles).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyzer.columns.arrays import Array, Ints, list_distinct, make_group_keys
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import RowReader
from analyzer.insight.grouping import RowGroups
from analyzer.insight.metrics import Metrics
from analyzer.insight.participants import Participant, ReportedNames, find_participants
from analyzer.insight.percentiles import sums
from analyzer.insight.statistics import Study
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.api import Role
from dissectors.slotted import make_slotted
from dissectors.values import host_of
from dissectors.wire.fast_path import NULL, distinct


@make_slotted
class Conversation:
    """One connection and its counts. protocol: that of its first message; began: time of that message (ns).

    duration_ns: from there to its last message. to_server, to_client: messages, and their bytes. The other fields are
    of the whole connection, see analyzer.tcp.network: rtt_ns is None if it was not measured, reset None if no side
    reset it.
    """

    connection: str
    protocol: str
    messages: int
    bytes: int
    to_server: int
    bytes_to_server: int
    to_client: int
    bytes_to_client: int
    began: int
    duration_ns: int
    rtt_ns: int | None
    retransmissions: int
    retransmission_time_ns: int
    zero_windows: int
    zero_window_time_ns: int
    reset: str | None


@make_slotted
class Endpoint:
    """An address and port, with the messages and bytes that it sent and received."""

    endpoint: str
    connections: int
    messages: int
    bytes: int
    sent: int
    bytes_sent: int
    received: int
    bytes_received: int


def conversations(reader: RowReader, rows: Ints) -> list[Conversation]:
    """Returns the connections of these rows, those with the most messages first."""
    streams, keys = distinct(reader.take_cells("stream", rows))
    size, time = len(streams), reader.take_cells("time", rows)
    up = reader.take_cells("side", rows) == FROM_CLIENT
    first = np.full(size, np.iinfo(np.int64).max)
    last = np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(first, keys, time)
    np.maximum.at(last, keys, time)
    places = np.full(size, len(rows))
    np.minimum.at(places, keys, np.arange(len(rows)))
    columns = [
        *_sides(reader, rows, keys, size, up),
        first.tolist(),
        (last - first).tolist(),
        *_network(reader, streams),
    ]
    names = reader.read_column("stream_id", rows[places]).values()
    protocols = reader.read_column("protocol", rows[places]).values()
    found = [Conversation(*each) for each in zip(names, protocols, *columns, strict=True)]
    return sorted(found, key=lambda each: -each.messages)


def _network(reader: RowReader, streams: Ints) -> Iterator[list[Any]]:
    """Yields the columns of connections with network metrics."""
    found = reader.session.engine.network.find_metrics(streams.astype(np.int64))
    yield [None if time == UNMEASURED else time for time in found.rtt.tolist()]
    yield found.retransmissions.tolist()
    yield found.retransmission_time.tolist()
    yield found.zero_windows.tolist()
    yield found.zero_window_time.tolist()
    yield [None if side == UNKNOWN_SIDE else ("client", "server")[side] for side in found.resetter.tolist()]


def endpoints(reader: RowReader, rows: Ints) -> list[Endpoint]:
    """Returns the endpoints of these rows, most messages first; a message counts for sender and receiver."""
    streams, stream = distinct(reader.take_cells("stream", rows))
    sides = [2 * stream + side for side in (reader.take_cells("side", rows), 1 - reader.take_cells("side", rows))]
    halves = np.arange(2 * len(streams))
    example = np.repeat(streams, 2)
    names = [name_endpoint(reader.session, *each) for each in zip(example.tolist(), (halves % 2).tolist(), strict=True)]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    number = np.array([known[name] for name in names], np.int64)
    keys, sent = np.concatenate([number[side] for side in sides]), np.repeat([True, False], len(rows))
    connections = np.bincount(number, minlength=len(known)).tolist()
    columns = _sides(reader, np.tile(rows, 2), keys, len(known), sent)
    found = [Endpoint(*each) for each in zip(known, connections, *columns, strict=True)]
    return sorted(found, key=lambda each: -each.messages)


def _sides(reader: RowReader, rows: Ints, keys: Ints, size: int, chosen: Array) -> Sequence[list[Any]]:
    """Returns messages and bytes by key: of all, of chosen ones, of the others."""
    length = reader.take_cells("length", rows).astype(np.int64)
    both = [(keys, length), *((keys[mask], length[mask]) for mask in (chosen, ~chosen))]
    return [
        column
        for mine, bytes_of in both
        for column in (np.bincount(mine, minlength=size).tolist(), sums(mine, bytes_of, size))
    ]


@dataclass(frozen=True, slots=True)
class Node:
    """A client or a server. roles: of a server, such as group coordinator."""

    participant: Participant
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """The messages between a client and a server, by the numbers of the nodes. streams: connections, ascending."""

    client: int
    server: int
    metrics: Metrics
    streams: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ServiceMap:
    """The nodes, and the edges sorted by messages, most first."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]


def build_map(study: Study, names: ReportedNames) -> ServiceMap:
    """Builds the map of the rows of a study. names: see read_reported_names()."""
    session, rows = study.reader.session, study.rows
    participants = find_participants(session, rows, names)
    merged = [_merge_ports(each) for each in participants.known]
    numbers = {each: place for place, each in enumerate(dict.fromkeys(merged))}
    lane = np.array([numbers[each] for each in merged], np.int64)
    sides = lane[participants.sides] if len(rows) else np.zeros((0, 2), np.int64)
    (clients, servers), keys = make_group_keys([sides[:, 0], sides[:, 1]])
    found = study.measure_groups(RowGroups(None, keys, [()] * len(clients)))
    (mine, streams), _ = make_group_keys([keys, session.rows.column("stream")[rows]])
    edges = [
        Edge(client, server, metrics, tuple(streams[mine == place].tolist()))
        for place, (client, server, metrics) in enumerate(zip(clients.tolist(), servers.tolist(), found, strict=True))
    ]
    roles = _find_roles(study, sides)
    nodes = [Node(each, tuple(roles.get(place, ()))) for each, place in numbers.items()]
    return ServiceMap(nodes, sorted(edges, key=lambda edge: -edge.metrics.messages))


def _merge_ports(each: Participant) -> Participant:
    """Returns a client without its port; other participants stay."""
    if each.is_server or not each.address:
        return each
    name = each.name if each.name != each.address else host_of(each.address)
    return Participant(name, host_of(each.address), False)


def _find_roles(study: Study, sides: Ints) -> dict[int, list[str]]:
    """Returns the roles of each server, sorted by name, by the number of its node."""
    session, facts = study.reader.session, study.facts
    table = session.rows
    protocol, partner = (table.column(name)[study.rows] for name in ("protocol", "partner"))
    sent = (facts.role != Role.REQUEST) & (table.column("side")[study.rows] == FROM_SERVER)
    if facts.failed is not None:
        sent &= ~facts.failed
    answered = np.where(partner != NULL, partner, study.rows)
    operation = table.column("operation")[answered]
    (numbers, servers, operations), _ = make_group_keys([protocol[sent], sides[sent, 1], operation[sent]])
    known: dict[int, Mapping[str, str]] = {}
    for number in list_distinct(numbers).tolist():
        dissector = session.engine.dissector(number)
        known[number] = {} if dissector is None else defects.call_or_default(dissector.server_roles, {})
    found: dict[int, set[str]] = {}
    for number, server, name in zip(numbers.tolist(), servers.tolist(), operations.tolist(), strict=True):
        role = known[number].get(session.engine.names.text(name) or "")
        if role is not None:
            found.setdefault(server, set()).add(role)
    return {server: sorted(roles) for server, roles in found.items()}
