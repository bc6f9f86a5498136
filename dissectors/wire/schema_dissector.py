"""A protocol whose messages are schemas from their first byte to their last: all that follows from these alone.

Theory. A schema determines how a message is decoded to values and to a tree, the names of its fields, and its guide
page. So a protocol with one schema for each operation writes its tables, its header and its pairing, and gets the rest
from here. It overrides methods for anything that a table cannot express.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial

from dissectors.api import Body, Context, Dissector, Framer, Path, Pick, Role, VarintPrefixed
from dissectors.catalog import Catalog, FieldAlias, Layout, Member
from dissectors.errors import TruncatedField
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.guide import Page
from dissectors.wire.emit import values_decoder
from dissectors.wire.field_aliases import Row, load_field_aliases
from dissectors.wire.fields import read_members
from dissectors.wire.first_error import first_nonzero
from dissectors.wire.guide import LayoutEntry, Shelf, entry_data, enum_text, overview
from dissectors.wire.members import of_schema
from dissectors.wire.message import Recipe, fold_tree, read_unframed, values_by
from dissectors.wire.plan import Plan, bits_type, resolve
from dissectors.wire.projection import pick
from dissectors.wire.reader import Reader
from dissectors.wire.schema import FieldSchema, Schema, Versions
from dissectors.wire.summary import Say, Summaries

_UNKNOWN = FieldSpec("message", "undecoded")
ERROR = "error"
"""The enum of fields that report an error where they are not 0."""


def _start(message: bytes) -> int:
    return 0


class SchemaDissector(Dissector):
    """A dissector of messages that have a schema for each operation, by its code.

    framer: how messages are cut out. schemas: of the whole message, also of what stands in front of its body. enums:
    names of numbers; those of ERROR are the errors that messages report. lines: the phrases of an operation's line
    (wire.summary), joined by commas. shortcuts: names for what people ask of any message (wire.field_aliases). version:
    of messages whose Context has none.
    """

    framer: VarintPrefixed
    schemas: Mapping[int, Schema]
    enums: Mapping[str, Mapping[int, str]] = {}
    lines: Mapping[str, Sequence[str]] = {}
    shortcuts: Sequence[Row] = ()
    version: int = 0
    summaries = Summaries()

    def __init__(self) -> None:
        """Makes what can be asked of many messages out of the tables."""
        pages = {each.name: partial(_page, code, each, self.enums) for code, each in self.schemas.items()}
        numbers = {code: each.name for code, each in self.schemas.items()}
        self.guide = Shelf(self.name, lambda: pages, lambda: numbers)
        self.catalog = _SchemaCatalog(self.schemas, self.shortcuts, self.enums.get(ERROR, {}).values())

    def plan(self, context: Context) -> Plan | None:
        """Returns the layout of a message; None where no table has it."""
        schema = None if context.code is None or context.role is Role.RAW else self.schemas.get(context.code)
        if schema is None:
            return None
        return resolve(schema, self.version if context.version is None else context.version)

    def make_framer(self, from_client: bool, opening: bool) -> Framer | None:
        """By the varint in front, where that is the framing."""
        return self.framer

    def values(self, message: bytes, context: Context) -> Body:
        """Returns the fields by the names of the schema."""
        plan = self.plan(context)
        if plan is None or self.framer.size(message) != len(message):
            return fold_tree(self.tree(message, context))
        return values_by(self._recipe(plan), message, context)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Decodes a message to a tree of the same values with their places."""
        plan = self.plan(context)
        tree = read_unframed(message, _read_undecoded if plan is None else partial(read_members, steps=plan.steps))
        declared, there = self.framer.size(message), len(message)
        if declared > there and not any(finding.code == TruncatedField.code for finding in tree.findings):
            error = TruncatedField("message", 0, declared, there)
            tree.findings.append(Finding(Severity.ERROR, error.code, error.text, 0, error.offset))
        return tree

    def error_name(self, code: int) -> str | None:
        """Returns the name of an error code."""
        return self.enums.get(ERROR, {}).get(code)

    def info(self, body: Body, context: Context) -> str:
        """Returns the error, and what the operation's phrases say."""
        reported: list[int] = []
        texts = [text for say in self._line(context.code) if (text := say(body.values, reported))]
        if body.error is not None and body.error[0] not in reported:
            texts.insert(0, body.error[1])
        return ", ".join(texts)

    def operations(self) -> Mapping[int, Schema]:
        """Returns the schemas of operations by their codes."""
        return self.schemas

    def projection(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Returns fields of messages that a table has, up to the last one that is wanted."""
        plan = self.plan(context)
        if plan is None or any(name.startswith("_") for path in paths for name in path):
            return None
        return pick(plan, paths, _start)

    @lru_cache(maxsize=256)  # noqa: B019 - dissectors live as long as the program
    def _recipe(self, plan: Plan) -> Recipe:
        return Recipe(None, _start, values_decoder(plan), first_nonzero(plan, ERROR), self.error_name, self.tree)

    @lru_cache(maxsize=256)  # noqa: B019 - the same
    def _line(self, code: int | None) -> tuple[Say, ...]:
        schema = None if code is None else self.schemas.get(code)
        return () if schema is None else tuple(map(self.summaries.phrase, self.lines.get(schema.name, ())))


def _read_undecoded(reader: Reader) -> None:
    reader.leaf(_UNKNOWN, reader.data[reader.at : reader.end], reader.end)


class _SchemaCatalog(Catalog):
    def __init__(self, schemas: Mapping[int, Schema], shortcuts: Sequence[Row], errors: Collection[str]) -> None:
        self._schemas, self._errors = schemas, errors
        self._field_aliases = load_field_aliases(shortcuts, self._find_members)

    def layouts(self) -> Sequence[Layout]:
        return [Layout(each.name, None, partial(self._members, code)) for code, each in self._schemas.items()]

    def field_aliases(self) -> Sequence[FieldAlias]:
        return self._field_aliases

    def errors(self) -> Collection[str]:
        return self._errors

    @lru_cache(maxsize=256)  # noqa: B019 - the same
    def _members(self, code: int) -> Sequence[Member]:
        return of_schema(self._schemas[code])

    def _find_members(self, role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
        schema = None if code is None else self._schemas.get(code)
        return (None, ()) if schema is None or code is None else (schema.name, self._members(code))


# ---- pages


def _page(code: int, schema: Schema, enums: Mapping[str, Mapping[int, str]]) -> Page:
    entries = tuple(_entry(field, schema.versions) for field in schema.fields)

    def enum(name: str) -> str:
        return enum_text(name, {}, {str(number): label for number, label in enums.get(name, {}).items()})

    lines = [f"{schema.name} ({code})", "", *overview(entries, enum)]
    return Page(lines, {"name": schema.name, "code": code, "fields": [entry_data(each) for each in entries]})


def _entry(field: FieldSchema, around: Versions) -> LayoutEntry:
    notes = [f"behind its length ({field.length})"] if field.length is not None else []
    notes += ["to the end"] if field.until_end or field.type in ("rest", "text") else []
    if field.when is not None:
        name, values = field.when
        notes.append(f"if {name}" if values is None else f"if {name} is {' or '.join(map(str, sorted(values)))}")
    inside = [_entry(each, field.versions) for each in field.fields or ()]
    inside += [LayoutEntry(name, bits_type(mask), about=f"bits {mask:#x}") for name, mask in field.bits]
    return LayoutEntry(
        field.name,
        field.type if field.fields is None else "struct",
        versions=None if field.versions == around else str(field.versions),
        array="array" if field.array else None,
        tag=field.tag,
        enum=field.enum,
        secret=field.secret,
        about="; ".join(notes) or None,
        fields=tuple(inside) or None,
    )
