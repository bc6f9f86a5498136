"""The fields of ZooKeeper's records, and of the content that some of these fields hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

from dissectors.catalog import Member, holding, merge_members
from dissectors.message import Path
from dissectors.wire.members import of_schema
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
    """Returns the members of a record in all versions; KeyError for one that is in no table."""
    return tuple(of_schema(record(name), partial(_refine_member, name)))


def _refine_member(record: str, member: Member, path: Path) -> Member:
    """An int that is given by its name where it has one has an enum for a type."""
    member = add_nested_members(record, member)
    return member if member.type in TYPES or member.members is not None else member._replace(type="string")


def body_members(name: str | None) -> tuple[Member, ...]:
    """Returns the members of the record after a header; none for None."""
    if name is None:
        return ()
    if name not in MULTIS:
        return record_members(name)
    rows = table("operations")[MULTIS[name]].values()
    items = [record_members(each) for each in dict.fromkeys(rows) if each is not None]
    return (Member("operations", "struct", True, members=lambda: merge_members((_TYPE, ERR), *items)),)


_DIGEST = ("realm", "qop", "algorithm", "charset", "cipher", "username", "digest-uri", "nc", "authzid", "stale")
_DIGEST_SECRETS = ("nonce", "cnonce", "response", "rspauth")
_TOKEN = (*(Member(name, "string") for name in (*_DIGEST, *_DIGEST_SECRETS)), Member("maxbuf", "long"))
_CREDENTIALS = (Member("user", "string"), Member("password", "string"))
_SERVER = (
    Member("sid", "long"),
    Member("addresses", "string", True),
    Member("role", "string"),
    Member("client", "string"),
)
_CONFIGURATION = (
    Member("servers", "struct", True, members=lambda: _SERVER),
    Member("version", "long", about="the zxid since which it holds"),
)
_HOLDERS: Mapping[tuple[str, str], tuple[Member, ...]] = {
    **{(record, "token"): _TOKEN for record in ("GetSASLRequest", "SetSASLResponse", "QuorumAuthPacket")},
    ("AuthPacket", "auth"): _CREDENTIALS,
}

ANSWER = (Member("text", "string"), Member("values", "struct", open=True, about="what its lines say, by name"))
"""What answers a four-letter word."""


def add_nested_members(record: str, member: Member) -> Member:
    """A member of a record, with what its bytes may hold. Tokens of other mechanisms have other names in them."""
    inside = _HOLDERS.get((record, member.name))
    return member if inside is None else holding(member, lambda: inside, inside is _TOKEN)


def add_configuration_members(member: Member) -> Member:
    """Returns a member of the answer to a new configuration."""
    return holding(member, lambda: _CONFIGURATION, True) if member.name == "data" else member
