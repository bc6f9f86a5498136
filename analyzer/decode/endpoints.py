"""The ends of connections: their names, and the TCP ports that servers listen on."""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.wire.fast_path import distinct


def find_server_port(session: Analysis, stream: int) -> int:
    """Returns the port of a connection's server; if the server is unknown, that of the flow's second side."""
    cell = session.engine.streams.cell
    return session.source.flows.port(cell("flow", stream), 1 - max(cell("client", stream), 0))


def find_server_ports(session: Analysis) -> Ints:
    """Returns the server ports of all connections, as find_server_port() does for one."""
    flow, client = (session.engine.streams.column(name) for name in ("flow", "client"))
    first, second = (session.source.flows.ports(side)[flow] for side in (0, 1))
    return np.where(np.maximum(client, 0) == 0, second, first).astype(np.int64)


def name_endpoint(session: Analysis, stream: int, side: int) -> str:
    """Returns `address:port` of a stream's client (FROM_CLIENT) or server."""
    client = max(session.engine.streams.cell("client", stream), 0)
    flow = session.engine.streams.cell("flow", stream)
    return session.source.flows.endpoint(flow, client if side == FROM_CLIENT else 1 - client)


def number_servers(session: Analysis, rows: Ints) -> tuple[Ints, list[str]]:
    """Returns the number of each row's server (int64, n), and the servers by number, as name_endpoint() writes them."""
    streams, places = distinct(session.rows.column("stream")[rows])
    names = [name_endpoint(session, stream, 1 - FROM_CLIENT) for stream in streams.tolist()]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)[places], list(numbers)


def name_stream(session: Analysis, stream: int) -> str:
    """Returns `CLIENT>SERVER`, with `#n` for the n-th reuse of the same addresses."""
    reuse = session.engine.streams.cell("reuse", stream)
    name = f"{name_endpoint(session, stream, FROM_CLIENT)}>{name_endpoint(session, stream, 1 - FROM_CLIENT)}"
    return f"{name}#{reuse}" if reuse else name
