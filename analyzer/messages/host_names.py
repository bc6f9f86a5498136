"""Names of addresses, as the capture itself tells them: nobody else is asked.

Theory. A capturing program may write down what it called the addresses (pcapng, name resolution blocks). Such names are
for people; in what programs read they are fields of their own. Where several names were told for an address the last
one is shown, as tshark does; it counts for the whole input, wherever it was told, as far as the input has been read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.capture.flows import FlowTable
from analyzer.capture.records import CaptureInfo
from analyzer.columns.arrays import Ints
from analyzer.columns.values import TextColumn, TextTable
from analyzer.messages.index import FROM_CLIENT, MessageTable
from analyzer.tcp.streams import StreamTable


class HostNames:
    """Names by address and by row. `files`: those that may tell names; none where names are not wanted."""

    def __init__(
        self, files: Sequence[CaptureInfo], flows: FlowTable, streams: StreamTable, rows: MessageTable
    ) -> None:
        self._files, self._flows, self._streams, self._rows = files, flows, streams, rows
        self._edition = -1
        self._names = self._ends = TextTable(self._name_of)

    @property
    def has_names(self) -> bool:
        """Whether there are names, as far as the input has been read."""
        return self.edition > 0

    @property
    def edition(self) -> int:
        """Rises when more names were told: what was made of them before may be stale."""
        return sum(info.told for info in self._files)

    def find_name(self, address: str) -> str | None:
        """What the input calls an address (`10.0.0.1`, `fd00::1`)."""
        names = self.list_names(address)
        return names[-1] if names else None

    def list_names(self, address: str) -> list[str]:
        """All names of an address; the one that was told last stands at the end."""
        found = [name for info in reversed(self._files) for name in reversed(info.names.get(address, ()))]
        return list(dict.fromkeys(found))[::-1]

    def iterate_names(self) -> Iterator[tuple[str, list[str]]]:
        """Each address that has names, with all of them."""
        for address in dict.fromkeys(address for info in self._files for address in tuple(info.names)):
            yield address, self.list_names(address)

    def find_endpoint(self, endpoint: str) -> str | None:
        """`broker-1:9092` for `10.0.0.1:9092`; None for an address without a name."""
        address, port = _address(endpoint)
        name = self.find_name(address)
        return None if name is None else f"{name}:{port}"

    def annotate_endpoint(self, endpoint: str) -> str:
        """`10.0.0.1:9092 (broker-1)`, for people who want to see both; as it is where there is no name."""
        name = self.find_name(_address(endpoint)[0])
        return endpoint if name is None else f"{endpoint} ({name})"

    def name_column(self, rows: Ints, sender: bool) -> TextColumn:
        """The names of who sent each row, or of who received it; None where there is none."""
        self._refresh()
        return TextColumn(self._names, self._sides(rows, sender))

    def endpoint_column(self, rows: Ints, sender: bool) -> TextColumn:
        """The same with the port, and with the address where there is no name: `broker-1:9092`, `[::1]:2181`."""
        self._refresh()
        return TextColumn(self._ends, self._sides(rows, sender))

    def _sides(self, rows: Ints, sender: bool) -> Ints:
        """A number for each stream and side."""
        side = self._rows.column("side")[rows].astype(np.int64)
        numbers: Ints = self._rows.column("stream")[rows].astype(np.int64) * 2 + (side if sender else 1 - side)
        return numbers

    def _refresh(self) -> None:
        if self._edition != self.edition:
            self._edition = self.edition
            self._names, self._ends = TextTable(self._name_of), TextTable(self._end_of)

    def _place(self, number: int) -> tuple[int, int]:
        """Flow, and side of it, of a number of _sides."""
        stream, side = divmod(number, 2)
        client = max(self._streams.cell("client", stream), 0)
        return self._streams.cell("flow", stream), client if side == FROM_CLIENT else 1 - client

    def _name_of(self, number: int) -> str | None:
        return self.find_name(_address(self._flows.endpoint(*self._place(number)))[0])

    def _end_of(self, number: int) -> str | None:
        endpoint = self._flows.endpoint(*self._place(number))
        return self.find_endpoint(endpoint) or endpoint


def _address(endpoint: str) -> tuple[str, str]:
    """Address and port of `10.0.0.1:9092` or `[::1]:2181`."""
    address, _, port = endpoint.rpartition(":")
    return address.strip("[]"), port
