"""What a capture holds, as plain values that tests compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.capture.packets import PacketReader


@dataclass(frozen=True, slots=True)
class Packet:
    """A row of PacketBlock with its endpoints and its payload."""

    number: int
    time: int
    source: str
    destination: str
    seq: int
    ack: int
    flags: int
    payload: bytes
    length: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All packets, the flows as (a, b), what was found; `packets_object` is closed."""

    packets: list[Packet]
    flows: list[tuple[str, str]]
    findings: list[str]
    codes: list[str]
    source: PacketReader

    @property
    def payloads(self) -> list[bytes]:
        return [packet.payload for packet in self.packets]


def rows(packets: PacketReader) -> list[Packet]:
    found = []
    for block in packets.blocks():
        columns = (block.number, block.time, block.flow, block.direction, block.seq, block.ack, block.flags)
        for values in zip(
            *(column.tolist() for column in (*columns, block.at, block.length, block.captured)), strict=True
        ):
            number, time, flow, direction, seq, ack, flags, at, length, captured = values
            ends = packets.flows.endpoint(flow, direction), packets.flows.endpoint(flow, 1 - direction)
            payload = packets.store.read_bytes(at, captured)
            found.append(Packet(number, time, *ends, seq, ack, flags, payload, length))
    return found


def read(inputs: Sequence[Path | str] | Path | str, **arguments: Any) -> Reading:
    with PacketReader([inputs] if isinstance(inputs, Path | str) else inputs, **arguments) as packets:
        found = rows(packets)
        flows = [
            (packets.flows.endpoint(flow, 0), packets.flows.endpoint(flow, 1)) for flow in range(len(packets.flows))
        ]
    texts, codes = [finding.text for finding in packets.findings], [finding.code for finding in packets.findings]
    return Reading(found, flows, texts, codes, packets)
