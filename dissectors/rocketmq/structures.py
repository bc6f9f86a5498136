"""Functions for RocketMQ's phrases: queues and offsets, brokers, topics, groups and their members.

Facts. perm 6 is read and write. A BitSet in JSON is base64 of its bytes. If a controller elects masters, a broker's
numbers begin with 1; otherwise 0 is the master. Java has objects as keys of maps (MessageQueue), which are JSON in a
text. Bodies may have any content, so members may be missing or of another type.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.rocketmq.labels import RETRY, format_permission
from dissectors.rocketmq.tables import table
from dissectors.values import structs
from dissectors.wire.amounts import count_text
from dissectors.wire.emit import FAILURES
from dissectors.wire.info_line import Line, line_by_field
from dissectors.wire.json_strict import decode_json
from dissectors.wire.summary import SHOWN, Formatter, Summaries, of_plain

_READ_WRITE = 6
_INNER = "CLIENT_INNER_PRODUCER"
_EVERYTHING = ("", "*")
_LONGEST = 60
_TYPES = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}


def format_few(names: Iterable[str]) -> str | None:
    """Formats as `a, b, c, 2 more`."""
    known = list(names)
    more = [f"{len(known) - SHOWN} more"] if len(known) > SHOWN else []
    return ", ".join(known[:SHOWN] + more) or None


def _format_count(value: Any, noun: str) -> str | None:
    """A number of something, or of the elements of a list."""
    if isinstance(value, list):
        value = len(value)
    return count_text(value, noun) if isinstance(value, int) else None


def _format_listed(value: Any, noun: str) -> str | None:
    """Few names as they are, many counted."""
    if not isinstance(value, list):
        return None
    return format_few(f"{each}" for each in value) if _are_few(value) else count_text(len(value), noun)


def _format_named(value: Any, noun: str) -> str | None:
    """The same of a list or the keys of a table, the names behind what they are."""
    if not isinstance(value, list | dict):
        return None
    return f"{noun} {', '.join(value)}" if _are_few(value) else count_text(len(value), noun)


def _are_few(names: Collection[Any]) -> bool:
    return 0 < len(names) <= SHOWN and all(isinstance(each, str) for each in names)


# ---- queues and offsets


def format_queue(value: Any) -> str:
    """Formats a queue as `orders[3]`."""
    return f"{value.get('topic', '?')}[{value.get('queueId', '?')}]" if isinstance(value, dict) else "?"


def _format_assignment(value: Any, _: str) -> str:
    """A queue that a member of a group gets, or a broker from which it pops (no queue in particular: -1)."""
    found = value.get("messageQueue") if isinstance(value, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("queueId"), int) or found["queueId"] >= 0:
        return format_queue(found)
    return f"{found.get('topic', '?')} of {found.get('brokerName', '?')}"


def _format_queues(value: dict[str, Any]) -> str | None:
    """Queues that are keys of a table."""
    known = [_parse_queue(key) for key in list(value)[:SHOWN]]
    names = [name for name in known if name is not None]
    return format_few([*names, *list(value)[SHOWN:]]) if len(names) == len(known) else count_text(len(value), "queue")


def _parse_queue(key: str) -> str | None:
    try:
        return format_queue(decode_json(key.encode()))
    except FAILURES:
        return None


def _format_offsets(value: dict[str, Any]) -> str | None:
    """How many queues there are, how many messages they hold, and how many of these a group has not consumed."""
    if not value:
        return None
    rows = [row for row in value.values() if isinstance(row, dict)]
    parts = [count_text(len(value), "queue")]
    count, behind = (
        _sum_differences(rows, "maxOffset", "minOffset"),
        _sum_differences(rows, "brokerOffset", "consumerOffset"),
    )
    if count is not None:
        parts.append(count_text(count, "message"))
    if behind is not None:
        parts.append(f"{behind} behind" if behind > 0 else "up to date")
    return ", ".join(parts)


def _sum_differences(rows: list[dict[str, Any]], high: str, low: str) -> int | None:
    both = [(row.get(high), row.get(low)) for row in rows]
    known = [one - other for one, other in both if type(one) is int and type(other) is int]
    return sum(known) if known else None


def _format_group_offsets(value: dict[str, Any]) -> str:
    """Of how many queues a broker has offsets, in a table by topic and group."""
    return count_text(sum(len(row) for row in value.values() if isinstance(row, dict)), "offset")


def _format_acks(value: list[Any]) -> str | None:
    """What a batch acknowledges: each element is a pop, with the bits of those of its messages that are done."""
    if not value:
        return None
    rows = structs(value)
    done = sum(_count_bits(row.get("b")) for row in rows)
    queues = format_few(dict.fromkeys(f"{row.get('t', '?')}[{row.get('q', '?')}]" for row in rows))
    groups = format_few(dict.fromkeys(f"{row['c']}" for row in rows if isinstance(row.get("c"), str)))
    parts = [f"{count_text(done, 'message')} of {count_text(len(rows), 'pop')}", queues, groups and f"group {groups}"]
    return ", ".join(filter(None, parts))


def _count_bits(value: Any) -> int:
    """Set bits of a BitSet."""
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return 0
    return sum(byte.bit_count() for byte in data)


# ---- brokers and topics


@cache
def _compile_configuration() -> Line:
    return line_by_field(Summaries(formatters=FORMATTERS), table("summaries")["queues"])


def _format_configuration(row: Mapping[str, Any]) -> str | None:
    """Queues of a topic and what may be done with them, where that is not all."""
    return ", ".join(_compile_configuration()(row, [])) or None


def _format_permission(value: int) -> str | None:
    if value & _READ_WRITE == _READ_WRITE:
        return None
    return f"{format_permission(value & _READ_WRITE)} only" if value & _READ_WRITE else "no access"


def _format_route(values: Mapping[str, Any]) -> str | None:
    """`broker-a at 10.0.0.1:10911 (4 queues)`: the brokers of a topic."""
    queues = structs(values.get("queueDatas"))
    return _format_brokers(values["brokerDatas"], queues) if isinstance(values["brokerDatas"], list) else None


def _format_brokers(value: Any, queues: Iterable[Mapping[str, Any]] = ()) -> str:
    rows = structs(value)
    return format_few(_format_broker(row, queues) for row in rows) or "no broker"


def _format_all_brokers(value: dict[str, Any]) -> str:
    """Those of all clusters, by name."""
    return _format_brokers(list(value.values()))


def _format_broker(row: Mapping[str, Any], queues: Iterable[Mapping[str, Any]]) -> str:
    """A broker's name, the address of its master, or of its first, how many more it has, and its queues."""
    addresses, name = row.get("brokerAddrs"), row.get("brokerName", "?")
    known = addresses if isinstance(addresses, dict) else {}
    first = known.get("0", next(iter(known.values()), None))
    more = f" and {count_text(len(known) - 1, 'slave')}" if len(known) > 1 else ""
    own = ", ".join(filter(None, (_format_configuration(each) for each in queues if each.get("brokerName") == name)))
    return f"{name}{f' at {first}{more}' if isinstance(first, str) else ''}{f' ({own})' if own else ''}"


def _format_metrics(value: dict[str, Any]) -> str | None:
    """A table of texts: what a broker does, or orders of topics."""
    release = value.get("brokerVersionDesc")
    if isinstance(release, str):
        return f"{release}, {count_text(len(value), 'figure')}"
    return format_few(f"{name} = {text}" for name, text in value.items())


# ---- groups


def _format_consumer(row: dict[str, Any]) -> str:
    """A group of a heartbeat: how it consumes, and what, but for its own topic of retries."""
    model = "broadcasting" if row.get("messageModel") == "BROADCASTING" else None
    topics = format_few(
        _format_subscription(each) for each in structs(row.get("subscriptionDataSet")) if not _is_retried(each)
    )
    about = ", ".join(filter(None, (_format_consume_type(row.get("consumeType")), model, topics)))
    return f"consumer {row.get('groupName', '?')} ({about})"


def _is_retried(row: Mapping[str, Any]) -> bool:
    topic = row.get("topic")
    return isinstance(topic, str) and topic.startswith(RETRY)


def _format_consume_type(value: Any) -> str | None:
    return _TYPES.get(value) if isinstance(value, str) else None


def _format_subscription(row: Mapping[str, Any]) -> str:
    wanted = row.get("subString")
    words = "" if not isinstance(wanted, str) or wanted in _EVERYTHING else f" {wanted[:_LONGEST]}"
    return f"{row.get('topic', '?')}{words}"


def _format_expression(value: str) -> str | None:
    """What a consumer wants of a topic, if not all."""
    if value in _EVERYTHING:
        return None
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."


def _format_producers(value: list[Any]) -> str | None:
    """Groups of a heartbeat, but for the one that every client has for itself."""
    return format_few(f"{name}" for row in structs(value) if (name := row.get("groupName", "?")) != _INNER)


FORMATTERS: Mapping[str, Formatter] = {
    "acks": of_plain(list, _format_acks),
    "assignment": _format_assignment,
    "brokers": of_plain(dict, _format_all_brokers),
    "configured": of_plain(dict, _format_configuration),
    "consume_type": of_plain(str, _TYPES.get),
    "consumer": of_plain(dict, _format_consumer),
    "count": _format_count,
    "expression": of_plain(str, _format_expression),
    "figures": of_plain(dict, _format_metrics),
    "group_offsets": of_plain(dict, _format_group_offsets),
    "listed": _format_listed,
    "named": _format_named,
    "names": of_plain(dict, format_few),
    "offsets": of_plain(dict, _format_offsets),
    "permitted": of_plain(int, _format_permission),
    "producers": of_plain(list, _format_producers),
    "queue": lambda value, _: format_queue(value),
    "queues": of_plain(dict, _format_queues),
    "route": of_plain(dict, _format_route),
    "subscription": of_plain(dict, lambda row: _format_subscription(row) if "topic" in row else None),
}
