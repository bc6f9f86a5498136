"""Catalog of Pulsar's field names: commands, and the parts behind those that carry a payload.

Theory. A command alone determines its layout, independent of the sender, so each has one layout.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Catalog, FieldAlias, Layout, Member, merge_members
from dissectors.pulsar.commands import MESSAGE, SEND, Command, commands, error_codes, library, markers
from dissectors.pulsar.tables import table
from dissectors.wire.field_aliases import load_field_aliases
from dissectors.wire.members import of_message

_REST = Member("_rest", "bytes", about="bytes behind the frame's parts")
_CHUNK = (Member("uuid", "string"), Member("id", "int32"), Member("total", "int32"))
_CHECKSUM = (Member("value", "uint32"), Member("valid", "bool"))


class PulsarCatalog(Catalog):
    """The names of all fields that a filter or a column can ask Pulsar messages for."""

    def layouts(self) -> Sequence[Layout]:
        """Returns one layout for each command type."""
        return _make_layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Topics, subscriptions, producers, and what information lines say beside."""
        return _load_field_aliases()

    def errors(self) -> Collection[str]:
        """Returns the names of the enum ServerError, which filters offer as errors."""
        return error_codes()


@cache
def _make_layouts() -> tuple[Layout, ...]:
    return tuple(Layout(command.name, None, partial(_list_members, command)) for command in commands().values())


def _list_members(command: Command) -> list[Member]:
    found = of_message(command.message)
    return merge_members(found, _list_payload_parts() if command.code in (SEND, MESSAGE) else (), (_REST,))


def _list_payload_parts() -> list[Member]:
    return [
        _make_struct("broker_entry_metadata", "BrokerEntryMetadata"),
        Member("checksum", "struct", members=lambda: _CHECKSUM),
        _make_struct("metadata", "MessageMetadata"),
        Member("encrypted", "bool"),
        Member("chunk", "struct", members=lambda: _CHUNK),
        Member("payload", "bytes", members=_list_payload_members, about="decompressed; of a batch its messages"),
    ]


def _list_payload_members() -> list[Member]:
    """What a payload holds that is more than bytes: a batch, or a marker."""
    each = (_make_struct("metadata", "SingleMessageMetadata"), Member("payload", "bytes"))
    return [
        Member("messages", "struct", True, members=lambda: each),
        Member("as", "string"),
        Member("value", "struct", members=lambda: merge_members(*map(of_message, markers().values()))),
        _REST,
    ]


def _make_struct(name: str, message: str) -> Member:
    return Member(name, "struct", members=lambda: of_message(library().message(message)))


@cache
def _load_field_aliases() -> tuple[FieldAlias, ...]:
    return load_field_aliases(table("field_aliases")["rows"], _find_members)


def _find_members(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    command = commands().get(code) if code is not None else None
    return (None, ()) if command is None else (command.name, _list_members(command))


CATALOG = PulsarCatalog()
