"""Reads values of body fields for many rows. Each message is decoded once, and only as far as needed.

Theory. Rows of one kind (protocol, operation, role, version, extra context) are read alike: one plan for all of them
says which paths they have and which projection reads only these (Dissector.projection). Values are kept until forget(),
because an expression reads one field after the other, each for the rows that are still undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, iterate_groups, make_group_keys
from analyzer.decode import raw
from analyzer.decode.bodies import add_row_findings
from analyzer.decode.content import make_context, read_contents
from analyzer.decode.multi_segment import locate_messages
from analyzer.decode.request_fields import add_request
from analyzer.decode.rows import RowReader, split_rows
from analyzer.messages import defects
from analyzer.messages.row_findings import decode_findings
from analyzer.query.fields.gathered import FieldCache, FieldCollector, FieldValues
from analyzer.query.fields.getting import list_texts, make_getter
from analyzer.query.fields.keys import OF_BODY
from analyzer.query.fields.path import AliasField, BodyField, FieldPath, RowKey, SharedField
from analyzer.query.fields.walked import Walkable, find_layout, plan_walk, walk_fields
from dissectors.api import Body, Context, Dissector, Pick, Role, State, Window

WORTH = 16
"""Number of rows of a kind below which each is read alone."""

_NOTHING: Sequence[Any] = ()
_Get = Callable[[Mapping[str, Any]], Sequence[Any]]
_Whole = Callable[[Body, Sequence[Any]], Sequence[Any]]

_KIND = ("protocol", "role", "code", "version", "extra", "operation")
"""Columns of the index that are equal in rows of one kind."""


class _Plan(NamedTuple):
    """Says how rows of one kind are read. get: reads a field from values; whole: reads a field from the whole body.

    walk: reads the fields of many rows together; None if their layout does not allow it.
    """

    dissector: Dissector | None
    context: Context
    pick: Pick | None
    get: Sequence[_Get | None]
    whole: Sequence[_Whole | None]
    walk: Walkable | None


class BodyFieldReader:
    """Reads the fields that need decoded messages.

    For field aliases it reads only the values in the message itself, not those from other messages.
    """

    def __init__(self, reader: RowReader, fields: Sequence[FieldPath]) -> None:
        self._reader, self._session = reader, reader.session
        self._fields = list(dict.fromkeys(fields))
        self._wants_whole = any(isinstance(field.origin, RowKey) and field.origin.name in OF_BODY for field in fields)
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._known = FieldCache(len(self._fields))

    def forget(self) -> None:
        """Drops all values that were read, to free memory."""
        self._known = FieldCache(len(self._fields))

    def read_field(self, field: FieldPath, rows: Ints) -> FieldValues:
        """Returns the values of a field for rows; `rows` (int64) ascend and have no duplicates."""
        missing = self._known.find_missing(rows)
        if len(missing):
            self._read_rows(missing)
        return self._known.read_field(self._fields.index(field), rows)

    def _read_rows(self, rows: Ints) -> None:
        """Reads rows, all rows of a kind together."""
        table = self._session.rows
        columns = [table.column(name)[rows] for name in _KIND]
        columns.append(self._reader.flag_findings(rows) if self._wants_whole else np.zeros(len(rows), np.int64))
        new = FieldCollector(len(self._fields))
        kinds, keys = make_group_keys(columns)
        for key, places in iterate_groups(keys):
            kind = tuple(int(column[key]) for column in kinds)
            plan, mine = self._find_plan(kind[:-1]), rows[places]
            if not any(plan.get) and not any(plan.whole):
                continue
            if plan.walk is not None and len(mine) >= WORTH:
                mine = self._walk_rows(plan.walk, mine, new)
            for part in split_rows(self._session, mine):
                self._read_alike(plan, part, kind[-1], new)
        self._known.add(rows, new)

    def _walk_rows(self, walk: Walkable, rows: Ints, new: FieldCollector) -> Ints:
        """Reads the fields of rows of a kind together; returns the rows that must be read one by one."""
        session, table = self._session, self._session.rows
        left = np.ones(len(rows), bool)
        whole = np.flatnonzero(table.column("state")[rows] == State.COMPLETE)
        for mine, source, at in locate_messages(session, rows[whole], WORTH):
            places = whole[mine]
            those = rows[places]
            good, found = walk_fields(walk, source, at, table.column("length")[those].astype(np.int64))
            left[places[good]] = False
            for place, each in enumerate(found):
                new.add(place, FieldValues(those[each.rows], each.values))
        return rows[left]

    def _read_alike(self, plan: _Plan, rows: Ints, finding_flags: int, new: FieldCollector) -> None:
        messages, get, dissector = read_contents(self._session, rows), plan.get, plan.dissector
        if any(plan.whole) or dissector is None:
            for row, message in zip(rows.tolist(), messages, strict=True):
                new.add_row(row, self._read_whole(plan, row, message, finding_flags))
            return
        pick = plan.pick
        for row, message in zip(rows.tolist(), messages, strict=True):
            values = None if pick is None else pick(defects.read_whole(message))
            if values is None:
                values = defects.decode_values(dissector, message, plan.context).values
            new.add_row(row, [_NOTHING if each is None else each(values) for each in get])

    def _read_whole(
        self, plan: _Plan, row: int, message: bytes | Window, finding_flags: int
    ) -> Sequence[Sequence[Any]]:
        session, dissector = self._session, plan.dissector
        body = (
            raw.make_raw_body(session, row, message)
            if dissector is None
            else defects.decode_values(dissector, message, plan.context)
        )
        if finding_flags:
            body = add_row_findings(session, row, body, decode_findings(finding_flags))
        info: list[Any] = []
        if any(whole in (_format_info, _format_text) for whole in plan.whole):
            if dissector is None:
                info.append(raw.format_raw_info(session, row, message, body))
            else:
                seen = add_request(session, row, body, dissector, plan.context)
                info.append(defects.format_info(dissector, seen, plan.context))
        return [
            whole(body, info) if whole is not None else _NOTHING if get is None else get(body.values)
            for get, whole in zip(plan.get, plan.whole, strict=True)
        ]

    def _find_plan(self, kind: tuple[int, ...]) -> _Plan:
        found = self._plans.get(kind)
        if found is None:
            found = self._plans[kind] = self._make_plan(*kind)
        return found

    def _make_plan(self, protocol: int, role: int, code: int, version: int, extra: int, operation: int) -> _Plan:
        session = self._session
        dissector = session.engine.dissector(protocol)
        context = make_context(session, role, code, version, extra)
        name = session.engine.names.text(operation)
        found = [make_getter(field, dissector, context, name) for field in self._fields]
        whole = [_WHOLE.get(field.origin.name) if isinstance(field.origin, RowKey) else None for field in self._fields]
        every = frozenset(path for each in found if each is not None for path in each.paths)
        get = [None if each is None else each.get for each in found]
        if dissector is None or not every or any(whole):
            return _Plan(dissector, context, None, get, whole, None)
        layout = find_layout(dissector, context) if all(each is None or each.is_plain for each in found) else None
        walk = None if layout is None else plan_walk(layout, [() if each is None else each.paths for each in found])
        return _Plan(dissector, context, defects.make_projection(dissector, context, every), get, whole, walk)

    def find_candidates(self, field: FieldPath, rows: Ints) -> Bools:
        """Returns the rows that can have a value of a field, judging by the index alone."""
        origin = field.origin
        if isinstance(origin, RowKey):
            return np.ones(len(rows), bool)
        found: Bools
        if isinstance(origin, SharedField):
            found = np.logical_or.reduce([self.find_candidates(each, rows) for each in origin.fields])
            return found
        found = self._reader.take_cells("protocol", rows) == self._find_protocol(origin.protocol)
        if isinstance(origin, BodyField):
            if origin.operation is not None:
                found &= self._reader.take_cells("operation", rows) == self._session.engine.names.find_number(
                    origin.operation
                )
            if origin.roles is not None:
                found &= _one_of(self._reader.take_cells("role", rows), origin.roles)
        if isinstance(origin, AliasField) and origin.alias.roles is not None:
            found &= _one_of(self._reader.take_cells("role", rows), origin.alias.roles)
        return found

    def _find_protocol(self, protocol: str) -> int:
        dissectors = self._session.engine.known.dissectors
        return next((number for number, each in enumerate(dissectors) if each.name == protocol), len(dissectors))


def _one_of(column: Array, roles: Iterable[Role]) -> Bools:
    found: Bools = np.logical_or.reduce([column == int(role) for role in roles])
    return found


def _format_info(body: Body, info: Sequence[Any]) -> Sequence[Any]:
    return info


def _format_text(body: Body, info: Sequence[Any]) -> Sequence[Any]:
    return (*info, *list_texts(body.values))


def _list_codes(part: Callable[[Any], str]) -> Callable[[Body, Sequence[Any]], Iterator[str] | list[str]]:
    return lambda body, info: [part(finding) for finding in body.findings]


_WHOLE: Mapping[str, Any] = {
    "info": _format_info,
    "text": _format_text,
    "findings": _list_codes(lambda finding: finding.code),
    "findings.severity": _list_codes(lambda finding: finding.severity.name.lower()),
    "findings.text": _list_codes(lambda finding: finding.text),
}
assert set(_WHOLE) == OF_BODY
