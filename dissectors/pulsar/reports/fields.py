"""Subscriptions of Pulsar's reports and checks: commands by name, and the fields that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.correlator import BoundedTable, Handler, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.message import Path, Role
from dissectors.pulsar.commands import commands
from dissectors.pulsar.tables import table
from dissectors.table_check import TableCheck

PULSAR = "pulsar"

NO_NUMBER = 0xFFFF_FFFF_FFFF_FFFF
"""-1 as an id: of a message that the broker knew already and did not write again, and of no request."""

Place = tuple[int, int]
"""Ledger and entry. Within a topic a greater place is a later one (PositionImpl.compareTo)."""


@cache
def command_codes() -> Mapping[str, int]:
    """Returns the types of commands by name."""
    return {command.name: code for code, command in commands().items()}


def subscribe_to(
    names: str, handle: Handler, *paths: str | Path, roles: Iterable[Role] = tuple(Role)
) -> dict[MessageKind, Subscription]:
    """Subscribes a handler to commands (names with spaces between) in some roles; paths: the fields that it reads."""
    kinds = [(PULSAR, command_codes()[name], role) for name in names.split() for role in roles]
    return subscribe(kinds, handle, ((path,) if isinstance(path, str) else path for path in paths))


def read_text(values: Mapping[str, Any], name: str) -> str | None:
    """Returns a text or the name of an enum's value; None if there is none."""
    found = values.get(name)
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) else None


def read_place(value: object) -> Place | None:
    """Returns the place of a message from its MessageIdData, or None."""
    if not isinstance(value, dict):
        return None
    ledger, entry = value.get("ledgerId"), value.get("entryId")
    return (ledger, entry) if isinstance(ledger, int) and isinstance(entry, int) else None


class ProxiedBrokers:
    """The broker to which a proxy connects each connection, as CONNECT says; bounded."""

    def __init__(self) -> None:
        self._urls: BoundedTable[int, str] = BoundedTable()

    def connect(self, event: MessageEvent) -> None:
        """Notes to which broker a CONNECT asks a proxy to lead."""
        url = read_text(event.values, "proxy_to_broker_url")
        if url is not None:
            self._urls[event.stream] = url

    def find_broker(self, stream: int) -> str | None:
        """Returns the broker behind a proxy; None without a proxy."""
        return self._urls.get(stream)


class PulsarCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    table = staticmethod(table)


def name_producer(number: int, topic: str | None) -> str:
    """Returns the name of a producer for sentences."""
    return f"producer {number}" + (f" of {topic}" if topic else "")


def name_consumer(number: int, values: Mapping[str, Any]) -> str:
    """Returns the name of a consumer for sentences, from its SUBSCRIBE."""
    names = [(key, read_text(values, key)) for key in ("subscription", "topic")]
    return ", ".join([f"consumer {number}", *(f"{key} {name}" for key, name in names if name is not None)])
