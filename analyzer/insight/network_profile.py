"""Network metrics of some connections, for comparison with others (analyzer.tcp.network)."""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.session import Analysis
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.slotted import make_slotted


@make_slotted
class NetworkProfile:
    """round_trips: ns, sorted, of the connections with a measured one. The others count events; resets, connections."""

    connections: int
    round_trips: Ints
    retransmissions: int
    zero_windows: int
    resets: int


def make_network_profile(session: Analysis, rows: Ints) -> NetworkProfile:
    """Computes the NetworkProfile of the connections of some rows."""
    streams = np.flatnonzero(np.bincount(session.rows.column("stream")[rows])) if len(rows) else np.zeros(0, np.int64)
    found = session.engine.network.find_metrics(streams)
    return NetworkProfile(
        len(streams),
        np.sort(found.rtt[found.rtt != UNMEASURED]),
        int(found.retransmissions.sum()),
        int(found.zero_windows.sum()),
        int((found.resetter != UNKNOWN_SIDE).sum()),
    )
