"""The members of jute's records, and of what stands behind a header: a record, or the operations of a multi."""

from __future__ import annotations

from functools import lru_cache, partial

from dissectors.catalog import Member, merge_members
from dissectors.message import Path
from dissectors.wire.members import of_schema
from dissectors.zookeeper.catalog.contents import add_nested_members
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.jute import TYPES
from dissectors.zookeeper.labels import error_name, zxid
from dissectors.zookeeper.schemas import record
from dissectors.zookeeper.tables import table

REST = Member("_rest", "bytes", about="bytes behind the record")
ZXID = Member("zxid", "long", label=zxid)
ERR = Member("err", "int", label=error_name)
_TYPE = Member("type", "string", about="of the operation, by name")


@lru_cache(maxsize=128)
def record_members(name: str) -> tuple[Member, ...]:
    """The members of a record in all versions; KeyError for one that is in no table."""
    return tuple(of_schema(record(name), partial(_refine_member, name)))


def _refine_member(record: str, member: Member, path: Path) -> Member:
    """An int that is given by its name where it has one has an enum for a type."""
    member = add_nested_members(record, member)
    return member if member.type in TYPES or member.members is not None else member._replace(type="string")


def body_members(name: str | None) -> tuple[Member, ...]:
    """The members of what stands behind a header; none for None."""
    if name is None:
        return ()
    if name not in MULTIS:
        return record_members(name)
    rows = table("operations")[MULTIS[name]].values()
    items = [record_members(each) for each in dict.fromkeys(rows) if each is not None]
    return (Member("operations", "struct", True, members=lambda: merge_members((_TYPE, ERR), *items)),)
