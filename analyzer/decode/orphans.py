"""Answers whose requests nobody saw: what each may be is guessed for many of them together.

Theory. A dissector guesses by the bytes of a message alone, so a row says the same whatever was read before. But to
weigh one message costs a thousand times as much as to decode it, and alike ones have most of that in common. So the
guesses of many are made in columns (FastPath.guess_hints), and decoding gets them by the context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages.paged_message import LONG
from analyzer.session import Analysis
from dissectors.api import Role, Window
from dissectors.wire.fast_path import NULL, load_fast_path


def find_orphans(session: Analysis, rows: Ints) -> Ints:
    """Returns the places (int64, rising) of answers without request among rows."""
    code, role, protocol, length = (session.rows.column(name)[rows] for name in ("code", "role", "protocol", "length"))
    return np.flatnonzero((code == NULL) & (role == Role.RESPONSE) & (protocol >= 0) & (length <= LONG))


def guess_hints(session: Analysis, rows: Ints, messages: Sequence[bytes | Window]) -> dict[int, Mapping[str, str]]:
    """Returns by place the extra contexts of those of n rows that are answers without request, and of these bytes."""
    orphans = find_orphans(session, rows)
    protocols = session.rows.column("protocol")[rows[orphans]]
    found: dict[int, Mapping[str, str]] = {}
    for protocol in np.unique(protocols).tolist():
        dissector = session.engine.dissector(protocol)
        fast_path = None if dissector is None else load_fast_path(dissector)
        if fast_path is not None:
            places = orphans[protocols == protocol].tolist()
            mine = [message for message in map(messages.__getitem__, places) if isinstance(message, bytes)]
            found |= zip(places, fast_path.guess_hints(mine), strict=False)
    return found
