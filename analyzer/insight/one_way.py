"""Connections of which the capture has one direction alone: nothing in them has an answer, which is said once of all.

Theory. A capture at one of two links that a connection takes, or at a mirror port for one direction, has no packet of
the other side at all. That says nothing of who was asked, so such requests are not told one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Bools
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from dissectors.finding import Finding, Severity

LONE = frozenset({"unanswered", "closed-unanswered", "orphan-response"})
"""Codes of what is said of a message without its partner."""

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
