"""The types of QuorumPacket: names, and what their data holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dissectors.zookeeper.tables import table


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet type. `data` are the parts of its data in order, `answer` those of the packet that answers it.

    named: whether the record that the data is goes by its name.
    """

    code: int
    name: str
    data: tuple[str, ...]
    answer: tuple[str, ...]
    named: bool
    versions: None = None

    def parts(self, response: bool) -> tuple[str, ...]:
        """What the data of this packet holds."""
        return self.answer if response else self.data


@cache
def packets() -> Mapping[int, Packet]:
    """All packet types by number."""
    return {
        row["code"]: Packet(
            row["code"],
            row["name"],
            tuple(row.get("data", ())),
            tuple(row.get("answer", row.get("data", ()))),
            row.get("as", False),
        )
        for row in table("packets")["packets"]
    }


@cache
def code_of(name: str) -> int:
    """The number of a packet type; the names are ours, so the cache is bounded."""
    return next(code for code, packet in packets().items() if packet.name == name)
