"""Lines about where: queues of topics and offsets in them, locks, offset tables, acknowledgements."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any

from dissectors.holes import made
from dissectors.rocketmq.json_values import json_value
from dissectors.wire.amounts import count_text
from dissectors.wire.emit import FAILURES
from dissectors.wire.phrases import SHOWN, Values, is_number, joined
from dissectors.wire.times import timestamp


def place(_: Any, values: Values) -> Iterable[str]:
    """`orders[3] at 42`, or what of it is there."""
    queue, topic = values.get("queueId"), values.get("topic")
    if isinstance(topic, str) and topic != "":
        where = f"{topic}[{queue}]" if is_number(queue) and queue >= 0 else f"{topic}"
    else:
        where = f"queue {queue}" if is_number(queue) and queue >= 0 else ""
    words = [where] if where else []
    for name, word in (("from", "from"), ("queueOffset", "at"), ("offset", "at")):
        offset = values.get(name)
        if is_number(offset) and offset >= 0:
            words.append(f"{word} {offset}")
    if words:
        yield " ".join(words)


def bare_offset(value: Any, values: Values) -> Iterable[str]:
    """An offset of which nothing says whose it is."""
    if "place" not in values and is_number(value) and value >= 0:
        yield f"at {value}"


def moment(words: str) -> Any:
    """A time, in milliseconds since 1970; the largest one is none."""
    return lambda value, _: (words.format(made(_moment, value)),) if is_number(value) and value > 0 else ()


def _moment(value: int) -> str:
    return timestamp(value) or f"{value}"


def between(_: Any, values: Values) -> Iterable[str]:
    """How far a queue reaches."""
    low, high = values.get("minOffset"), values.get("maxOffset")
    if is_number(low) and is_number(high):
        yield f"queue {low} to {high}"


def queues(value: Any, _: Values) -> Iterable[str]:
    """A set of queues."""
    yield from joined("", value, queue_name)


def queue_name(value: Any) -> str:
    """`orders[3]`."""
    return f"{value.get('topic', '?')}[{value.get('queueId', '?')}]" if isinstance(value, dict) else "?"


def assigned(value: Any, _: Values) -> Iterable[str]:
    """Queues that a member of a group gets, or brokers from which it pops (no queue in particular: -1)."""
    if isinstance(value, list):
        yield from joined("gets ", value, _assignment) if value else ("gets no queue",)


def _assignment(row: Any) -> str:
    queue = row.get("messageQueue") if isinstance(row, dict) else None
    if not isinstance(queue, dict) or not isinstance(queue.get("queueId"), int) or queue["queueId"] >= 0:
        return queue_name(queue)
    return f"{queue.get('topic', '?')} of {queue.get('brokerName', '?')}"


def queue_table(value: Any, _: Values) -> Iterable[str]:
    """Queues that are keys of a table: JSON in a text, for Java has objects there (MessageQueue)."""
    if isinstance(value, dict) and value:
        known = [_queue_of(key) for key in list(value)[:SHOWN]]
        yield from joined("", [*known, *list(value)[SHOWN:]]) if all(known) else (count_text(len(value), "queue"),)


def _queue_of(key: str) -> str | None:
    try:
        return queue_name(json_value(key.encode()))
    except FAILURES:
        return None


def locked(value: Any, values: Values) -> Iterable[str]:
    """Which queues a client has got, and which of those that it asked for it has not."""
    if not isinstance(value, list):
        return
    got = [queue_name(each) for each in value]
    asked = values.get("asked mqSet")
    missed = [name for name in map(queue_name, asked) if name not in got] if isinstance(asked, list) else []
    yield from joined("locked ", got) if got else ("locked none",)
    yield from joined("not ", missed)


def offset_table(value: Any, _: Values) -> Iterable[str]:
    """How many queues there are, how many messages they hold, and how many of these a group has not consumed."""
    if not isinstance(value, dict) or not value:
        return
    rows = [row for row in value.values() if isinstance(row, dict)]
    yield count_text(len(value), "queue")
    held, behind = _sum(rows, "maxOffset", "minOffset"), _sum(rows, "brokerOffset", "consumerOffset")
    if held is not None:
        yield count_text(held, "message")
    if behind is not None:
        yield f"{behind} behind" if behind > 0 else "up to date"


def group_offsets(value: Any, _: Values) -> Iterable[str]:
    """Of how many queues a broker has offsets, in a table by topic and group."""
    if isinstance(value, dict):
        yield count_text(sum(len(row) for row in value.values() if isinstance(row, dict)), "offset")


def _sum(rows: list[dict[str, Any]], high: str, low: str) -> int | None:
    both = [(row.get(high), row.get(low)) for row in rows]
    known = [one - other for one, other in both if type(one) is int and type(other) is int]
    return sum(known) if known else None


def acks(value: Any, _: Values) -> Iterator[str]:
    """What a batch acknowledges: each element is a pop, with the bits of those of its messages that are done."""
    if not isinstance(value, list) or not value:
        return
    rows = [each for each in value if isinstance(each, dict)]
    done = sum(_bits(row.get("b")) for row in rows)
    yield f"{count_text(done, 'message')} of {count_text(len(rows), 'pop')}"
    yield from joined("", list(dict.fromkeys(f"{row.get('t', '?')}[{row.get('q', '?')}]" for row in rows)))
    yield from joined("group ", list(dict.fromkeys(f"{row['c']}" for row in rows if isinstance(row.get("c"), str))))


def _bits(value: Any) -> int:
    """Set bits of a BitSet, which BatchAck writes as base64 of its bytes."""
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return 0
    return sum(byte.bit_count() for byte in data)
