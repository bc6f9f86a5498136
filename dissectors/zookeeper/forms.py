"""What may stand behind a header: one record, or the many of a multi, read by both decoders.

Facts (MultiOperationRecord, MultiResponse). A multi is a run of items, each a MultiHeader (type, done, err) and the
record that belongs to the type; one with `done` ends it. So its layout is data only item by item, and the run is read
by hand, twice: fast to values and careful to fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from struct import Struct
from typing import Any

from dissectors.errors import MalformedField
from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.emit import Decode, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.first_error import First, first_nonzero
from dissectors.wire.plan import Plan, Step
from dissectors.wire.reader import Read, Reader
from dissectors.wire.specs import LayoutSpec, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.jute import BOOLEAN, INT, make_named_int
from dissectors.zookeeper.labels import error_name, load_names, load_numbers
from dissectors.zookeeper.schemas import plan_of
from dissectors.zookeeper.tables import table

_ITEM = Struct(">i?i")
_OPERATIONS = Many("operations", "array")
_END = LayoutSpec("end", "struct")
_TYPE = FieldSpec("type", "int")
_DONE = LayoutSpec("done", "boolean")
_ERR = FieldSpec("err", "int")
_REPORTED_ERR = FieldSpec("err", "int", error_name)
_ERROR = -1
_REQUEST = "multiRequest"
MULTIS = {"Multi": _REQUEST, "MultiResponse": "multiResponse"}
"""What stands for many records, and the table of these."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordForm:
    """`read`: to values, from the head on. `unfold`: to fields, behind it. `first_error`: in the values, or 0."""

    read: Decode
    unfold: Read
    first_error: First


@lru_cache(maxsize=256)
def find_form(name: str | None, head: tuple[Step, ...] = ()) -> RecordForm:
    """Returns the form of a record, of a multi, or (None) of nothing, behind the members of a head."""
    if name in MULTIS:
        return _multi(MULTIS[name], head)
    return make_form(() if name is None else plan_of(name).steps, head)


def make_form(steps: tuple[Step, ...], head: tuple[Step, ...] = ()) -> RecordForm:
    """Makes the form of a plan's steps."""
    whole = Plan("form", 0, (*head, *steps))
    return RecordForm(values_decoder(whole), partial(read_members, steps=steps), first_nonzero(whole, "error"))


def _multi(kind: str, head: tuple[Step, ...]) -> RecordForm:
    before = Plan("head", 0, head)
    read = partial(_multi_values, kind=kind, head=values_decoder(before))
    return RecordForm(
        read, partial(_multi_fields, kind=kind), partial(_first_error, head=first_nonzero(before, "error"))
    )


@cache
def _types(kind: str) -> Mapping[int, Plan | None]:
    """The record of each type of item; None for none."""
    rows = table("operations")[kind].items()
    return {load_numbers("operation")[name]: None if record is None else plan_of(record) for name, record in rows}


@cache
def _readers(kind: str) -> Mapping[int, tuple[str, Decode | None]]:
    known = load_names("operation")
    return {code: (known[code], None if plan is None else values_decoder(plan)) for code, plan in _types(kind).items()}


def _multi_values(d: bytes, p: int, budget: Budget, kind: str, head: Decode) -> tuple[dict[str, Any], int]:
    values, p = head(d, p, budget)
    readers = _readers(kind)
    operations: list[dict[str, Any]] = []
    while True:
        code, done, err = _ITEM.unpack_from(d, p)
        p += 9
        if done:
            break
        if code not in readers:
            raise Unfit
        name, read = readers[code]
        item = {"type": name, "err": err}
        if read is not None:
            members, p = read(d, p, budget)
            item |= members
        operations.append(item)
    values["operations"] = operations
    return values, p


def _first_error(values: dict[str, Any], head: First) -> int:
    if "err" not in values:  # a request
        return 0
    return head(values) or next((item["err"] for item in values["operations"] if item["err"]), 0)


def _multi_fields(reader: Reader, kind: str) -> None:
    types, index, done = _types(kind), 0, False
    reader.enter(_OPERATIONS)
    while not done:
        reader.need(_ITEM.size, reader.at, f"[{index}]")
        done = reader.data[reader.at + 4] != 0
        reader.enter(_END if done else element(index, "struct"))
        at = reader.at
        code = INT.layout.unpack_from(reader.data, at)[0]
        reader.take(_TYPE, make_named_int("operation"))
        reader.take(_DONE, BOOLEAN)
        reports = not done and kind != _REQUEST and code != _ERROR  # an error's own record says it again
        reader.take(_REPORTED_ERR if reports else _ERR, INT)
        if not done:
            if code not in types:
                raise MalformedField(reader.path("type"), at, f"is {code}, which is none of this list")
            plan = types[code]
            if plan is not None:
                read_members(reader, plan.steps)
        reader.leave()
        index += 1
    reader.leave()
