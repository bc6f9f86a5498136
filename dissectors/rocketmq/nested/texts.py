"""What people read beside a node: by its name, by the nodes beside it, or by what is in it.

Facts. JSON bodies name times in milliseconds by what ends in `time` or `timestamp`, whatever class they are of; there
are hundreds of them. In BATCH_ACK_MESSAGE, an acknowledgement's names are letters (BatchAck): `so` is the first offset,
`b` the base64 of a bit set, its lowest byte first, of the offsets from there on (BitSet.toByteArray), `pt` and `it` the
time of the POP and how long it hides. A record of the topic of operations on half messages has their offsets as text
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
from dissectors.rocketmq.labels import permission
from dissectors.rocketmq.nested.ids import id_text, unique_text
from dissectors.rocketmq.nested.topics import SCHEDULED, delay_text, topic_text
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

_BESIDE = 64
"""Nodes that are looked at for what explains another: an object in JSON may have a million of one name."""

Beside = Callable[[str], Any]
"""The value of a node beside, by name; None where there is none."""

Text = Callable[[Any, Beside], "str | None"]


def text_of(node: Field, nodes: list[Field]) -> str | None:
    """The text for a node among `nodes`; None where its value says all."""
    spec, value = node.spec, node.value
    if value is None:
        return None
    say = _TEXTS.get(spec.name)
    if say is not None:
        return say(value, lambda name: _beside(nodes, name))
    return _of_number(spec.name, value) if spec.type == _NUMBER else None


def _beside(nodes: Iterable[Field], name: str) -> Any:
    return next((node.value for node in islice(nodes, _BESIDE) if node.spec.name == name), None)


def _of_number(name: str, value: Any) -> str | None:
    """A number in JSON."""
    if not isinstance(value, int):
        return None
    if _EARLIEST < value < _LATEST and _TIME.search(name):
        return timestamp(value)
    return duration_text(value) if name in _DURATIONS and 0 < value < _EARLIEST else None


def _topic(value: Any, _: Beside) -> str | None:
    return topic_text(value)


def _id(value: Any, _: Beside) -> str | None:
    return id_text(value) if isinstance(value, str) else None


def _unique(value: Any, _: Beside) -> str | None:
    return unique_text(value) if isinstance(value, str) else None


def _permission(value: Any, _: Beside) -> str | None:
    return permission(value) if isinstance(value, int) else None


def _queue(value: Any, beside: Beside) -> str | None:
    """Queues of what waits are levels."""
    if not isinstance(value, int) or value < 0 or beside("topic") not in SCHEDULED:
        return None
    return f"delay level {value + 1}, {delay_text(value + 1)}"


def _acknowledged(value: Any, beside: Beside) -> str | None:
    """The offsets of a bit set."""
    first = beside("so")
    if not isinstance(first, int) or not isinstance(value, str) or len(value) > _MOST:
        return None
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    said, many = runs_text(f"{int.from_bytes(data, 'little'):b}"[::-1], first)
    return f"{'offsets' if many else 'offset'} {said}" if said else None


def _body(value: Any, beside: Beside) -> str | None:
    is_short = isinstance(value, bytes) and len(value) <= _MOST
    if is_short and beside("topic") == _OF_HALF_MESSAGES and _OFFSETS.fullmatch(value):
        return f"done with the half messages at {value.decode().rstrip(',').replace(',', ', ')}"
    return printable(value)


_TEXTS: Mapping[str, Text] = {
    **dict.fromkeys(("topic", "topicName", "originTopic", "defaultTopic", "t"), _topic),
    **dict.fromkeys(("msgId", "offsetMsgId", "originMsgId", "messageId"), _id),
    **dict.fromkeys(("transactionId", "batchUniqId"), _unique),
    **dict.fromkeys(("body", "bodyUncompressed"), _body),
    "perm": _permission,
    "queueId": _queue,
    "b": _acknowledged,
}
