"""What Pulsar's messages may be asked, by name: commands, and what follows those that carry a payload.

Theory. A command tells by itself how it is read, whoever sends it, so each has one layout.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Catalog, FieldAlias, Layout, Member, merged
from dissectors.pulsar.commands import MESSAGE, SEND, Command, commands, library, markers
from dissectors.pulsar.labels import error_codes
from dissectors.pulsar.tables import table
from dissectors.wire.field_aliases import load_field_aliases
from dissectors.wire.members import of_message

_REST = Member("_rest", "bytes", about="bytes behind the frame's parts")
_CHUNK = (Member("uuid", "string"), Member("id", "int32"), Member("total", "int32"))
_CHECKSUM = (Member("value", "uint32"), Member("valid", "bool"))


class PulsarCatalog(Catalog):
    """All commands."""

    def layouts(self) -> Sequence[Layout]:
        """By type."""
        return _layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Topics, subscriptions, producers, and what information lines say beside."""
        return _field_aliases()

    def errors(self) -> Collection[str]:
        """The names of ServerError."""
        return error_codes()


@cache
def _layouts() -> tuple[Layout, ...]:
    return tuple(Layout(command.name, None, partial(_members, command)) for command in commands().values())


def _members(command: Command) -> list[Member]:
    found = of_message(command.message)
    return merged(found, _payload_part() if command.code in (SEND, MESSAGE) else (), (_REST,))


def _payload_part() -> list[Member]:
    return [
        _struct("broker_entry_metadata", "BrokerEntryMetadata"),
        Member("checksum", "struct", members=lambda: _CHECKSUM),
        _struct("metadata", "MessageMetadata"),
        Member("encrypted", "bool"),
        Member("chunk", "struct", members=lambda: _CHUNK),
        Member("payload", "bytes", members=_payload, about="decompressed; of a batch its messages"),
    ]


def _payload() -> list[Member]:
    """What a payload holds that is more than bytes: a batch, or a marker."""
    each = (_struct("metadata", "SingleMessageMetadata"), Member("payload", "bytes"))
    return [
        Member("messages", "struct", True, members=lambda: each),
        Member("as", "string"),
        Member("value", "struct", members=lambda: merged(*map(of_message, markers().values()))),
        _REST,
    ]


def _struct(name: str, message: str) -> Member:
    return Member(name, "struct", members=lambda: of_message(library().message(message)))


@cache
def _field_aliases() -> tuple[FieldAlias, ...]:
    return load_field_aliases(table("field_aliases")["rows"], _asked)


def _asked(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    command = commands().get(code) if code is not None else None
    return (None, ()) if command is None else (command.name, _members(command))


CATALOG = PulsarCatalog()
