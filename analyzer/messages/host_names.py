"""Names of addresses that the capture contains; no other source is used.

Theory. A capturing program may record names of addresses (pcapng name resolution blocks). Output for people shows them;
programs get them as separate fields. If an address has several names, the last one is shown, as in tshark. A name is
valid for the whole input, wherever it is recorded, as far as the input has been read.
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
    """Finds names by address and by row. `files`: captures that may have names; empty if names are not wanted."""

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
        """Number of names read so far; results from a lower edition may be stale."""
        return sum(info.name_count for info in self._files)

    def find_name(self, address: str) -> str | None:
        """Returns the name of an address (`10.0.0.1`, `fd00::1`), or None."""
        names = self.list_names(address)
        return names[-1] if names else None

    def list_names(self, address: str) -> list[str]:
        """Returns all names of an address, the latest one last."""
        found = [name for info in reversed(self._files) for name in reversed(info.names.get(address, ()))]
        return list(dict.fromkeys(found))[::-1]

    def iterate_names(self) -> Iterator[tuple[str, list[str]]]:
        """Yields each address that has names, with all of them."""
        for address in dict.fromkeys(address for info in self._files for address in tuple(info.names)):
            yield address, self.list_names(address)

    def find_endpoint(self, endpoint: str) -> str | None:
        """Returns `broker-1:9092` for `10.0.0.1:9092`, or None for an address without a name."""
        address, port = _address(endpoint)
        name = self.find_name(address)
        return None if name is None else f"{name}:{port}"

    def annotate_endpoint(self, endpoint: str) -> str:
        """Returns `10.0.0.1:9092 (broker-1)`, or the endpoint alone if it has no name."""
        name = self.find_name(_address(endpoint)[0])
        return endpoint if name is None else f"{endpoint} ({name})"

    def name_column(self, rows: Ints, sender: bool) -> TextColumn:
        """Returns the names of the senders (or receivers) of rows; None if there is none."""
        self._refresh()
        return TextColumn(self._names, self._sides(rows, sender))

    def endpoint_column(self, rows: Ints, sender: bool) -> TextColumn:
        """Returns name and port, or address and port, of the senders (or receivers) of rows."""
        self._refresh()
        return TextColumn(self._ends, self._sides(rows, sender))

    def _sides(self, rows: Ints, sender: bool) -> Ints:
        """Returns a number for the stream and side of each row."""
        side = self._rows.column("side")[rows].astype(np.int64)
        numbers: Ints = self._rows.column("stream")[rows].astype(np.int64) * 2 + (side if sender else 1 - side)
        return numbers

    def _refresh(self) -> None:
        if self._edition != self.edition:
            self._edition = self.edition
            self._names, self._ends = TextTable(self._name_of), TextTable(self._end_of)

    def _place(self, number: int) -> tuple[int, int]:
        """Returns flow and side of a number of _sides."""
        stream, side = divmod(number, 2)
        client = max(self._streams.cell("client", stream), 0)
        return self._streams.cell("flow", stream), client if side == FROM_CLIENT else 1 - client

    def _name_of(self, number: int) -> str | None:
        return self.find_name(_address(self._flows.endpoint(*self._place(number)))[0])

    def _end_of(self, number: int) -> str | None:
        endpoint = self._flows.endpoint(*self._place(number))
        return self.find_endpoint(endpoint) or endpoint


def _address(endpoint: str) -> tuple[str, str]:
    """Returns address and port of `10.0.0.1:9092` or `[::1]:2181`."""
    address, _, port = endpoint.rpartition(":")
    return address.strip("[]"), port
