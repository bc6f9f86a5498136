"""Ids of messages, which tell where a message is stored, or its producer.

Facts. A broker names a message by its place (MessageDecoder.createMessageId): its address, its port as an int32, the
offset in its commit log; 16 bytes, or 28 with an IPv6 address, in hexadecimal. Clients make ids of the same length
(MessageClientIDSetter): address, the lower half of the process id, the hash of a class loader, the milliseconds since
the beginning of their month in local time, a counter. A port has at most two bytes, so the two upper ones are zero in
the first kind; those of the process id are hardly ever zero in the second. Clients of gRPC make a third kind
(MessageIdCodec): a version, 1; six bytes of a MAC address; two of the process id; the seconds since 2021, and a
counter.

A recall handle is the URL-safe base64 of words (RecallMessageHandle): `v1`, topic, broker, the time at which the
message is due, the id that its producer made.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from datetime import timedelta
from ipaddress import ip_address
from struct import Struct
from typing import Any

from dissectors.rocketmq.labels import format_delay
from dissectors.rocketmq.tables import table
from dissectors.wire.times import timestamp

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


def format_topic(topic: Any) -> str | None:
    """Returns the purpose of a system topic."""
    if not isinstance(topic, str):
        return None
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
