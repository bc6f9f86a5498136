"""Catalog of the field names of client messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, FieldAlias, Layout, Member, merge_members
from dissectors.wire.field_aliases import aliases_of, load_field_aliases
from dissectors.zookeeper.catalog.records import (
    ANSWER,
    ERR,
    REST,
    ZXID,
    add_configuration_members,
    body_members,
    record_members,
)
from dissectors.zookeeper.four_letter_commands import WORD, size_of, words
from dissectors.zookeeper.header import CONNECT
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.nested import RECONFIG
from dissectors.zookeeper.schemas import operations
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
