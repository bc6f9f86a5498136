"""From messages on the line to rows of the index, for many steady connections: headers, pairing, columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from analyzer.bulk import Bytes, Messages, Segments, Work, pieces_of
from analyzer.chunk import Chunk, Numbers
from analyzer.columns import Array, Ints
from analyzer.exchanges import Headers, pair
from analyzer.messages import FROM_CLIENT, FROM_SERVER, NO_PROTOCOL
from dissectors.api import Dissector, Outcome, Role, State
from dissectors.wire.bulk import NULL, BulkDissector, BulkHeaders


class Desk(Numbers, Protocol):
    """What the engine lends: bytes, names, serials."""

    @property
    def store(self) -> Bytes:
        """Where bytes are read."""

    def text(self, number: int) -> str | None:
        """The name of a number."""

    def serials(self, count: int) -> Ints:
        """`count` new serials."""


class BulkRows:
    """From messages on the line to rows of the index: headers, pairing, columns."""

    def __init__(
        self,
        desk: Desk,
        dissector: Dissector,
        protocol: BulkDissector,
        taken: Sequence[tuple[Work, int]],
        parts: Segments,
        cutting: Messages,
    ) -> None:
        self._desk, self._dissector, self._protocol = desk, dissector, protocol
        self._connections = [work.connection for work, _ in taken]
        half = parts.half[cutting.first]
        packet = parts.packet[cutting.last]
        order = np.lexsort((cutting.line, packet, half // 2))
        self._parts = parts
        self._cutting = Messages(*(column[order] for column in cutting))
        self._half = half[order]
        client = np.array([connection.client for connection in self._connections], np.int64)
        self._from_client = self._half % 2 == client[self._half // 2]

    def add_to(self, chunk: Chunk) -> None:
        """Leaves the rows in the chunk, and each conversation with what is still unanswered."""
        if not len(self._half):
            return
        desk, parts, cutting = self._desk, self._parts, self._cutting
        headers, stepped = self._headers()
        odd = pair(headers, self._connections, self._protocol, desk.name, desk.text, stepped)
        for owner in odd.tolist():
            self._step(headers, owner)
        self._note(headers, np.isin(headers.owner, odd))
        extra = np.full(len(self._half), NULL, np.int64)
        if headers.extras:
            extra[list(headers.extras)] = [desk.extra(found) for found in headers.extras.values()]
        raw = (headers.role == Role.RAW) & (headers.state != State.COMPLETE)
        numbers = np.array([connection.number for connection in self._connections], np.int64)
        protocol = desk.protocol(self._dissector)
        last = parts.packet[cutting.last]
        count, *pieces = pieces_of(parts, cutting)
        rows = {
            "stream": numbers[headers.owner],
            "side": np.where(self._from_client, FROM_CLIENT, FROM_SERVER),
            "role": headers.role,
            "state": headers.state,
            "protocol": np.where(raw, NO_PROTOCOL, protocol),
            "marks": np.zeros(len(raw), np.int64),
            "operation": headers.operation,
            "code": headers.code,
            "version": headers.version,
            "correlation": headers.correlation,
            "scope": np.full(len(raw), NULL, np.int32),
            "client": headers.client,
            "extra": extra,
            "offset": parts.offset[cutting.first] + cutting.line - parts.line[cutting.first],
            "length": cutting.length,
            "first": np.minimum.reduceat(pieces[2], np.cumsum(count) - count),
            "last": last,
            "time": parts.time[cutting.last],
            "closed": last,
            "serial": headers.serial,
            "ask": headers.partner,
        }
        chunk.add(rows, count, *pieces)

    def _headers(self) -> tuple[Headers, Array]:
        parts, cutting, desk = self._parts, self._cutting, self._desk
        inside = cutting.line - parts.line[cutting.first]
        available = np.minimum(parts.length[cutting.first] - inside, cutting.length)
        view = desk.store.gather(parts.at[cutting.first] + inside, self._protocol.WIDTH)
        found = self._protocol.headers(view, available, self._from_client)
        headers = Headers(
            owner=self._half // 2,
            serial=desk.serials(len(self._half)),
            role=found.role,
            state=found.state,
            operation=self._operations(found),
            code=found.code,
            version=found.version,
            correlation=found.correlation,
            client=self._clients(found),
            partner=np.full(len(self._half), -1, np.int64),
            extras={},
        )
        for row in np.flatnonzero(found.unsure).tolist():
            outcome = self._dissector.header(self._prefix(row), bool(self._from_client[row]))
            headers.put(row, Outcome(outcome), desk.name)
        return headers, found.stepped | found.unsure & (headers.state != State.COMPLETE) & self._from_client

    def _operations(self, found: BulkHeaders) -> Array:
        names = self._protocol.operations()
        numbers = np.array([self._desk.name(name) for name in names], np.int32)
        known = (found.code >= 0) & (found.code < len(names))
        return np.where(known, numbers[np.where(known, found.code, 0)], NULL)

    def _clients(self, found: BulkHeaders) -> Array:
        numbers = np.array([self._desk.name(name) for name in found.clients] or [NULL], np.int32)
        return np.where(found.client == NULL, NULL, numbers[np.where(found.client == NULL, 0, found.client)])

    def _prefix(self, row: int) -> bytes:
        """The first bytes of a message, over as many segments as it takes."""
        parts, cutting = self._parts, self._cutting
        begin, left = int(cutting.line[row]), min(int(cutting.length[row]), self._dissector.prefix)
        found = b""
        for segment in range(int(cutting.first[row]), int(cutting.last[row]) + 1):
            inside = max(begin - int(parts.line[segment]), 0)
            part = min(int(parts.length[segment]) - inside, left - len(found))
            found += self._desk.store.read(int(parts.at[segment]) + inside, part)
            if len(found) == left:
                break
        return found

    def _step(self, headers: Headers, owner: int) -> None:
        conversation = self._connections[owner].conversation
        assert conversation is not None
        first, last = np.searchsorted(headers.owner, [owner, owner + 1]).tolist()
        for row in range(first, last):
            outcome = conversation.step(int(headers.serial[row]), self._prefix(row), bool(self._from_client[row]))
            headers.put(row, outcome, self._desk.name)

    def _note(self, headers: Headers, stepped: Array) -> None:
        """Lets the conversations that were paired in bulk see what decoding will need of their messages."""
        rows = np.flatnonzero(np.isin(headers.code, self._protocol.NOTED) & ~stepped)
        columns = (headers.owner[rows], rows, headers.role[rows], headers.code[rows])
        by_owner: dict[int, list[tuple[int, int, int]]] = {}
        for owner, *message in zip(*(column.tolist() for column in columns), strict=True):
            by_owner.setdefault(owner, []).append((message[0], message[1], message[2]))
        for owner, messages in by_owner.items():
            conversation = self._connections[owner].conversation
            assert conversation is not None
            for row, extra in self._protocol.notes(conversation, messages, self._prefix).items():
                headers.extras[row] = extra
