"""The records and operations of ZooKeeper, made from the tables when first asked for; jute, their encoding.

Theory. A record's versions are not numbered on the wire: a later release appends fields, and a reader sees by the
remaining bytes whether they are there. So a record with versions is resolved by a length or, if several records are
possible in one place (transactions), by the one that fits exactly.

Facts (BinaryInputArchive). Everything is big-endian and nothing is tagged. A ustring (UTF-8), a buffer and a vector
have an int in front, and -1 is null everywhere. A record has nothing around it among its parent's fields.

Facts (MultiOperationRecord, MultiResponse). A multi is a run of items, each a MultiHeader (type, done, err) and the
record that belongs to the type; one with `done` ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

from dissectors.errors import MalformedField
from dissectors.field import FieldSpec
from dissectors.wire.dialect import Dialect, SizedBytes
from dissectors.wire.emit import Decode, values_decoder
from dissectors.wire.first_error import First, first_nonzero
from dissectors.wire.plan import Array, LastElement, Leaf, Plan, Step, Struct, Switch, resolve
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.wire.schema import Schema
from dissectors.wire.specs import LayoutSpec, Many
from dissectors.zookeeper.labels import error_name, labels, load_names, load_numbers
from dissectors.zookeeper.nested.content import SECRET_SCHEMES
from dissectors.zookeeper.tables import table


@dataclass(frozen=True, slots=True)
class ZooKeeperOperation:
    """An opcode: its name, the records of request and response, and those that its transaction may have.

    response_on_error: whether a response may stand behind an error too.
    """

    code: int
    name: str
    request: str | None
    response: str | None
    txn: tuple[str | None, ...]
    response_on_error: bool
    versions: None = None


@cache
def operations() -> Mapping[int, ZooKeeperOperation]:
    """Returns all operations by opcode."""
    return {
        row["code"]: ZooKeeperOperation(
            row["code"],
            row["name"],
            row.get("request"),
            row.get("response"),
            tuple(row.get("txn", ())),
            row.get("responseWithError", False),
        )
        for row in table("operations")["operations"]
    }


@lru_cache(maxsize=128)
def record(name: str) -> Schema:
    """Returns a record by its name; KeyError for one that is in no table."""
    fields = [_field(row) for row in table("records")["records"][name]]
    newest = max(int(field.get("versions", "0").rstrip("+")) for field in fields)
    return Schema.parse(name, {"versions": f"0-{newest}", "fields": fields}, JUTE)


def plan_of(name: str, version: int | None = None) -> Plan:
    """Returns the plan of a record in a version, by default its newest."""
    schema = record(name)
    return resolve(schema, schema.versions.high if version is None else version)


@lru_cache(maxsize=64)
def plan_by_size(name: str, size: int) -> Plan:
    """The plan of a record of fixed width in the newest version that is not longer than `size`, else in its first."""
    schema = record(name)
    versions = range(schema.versions.high, -1, -1)
    fitting = (version for version in versions if width(resolve(schema, version)) <= size)
    return resolve(schema, next(fitting, 0))


@lru_cache(maxsize=128)
def begins_with_path(code: int | None) -> bool:
    """Returns whether the body of a request of this opcode begins with a path."""
    known = operations().get(code) if code is not None else None
    if known is None or known.request not in table("records")["records"]:
        return False
    fields = record(known.request).fields
    return bool(fields) and fields[0].name == "path"


def width(plan: Plan) -> int:
    """Returns the fewest bytes of a record, which for one of fixed width are all."""
    return sum(step.minimum for step in plan.steps)


def _field(row: list[Any]) -> dict[str, Any]:
    """A row of a schema as dissectors.wire.schema wants it; the fields of a record stand within."""
    name, kind, *more = row
    field = {"name": name, "type": kind, "nullable": "0+", **(more[0] if more else {})}
    members = table("records")["records"].get(kind.removeprefix("[]"))
    if members is not None:
        field["fields"] = [_field(member) for member in members]
        if not kind.startswith("[]"):
            del field["nullable"]
    return field


LENGTH = Length("int", "i")
INT, LONG, BOOLEAN = FixedWidth("int", "i"), FixedWidth("long", "q"), FixedWidth("boolean", "?")
USTRING, BUFFER = SizedBytes("ustring", LENGTH, True, bytes.decode), SizedBytes("buffer", LENGTH, True)

TYPES = {each.type: each for each in (INT, LONG, BOOLEAN, USTRING, BUFFER)}
"""By name; any other is an int that has names."""


@cache
def make_named_int(enum: str) -> FixedWidth:
    """Makes the type of an int whose values may have names."""
    found = load_names(enum)
    return FixedWidth("int", "i", lambda number: found.get(number, number))


JUTE = Dialect(
    primitive=lambda name, flexible, nullable: TYPES.get(name) or make_named_int(name),
    count=lambda flexible: LENGTH,
    presence=lambda tagged: LENGTH,
    array=lambda flexible, nullable: "array",
    labels=labels,
    sensitive=lambda scheme: scheme in SECRET_SCHEMES,
)


_ERR = Leaf(FieldSpec("err", "int"), INT)
_REPORTED_ERR = Leaf(FieldSpec("err", "int", error_name), INT)
_ERROR = -1
_REQUEST = "multiRequest"
MULTIS = {"Multi": _REQUEST, "MultiResponse": "multiResponse"}
"""What stands for many records, and the table of these."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordForm:
    """`steps`: the layout behind the head. `read`: to values, from the head on. `first_error`: in these, or 0."""

    steps: tuple[Step, ...]
    read: Decode
    first_error: First


@lru_cache(maxsize=256)
def find_form(name: str | None, head: tuple[Step, ...] = ()) -> RecordForm:
    """Returns the form of a record, of a multi, or (None) of nothing, behind the members of a head."""
    steps = find_steps(name)
    first_error = first_nonzero(Plan("head", 0, head), "error")
    return make_form(steps, head, partial(find_first_error, head=first_error) if name in MULTIS else None)


def make_form(steps: tuple[Step, ...], head: tuple[Step, ...] = (), first_error: First | None = None) -> RecordForm:
    """Makes the form of a plan's steps."""
    whole = Plan("form", 0, (*head, *steps))
    return RecordForm(steps, values_decoder(whole), first_error or first_nonzero(whole, "error"))


def find_steps(name: str | None) -> tuple[Step, ...]:
    """Returns the layout of a record, of a multi, or (None) of nothing."""
    return () if name is None else _multi(MULTIS[name]) if name in MULTIS else plan_of(name).steps


@cache
def _multi(kind: str) -> tuple[Step, ...]:
    head = (
        Leaf(FieldSpec("type", "int"), make_named_int("operation")),
        Leaf(LayoutSpec("done", "boolean"), BOOLEAN),
    )
    rows = table("operations")[kind].items()
    items = {
        code: _make_item(kind, code, () if record is None else plan_of(record).steps)
        for code, record in ((load_numbers("operation")[name], record) for name, record in rows)
    }
    choose = partial(_choose_item, items, _make_item(kind, None, (Switch(_refuse_item),)))
    item = Struct(FieldSpec("", "struct"), (*head, Switch(choose, INT.size + BOOLEAN.size)))
    last = LastElement(Struct(LayoutSpec("end", "struct"), (*head, _ERR)), INT.size)
    return (Array(Many("operations", "array"), None, False, item, last),)


def _make_item(kind: str, code: int | None, record: tuple[Step, ...]) -> Plan:
    """What stands behind type and done. An error's own record says it again."""
    reports = kind != _REQUEST and code != _ERROR
    return Plan("item", 0, (_REPORTED_ERR if reports else _ERR, *record))


def _choose_item(
    items: Mapping[int, Plan], unknown: Plan, data: bytes, at: int, end: int, path: Callable[[str], str]
) -> Plan:
    return items.get(INT.layout.unpack_from(data, at - BOOLEAN.size - INT.size)[0], unknown)


def _refuse_item(data: bytes, at: int, end: int, path: Callable[[str], str]) -> Plan:
    at -= INT.size + BOOLEAN.size + INT.size
    raise MalformedField(path("type"), at, f"is {INT.layout.unpack_from(data, at)[0]}, which is none of this list")


def find_first_error(values: dict[str, Any], head: First) -> int:
    """Returns the error of a multi: the one that `head` finds in its header, or else the first one of its items."""
    if "err" not in values:  # a request
        return 0
    return head(values) or next((item["err"] for item in values["operations"] if item["err"]), 0)
