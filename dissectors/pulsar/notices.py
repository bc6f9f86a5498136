"""What is wrong in one message, or will be: producers and consumers that are refused or closed, frames too large.

Facts. A broker takes frames up to maxMessageSize (5 MiB by default, Commands.DEFAULT_MAX_MESSAGE_SIZE) and 10 KiB for
what stands around the message (MESSAGE_SIZE_FRAME_PADDING), length prefix included; CONNECTED tells clients of another
bound, and they take as much. Both close the connection instead of reading a larger frame. CLOSE_PRODUCER and
CLOSE_CONSUMER come from brokers that unload, delete or terminate a topic, or that have had enough of a client; newer
ones name the broker that has it now. A SEEK closes the subscription's consumers, too (PersistentSubscription,
resetCursor). An ACK with a validation_error is that of a message that the client library dropped. tables/notices.json
has the sentences.

Values may have holes (dissectors.holes), and they may lack anything, for the message may break anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.finding import Finding, Severity
from dissectors.pulsar.commands import Command
from dissectors.pulsar.header import NO_ID
from dissectors.pulsar.tables import table
from dissectors.wire.specs import members

MAX_MESSAGE = 5 * 1024 * 1024
PADDING = 10 * 1024
LIMIT = MAX_MESSAGE + PADDING
"""Bytes of a frame, its first size among them, that are taken by default."""

SIZE = 4
"""Bytes of that size, which does not count itself."""

UNKNOWN = "?"

Say = Callable[[Mapping[str, Any], Context], Iterator[Finding]]


def of_values(command: Command | None, values: Mapping[str, Any], context: Context, size: Any) -> tuple[Finding, ...]:
    """What there is to say of a message; `size`: the number that its frame begins with."""
    found = _large(size) if size > LIMIT - SIZE else ()
    if command is None:
        return found
    if command.error is not None and command.error in values:
        return (*found, *_refusal(values, command.error))
    say = _SAID.get(command.name)
    return found if say is None else (*found, *say(values, context))


def of_tree(command: Command | None, tree: Tree, context: Context) -> tuple[Finding, ...]:
    """The same of a tree, whose first nodes are the frame's size, the command's, and the command."""
    if not tree.fields or not isinstance(tree.fields[0].value, int):
        return ()
    speaks = command is not None and (command.error is not None or command.name in _SAID)
    values = members(tree.fields[2:3]) if speaks else {}
    return of_values(command, values, context, tree.fields[0].value)


def _large(size: int) -> tuple[Finding, ...]:
    text = table("notices")["large"].format(size=size + SIZE, limit=LIMIT)
    return (Finding(Severity.NOTE, "oversized-frame", text),)


def _refusal(values: Mapping[str, Any], field: str) -> Iterator[Finding]:
    """Of an error that has more to it than its name; those of numbers without a name have not."""
    error = values[field]
    if isinstance(error, str) and error in table("notices")["errors"]:
        code, severity, text = table("notices")["errors"][error]
        yield Finding(Severity[severity.upper()], code, text.format(where=_where(values)))


def _where(values: Mapping[str, Any]) -> str:
    """What was refused, by the numbers that the answer repeats; one that none has ever had is that of a connection."""
    if values.get("request_id") == NO_ID:
        return "the connection"
    places = (("request", "request_id"), ("producer", "producer_id"), ("sequence", "sequence_id"))
    return ", ".join(f"{word} {values[name]}" for word, name in places if name in values) or "its number is lost"


def _waiting(values: Mapping[str, Any], context: Context) -> Iterator[Finding]:
    if values.get("producer_ready", True) is False:
        text = table("notices")["waits"].format(name=_text(values, "producer_name") or UNKNOWN, where=_where(values))
        yield Finding(Severity.NOTE, "busy-producer", text)


def _closed(what: str) -> Say:
    """Of a producer or consumer that the broker closes; clients close their own."""

    def say(values: Mapping[str, Any], context: Context) -> Iterator[Finding]:
        if context.role is not Role.PUSH:
            return
        url = _url(values, "assignedBrokerServiceUrl")
        severity, rest = table("notices")["unassigned"][what] if url is None else table("notices")["assigned"]
        text = table("notices")["closed"].format(what=what, id=values.get(f"{what}_id", UNKNOWN)) + rest.format(url=url)
        yield Finding(Severity[severity.upper()], "broker-close", text)

    return say


def _migrated(values: Mapping[str, Any], context: Context) -> Iterator[Finding]:
    severity, text, told, untold = table("notices")["migrated"]
    url = _url(values, "brokerServiceUrl")
    kind = values.get("resource_type")
    what = kind.lower() if isinstance(kind, str) else "resource"
    said = text.format(what=what, id=values.get("resource_id", UNKNOWN)) + (
        untold if url is None else told.format(url=url)
    )
    yield Finding(Severity[severity.upper()], "broker-close", said)


def _url(values: Mapping[str, Any], name: str) -> str | None:
    """An address without TLS, or else with it."""
    return _text(values, name) or _text(values, f"{name}Tls")


def _text(values: Mapping[str, Any], name: str) -> str | None:
    """A text that is there, is one and says something."""
    found = values.get(name)
    return found if isinstance(found, str) and found != "" else None


def _invalid(values: Mapping[str, Any], context: Context) -> Iterator[Finding]:
    if "validation_error" not in values:
        return
    error, count = values["validation_error"], len(values.get("message_id", ()))
    said, one = table("notices"), count == 1
    text = said["validation"].format(
        id=values.get("consumer_id", UNKNOWN),
        count="a message" if one else f"{count} messages",
        pronoun="it" if one else "them",
        why=said["why"].get(error, f"error {error}"),
    )
    yield Finding(Severity.WARNING, "discarded-message", text)


_SAID: Mapping[str, Say] = {
    "PRODUCER_SUCCESS": _waiting,
    "CLOSE_PRODUCER": _closed("producer"),
    "CLOSE_CONSUMER": _closed("consumer"),
    "TOPIC_MIGRATED": _migrated,
    "ACK": _invalid,
}
