"""Ids of messages, which tell where a message is stored, or its producer; texts for nodes with ids and topics.

Facts. A broker names a message by its place (MessageDecoder.createMessageId): its address, its port as an int32, the
offset in its commit log; 16 bytes, or 28 with an IPv6 address, in hexadecimal. Clients make ids of the same length
(MessageClientIDSetter): address, the lower half of the process id, the hash of a class loader, the milliseconds since
the beginning of their month in local time, a counter. A port has at most two bytes, so the two upper ones are zero in
the first kind; those of the process id are hardly ever zero in the second. Clients of gRPC make a third kind
(MessageIdCodec): a version, 1; six bytes of a MAC address; two of the process id; the seconds since 2021, and a
counter.

A recall handle is the URL-safe base64 of words (RecallMessageHandle): `v1`, topic, broker, the time at which the
message is due, the id that its producer made.

Facts. In JSON bodies of any class, times in milliseconds have names that end in `time` or `timestamp`; there are
hundreds of them. In BATCH_ACK_MESSAGE, an acknowledgement's names are letters (BatchAck): `so` is the first offset, `b`
the base64 of a bit set of the offsets from there on, its lowest byte first (BitSet.toByteArray), `pt` and `it` the time
of the POP and the invisible time. A record of the topic of operations on half messages has their offsets as text
(TransactionalMessageUtil.OFFSET_SEPARATOR).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable, Mapping
from datetime import timedelta
from ipaddress import ip_address
from struct import Struct
from typing import Any, TypeVar

from dissectors.field import Field
from dissectors.rocketmq.labels import format_delay, format_permission
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import duration_text
from dissectors.wire.texts import FindSibling, TextFormatter, format_by_siblings, printable, runs_text
from dissectors.wire.times import timestamp

_Value = TypeVar("_Value")

_HEX = re.compile(r"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{34}|[0-9a-fA-F]{56})")
_STORED = Struct(">iq")
_MADE = Struct(">HIIH")
_OF_GRPC = Struct(">B6sHII")
_SINCE = 1_609_459_200
"""Seconds: the first of January 2021, UTC."""

_DAY = 86_400_000


def format_id(text: str) -> str | None:
    """Formats the content of an id of either kind for people."""
    raw = _parse_hex(text)
    if raw is None:
        return None
    if len(raw) == _OF_GRPC.size:
        return _format_grpc_id(raw)
    port, offset = _STORED.unpack(raw[-_STORED.size :])
    if 0 < port <= 0xFFFF and offset >= 0:
        return f"stored at {_format_host(raw[: -_STORED.size], port)}, offset {offset} of its commit log"
    return format_unique_id(text)


def format_unique_id(text: str) -> str | None:
    """Formats the content of an id that a client made (UNIQ_KEY) for people."""
    raw = _parse_hex(text)
    if raw is None:
        return None
    if len(raw) == _OF_GRPC.size:
        return _format_grpc_id(raw)
    process, _, span, number = _MADE.unpack(raw[-_MADE.size :])
    days, rest = divmod(span, _DAY)
    clock = str(timedelta(milliseconds=rest, microseconds=1))[:-3]
    address = ip_address(raw[: -_MADE.size])
    return f"made at {address}, process {process}, day {days + 1} of its month, {clock}, number {number}"


def _format_grpc_id(raw: bytes) -> str | None:
    version, address, process, seconds, number = _OF_GRPC.unpack(raw)
    if version != 1:
        return None
    return f"made at {address.hex(':')}, process {process}, {timestamp((_SINCE + seconds) * 1000)}, number {number}"


def _parse_hex(text: str) -> bytes | None:
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None


def _format_host(raw: bytes, port: int) -> str:
    address = ip_address(raw)
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


def decode_recall_handle(handle: str) -> str | None:
    """Returns the words of a recall handle."""
    try:
        words = urlsafe_b64decode(handle + "=" * (-len(handle) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return words if words.startswith("v1 ") else None


SCHEDULED = frozenset({"SCHEDULE_TOPIC_XXXX", "SCHEDULE_TOPIC_XXXX_V2"})


def format_topic(topic: str) -> str | None:
    """Returns the purpose of a system topic."""
    known: str | None = table("meanings")["topics"].get(topic)
    if known is not None:
        return known
    prefixes: dict[str, str] = table("meanings")["prefixes"]
    prefix = next((each for each in prefixes if topic.startswith(each)), None)
    if prefix is None:
        return None
    group, plus, popped = topic[len(prefix) :].partition("+")
    return f"{prefixes[prefix]} {group}" + (f", popped from {popped}" if plus else "")


def format_default_delay(level: Any) -> str | None:
    """Returns how long a delay level lasts by default."""
    lasts = format_delay(level) if isinstance(level, int) else None
    return None if lasts is None else f"{lasts} by default"


_NUMBER = "json_number"
_TIME = re.compile(r"(?:time|timestamp)(?:ms|millis)?$|^(?:subVersion|pt)$", re.IGNORECASE)
_EARLIEST, _LATEST = 1_000_000_000_000, 4_000_000_000_000
"""Milliseconds since 1970 between 2001 and 2096: what is outside is no time of RocketMQ's."""

_DURATIONS = frozenset({"invisibleTime", "it", "consumeTimeout"})
_OF_HALF_MESSAGES = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
_OFFSETS = re.compile(rb"(?:[0-9]{1,19},)*[0-9]{1,19},?")
_MOST = 4096
"""Characters of base64 that are looked at for bits, and bytes of a record for offsets."""


def format_text(node: Field, nodes: list[Field]) -> str | None:
    """Returns the text for a node among `nodes`; None where its value says all."""
    spec, value = node.spec, node.value
    if value is None:
        return None
    say = _TEXTS.get(spec.name)
    if say is not None:
        return format_by_siblings(say, node, nodes)
    return _format_number(spec.name, value) if spec.type == _NUMBER else None


def _format_number(name: str, value: Any) -> str | None:
    """A number in JSON."""
    if not isinstance(value, int):
        return None
    if _EARLIEST < value < _LATEST and _TIME.search(name):
        return timestamp(value)
    return duration_text(value) if name in _DURATIONS and 0 < value < _EARLIEST else None


def _format_type(kind: type[_Value], function: Callable[[_Value], str | None]) -> TextFormatter:
    """A formatter of values of one type."""
    return lambda value, _: function(value) if isinstance(value, kind) else None


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
    **dict.fromkeys(("topic", "topicName", "originTopic", "defaultTopic", "t"), _format_type(str, format_topic)),
    **dict.fromkeys(("msgId", "offsetMsgId", "originMsgId", "messageId"), _format_type(str, format_id)),
    **dict.fromkeys(("transactionId", "batchUniqId"), _format_type(str, format_unique_id)),
    **dict.fromkeys(("body", "bodyUncompressed"), _format_body),
    "perm": _format_type(int, format_permission),
    "queueId": _format_queue,
    "b": _format_acknowledged,
}
