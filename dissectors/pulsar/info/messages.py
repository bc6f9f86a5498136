"""Lines about messages: their ids and numbers, and what is acknowledged of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.holes import below, made, plain
from dissectors.pulsar.info.phrases import message_id, position, unacknowledged
from dissectors.wire.phrases import MOST, Say, Values, is_number, joined
from dissectors.wire.times import timestamp


def sequence(value: Any, values: Values) -> Iterable[str]:
    """Of a batch also the number of its last message."""
    last: Any = values.get("highest_sequence_id")
    if is_number(last) and 0 < last <= MOST and is_number(value) and below(value, last):
        return (f"sequence {value} to {last}",)
    return (f"sequence {value}",)


def which(value: Any, values: Values) -> Iterable[str]:
    """What is stored, delivered or acknowledged, or where to go to. The receipt of a message that is there already has
    -1 for ledger and entry (PersistentTopic.publishMessage).
    """
    if isinstance(value, list):
        yield from _acknowledged(value, values)
    elif "highest_sequence_id" in values or "sequence_id" in values:
        ledger = value.get("ledgerId", 0) if isinstance(value, dict) else 0
        yield "a duplicate, not stored again" if ledger > MOST else message_id(value)
    else:
        yield f"to {position(value)}" if "request_id" in values else message_id(value)


def _acknowledged(ids: list[Any], values: Values) -> Iterable[str]:
    """One by one, or all up to one of them."""
    return joined("up to " if values.get("ack_type") == "Cumulative" else "", ids, _left)


def _left(value: Any) -> str:
    """An id, and what of its batch is not acknowledged yet."""
    place = message_id(value)
    words = value.get("ack_set") if isinstance(value, dict) else None
    if not isinstance(words, list) or not words:
        return place
    size = value.get("batch_size")
    return f"{place} ({unacknowledged(words)}{f' of {size}' if is_number(size) else ''} left)"


def ack_set(value: Any, values: Values) -> Iterable[str]:
    """What of a batch is still to be acknowledged, where some of it is."""
    metadata = values.get("metadata")
    size = metadata.get("num_messages_in_batch") if isinstance(metadata, dict) else None
    if isinstance(value, list) and value:
        yield f"{unacknowledged(value)}{f' of {size}' if is_number(size) else ''} left"


def redelivered(value: Any, _: Values) -> Iterable[str]:
    """How often it was delivered before."""
    if is_number(value) and value > 0:
        yield f"redelivery {value}"


def redeliver(value: Any, _: Values) -> Iterable[str]:
    """Some messages, or all of a consumer."""
    if isinstance(value, list):
        yield from joined("", value, message_id) if value else ("all that is not acknowledged",)


def last(value: Any, _: Values) -> Iterable[str]:
    """The last message of a topic that may have none."""
    entry = value.get("entryId", 0) if isinstance(value, dict) else 0
    yield "no message" if entry > MOST else f"last {message_id(value)}"


def time(words: str) -> Say:
    """A moment, in milliseconds since 1970."""
    return lambda value, _: (words.format(made(_moment, value)),) if is_number(value) else ()


def _moment(value: int) -> str:
    return timestamp(value) or f"{value}"


def message(value: Any, values: Values) -> Iterable[str]:
    """Why something failed: the first line, for brokers put whole schemas behind it."""
    if isinstance(value, str) and value != "":
        line, _, more = plain(value).partition("\n")
        yield f"{line}..." if more else line
