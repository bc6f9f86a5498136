"""What a protocol's bulk twin gives the engine: headers as columns, and its conversation's queue.

Only modules named bulk import NumPy in this package, and only the analyzer loads them; the plain twin is the
dissector's header() and its Conversation, and tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dissectors.api import Conversation, MessageHeader

Column = npt.NDArray[Any]

NULL = -(2**31)
"""Stands for null in integer columns that may be null; no protocol's code, version or name number is this."""

NULL64 = -(2**63)
"""The same in 64-bit columns."""


@dataclass(slots=True)
class BulkHeaders:
    """n rows: role and state (int8), code, version (int32, NULL), correlation (int64, NULL64), client (int32).

    `client` is a number in `clients`, or NULL. `unsure` rows must be read by header(); a connection with a `stepped`
    row must go through its Conversation message by message.
    """

    role: Column
    state: Column
    code: Column
    version: Column
    correlation: Column
    client: Column
    clients: list[str]
    unsure: Column
    stepped: Column


class BulkDissector(Protocol):
    """The module that `Dissector.bulk` names."""

    WIDTH: int
    NOTED: Sequence[int]
    """Codes of operations that notes() wants to see."""

    def headers(self, view: Column, available: Column, from_client: Column) -> BulkHeaders:
        """view: uint8, n rows of WIDTH bytes, of which `available` (int64, n) belong to the message."""

    def operations(self) -> Sequence[str]:
        """Operation names by code."""

    def notes(
        self, conversation: Conversation, messages: Sequence[tuple[int, int, int]], prefix: Callable[[int], bytes]
    ) -> dict[int, Mapping[str, str]]:
        """Requests and responses of NOTED codes of one connection in order, as (row, role, code): extras by row."""

    def steady(self, conversation: Conversation) -> bool:
        """Whether pairing is a plain queue from here on."""

    def waiting(self, conversation: Conversation) -> list[tuple[int, MessageHeader]]:
        """Requests without answer, oldest first, as (handle, header)."""

    def resume(self, conversation: Conversation, waiting: list[tuple[int, MessageHeader]]) -> None:
        """Leaves the conversation as step() would have, with these requests unanswered."""


def be(view: Column, at: int, kind: str) -> Column:
    """A big-endian integer at byte `at` of each row; `kind` as in NumPy: i1, u2, i4, ..."""
    width = int(kind[1:])
    return np.ascontiguousarray(view[:, at : at + width]).view(f">{kind}").reshape(len(view)).astype(f"={kind}")
