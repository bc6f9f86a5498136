"""Scans the bodies of a capture for expert info, similar rows together.

Theory. Most rows have no expert info. The parts of a body that a diagnosis needs (its error, its findings, the few
fields for checks) become a text, like a cell of a table, so that analyzer.decode.template_decoder makes this text for
many similar rows at once. If the text is the same for all of them, it is read once, and rows without expert info are
never looked at. All other rows are decoded; tests/analyzer/insight/test_diagnosis.py compares both.

Scanning rows and reading the result are two steps, so that other processes can scan while one reads. The result of a
scan is small, and can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import orjson

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.decode import raw
from analyzer.decode.bodies import add_row_findings
from analyzer.decode.content import find_dissector, read_context, read_undecoded
from analyzer.decode.limits import Limits
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import BodyTexts, TemplateDecoder, TemplateGroup
from analyzer.decode.template_json import MarkingWriter
from analyzer.messages import defects
from analyzer.messages.row_findings import decode_findings
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector
from dissectors.finding import Finding, Severity
from dissectors.message import Path
from dissectors.symbolic_values import NestedValue

Watched = Callable[[Dissector, Context], Collection[Path]]
"""Returns the paths of fields that checks need in such a message; none if no check gets it."""

_FINDINGS, _EVENTS = "said", "seen"


class About(NamedTuple):
    """A row with expert info, or one that a check gets. seen: at least the fields that the check needs, else None."""

    row: int
    dissector: Dissector | None
    context: Context
    error: tuple[int, str] | None
    findings: tuple[Finding, ...]
    seen: Mapping[str, Any] | None


class _ScannedGroup(NamedTuple):
    """Similar rows: indexes, text of error and findings (one for each row, or one for all), fields as a JSON array."""

    places: Ints
    texts: list[bytes] | bytes
    seen: bytes


class _ScannedRow(NamedTuple):
    """A row that was decoded alone; see About."""

    place: int
    context: Context
    error: tuple[int, str] | None
    findings: tuple[Finding, ...]
    seen: Mapping[str, Any] | None


class ScannedRows(NamedTuple):
    """The result of scan_rows(), which read_rows() needs."""

    groups: list[_ScannedGroup]
    single: list[_ScannedRow]


class ExpertInfoScan:
    """Scans the rows of a loaded session."""

    def __init__(self, session: Analysis, watched: Watched) -> None:
        self._session, self._watched = session, watched
        self._writer = MarkingWriter(Limits())
        self._reader = RowReader(session, hindsight=True)
        self._decoder = TemplateDecoder(self._reader, self._scan_group, needs_requests=False)

    def scan_rows(self, rows: Ints) -> ScannedRows:
        """Decodes rows, and collects the expert info and errors in them."""
        left = np.ones(len(rows), bool)
        groups = []
        for group in self._decoder.find_groups(rows):
            left[group.places] = False
            texts, seen = (_texts(group, slot, len(group.places)) for slot in (_FINDINGS, _EVENTS))
            alike = len(set(texts)) == 1
            if not alike or texts[0] != _NOTHING or seen[0] != b"null":
                groups.append(_ScannedGroup(group.places, texts[0] if alike else texts, b"[" + b",".join(seen) + b"]"))
        return ScannedRows(groups, list(self._scan_single(rows, np.flatnonzero(left))))

    def read_rows(self, rows: Ints, scanned: ScannedRows) -> Iterator[About]:
        """Yields those of `rows`, in order, that have expert info. scanned: the result of scan_rows() for them."""
        known: list[About | None] = [None] * len(rows)
        for group in scanned.groups:
            for place, about in zip(group.places.tolist(), self._read_group(group, rows), strict=True):
                known[place] = about
        for place, context, error, findings, seen in scanned.single:
            row = int(rows[place])
            known[place] = About(row, find_dissector(self._session, row), context, error, findings, seen)
        return (about for about in known if about is not None)

    def _read_group(self, group: _ScannedGroup, rows: Ints) -> Iterator[About]:
        """Yields an About for each row."""
        session, every = self._session, rows[group.places].tolist()
        dissector, context = find_dissector(session, every[0]), read_context(session, every[0])
        rest = repeat(_read_bodies(group.texts)) if isinstance(group.texts, bytes) else map(_read_bodies, group.texts)
        values: list[Mapping[str, Any] | None] = orjson.loads(group.seen)
        for row, (error, findings), each in zip(every, rest, values, strict=False):
            yield About(row, dissector, context, error, findings, each)

    def _scan_group(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        findings = [[int(each.severity), each.code, each.text, each.advice] for each in body.findings]
        error = None if body.error is None else list(body.error)
        paths = self._watched(dissector, context)
        seen = _select_fields(body.values, paths) if paths else None
        return {
            slot: self._writer.dumps(value).decode()
            for slot, value in ((_FINDINGS, [error, findings]), (_EVENTS, seen))
        }

    def _scan_single(self, rows: Ints, places: Ints) -> Iterator[_ScannedRow]:
        session, count = self._session, 0
        for part in split_rows(session, rows[places]):
            finding_flags = self._reader.flag_findings(part).tolist()
            for place, row, bits, (dissector, message, context) in zip(
                places[count:].tolist(), part.tolist(), finding_flags, read_undecoded(session, part), strict=False
            ):
                body = (
                    raw.make_raw_body(session, row, message)
                    if dissector is None
                    else defects.decode_values(dissector, message, context)
                )
                findings = add_row_findings(session, row, body, decode_findings(bits)).findings
                paths = () if dissector is None else self._watched(dissector, context)
                seen = _select_fields(body.values, paths) if paths else None
                yield _ScannedRow(place, context, body.error, findings, seen)
            count += len(part)


_NOTHING = orjson.dumps([None, []])
_BodyFindings = tuple[tuple[int, str] | None, tuple[Finding, ...]]


def _read_bodies(text: bytes) -> _BodyFindings:
    error, findings = orjson.loads(text)
    findings_read = tuple(Finding(Severity(grade), code, text, advice=advice) for grade, code, text, advice in findings)
    return None if error is None else (error[0], error[1]), findings_read


def _texts(group: TemplateGroup, slot: str, count: int) -> list[bytes]:
    """Returns the text of a slot for each row."""
    parts = group.match.make_parts(slot)
    if all(type(part) is bytes for part in parts):
        return [b"".join(part for part in parts if type(part) is bytes)] * count
    return cells.flatten_cells(cells.join_cells([*parts, b"\n"], count)).splitlines()


class _Apart(Exception):
    """Says that a wanted field has a value of its own in each message, and no text."""


def _select_fields(value: Any, paths: Collection[Path]) -> Any:
    """Returns the part of a value at some paths; arrays on a path stand for their elements. Raises _Apart."""
    if type(value) is NestedValue:
        raise _Apart
    if isinstance(value, list):
        return [_select_fields(each, paths) for each in value]
    if not isinstance(value, dict):
        return value
    inside: dict[str, list[Path]] = {}
    for first, *rest in filter(None, paths):
        inside.setdefault(first, []).append(tuple(rest))
    return {name: _select_fields(value[name], rest) for name, rest in inside.items() if name in value}
