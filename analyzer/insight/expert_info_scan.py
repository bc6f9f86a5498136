"""What there is to say of each row's body, alike rows together: the fast way to look at all bodies of a capture.

Theory. Most rows have nothing to say for themselves. What a checkup asks of a body (its error, its findings, the few
fields that watches look at) is made a text, as a cell of a table would be, so that analyzer.decode.template_decoder
gives it for many alike rows at once. Where that text is the same for all of them it is read once, and rows with nothing
to say are never looked at. All others are decoded; tests/analyzer/insight/test_checkup.py holds the two equal.
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
from dissectors.symbolic import NestedValue

Watched = Callable[[Dissector, Context], Collection[Path]]
"""The paths of fields that somebody wants of such a message; none where nobody looks at it."""

_SAID, _SEEN = "said", "seen"


class About(NamedTuple):
    """A row with something to say, or that is watched. seen: at least the fields that are; None for other rows."""

    row: int
    dissector: Dissector | None
    context: Context
    error: tuple[int, str] | None
    findings: tuple[Finding, ...]
    seen: Mapping[str, Any] | None


class ExpertInfoScan:
    """Reads the rows of a loaded session."""

    def __init__(self, session: Analysis, watched: Watched) -> None:
        self._session, self._watched = session, watched
        self._writer = MarkingWriter(Limits())
        self._reader = RowReader(session, hindsight=True)
        self._decoder = TemplateDecoder(self._reader, self._scan_group, asks=False)

    def scan_rows(self, rows: Ints) -> Iterator[About]:
        """Those of `rows`, in order, of which there is anything to say."""
        groups = self._decoder.find_groups(rows)
        left, asked = np.ones(len(rows), bool), np.ones(len(rows), bool)
        known: list[About | None] = [None] * len(rows)
        for group in groups:
            left[group.places] = False
            told = list(self._of_group(group, rows))
            asked[group.places] = len(told) > 0
            for place, about in zip(group.places.tolist(), told, strict=False):
                known[place] = about
        plain = self._plain(rows[left])
        for place in np.flatnonzero(asked).tolist():
            found = known[place]
            yield next(plain) if found is None else found

    def _of_group(self, group: TemplateGroup, rows: Ints) -> Iterator[About]:
        """One for each row; none at all where the same text stands for all, and says nothing."""
        session, every = self._session, rows[group.places].tolist()
        dissector, context = find_dissector(session, every[0]), read_context(session, every[0])
        said, seen = (_texts(group, slot, len(every)) for slot in (_SAID, _SEEN))
        if len(set(said)) == 1:
            if said[0] == _NOTHING and seen[0] == b"null":
                return
            said_by_all = _read_bodies(said[0])
            rest: Iterator[_Told] = repeat(said_by_all)
        else:
            rest = map(_read_bodies, said)
        values: list[Mapping[str, Any] | None] = orjson.loads(b"[" + b",".join(seen) + b"]")
        for row, (error, findings), each in zip(every, rest, values, strict=False):
            yield About(row, dissector, context, error, findings, each)

    def _scan_group(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        findings = [[int(each.severity), each.code, each.text] for each in body.findings]
        error = None if body.error is None else list(body.error)
        paths = self._watched(dissector, context)
        seen = _select_fields(body.values, paths) if paths else None
        return {slot: self._writer.dumps(value).decode() for slot, value in ((_SAID, [error, findings]), (_SEEN, seen))}

    def _plain(self, rows: Ints) -> Iterator[About]:
        session = self._session
        for part in split_rows(session, rows):
            remarks = self._reader.flag_findings(part).tolist()
            for row, bits, (dissector, message, context) in zip(
                part.tolist(), remarks, read_undecoded(session, part), strict=True
            ):
                body = (
                    raw.make_raw_body(session, row, message)
                    if dissector is None
                    else defects.decode_values(dissector, message, context)
                )
                findings = add_row_findings(session, row, body, decode_findings(bits)).findings
                watched = dissector is not None and self._watched(dissector, context)
                yield About(row, dissector, context, body.error, findings, body.values if watched else None)


_NOTHING = orjson.dumps([None, []])
_Told = tuple[tuple[int, str] | None, tuple[Finding, ...]]


def _read_bodies(text: bytes) -> _Told:
    error, findings = orjson.loads(text)
    told = tuple(Finding(Severity(severity), code, said) for severity, code, said in findings)
    return None if error is None else (error[0], error[1]), told


def _texts(group: TemplateGroup, slot: str, count: int) -> list[bytes]:
    """The text of a slot for each row."""
    parts = group.laid.make_parts(slot)
    if all(type(part) is bytes for part in parts):
        return [b"".join(part for part in parts if type(part) is bytes)] * count
    return cells.flatten_cells(cells.join_cells([*parts, b"\n"], count)).splitlines()


class _Apart(Exception):
    """A field that is wanted has a value of its own in each message, and no text."""


def _select_fields(value: Any, paths: Collection[Path]) -> Any:
    """The part of a value that some paths lead to; arrays on the way are implicit. Raises _Apart."""
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
