"""What bodies say of rows, as columns: each body decoded once, alike ones together.

Theory. A TemplateDecoder gives the texts of alike rows together (group_texts.py). Of a kind's errors, findings and
topics there are few texts: each is read once and becomes a number. Lines for people, bodies as JSON, and records stay
texts. Rows come kind by kind, because bringing them back into their order would be one more copy. Rows that match no
template are decoded one by one. Either way each message is decoded once for all of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import orjson
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.columns.text import escape_line_breaks
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.payloads import read_payloads
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import BODY_KEYS_IN_ORDER, RowReader, make_error, make_findings, split_rows
from analyzer.decode.template_decoder import BodyTexts, TemplateCache, TemplateDecoder, TemplateGroup
from analyzer.decode.template_json import MarkingWriter
from analyzer.tables.arrow_columns import escape_surrogates
from analyzer.tables.body_values import mark_texts
from analyzer.tables.group_texts import TextPieces, build_group_texts, concatenate_pieces
from analyzer.tables.record_values import format_records, format_template_records, may_carry_records
from analyzer.tables.topic_values import (
    NO_TOPICS,
    TopicValueReader,
    TopicValues,
    format_topic_values,
    list_contexts,
    parse_topic_values,
    read_topic_values,
)
from analyzer.tables.typed_bodies import TypedBodyColumn
from dissectors.api import Body, Context, Dissector

RECORDS = "records"
"""The slot of the records that it carries (record_values.py)."""

TEXTS = ("info", "fields", RECORDS)
"""Slots that differ from row to row; of the others there are few different ones."""

TOPICS = "topics"
"""The slot of what a message names (topic_values.py)."""

TYPED = "typed"
"""The slot of bodies with types of their own (typed_bodies.py); it has no text."""

_Kind = TypeVar("_Kind")


class DistinctValues(Generic[_Kind]):
    """Few different values, each with a number from 0."""

    def __init__(self) -> None:
        self._numbers: dict[_Kind, int] = {}

    def assign_number(self, kind: _Kind) -> int:
        """Returns the number of a value; a new value gets the next number."""
        return self._numbers.setdefault(kind, len(self._numbers))

    @property
    def values(self) -> list[_Kind]:
        """Returns all distinct values, in the order of their numbers."""
        return list(self._numbers)


ErrorValue: TypeAlias = tuple[int, str] | None
FindingValues: TypeAlias = tuple[tuple[str, str, str], ...]
"""Severity, code and text of each finding of a row."""


@dataclass(frozen=True, slots=True)
class BodyColumns:
    """The content of n bodies as columns: `texts` by slot, and numbers into `errors`, `findings` and `topics`.

    rows: their numbers, alike ones one after the other. typed: bodies with types of their own, if they are asked for.
    """

    rows: Ints
    texts: dict[str, pa.Array]
    numbers: dict[str, Ints]
    errors: DistinctValues[ErrorValue]
    findings: DistinctValues[FindingValues]
    topics: DistinctValues[TopicValues]
    typed: pa.Array | None = None


@dataclass(slots=True)
class _Draft:
    """BodyColumns in the making, group by group: `order` has the places of rows as they come; `taken`: how many."""

    order: list[Ints] = field(default_factory=list)
    texts: dict[str, list[TextPieces]] = field(default_factory=dict)
    numbers: dict[str, list[Ints]] = field(default_factory=dict)
    taken: int = 0
    values: dict[str, DistinctValues[Any]] = field(
        default_factory=lambda: {slot: DistinctValues() for slot in _PARSERS}
    )

    def take(self, places: Ints) -> Ints:
        """Takes the rows at some places next, and returns which rows of the result they are."""
        self.order.append(places)
        self.taken += len(places)
        return np.arange(self.taken - len(places), self.taken)


class DecoderMemory:
    """Templates and sizes of messages that one analysis passes to the next one.

    The next one must use the same slots and limits.
    """

    def __init__(self, slots: tuple[str, ...], limits: Limits) -> None:
        self.slots = tuple(slot for slot in (*BODY_KEYS_IN_ORDER, TOPICS, RECORDS, TYPED) if slot in slots)
        self.marking, self.json, self.templates = MarkingWriter(limits), JsonWriter(limits), TemplateCache()
        self.topics = TopicValueReader()
        self.grows: dict[tuple[int, ...], float] = {}


class BodyReader:
    """Decodes bodies of rows, and keeps none of them. typed: the type of those with types of their own."""

    def __init__(self, reader: RowReader, learned: DecoderMemory, typed: pa.DataType | None = None) -> None:
        self._reader, self._slots = reader, learned.slots
        self._marking, self._json, self._topics = learned.marking, learned.json, learned.topics
        self._naming = TopicNamer(reader.session)
        self._typed = None if typed is None else TypedBodyColumn(reader, typed, learned.json)
        self._decoder = TemplateDecoder(
            reader, self._format_body, learned.templates, needs_requests="info" in self._slots
        )

    def read_bodies(self, rows: Ints) -> BodyColumns:
        """Reads the bodies of `rows`, in any order, as columns."""
        self._marking.nested.forget()
        draft, left = _Draft(), np.ones(len(rows), bool)
        groups = self._decoder.find_groups(rows)[::-1]
        while groups:  # what was read of a group goes with it
            group = groups.pop()
            left[group.places] = False
            self._add_group(draft, group, rows[group.places])
        rest = np.flatnonzero(left)
        if len(rest) or not draft.order:
            self._add_plain(draft, rest, rows[rest])
        return _finish_draft(draft, rows, None if self._typed is None else self._typed.build(len(rows)))

    def _format_body(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        found: dict[str, Any] = {"error": make_error(body), "findings": make_findings(body), "fields": body.values}
        texts = {slot: self._marking.dumps(found[slot]).decode() for slot in self._slots if slot in found}
        if "info" in self._slots:
            texts["info"] = escape_line_breaks(dissector.info(body, context))
        if TOPICS in self._slots:
            getters = self._topics.find_getters(dissector, context)
            texts[TOPICS] = format_topic_values(dissector.name, getters, body.values, self._marking)
        if TYPED in self._slots:
            mark_texts(body.values)
            texts[TYPED] = ""
        if RECORDS in self._slots:
            texts[RECORDS] = format_template_records(dissector, context, body.values, self._marking)
        return texts

    def _add_group(self, draft: _Draft, group: TemplateGroup, rows: Ints) -> None:
        places = group.places
        taken = draft.take(places)
        if self._typed is not None:
            self._typed.add_group(group, rows, taken)
        for slot in self._slots:
            if slot == TYPED:
                continue
            parts = group.match.template.texts[slot]
            if slot in TEXTS:
                draft.texts.setdefault(slot, []).append(build_group_texts(group, slot))
                continue
            constant = [part for part in parts if type(part) is bytes]
            assign, parse = draft.values[slot].assign_number, _PARSERS[slot]
            if len(constant) == len(parts):
                number = np.full(len(places), assign(parse(b"".join(constant))))
            else:
                texts = build_group_texts(group, slot).build_array().dictionary_encode()
                numbers = list(map(assign, map(parse, texts.dictionary.to_pylist())))
                number = np.array(numbers, np.int64)[texts.indices.to_numpy()]
            draft.numbers.setdefault(slot, []).append(number)

    def _add_plain(self, draft: _Draft, places: Ints, rows: Ints) -> None:
        found: dict[str, list[Any]] = {slot: [] for slot in self._slots if slot != TYPED}
        bodies = []
        contexts, keys = list_contexts(self._reader.session, rows)
        getters = [self._topics.find_getters(*context) for context in contexts]
        for number, row, key in zip(rows.tolist(), self._decode_rows(rows), keys.tolist(), strict=True):
            dissector, context = contexts[key]
            bodies.append(row.get("fields"))
            if "error" in row:
                error = row["error"]
                value = None if error is None else (error["code"], escape_surrogates(error["name"]))
                found["error"].append(draft.values["error"].assign_number(value))
            if "findings" in row:
                found["findings"].append(draft.values["findings"].assign_number(_build_findings_key(row["findings"])))
            if "info" in row:
                found["info"].append(row["info"].encode("utf-8", "backslashreplace"))
            if "fields" in found:
                found["fields"].append(self._json.dumps(row["fields"]))
            if TOPICS in found:
                topics = NO_TOPICS
                if dissector is not None and getters[key]:
                    topics = read_topic_values(dissector.name, getters[key], row["fields"])
                found[TOPICS].append(draft.values[TOPICS].assign_number(topics))
            if RECORDS in found:
                found[RECORDS].append(self._format_records(number, dissector, context, row["fields"]))
        taken = draft.take(places)
        if self._typed is not None:
            self._typed.add_bodies(rows, bodies, taken)
        for slot, values in found.items():
            if slot in TEXTS:
                draft.texts.setdefault(slot, []).append(TextPieces.from_texts(values))
            else:
                draft.numbers.setdefault(slot, []).append(np.array(values, np.int64))

    def _format_records(self, row: int, dissector: Dissector | None, context: Context, values: dict[str, Any]) -> bytes:
        if dissector is None or not may_carry_records(dissector, context):
            return b""
        body = Body(values, None)
        return format_records(read_payloads(self._reader.session, self._naming, row, dissector, body, context))

    def _decode_rows(self, rows: Ints) -> Iterator[dict[str, Any]]:
        keys = [slot if slot in BODY_KEYS_IN_ORDER else "fields" for slot in self._slots]
        for part in split_rows(self._reader.session, rows):
            yield from self._reader.read_objects(keys, part)


def _parse_error(text: bytes | str) -> ErrorValue:
    value = orjson.loads(text)
    return None if value is None else (value["code"], value["name"])


def _parse_findings(text: bytes | str) -> FindingValues:
    return _build_findings_key(orjson.loads(text))


def _build_findings_key(findings: Sequence[dict[str, str]]) -> FindingValues:
    return tuple((each["severity"], each["code"], escape_surrogates(each["text"])) for each in findings)


_PARSERS: dict[str, Callable[[bytes | str], Any]] = {
    "error": _parse_error,
    "findings": _parse_findings,
    TOPICS: parse_topic_values,
}
"""Slots of which there are few different values, with what reads one from its text."""


def _finish_draft(draft: _Draft, rows: Ints, typed: pa.Array | None) -> BodyColumns:
    # One slot after the other, so that no two copies of all are there at the same time.
    texts = {slot: concatenate_pieces(draft.texts.pop(slot)).build_array() for slot in list(draft.texts)}
    numbers = {slot: np.concatenate(parts) for slot, parts in draft.numbers.items()}
    errors, findings, topics = (draft.values[slot] for slot in _PARSERS)
    return BodyColumns(rows[np.concatenate(draft.order)], texts, numbers, errors, findings, topics, typed)
