"""Finds the messages that can contain a text, without decoding each: the fast path of the field `text`.

Theory. The texts of a message are its summary line, and the texts and numbers of its body. Most of them occur in its
bytes unchanged. So the scan searches the bytes, and uses templates (analyzer.decode.template_decoder) for similar
messages. A template shows the other texts: constants between symbolic values, numbers in digits, and texts made from
numbers. If the bytes of a message do not contain the text, only these can. A template in which they cannot needs no
more work; for the others the texts are made, in columns. Nested values, such as compressed records, are searched after
decoding. A message that matches no template may contain anything.

The scan looks for a part of the text that is ASCII, in lower case. The characters of `_LOWERED` are the only others
that lower() converts to ASCII. Bytes with one of them may contain anything. The reference implementation decodes each
message; tests/analyzer/query/test_text_scan.py compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Array, Bools, Ints, list_distinct
from analyzer.columns.cells import Cells
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES, WORTH, BodyTexts, TemplateDecoder, TemplateGroup
from analyzer.decode.templates import TemplateMatch
from analyzer.messages import defects
from analyzer.query.fields.getting import list_texts
from dissectors.api import Body, Context, Dissector
from dissectors.symbolic_values import Bytes, Hex, Integer, MadeText, Marked, NestedValue, Text
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.flat import FlatColumns, IntegerColumn, NestedColumn, RowTable

_LOWERED: Mapping[str, str] = {"i": "\u0130", "k": "\u212a"}
"""ASCII letter -> the only character beyond ASCII that lower() converts to it."""

_RUN = re.compile("[\x20-\x7e]+")
_DIGITS, _HEX_DIGITS = frozenset("-0123456789"), frozenset("0123456789abcdef")
_EMPTY: Ints = np.zeros(0, np.int64)


class TextMatches(NamedTuple):
    """Which of n rows contain a text (bool, n), and which others may contain it, so that they must be decoded."""

    certain: Bools
    possible: Bools


class ScanPlan(NamedTuple):
    """The part of a text that a scan looks for, and whether text that contains it in lower case contains all of it."""

    run: str
    is_whole: bool


def plan_scan(text: str) -> ScanPlan | None:
    """Returns the longest part of a text that a scan can look for; None if there is none."""
    runs = _RUN.findall(text)
    if not runs:
        return None
    run = max(runs, key=len).lower()
    return ScanPlan(run, run == text)


class TextScan:
    """Scans the rows of a reader for a text, in lower and upper case."""

    def __init__(self, plan: ScanPlan, reader: RowReader) -> None:
        run, self._is_whole = plan
        self._run, self._reader = run, reader
        self._data = run.encode()
        self._others = [other.encode() for lowered, other in _LOWERED.items() if lowered in run]
        self._is_number = _DIGITS.issuperset(run)
        self._decoder = TemplateDecoder(reader, self._make_texts)

    def find_matches(self, rows: Ints) -> TextMatches:
        """Scans rows in ascending order. Rows that match no template are possible matches."""
        found = [self._scan_part(part) for part in split_rows(self._reader.session, rows, TOGETHER, TOGETHER_BYTES)]
        none = np.zeros(0, bool)
        certain = np.concatenate([none, *(each.certain for each in found)])
        return TextMatches(certain, np.concatenate([none, *(each.possible for each in found)]))

    def _scan_part(self, rows: Ints) -> TextMatches:
        certain, possible = np.zeros(len(rows), bool), np.ones(len(rows), bool)
        for group in self._decoder.find_groups(rows) if len(rows) >= WORTH else ():
            made, stored = self._scan_group(group)
            certain[group.places] = made & self._is_whole
            possible[group.places] = stored | (made & (not self._is_whole))
        return TextMatches(certain, possible & ~certain)

    def _scan_group(self, group: TemplateGroup) -> tuple[Bools, Bools]:
        """Returns which rows of a group contain the run in a text of the template, and in bytes or nested values."""
        match = group.match
        stored = np.fromiter(map(self._may_contain, match.read_messages()), bool, len(match.rows))
        made, in_bytes = np.zeros(len(stored), bool), bool(stored.any())
        for nested, values in match.list_nested_values():
            if nested.settled:
                stored |= self._is_in_value(values[0], {})
            else:
                known: dict[int, Ints] = {}
                stored |= np.fromiter((self._is_in_value(value, known) for value in values), bool, len(stored))
        for slot, parts in match.template.texts.items():
            if parts and (_can_contain(parts, self._run, match) or (in_bytes and any(type(p) is Text for p in parts))):
                made |= self._find_in_slot(match, slot)
        return made, stored

    # ---- texts of templates

    def _make_texts(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        texts = [str(defects.format_info(dissector, body, context)), *self._list_texts(body.values)]
        return {str(place): text for place, text in enumerate(dict.fromkeys(texts))}

    def _list_texts(self, value: Any) -> Iterator[str]:
        """Yields the texts of symbolic values that can contain the run and are neither bytes nor nested."""
        kind = type(value)
        if kind is NestedValue or kind is Bytes:
            return
        if kind is Integer:
            if self._is_number:
                yield str(value)
        elif isinstance(value, dict):
            for each in value.values():
                yield from self._list_texts(each)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from self._list_texts(each)
        elif isinstance(value, EmbeddedValue):
            yield from self._list_texts(value.value)
            yield from self._list_texts(value.data)
        elif isinstance(value, str):
            yield str(value)
        else:
            yield from (text for text in list_texts(value) if self._run in text.lower())

    def _find_in_slot(self, match: TemplateMatch, slot: str) -> Bools:
        """Returns which messages of a match contain the run in one text of the template."""
        parts = match.make_parts(slot)
        count = len(match.rows)
        if len(parts) == 1 and not isinstance(parts[0], bytes):
            return self._find_in_cells(parts[0])
        if all(isinstance(part, bytes) for part in parts):
            return np.full(
                count, self._run in b"".join(part for part in parts if isinstance(part, bytes)).decode().lower()
            )
        lines = cells.flatten_cells(cells.join_cells([*parts, b"\n"], count)).decode().lower().split("\n")
        return np.fromiter((self._run in line for line in lines[:count]), bool, count)

    def _find_in_cells(self, column: Cells) -> Bools:
        """Returns which cells contain the run; they have no zeros within their text."""
        found = np.zeros(len(column), bool)
        if not column.size:
            return found
        lowered = np.frombuffer(column.tobytes().lower(), np.uint8).reshape(column.shape)
        wanted = np.frombuffer(self._data, np.uint8)
        for begin in range(column.shape[1] - len(wanted) + 1):
            found |= (lowered[:, begin : begin + len(wanted)] == wanted).all(axis=1)
        return found

    # ---- bytes and nested values

    def _may_contain(self, data: bytes) -> bool:
        return self._data in data.lower() or any(other in data for other in self._others)

    def _is_in_value(self, value: Any, known: dict[int, Ints]) -> bool:
        """Returns whether a nested value may contain the run. known: matching rows of columns, by the columns' id."""
        if type(value) is RowTable:
            rows = known.get(id(value.columns))
            if rows is None:
                hits = np.array(list(self._find_in_data(value.columns.data)), np.int64)
                rows = known[id(value.columns)] = self._find_rows(value.columns, hits)
            return len(rows) > 0 and bool(rows.searchsorted(value.start) < rows.searchsorted(value.stop))
        if isinstance(value, dict):
            return any(self._is_in_value(each, known) for each in value.values())
        if isinstance(value, list | tuple):
            return any(self._is_in_value(each, known) for each in value)
        if type(value) is int and not self._is_number:
            return False
        return any(self._may_contain(text.encode("utf-8", "surrogatepass")) for text in list_texts(value))

    def _find_rows(self, columns: FlatColumns, hits: Ints) -> Ints:
        """Returns the rows that may contain the run, ascending: with a hit in their data, or a matching number."""
        found = [_EMPTY]
        for column in columns.columns:
            if isinstance(column, IntegerColumn):
                if self._is_number:
                    found.append(np.flatnonzero(self._find_in_cells(cells.format_integers(np.asarray(column.values)))))
            elif isinstance(column, NestedColumn):
                ends = np.asarray(column.ends)
                found.append(np.searchsorted(ends, self._find_rows(column.rows, hits), "right") - 1)
            elif len(hits):
                at: Array = np.asarray(column.at)
                there = np.flatnonzero(np.asarray(column.length) >= len(self._data))
                there = there[np.argsort(at[there], kind="stable")]
                nearest = np.searchsorted(at[there], hits, "right") - 1
                found.append(there[list_distinct(nearest[nearest >= 0])])
        return list_distinct(np.concatenate(found))

    def _find_in_data(self, data: bytes) -> Iterator[int]:
        """Yields each offset at which the run may begin."""
        for wanted, searched in ((self._data, data.lower()), *((other, data) for other in self._others)):
            at = searched.find(wanted)
            while at >= 0:
                yield at
                at = searched.find(wanted, at + 1)


def _can_contain(parts: Sequence[bytes | Marked], run: str, match: TemplateMatch) -> bool:
    """Returns whether a text of parts can contain the run, except within a single text of the messages."""
    begun: set[int] = set()
    """The lengths of beginnings of the run with which the parts so far may end."""

    for part in parts:
        if isinstance(part, bytes):
            text = part.decode().lower()
            if run in text or any(text.startswith(run[done:]) for done in begun):
                return True
            begun = {done + len(text) for done in begun if run.startswith(text, done)}
            begun |= {size for size in range(1, min(len(text) + 1, len(run))) if text.endswith(run[:size])}
        elif type(part) is Text:
            if begun:
                return True
            begun = set(range(1, len(run)))
        else:
            begun = _continue_within(_list_characters(part, match), run, begun)
            if len(run) in begun:
                return True
    return False


def _continue_within(characters: frozenset[str], run: str, begun: set[int]) -> set[int]:
    """Returns the lengths of beginnings of the run with which a text of these characters may end."""
    found: set[int] = set()
    for done in (0, *begun):
        at = done
        while at < len(run) and run[at] in characters:
            at += 1
            found.add(at)
    return found | begun


def _list_characters(part: Marked, match: TemplateMatch) -> frozenset[str]:
    """Returns the characters, in lower case, that the text of a mark can have."""
    if type(part) is Integer:
        return _DIGITS
    if type(part) is Hex:
        return _HEX_DIGITS
    assert type(part) is MadeText
    return frozenset("".join(match.list_made_texts(part)).lower())
