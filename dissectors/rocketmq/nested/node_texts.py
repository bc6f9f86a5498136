"""Labels of nodes: by name, by the nodes beside them, or by content.

Facts. In JSON bodies of any class, times in milliseconds have names that end in `time` or `timestamp`; there are
hundreds of them. In BATCH_ACK_MESSAGE, an acknowledgement's names are letters (BatchAck): `so` is the first offset, `b`
the base64 of a bit set of the offsets from there on, its lowest byte first (BitSet.toByteArray), `pt` and `it` the time
of the POP and the invisible time. A record of the topic of operations on half messages has their offsets as text
(TransactionalMessageUtil.OFFSET_SEPARATOR).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from dissectors.field import Field
from dissectors.rocketmq.labels import format_permission
from dissectors.rocketmq.nested.identifiers import (
    SCHEDULED,
    format_default_delay,
    format_id,
    format_topic,
    format_unique_id,
)
from dissectors.wire.amounts import duration_text
from dissectors.wire.texts import printable, runs_text
from dissectors.wire.times import timestamp

_NUMBER = "json_number"
_TIME = re.compile(r"(?:time|timestamp)(?:ms|millis)?$|^(?:subVersion|pt)$", re.IGNORECASE)
_EARLIEST, _LATEST = 1_000_000_000_000, 4_000_000_000_000
"""Milliseconds since 1970 between 2001 and 2096: what is outside is no time of RocketMQ's."""

_DURATIONS = frozenset({"invisibleTime", "it", "consumeTimeout"})
_OF_HALF_MESSAGES = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
_OFFSETS = re.compile(rb"(?:[0-9]{1,19},)*[0-9]{1,19},?")
_MOST = 4096
"""Characters of base64 that are looked at for bits, and bytes of a record for offsets."""

_MOST_SIBLINGS = 64
"""Nodes that are looked at for what explains another: an object in JSON may have a million of one name."""

FindSibling = Callable[[str], Any]
"""The value of a node beside, by name; None where there is none."""

TextFormatter = Callable[[Any, FindSibling], "str | None"]


def format_text(node: Field, nodes: list[Field]) -> str | None:
    """Returns the text for a node among `nodes`; None where its value says all."""
    spec, value = node.spec, node.value
    if value is None:
        return None
    say = _TEXTS.get(spec.name)
    if say is not None:
        return say(value, lambda name: _find_sibling(nodes, name))
    return _format_number(spec.name, value) if spec.type == _NUMBER else None


def _find_sibling(nodes: Iterable[Field], name: str) -> Any:
    return next((node.value for node in islice(nodes, _MOST_SIBLINGS) if node.spec.name == name), None)


def _format_number(name: str, value: Any) -> str | None:
    """A number in JSON."""
    if not isinstance(value, int):
        return None
    if _EARLIEST < value < _LATEST and _TIME.search(name):
        return timestamp(value)
    return duration_text(value) if name in _DURATIONS and 0 < value < _EARLIEST else None


def _format_topic(value: Any, _: FindSibling) -> str | None:
    return format_topic(value)


def _format_message_id(value: Any, _: FindSibling) -> str | None:
    return format_id(value) if isinstance(value, str) else None


def _format_unique(value: Any, _: FindSibling) -> str | None:
    return format_unique_id(value) if isinstance(value, str) else None


def _format_queue(value: Any, find_sibling: FindSibling) -> str | None:
    """Queues of what waits are levels."""
    if not isinstance(value, int) or value < 0 or find_sibling("topic") not in SCHEDULED:
        return None
    return f"delay level {value + 1}, {format_default_delay(value + 1)}"


def _format_acknowledged(value: Any, find_sibling: FindSibling) -> str | None:
    """The offsets of a bit set."""
    first = find_sibling("so")
    if not isinstance(first, int) or not isinstance(value, str) or len(value) > _MOST:
        return None
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    numbers, many = runs_text(f"{int.from_bytes(data, 'little'):b}"[::-1], first)
    return f"{'offsets' if many else 'offset'} {numbers}" if numbers else None


def _format_body(value: Any, find_sibling: FindSibling) -> str | None:
    is_short = isinstance(value, bytes) and len(value) <= _MOST
    if is_short and find_sibling("topic") == _OF_HALF_MESSAGES and _OFFSETS.fullmatch(value):
        return f"done with the half messages at {value.decode().rstrip(',').replace(',', ', ')}"
    return printable(value)


_TEXTS: Mapping[str, TextFormatter] = {
    **dict.fromkeys(("topic", "topicName", "originTopic", "defaultTopic", "t"), _format_topic),
    **dict.fromkeys(("msgId", "offsetMsgId", "originMsgId", "messageId"), _format_message_id),
    **dict.fromkeys(("transactionId", "batchUniqId"), _format_unique),
    **dict.fromkeys(("body", "bodyUncompressed"), _format_body),
    "perm": lambda value, _: format_permission(value) if isinstance(value, int) else None,
    "queueId": _format_queue,
    "b": _format_acknowledged,
}
