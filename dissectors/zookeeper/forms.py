"""Bodies behind a header: one record, or the many of a multi.

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
from dissectors.wire.emit import Decode, values_decoder
from dissectors.wire.first_error import First, first_nonzero
from dissectors.wire.plan import Array, LastElement, Leaf, Plan, Step, Struct, Switch
from dissectors.wire.specs import LayoutSpec, Many
from dissectors.zookeeper.jute import BOOLEAN, INT, make_named_int
from dissectors.zookeeper.labels import error_name, load_numbers
from dissectors.zookeeper.schemas import plan_of
from dissectors.zookeeper.tables import table

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
