"""Name bindings of Pulsar: the numbers of producers and consumers, whose names are sent only once.

Theory. A client numbers its producers and its consumers separately on each connection. The command that creates one
names its topic and, for a consumer, the subscription; later commands, above all the messages, have only the number. So
the creating commands bind names, and the others refer to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.api import Context, Role
from dissectors.name_binding import BindingSource, BoundName, NameBinding, NameBindings, Reference
from dissectors.pulsar.commands import commands


class _BindingCommand(NamedTuple):
    """A command that makes something with a number. fields: fields that name what it belongs to, by kind."""

    command: str
    scope: str
    fields: tuple[tuple[str, str], ...]


_CONSUMER = (("topic", "topic"), ("subscription", "subscription"))
_MAKERS = (
    _BindingCommand("PRODUCER", "producer", (("topic", "topic"),)),
    _BindingCommand("SUBSCRIBE", "consumer", _CONSUMER),
    _BindingCommand("SCALABLE_TOPIC_SUBSCRIBE", "consumer", _CONSUMER),
)
_NUMBERED = {"producer_id": ("producer", ("topic",)), "consumer_id": ("consumer", ("topic", "subscription"))}
"""By the field with a number: what is numbered, and the kinds of names that it has."""


@cache
def _find_makers() -> dict[int, _BindingCommand]:
    codes = {command.name: code for code, command in commands().items()}
    return {codes[maker.command]: maker for maker in _MAKERS}


def list_binding_sources() -> Iterator[BindingSource]:
    """Lists the commands that bind a number to a topic or subscription.

    A number may be bound again on another connection.
    """
    kinds = ((kind, code) for code, maker in _find_makers().items() for kind, _ in maker.fields)
    return (BindingSource(kind, code, Role.REQUEST, scoped=True) for kind, code in kinds)


def list_name_bindings(message: BoundName) -> Iterator[NameBinding]:
    """Lists the names that one PRODUCER or SUBSCRIBE binds to its number."""
    code = message.context.code
    maker = None if code is None else _find_makers().get(code)
    if maker is None:
        return
    number = message.values.get(f"{maker.scope}_id")
    for kind, name in maker.fields:
        value = message.values.get(name)
        if type(number) is int and type(value) is str and value:
            yield NameBinding(kind, str(number), value, maker.scope)


@lru_cache(maxsize=128)
def find_references(code: int) -> tuple[Reference, ...]:
    """Finds which fields of a command refer to a bound number.

    None for an unknown command or one that has the names itself.
    """
    command = commands().get(code)
    if command is None or code in _find_makers():
        return ()
    named = (
        (field.name, _NUMBERED[field.name]) for field in command.message.fields.values() if field.name in _NUMBERED
    )
    return tuple(Reference(kind, (name,), scope) for name, (scope, kinds) in named for kind in kinds)


def _list_references(context: Context) -> tuple[Reference, ...]:
    """Numbers of producers and consumers."""
    return () if context.code is None else find_references(context.code)


NAMES = NameBindings(_list_references, list_binding_sources, list_name_bindings)
