"""Names the clients and servers of a capture, for lanes of a diagram and nodes of a map.

Theory. A connection has two sides. A server is one participant for all of its connections, and so is a client with the
same name (a client id) in several connections. Reports know more names: the numbers of brokers, and which server of an
ensemble opened a connection (Report.list_names). If a server has no name for its address and port, it gets that of its
host, if all names of the host agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.decode.endpoints import name_endpoint
from analyzer.insight.reports import ReportReading
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.session import Analysis
from dissectors.report import ReportType
from dissectors.values import host_of
from dissectors.wire.fast_path import NULL


@dataclass(frozen=True, slots=True)
class Participant:
    """A client or a server. name: for people. address: of a server, or of a client without a name; else empty."""

    name: str
    address: str
    is_server: bool

    @property
    def title(self) -> str:
        """Returns the name, with the address if that adds information."""
        return f"{self.name} {self.address}" if self.address and self.address not in self.name else self.name


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants of some rows. sides: the numbers of each row's client and server, shape (n, 2)."""

    known: Sequence[Participant]
    sides: Ints


@dataclass(frozen=True, slots=True)
class ReportedNames:
    """The names from reports: by address, by host, and by connection and side."""

    addresses: dict[str, str]
    hosts: dict[str, str]
    sides: dict[tuple[int, int], str]


def read_reported_names(session: Analysis, looked: Callable[[int], None] = lambda rows: None) -> ReportedNames:
    """Reads the names that reports give. looked: see ReportReading.run()."""
    found = ReportedNames({}, {}, {})
    for place, name in _list_names(session, looked):
        if isinstance(place, str):
            found.addresses[place] = name
        else:
            stream, by_client = place
            found.sides[stream, FROM_CLIENT if by_client else FROM_SERVER] = name
            if not by_client:
                found.addresses.setdefault(name_endpoint(session, stream, FROM_SERVER), name)
    by_host: dict[str, set[str]] = {}
    for address, name in found.addresses.items():
        by_host.setdefault(host_of(address), set()).add(name)
    found.hosts.update({host: next(iter(names)) for host, names in by_host.items() if len(names) == 1})
    return found


def _list_names(session: Analysis, looked: Callable[[int], None]) -> Iterator[tuple[str | tuple[int, bool], str]]:
    numbers = list_distinct(session.rows.column("protocol")[session.rows.first : len(session.rows)]).tolist()
    reports: list[ReportType] = []
    for dissector in map(session.engine.dissector, numbers):
        if dissector is not None:
            reports += [each for each in defects.collect_or_nothing(dissector.participants) if each not in reports]
    if not reports:
        return
    for table in ReportReading(session, reports).run(looked):
        for entry in table.entries:
            yield from defects.collect_or_nothing(partial(table.report.list_names, entry))


def find_participants(session: Analysis, rows: Ints, names: ReportedNames) -> Participants:
    """Finds the clients and servers of rows."""
    streams, places = np.unique(session.rows.column("stream")[rows], return_inverse=True)
    clients = _find_client_names(session, streams)
    numbers: dict[Participant, int] = {}
    sides = np.zeros((len(streams), 2), np.int64)
    for at, (stream, client) in enumerate(zip(streams.tolist(), clients, strict=True)):
        for side in (FROM_CLIENT, FROM_SERVER):
            found = _name_side(session, stream, side, names, client if side == FROM_CLIENT else None)
            sides[at, side] = numbers.setdefault(found, len(numbers))
    return Participants(list(numbers), sides[places])


def _find_client_names(session: Analysis, streams: Ints) -> list[str | None]:
    """Returns the first client name on each connection, or None."""
    table = session.rows
    every = slice(table.first, len(table))
    of_stream, client = table.column("stream")[every], table.column("client")[every]
    named = np.flatnonzero((client != NULL) & np.isin(of_stream, streams))
    there, first = np.unique(of_stream[named], return_index=True)
    texts = {
        stream: session.engine.names.text(number)
        for stream, number in zip(there.tolist(), client[named[first]].tolist(), strict=True)
    }
    return [texts.get(stream) or None for stream in streams.tolist()]


def _name_side(session: Analysis, stream: int, side: int, names: ReportedNames, client: str | None) -> Participant:
    address = name_endpoint(session, stream, side)
    reported = names.sides.get((stream, side))
    if side == FROM_SERVER or reported is not None:
        host = names.hosts.get(host_of(address)) if side == FROM_SERVER else None
        name = reported or names.addresses.get(address) or host
        if name is not None:
            known = next((where for where, called in names.addresses.items() if called == name), "")
            return Participant(name, known, True)
        return Participant(session.hosts.find_endpoint(address) or address, address, True)
    if client is not None:
        return Participant(client, "", False)
    return Participant(session.hosts.find_endpoint(address) or address, address, False)
