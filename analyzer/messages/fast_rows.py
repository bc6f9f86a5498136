"""Builds rows of the index from messages on the line, for many steady connections: headers, pairing, columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.messages.assembler import fill_in_client
from analyzer.messages.fast_pairing import PairingHeaders, pair_messages
from analyzer.messages.fast_path import ConnectionWork, list_pieces
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER, NO_PROTOCOL, RowMark
from analyzer.messages.message_lengths import ByteStore
from analyzer.messages.message_spans import MessageSpans, Segments
from analyzer.messages.row_batch import RowBatch, RowNumbering
from dissectors.api import Dissector, Role, State
from dissectors.wire.fast_path import NULL, FastPath, NameColumn, Wire


class RowServices(RowNumbering, Protocol):
    """Gives access to the engine's store, names and serials."""

    @property
    def store(self) -> ByteStore:
        """The store from which bytes are read."""

    def text(self, number: int) -> str | None:
        """Returns the name of a number."""

    def reserve_serials(self, count: int) -> Ints:
        """Reserves `count` consecutive serial numbers for messages, and returns them (int64, count)."""


class FastRowBuilder:
    """Builds the rows of connections of one protocol."""

    def __init__(
        self,
        services: RowServices,
        dissector: Dissector,
        fast_path: FastPath,
        taken: Sequence[tuple[ConnectionWork, int]],
        parts: Segments,
        cutting: MessageSpans,
    ) -> None:
        self._services, self._dissector, self._fast_path = services, dissector, fast_path
        self._connections = [work.connection for work, _ in taken]
        half = parts.half[cutting.first]
        packet = parts.closed[cutting.last]
        # Each half-stream is in order, and a packet completes messages of one half-stream only.
        order = np.argsort((half // 2) * (int(packet.max(initial=0)) + 1) + packet, kind="stable")
        self._parts = parts
        self._cutting = MessageSpans(*(column[order] for column in cutting))
        half = half[order]
        self._owner = half // 2
        client = np.array([connection.client for connection in self._connections], np.int64)
        self._from_client = half % 2 == client[self._owner]
        self._inside = self._cutting.line - parts.line[self._cutting.first]

    def add_to(self, chunk: RowBatch) -> None:
        """Adds the rows to the batch, and gives each conversation its unanswered requests."""
        if not len(self._owner):
            return
        services, parts, cutting = self._services, self._parts, self._cutting
        headers, stepped = self._headers()
        odd = pair_messages(headers, self._connections, self._fast_path, services.number_name, services.text, stepped)
        for owner in odd.tolist():
            self._step(headers, owner)
        self._note(headers, odd)
        extra = np.full(len(self._owner), NULL, np.int32)
        if headers.extras:
            extra[list(headers.extras)] = [services.number_extra(found) for found in headers.extras.values()]
        marks = np.zeros(len(self._owner), np.uint8)
        marks[headers.unowed] = RowMark.NOTHING_OWED
        self._mark_partial(headers, marks)
        raw = (headers.role == Role.RAW) & (headers.state != State.COMPLETE)
        numbers = np.array([connection.number for connection in self._connections], np.int64)
        protocol = services.number_protocol(self._dissector)
        last = parts.packet[cutting.last]
        count, *pieces = list_pieces(parts, cutting)
        rows = {
            "stream": numbers[headers.owner],
            "side": np.where(self._from_client, np.int8(FROM_CLIENT), np.int8(FROM_SERVER)),
            "role": headers.role,
            "state": headers.state,
            "protocol": np.where(raw, np.int8(NO_PROTOCOL), np.int8(protocol)),
            "marks": marks,
            "operation": headers.operation,
            "code": headers.code,
            "version": headers.version,
            "correlation": headers.correlation,
            "scope": headers.scope,
            "client": headers.client,
            "extra": extra,
            "offset": parts.offset[cutting.first] + self._inside,
            "length": cutting.length,
            "first": np.minimum.reduceat(pieces[2], np.cumsum(count) - count),
            "last": last,
            "time": parts.time[cutting.last],
            "closed": parts.closed[cutting.last],
            "serial": headers.serial + np.arange(len(raw)),
            "ask": headers.partner,
        }
        chunk.add(rows, count, *pieces)

    def _headers(self) -> tuple[PairingHeaders, Array]:
        parts, cutting, services = self._parts, self._cutting, self._services
        at = parts.at[cutting.first] + self._inside
        available = np.minimum(parts.length[cutting.first] - self._inside, cutting.length)
        view = services.store.gather(at, self._fast_path.WIDTH)

        def gather(rows: Array, offset: Array, width: int) -> Array:
            return services.store.gather(at[rows] + offset, width)

        found = self._fast_path.headers(Wire(view, available, self._from_client, gather))
        none = np.full(len(at), NULL, np.int32)
        scope = none if found.scope is None else self._numbers(found.scope)
        headers = PairingHeaders(
            owner=self._owner,
            from_client=self._from_client,
            serial=int(services.reserve_serials(len(at))[0]),
            role=found.role,
            state=found.state,
            operation=self._numbers(found.operation),
            code=found.code,
            version=found.version,
            correlation=found.correlation,
            scope=scope,
            client=self._numbers(found.client),
            key=found.correlation.copy() if found.key is None else found.key,
            kind=scope.copy() if found.kind is None else self._numbers(found.kind),
            partner=np.full(len(at), -1, np.int64),
            extras={},
            unowed=[],
        )
        for row in np.flatnonzero(found.unsure).tolist():
            look = self._fast_path.look(self._prefix(row), bool(self._from_client[row]))
            headers.set_look(row, look, services.number_name)
            found.stepped[row] = look.stepped
        self._name_clients(headers)
        return headers, found.stepped

    def _numbers(self, column: NameColumn) -> Array:
        """Returns the engine's numbers of a column of names."""
        numbers = np.array([*map(self._services.number_name, column.names), NULL], np.int32)
        return numbers[np.where(column.number == NULL, -1, column.number)]

    def _name_clients(self, headers: PairingHeaders) -> None:
        """Fills in the client names that conversations know."""
        known = [None if each.conversation is None else each.conversation.client for each in self._connections]
        if any(name is not None for name in known):
            numbers = np.array([self._services.number_name(name) for name in known], np.int32)
            unnamed = headers.client == NULL
            headers.client[unnamed] = numbers[headers.owner[unnamed]]

    def _prefix(self, row: int) -> bytes:
        """Returns the first bytes of a message, across segments."""
        parts, cutting = self._parts, self._cutting
        begin, left = int(cutting.line[row]), min(int(cutting.length[row]), self._dissector.prefix)
        found = b""
        for segment in range(int(cutting.first[row]), int(cutting.last[row]) + 1):
            if parts.at[segment] < 0:
                break
            inside = max(begin - int(parts.line[segment]), 0)
            part = min(int(parts.length[segment]) - inside, left - len(found))
            found += self._services.store.read_bytes(int(parts.at[segment]) + inside, part)
            if len(found) == left:
                break
        return found

    def _mark_partial(self, headers: PairingHeaders, marks: Array) -> None:
        """Marks rows with snapped bytes, as assembler.mark_partial does, after everything is paired."""
        lost = self._parts.at < 0
        if not lost.any():
            return
        count = np.cumsum(lost)
        partial = count[self._cutting.last] > count[self._cutting.first]  # no message begins in lost bytes
        marks[partial] |= np.uint8(RowMark.SNAPPED)
        headers.state[partial] = State.PARTIAL
        raw = np.flatnonzero(partial & (headers.role == Role.RAW))
        headers.role[raw] = np.where(self._from_client[raw], np.int8(Role.REQUEST), np.int8(Role.RESPONSE))

    def _step(self, headers: PairingHeaders, owner: int) -> None:
        conversation = self._connections[owner].conversation
        assert conversation is not None
        first, last = np.searchsorted(headers.owner, [owner, owner + 1]).tolist()
        for row in range(first, last):
            outcome = conversation.step(headers.serial + row, self._prefix(row), bool(self._from_client[row]))
            headers.set_outcome(row, fill_in_client(outcome, conversation.client), self._services.number_name)

    def _note(self, headers: PairingHeaders, stepped: Ints) -> None:
        """Shows the conversations that were paired here the messages whose content later decoding needs."""
        if not self._fast_path.NOTED:
            return
        rows = np.flatnonzero(np.isin(headers.code, self._fast_path.NOTED))
        rows = rows[~np.isin(headers.owner[rows], stepped)]
        columns = (headers.owner[rows], rows, headers.role[rows], headers.code[rows])
        by_owner: dict[int, list[tuple[int, int, int]]] = {}
        for owner, *message in zip(*(column.tolist() for column in columns), strict=True):
            by_owner.setdefault(owner, []).append((message[0], message[1], message[2]))
        for owner, messages in by_owner.items():
            conversation = self._connections[owner].conversation
            assert conversation is not None
            for row, extra in self._fast_path.notes(conversation, messages, self._prefix).items():
                headers.extras[row] = extra
