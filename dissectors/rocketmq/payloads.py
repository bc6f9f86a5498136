"""Bodies of messages: sent, sent as a batch, or stored and pulled.

Facts. A command that sends has topic and queue in its header; a stored message has its own, and its offset there. A
compressed body is returned decompressed; a batch that is stored as one message is returned message by message. The key
by which a message can be found is a property; without one, the property that chose its queue is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from dissectors.api import Role
from dissectors.message import Values
from dissectors.payload import Carriers, LoadRequest, Payload, Payloads, Place, Record, number
from dissectors.rocketmq.body import find_body_kind
from dissectors.rocketmq.codes import find_header_class, operations
from dissectors.rocketmq.stored import parse_properties
from dissectors.wire.inner import content

_UNKNOWN = "unknown"
_STRUCTURED = ("messages", "batch", "json", "registration")
_KEYS = ("KEYS", "__SHARDINGKEY")
_ITEMS, _BODY, _PLAIN = "messages", "body", "bodyUncompressed"


@cache
def list_carriers() -> Carriers:
    """Lists the commands that may carry payloads: those with a topic, and those with a list of messages."""
    found = ((code, role) for code in (*operations(), None) for role in Role)
    return frozenset(each for each in found if _can_carry(each[0], each[1] is Role.RESPONSE))


def _can_carry(code: int | None, response: bool) -> bool:
    fields = find_header_class(code, response) or {}
    return find_body_kind(code, response) in _STRUCTURED or any(each.name == "topic" for each in fields.values())


def list_payloads(values: Values, load_request: LoadRequest) -> Iterator[Payload]:
    """Lists the payloads of a decoded command, one for each message."""
    header = values.get("header")
    header = header if isinstance(header, dict) else {}
    record, body = _make_record(header, Record(None, None, None, None)), values.get(_BODY)
    if isinstance(body, dict) and isinstance(body.get(_ITEMS), list):
        yield from _iterate_items(body[_ITEMS], (_BODY, _ITEMS), record)
    elif "topic" in header:
        yield from _make_payload(values, (), record, None)


def _iterate_items(items: list[Any], place: Place, around: Record) -> Iterator[Payload]:
    """Stored messages, of which each says where it lies, or those of a batch, which are counted."""
    for index, item in enumerate(items):
        if isinstance(item, dict):
            record, inner = _make_record(item, around), item.get(_ITEMS)
            if isinstance(inner, list):
                yield from _iterate_items(inner, (*place, index, _ITEMS), record)
            else:
                yield from _make_payload(item, (*place, index), record, index)


def _make_record(values: dict[str, Any], around: Record) -> Record:
    """What a header or a message says of itself; else what is said around it."""
    topic, queue = values.get("topic", around.topic), values.get("queueId", around.partition)
    offset, born = number(values.get("queueOffset")), number(values.get("bornTimestamp"))
    named, time = topic if isinstance(topic, str) else None, around.time if born is None else born
    return Record(named, number(queue), offset, time, _find_key(values.get("properties")))


def _find_key(properties: object) -> str | None:
    """The key in a message's properties, which a header has as text."""
    if isinstance(properties, str):
        properties = parse_properties(properties)
    if not isinstance(properties, dict):
        return None
    return next((value for name in _KEYS if isinstance(value := properties.get(name), str)), None)


def _make_payload(values: Values, place: Place, record: Record, index: int | None) -> Iterator[Payload]:
    for key in (_PLAIN, _BODY):
        data = content(values.get(key)) if isinstance(values.get(key), bytes) or key == _BODY else None
        if data is not None:
            last = index if record.offset is None else record.offset
            name = (record.topic or _UNKNOWN, _UNKNOWN if record.partition is None else str(record.partition))
            yield Payload((*place, key), _BODY, data, name if last is None else (*name, str(last)), record)
            return


PAYLOADS = Payloads(list_payloads, list_carriers)


def _list_block_payloads(values: Values, load_request: LoadRequest) -> Iterator[Payload]:
    """Bodies of the messages in a block of a log."""
    as_a_body = {"body": {"messages": values.get("messages")}}
    return (each._replace(place=each.place[1:]) for each in list_payloads(as_a_body, load_request))


HA = Payloads(_list_block_payloads)
