"""Finds connections with only one captured direction. Their messages have no partners, which is reported once for all.

Theory. If the capture point is on one of two links of a connection, or on a mirror port for one direction, the capture
has no packet of the other direction at all. This says nothing about the peer, so such requests are not reported one by
one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Bools
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from dissectors.finding import Finding, Severity

LONE = frozenset({"unanswered", "closed-unanswered", "orphan-response"})
"""Codes of findings about a message without partner."""

_BOTH = 0b11


def one_way(session: Analysis) -> Bools:
    """Returns for each stream whether the capture has a known protocol in one direction only."""
    streams = session.engine.streams
    sides = streams.column("sides")
    found: Bools = (sides > 0) & (sides < _BOTH) & (streams.column("protocol") != NO_PROTOCOL)
    return found


def findings(session: Analysis) -> Iterator[Finding]:
    """Yields a finding for each direction that some streams lack."""
    streams, alone = session.engine.streams, one_way(session)
    from_client = streams.column("sides") == 1 << streams.column("client").clip(0)
    for which, direction in ((from_client, "client to server"), (~from_client, "server to client")):
        count = int(np.count_nonzero(alone & which))
        if count:
            whose = f"{count:,} connection{'' if count == 1 else 's'}"
            text = f"only one direction of {whose} was captured ({direction}): answers cannot be paired"
            yield Finding(Severity.NOTE, "one-direction", text)
