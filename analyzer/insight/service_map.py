"""The service map: clients and servers as nodes, and an edge with metrics between each two that communicate.

Theory. Nodes are the participants of sequence diagrams. Clients without a name are one node for each host, because
their ports change with every connection. The rows between a client and a server are a group, so rate, latency and
errors are those of statistics. A server has the roles of the operations that it answers without an error
(Dissector.server_roles).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct, make_group_keys
from analyzer.insight.grouping import RowGroups
from analyzer.insight.metrics import Metrics
from analyzer.insight.participants import Participant, ReportedNames, find_participants
from analyzer.insight.statistics import Study
from analyzer.messages import defects
from analyzer.messages.index import FROM_SERVER
from dissectors.api import Role
from dissectors.values import host_of
from dissectors.wire.fast_path import NULL


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
