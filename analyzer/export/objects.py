"""Exports the payloads of chosen messages, each to a file: keys and values of records, bodies, data of nodes.

Theory. A dissector finds payloads and their names (dissectors.payload) in decoded values; topic ids in them are
replaced by names, if the capture has them. Secrets are left out unless the user asks for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode import fragments
from analyzer.decode.content import Undecoded, read_undecoded
from analyzer.decode.fragments import FragmentTracker
from analyzer.decode.payloads import read_payloads
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader, split_rows
from analyzer.export.folder import Folder
from analyzer.messages import defects
from analyzer.processes.jobs import map_in_order
from analyzer.session import Analysis
from dissectors.api import Body
from dissectors.fragment import Fragment
from dissectors.payload import Payload
from dissectors.wire.embedded import CutList, length_of
from dissectors.wire.inner import content
from dissectors.wire.secret import Secret

TOGETHER = 1024
"""Number of messages that a process reads at a time."""

_ABOUT = ("number", "id", "protocol", "operation")


class StoredObject(NamedTuple):
    """Counts what was left out. items: items of lists that are too long to be read (dissectors.wire.embedded)."""

    secrets: int
    items: int = 0


class PayloadFile(NamedTuple):
    """The arguments of Folder.add for one payload."""

    text: str
    suffix: str
    data: bytes
    about: Mapping[str, Any]
    group: Hashable


class RowPayloads(NamedTuple):
    """The payloads of one message. secrets, items: how many were left out."""

    files: Sequence[PayloadFile]
    secrets: int
    items: int


class Objects:
    """Writes a file for each payload, into a folder.

    A reassembled message is written once, with the message that completes it. Messages with its fragments wait for that
    one. If it does not come, or cannot be read, they are written as they are.
    """

    def __init__(self, session: Analysis, folder: Folder, *, show_secrets: bool = False) -> None:
        self._session, self._folder, self._show_secrets = session, folder, show_secrets
        self._naming, self._reader = TopicNamer(session), RowReader(session)
        self._secrets = self._items = 0
        self._waiting: dict[tuple[object, ...], list[int]] = {}
        self._passed = FragmentTracker(session)

    def write(self, rows: Ints) -> None:
        """Writes payloads of rows, which must follow the rows before; the session has ended. Raises UserError.

        session.jobs processes find the payloads. This one names and writes them, and reassembles fragments.
        """
        parts = list(split_rows(self._session, rows, TOGETHER))
        for found in map_in_order(self._read_part, parts, self._session.jobs):
            for each in found:
                if isinstance(each, RowPayloads):
                    self._add(each)
                else:
                    fragment_of_row = fragments.find_fragment(self._session, each)
                    assert fragment_of_row is not None
                    self._fragment(each, fragment_of_row)

    def _read_part(self, rows: Ints) -> list[RowPayloads | int]:
        """Returns the payloads of each row; the number of a row that is a fragment."""
        about = self._reader.read_objects(_ABOUT, rows)
        found: list[RowPayloads | int] = []
        for row, known, readable in zip(rows.tolist(), about, read_undecoded(self._session, rows), strict=True):
            is_fragment = fragments.find_fragment(self._session, row) is not None
            found.append(row if is_fragment else self._read_payloads(row, known, readable))
        return found

    def finish(self) -> StoredObject:
        """Writes the fragments that still wait; returns what was left out in total."""
        for rows in self._waiting.values():
            self._alone(rows)
        self._waiting.clear()
        return StoredObject(self._secrets, self._items)

    def _fragment(self, row: int, fragment_of_row: Fragment) -> None:
        cell = self._session.rows.cell
        key = (*(cell(name, row) for name in ("stream", "side", "code")), fragment_of_row.whole)
        rows = self._waiting.setdefault(key, [])
        rows.append(row)
        if fragment_of_row.completes:
            del self._waiting[key]
            whole = fragments.decode_reassembled(self._session, row, fragment_of_row, self._passed.find_before)
            if whole is None:
                self._alone(rows)
            else:
                (found,) = self._reader.read_objects(_ABOUT, np.array([row]))
                (readable,) = read_undecoded(self._session, np.array([row]))
                body, parts = whole
                self._write(row, {**found, "joined": [part + 1 for part in parts]}, readable, body)

    def _alone(self, rows: list[int]) -> None:
        """Writes fragments as they are."""
        numbers = np.array(rows)
        about = self._reader.read_objects(_ABOUT, numbers)
        for row, found in zip(rows, about, strict=True):
            self._write(row, found, read_undecoded(self._session, np.array([row]))[0])

    def _write(self, row: int, found: dict[str, Any], readable: Undecoded, body: Body | None = None) -> None:
        self._add(self._read_payloads(row, found, readable, body))

    def _add(self, found: RowPayloads) -> None:
        self._items += found.items
        self._secrets += found.secrets
        for each in found.files:
            self._folder.add(*each)

    def _read_payloads(
        self, row: int, found: dict[str, Any], readable: Undecoded, body: Body | None = None
    ) -> RowPayloads:
        """Returns the payloads of one row; body: decoded already, or with reassembled content."""
        dissector, message, context = readable
        if dissector is None:
            return RowPayloads((), 0, 0)
        body = defects.decode_values(dissector, message, context) if body is None else body
        items = sum(length_of(each) - len(each) for each in body.values.values() if isinstance(each, CutList))
        files, secrets = [], 0
        for each in read_payloads(self._session, self._naming, row, dissector, body, context):
            data = _open_file(each.value, self._show_secrets)
            if data is None:
                secrets += 1
                continue
            metadata = {**found, "field": field_path(each), "kind": each.kind, "name": list(each.name)}
            files.append(PayloadFile("-".join(each.name), each.kind, data, metadata, (row, each.place[:-1])))
        return RowPayloads(tuple(files), secrets, items)


def write(session: Analysis, rows: Ints, folder: Folder, *, show_secrets: bool = False) -> StoredObject:
    """Writes all payloads of some rows. Raises UserError."""
    writer = Objects(session, folder, show_secrets=show_secrets)
    writer.write(rows)
    return writer.finish()


def _open_file(value: object, show_secrets: bool) -> bytes | None:
    """Returns the bytes of a payload; None for a secret that is not shown."""
    data = content(value)
    if isinstance(data, Secret):
        data = content(data.reveal()) if show_secrets else None
    return data if isinstance(data, bytes) else None


def field_path(payload: Payload) -> str:
    """Returns a payload's path in its message, such as `topicData[0].partitionData[1].records[0].value`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in payload.place).removeprefix(".")
