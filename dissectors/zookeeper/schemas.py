"""The records and operations of ZooKeeper, made from the tables when first asked for.

Theory. A record's versions are not numbered on the wire: a later release appends fields, and a reader sees by the
remaining bytes whether they are there. So a record with versions is resolved by a length or, if several records are
possible in one place (transactions), by the one that fits exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from dissectors.wire.plan import Plan, resolve
from dissectors.wire.schema import Schema
from dissectors.zookeeper.jute import JUTE
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
