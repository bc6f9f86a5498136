"""Catalog of the field names of client messages, and of the records in all messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache, partial

from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, FieldAlias, Layout, Member, holding, merge_members
from dissectors.message import Path
from dissectors.wire.field_aliases import aliases_of, load_field_aliases
from dissectors.wire.members import of_schema
from dissectors.zookeeper.four_letter_commands import WORD, size_of, words
from dissectors.zookeeper.header import CONNECT
from dissectors.zookeeper.labels import error_name, load_names, zxid
from dissectors.zookeeper.nested import RECONFIG
from dissectors.zookeeper.schemas import MULTIS, TYPES, operations, record
from dissectors.zookeeper.tables import table

_EVENT = 0


class ZooKeeperCatalog(Catalog):
    """The field names of ZooKeeper's messages: operations, connecting, events and four-letter words."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts by opcode, then those of messages without an opcode."""
        return _list_client_layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Returns the field aliases of clients: paths and versions."""
        return _list_client_aliases()

    def aliases(self) -> Mapping[str, Alias]:
        """Returns the alias for the session, which is a column of the list."""
        return aliases_of("zookeeper", table("field_aliases")["zookeeper"])

    def errors(self) -> Collection[str]:
        """Returns the names of the errors of every release."""
        return load_names("error").values()


@cache
def _list_client_layouts() -> tuple[Layout, ...]:
    roles = (Role.REQUEST, Role.RESPONSE)
    coded = (
        Layout(each.name, role, partial(members_of, code, role))
        for code, each in operations().items()
        for role in roles
        if code != _EVENT
    )
    event = Layout(operations()[_EVENT].name, None, partial(members_of, _EVENT, Role.PUSH))
    connect = (Layout(CONNECT, role, partial(_connect, role)) for role in roles)
    commands = (Layout(word, role, partial(_word, word, role)) for word in words().values() for role in roles)
    return (*coded, event, *connect, *commands)


def members_of(code: int, role: Role) -> list[Member]:
    """Returns the members of a message of an opcode; KeyError for an unknown one."""
    operation = operations()[code]
    if code == _EVENT:
        return [ZXID, *body_members(operation.response), REST]
    if role is Role.RESPONSE:
        members = body_members(operation.response)
        return merge_members(
            (ZXID, ERR), map(add_configuration_members, members) if code == RECONFIG else members, (REST,)
        )
    return [*body_members(operation.request), REST]


def _connect(role: Role) -> list[Member]:
    """A server that refuses answers with a bare header."""
    if role is Role.REQUEST:
        return [*record_members("ConnectRequest"), REST]
    return [*record_members("ConnectResponse"), ZXID, ERR, REST]


def _word(word: str, role: Role) -> list[Member]:
    if role is Role.RESPONSE:
        return list(ANSWER)
    return [Member("traceMask", "long")] if size_of(word) > WORD else []


@cache
def _list_client_aliases() -> tuple[FieldAlias, ...]:
    return load_field_aliases(table("field_aliases")["zookeeper"], _list_operation_members)


def _list_operation_members(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    known = operations().get(code) if code is not None else None
    return (None, ()) if known is None else (known.name, members_of(known.code, role))


CATALOG = ZooKeeperCatalog()


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
