"""One line for people about a command: what went wrong, about what, how much.

Theory. RocketMQ's headers use few names for the same things, so one table of them serves all operations; bodies are
counted, not told. An answer whose header says nothing has its remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Body
from dissectors.wire.secret import Secret

_NOTHING = (None, "", -1)
_SHOWN = 3
_REMARK = 80
_OFFSETS = (("queueOffset", "at"), ("offset", "at"), ("commitOffset", "commits"), ("nextBeginOffset", "next"))
_WORDS = (
    ("consumerGroup", "group"),
    ("producerGroup", "group"),
    ("group", "group"),
    ("groupName", "group"),
    ("clientID", "client"),
    ("clientId", "client"),
    ("key", "key"),
    ("namespace", "namespace"),
    ("brokerName", "broker"),
    ("username", "user"),
    ("subject", "subject"),
    ("msgId", "id"),
)
_COUNTED = (
    ("brokerDatas", "broker"),
    ("brokerAddrTable", "broker"),
    ("topicList", "topic"),
    ("topicConfigTable", "topic"),
    ("subscriptionGroupTable", "group"),
    ("groupList", "group"),
    ("consumerIdList", "consumer"),
    ("producerDataSet", "producer"),
    ("consumerDataSet", "consumer"),
    ("connectionSet", "connection"),
    ("mqSet", "queue"),
    ("lockOKMQSet", "queue"),
    ("offsetTable", "offset"),
    ("table", "entry"),
)


def info_line(body: Body) -> str:
    """The line for a decoded command; empty for one that says nothing but its name."""
    values = body.values
    header = values.get("header") or {}
    parts = [] if body.error is None else [body.error[1]]
    parts += _where(header)
    parts += _what(values)
    parts += [f"{word} {header[name]}" for name, word in _WORDS if name in header and _is_said(header[name])]
    remark = values.get("remark")
    if isinstance(remark, str) and remark and (body.error is not None or not parts):
        parts.append(remark.strip().partition("\n")[0][:_REMARK])
    return ", ".join(parts)


def _is_said(value: object) -> bool:
    return value not in _NOTHING and isinstance(value, (str, int))


def _where(header: Mapping[str, Any]) -> Iterator[str]:
    """`orders[3] at 42`."""
    offset = next(
        (f"{word} {header[name]}" for name, word in _OFFSETS if name in header and _is_said(header[name])), ""
    )
    topic = header.get("topic")
    if not isinstance(topic, str):
        if offset:
            yield offset
        return
    queue = header.get("queueId")
    place = f"{topic}[{queue}]" if isinstance(queue, int) and queue >= 0 else topic
    yield f"{place} {offset}".rstrip()


def _what(values: Mapping[str, Any]) -> Iterator[str]:
    """How much is in the body."""
    body = values.get("body")
    if isinstance(body, dict):
        if "messages" in body:
            yield from _messages(body["messages"])
        inside = body.get("topicConfigSerializeWrapper")
        for part in (body, inside) if isinstance(inside, dict) else (body,):
            yield from (
                _count(len(part[name]), noun) for name, noun in _COUNTED if name in part and _is_many(part[name])
            )
    elif isinstance(body, (bytes, Secret)):
        yield _count(len(body), "byte")
        if "bodyUncompressed" in values:
            yield f"{_count(len(values['bodyUncompressed']), 'byte')} uncompressed"
    elif isinstance(body, str):
        yield _count(len(body.splitlines()), "setting")
    elif isinstance(body, list):
        yield _count(len(body), "element")


def _is_many(value: object) -> bool:
    return isinstance(value, (list, dict)) and len(value) > 0


def _messages(messages: object) -> Iterator[str]:
    if not isinstance(messages, list):
        return
    topics = list(dict.fromkeys(_topic(message) for message in messages))
    topics = [topic for topic in topics if topic]
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    names = f" of {', '.join(topics[:_SHOWN])}{more}" if topics else ""
    yield f"{_count(len(messages), 'message')}{names}"


def _topic(message: object) -> str:
    topic = message.get("topic") if isinstance(message, dict) else None
    return topic if isinstance(topic, str) else ""


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
