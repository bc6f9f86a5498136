"""Symbolic values of Kafka's messages, for templates.

Theory. Correlation and client ids are in the header and not part of the body. If a topic's records may be a
coordinator's, the records of each partition are one value. An answer without a request is guessed once for all answers
like it.

Theory. The rules of bytes fields (nested/rules.py) look at the bytes of a field, so other messages must have the same
bytes: get() specialises them. If the version at their beginning is all that the rules decide by, only the version must
be the same, and the structure is read as the message around it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.finding import Finding
from dissectors.kafka.body import find_usual_recipe
from dissectors.kafka.nested.payload_detection import VERSION, DetectedPayload, NestedDecoder, Structure
from dissectors.kafka.nested.rules import (
    RECORDS,
    TOPIC_ID,
    Hints,
    RecordSite,
    list_sites,
    modules_by,
    topic_key,
    unfold_partition,
    unfold_sites,
)
from dissectors.kafka.nested.values import VALUES, ValueAccess, may_tell
from dissectors.kafka.reading import API_VERSIONS, body_plan, reading_of
from dissectors.kafka.records.template import read_many, read_records
from dissectors.symbolic import MessageTemplate, NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Bytes, Extent, NestedValue, ReadMany, Term, plain
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import error_of
from dissectors.wire.plan import Plan
from dissectors.wire.template import Cursor, template_members

_SIZE = Term(0, 4, "i")
_CLIENT_SIZE = Term(12, 2, "h")
_CORRELATION = {False: slice(8, 12), True: slice(4, 8)}
"""By whether it is a response."""


def template(message: bytes, context: Context, request: object = None) -> MessageTemplate | None:
    """Returns the message template of a frame; None for a frame that must be decoded by itself."""
    key, version, response = context.code, context.version, context.role is Role.RESPONSE
    doubts: tuple[Finding, ...] = ()
    if response and key is None:
        _, key, version, doubts, *_ = reading_of(message, context)
    if key is None or version is None or context.role is Role.RAW:
        return None
    plan, recipe = body_plan(key, version, response), find_usual_recipe(key, version, response, None)
    if plan is None or recipe is None or int.from_bytes(message[:4]) + 4 != len(message):
        return None
    is_versions_answer = response and context.code == API_VERSIONS
    if is_versions_answer and reading_of(message, context).plan is not plan:
        return None
    try:
        builder = TemplateBuilder(message)
        values = _read_values(builder, plan, recipe.start(message), response)
        if _may_unfold(values, key, response):
            builder = TemplateBuilder(message, divides=False)
            values = _read_values(builder, plan, recipe.start(message), response)
            _unfold_records(values, RECORDS[key, response])
        if is_versions_answer:
            builder.pin(8, 10)  # the error, which may mean another layout
        if list_sites(plan.name):
            _unfold_template(builder, values, plan.name, (context.code is not None and context.extra) or {})
        if context.code is not None and recipe.expert_info is not None:
            doubts = recipe.expert_info.symbolic(values)
        return MessageTemplate(builder, Body(values, error_of(recipe.first_error(values), recipe.error_name), doubts))
    except (NotTemplatable, *FAILURES):
        return None


def _read_values(builder: TemplateBuilder, plan: Plan, start: int, response: bool) -> dict[str, Any]:
    """Reads a body that begins at `start` and takes the rest of the message."""
    _open_header(builder, start, response)
    cursor = Cursor(builder, start, len(builder.data))
    values = template_members(cursor, plan)
    if cursor.at != cursor.end:
        raise NotTemplatable
    return values


def _open_header(builder: TemplateBuilder, start: int, response: bool) -> None:
    """Size, correlation and client may differ; a request's header of version 0 has no client."""
    builder.encloses(_SIZE, 0, 4, len(builder.data))
    correlation = _CORRELATION[response]
    builder.leave_open(correlation.start, correlation.stop)
    if not response and start > _CLIENT_SIZE.at:
        size = int.from_bytes(builder.data[12:14], signed=True)
        if size > 0:
            builder.bytes(Extent(_CLIENT_SIZE, 0, 14, 14 + size))


def _iterate_topics(values: dict[str, Any], site: RecordSite) -> Iterator[tuple[str | None, bool, list[Any]]]:
    """Yields whose each topic is, whether its records may tell that, and its partitions."""
    for topic in values[site.topics]:
        key = topic_key(topic)
        yield modules_by(key).get(topic[key]), site.by_content and key == TOPIC_ID, topic[site.partitions]


def _may_unfold(values: dict[str, Any], key: int, response: bool) -> bool:
    """Whether there are records that might be a coordinator's; what that depends on must be the same."""
    site = RECORDS.get((key, response))
    return site is not None and any(
        module is not None or (by_content and any(_may_tell(part[site.field]) for part in partitions))
        for module, by_content, partitions in _iterate_topics(values, site)
    )


def _unfold_records(values: dict[str, Any], site: RecordSite) -> None:
    """Unfolds records fields, each of which is one value: a coordinator's, and those whose content may tell that."""
    for module, by_content, partitions in _iterate_topics(values, site):
        for part in partitions if module is not None or by_content else ():
            entries = part[site.field]
            if type(entries) is NestedValue:
                entries.read = _read_unfolded(site, module, by_content)
                (entries.value,) = entries.read([entries.builder.data[entries.extent.begin : entries.extent.end]], [()])


@cache
def _read_unfolded(site: RecordSite, module: str | None, by_content: bool) -> ReadMany:
    """Returns a reader of records fields that also unfolds them, as nested/values.py does."""

    def read_unfolded(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
        found = read_many(contents, numbers)
        for entries in found:
            if entries and (module is not None or may_tell(entries)):
                unfold_partition(VALUES, {site.field: entries}, site, module, by_content)
        return found

    return read_unfolded


def _may_tell(entries: Any) -> bool:
    """Implements may_tell() for all messages that match."""
    if type(entries) is NestedValue:
        entries.read = _read_plain_entries
        return may_tell(entries.value)
    for entry in entries or ():
        if type(entry["records"]) is NestedValue:
            entry["records"].read = _untelling_records
            if _may_be_coordinator(entry["records"].value[0]["key"]):
                return True
    return False


def _read_plain_entries(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
    return [None if entries is None or may_tell(entries) else entries for entries in read_many(contents, numbers)]


def _untelling_records(contents: Sequence[bytes], heads: Sequence[tuple[int, ...]]) -> list[Any]:
    found = read_records(contents, heads)
    return [None if records is None or _may_be_coordinator(records[0]["key"]) else records for records in found]


def _may_be_coordinator(key: bytes | None) -> bool:
    """Whether a key begins as all types of coordinators' keys do."""
    return key is not None and key[:1] == b"\0"


class _SymbolicAccess(ValueAccess):
    """Access to symbolic values. Raises NotTemplatable, and what Cursor raises."""

    def __init__(self, builder: TemplateBuilder) -> None:
        self._builder = builder

    def get(self, struct: dict[str, Any], name: str) -> object:
        """Returns a plain value; other messages must now have the same bytes."""
        return plain(struct.get(name))

    def attach_structure(self, struct: dict[str, Any], name: str, fit: DetectedPayload, hints: Hints) -> None:
        """Unfolds the bytes `name`: symbolically behind a version, else as they are."""
        data: object = struct[name]
        plan = _find_open_plan(fit.decoder)
        if type(data) is not Bytes or plan is None:
            struct[name] = plain(data)
            VALUES.attach_structure(struct, name, fit, hints)
            return
        shown: Any = self._builder.open_bytes(data)
        cursor = Cursor(self._builder, data.extent.begin, data.extent.end)
        values = template_members(cursor, plan)
        if cursor.at != cursor.end:
            raise NotTemplatable
        values[VERSION.spec.name] = plain(values[VERSION.spec.name])
        unfold_sites(self, values, fit.decoder.name, hints)
        struct[name] = EmbeddedValue(shown, values, fit.decoder.name)

    def hide(self, struct: dict[str, Any], name: str) -> None:
        """Gives up, because a secret is hidden in each message by itself."""
        raise NotTemplatable


def _find_open_plan(decoder: NestedDecoder) -> Plan | None:
    """Returns the plan of a structure that is chosen by the version at its beginning alone."""
    if not isinstance(decoder, Structure) or decoder.newer or decoder.framed or decoder.body is not None:
        return None
    return decoder.head if decoder.head.steps[0] is VERSION else None


def _unfold_template(builder: TemplateBuilder, values: dict[str, Any], name: str, hints: Hints) -> None:
    """Unfolds the bytes fields, other than records, in the symbolic values of a message. Raises NotTemplatable."""
    if any(site.may_be_secret is not None for site in list_sites(name)):
        raise NotTemplatable
    unfold_sites(_SymbolicAccess(builder), values, name, hints)
