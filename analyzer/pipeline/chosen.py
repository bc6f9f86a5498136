"""Which rows of an analysis are written to the tables: all of them, those of a filter, or those that are final.

Theory. What is written of a capture is not always what was read of it: an export has a filter, and a batch of a ring
capture keeps back what a later packet may still change. So the makers of tables are told, table by table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.fast_path import NULL


@dataclass(frozen=True, slots=True)
class Chosen:
    """Numbers of rows and streams, rising.

    messages: rows of the table `messages` (and of what hangs on messages: findings, records). requests: rows whose
    exchange is written. streams: numbers of streams. whole: whether what belongs to no row is told, too. before: by
    column of `streams`, for each stream of the analysis what earlier batches have counted.
    """

    messages: Ints
    requests: Ints
    streams: Ints
    whole: bool
    before: Mapping[str, Ints] | None = None

    @classmethod
    def all(cls, session: Analysis) -> Self:
        """Whatever was read."""
        asks = session.rows.column("role") == Role.REQUEST
        return cls(np.arange(len(session.rows)), np.flatnonzero(asks), np.arange(len(session.engine.streams)), True)

    @classmethod
    def rows(cls, session: Analysis, rows: Ints) -> Self:
        """These rows, the exchanges of which one half is among them, and their streams."""
        if len(rows) == len(session.rows):
            return cls.all(session)
        role, partner = session.rows.column("role"), session.rows.column("partner")
        answered = partner[rows[role[rows] == Role.RESPONSE]].astype(np.int64)
        asked = np.concatenate((rows, answered[answered != NULL]))
        requests = np.unique(asked[role[asked] == Role.REQUEST])
        streams = np.unique(session.rows.column("stream")[rows]).astype(np.int64)
        return cls(rows, requests, streams, False)
