"""One line for people about a message: what it is about, not all that is in it.

Theory. The proto uses few names for the same things, so one table of names serves all commands: what went wrong first,
then topic and subscription, then who (producer, consumer), which message, and how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dissectors.api import Body
from dissectors.wire.embedded import Embedded

_SHOWN = 3
"""So many of a list before the rest is only counted."""

_NO_PARTITION = -1
_NO_ENTRY = 0xFFFF_FFFF_FFFF_FFFF
_TRANSACTION = ("txnid_most_bits", "txnid_least_bits")

Say = Callable[[Any], Iterable[str]]
"""What to say of a value; nothing for one that is not what the tables promise."""


def info_line(body: Body) -> str:
    """The line for a decoded message; empty for one that says nothing but its name."""
    values = body.values
    parts = [] if body.error is None else [body.error[1]]
    if "txnid_most_bits" in values or "txnid_least_bits" in values:
        values = values | {"transaction": [values.get(name, 0) for name in _TRANSACTION]}
    for name, say in _SAYINGS.items():
        if name in values:
            parts += say(values[name])
    return ", ".join(parts)


def _transaction(value: Any) -> Iterable[str]:
    """A transaction as Pulsar prints it: its coordinator, and its number there."""
    return ("transaction (" + ",".join(map(str, value)) + ")",)


def _plain(value: Any) -> Iterable[str]:
    return (value,) if isinstance(value, str) and value else ()


def _word(word: str) -> Say:
    return lambda value: () if value == "" or not isinstance(value, str | int) else (f"{word} {value}",)


def _flag(word: str) -> Say:
    return lambda value: (word,) if value is True else ()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}"


def _counted(noun: str) -> Say:
    return lambda value: (_count(value, noun),)


def _partitions(value: Any) -> Iterable[str]:
    """How many there are, or the topics of those that join a transaction."""
    return (_count(value, "partition"),) if isinstance(value, int) else _listed("partition")(value)


def _listed(noun: str) -> Say:
    def say(names: Any) -> Iterable[str]:
        known = [name for name in names if isinstance(name, str)]
        return known if len(names) <= _SHOWN and len(known) == len(names) else [_count(len(names), noun)]

    return say


def _message_id(value: Mapping[str, Any]) -> str:
    """`272:0`, with partition and index in the batch where it has them; none for the place before the first."""
    parts = [value.get("ledgerId", "?"), value.get("entryId", "?")]
    if parts[1] == _NO_ENTRY:
        return "none"
    rest = [value.get(name, _NO_PARTITION) for name in ("partition", "batch_index")]
    parts += rest if rest[1] != _NO_PARTITION else rest[:1] if rest[0] != _NO_PARTITION else []
    return ":".join(map(str, parts))


def _message_ids(word: str) -> Say:
    def say(value: Any) -> Iterable[str]:
        ids = value if isinstance(value, list) else [value]
        shown = [_message_id(each) for each in ids[:_SHOWN] if isinstance(each, dict)]
        more = [f"{len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
        return [word + part for part in shown] + more

    return say


def _metadata(value: Any) -> Iterable[str]:
    key, codec = value.get("partition_key"), value.get("compression", "NONE")
    if isinstance(key, str):
        yield f"key {key}"
    if codec != "NONE":
        yield str(codec)


def _payload(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return (_count(len(value.get("messages", ())), "message"),)
    if isinstance(value, Embedded):
        return (value.name or "marker",)
    return (_count(len(value), "byte"),)


def _chunk(value: Mapping[str, Any]) -> Iterable[str]:
    return (f"chunk {value.get('id', '?')} of {value.get('total', '?')}",)


def _checksum(value: Mapping[str, Any]) -> Iterable[str]:
    return () if value.get("valid", True) else ("wrong checksum",)


_SAYINGS: Mapping[str, Say] = {
    "message": _plain,
    "error_message": _plain,
    "client_version": _plain,
    "server_version": _plain,
    "auth_method_name": _word("authentication"),
    "proxy_to_broker_url": _word("to"),
    "topic": lambda value: _listed("topic")(value) if isinstance(value, list) else _plain(value),
    "namespace": _plain,
    "topics_pattern": _word("pattern"),
    "topics": _listed("topic"),
    "new_topics": _listed("new topic"),
    "deleted_topics": _listed("deleted topic"),
    "subscription": lambda value: _word("subscription")(value) if isinstance(value, str) else (),
    "subType": _plain,
    "subscription_name": _word("subscription"),
    "response": _plain,
    "brokerServiceUrl": _plain,
    "assignedBrokerServiceUrl": _word("now at"),
    "partitions": _partitions,
    "producer_name": _word("producer"),
    "producer_id": _word("producer"),
    "consumer_id": _word("consumer"),
    "tc_id": _word("coordinator"),
    "session_id": _word("session"),
    "watcher_id": _word("watcher"),
    "watch_id": _word("watch"),
    "sequence_id": _word("sequence"),
    "message_id": _message_ids(""),
    "message_ids": _message_ids(""),
    "last_message_id": _message_ids("last "),
    "ack_type": _plain,
    "messagePermits": _counted("permit"),
    "is_active": lambda value: ("active" if value is True else "inactive",),
    "transaction": _transaction,
    "txn_action": _plain,
    "metadata": lambda value: _metadata(value) if isinstance(value, dict) else (),
    "encrypted": _flag("encrypted"),
    "chunk": _chunk,
    "checksum": _checksum,
    "payload": _payload,
}
