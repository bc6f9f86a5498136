"""The TCP ports that servers listen on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.arrays import Ints

if TYPE_CHECKING:
    from analyzer.session import Analysis


def server_port(session: Analysis, stream: int) -> int:
    """The port of a connection's server; where nobody knows who is the server, that of the flow's second side."""
    cell = session.engine.streams.cell
    return session.source.flows.port(cell("flow", stream), 1 - max(cell("client", stream), 0))


def server_ports(session: Analysis) -> Ints:
    """The same of all connections."""
    flow, client = (session.engine.streams.column(name) for name in ("flow", "client"))
    first, second = (session.source.flows.ports(side)[flow] for side in (0, 1))
    return np.where(np.maximum(client, 0) == 0, second, first).astype(np.int64)
