"""Places and names of messages: offset ids, names of topics, properties.

Facts (MessageDecoder.createMessageId, MixAll, KeyBuilder, MessageConst). A broker names a message by its own address
and the offset in its commit log, 16 or 28 bytes as hex: the offset id. A client gives each message a name of its own,
which stays with it from broker to broker, through retries, delays and transactions: the property UNIQ_KEY; old clients
give none. A group's retries have a topic of their own, `%RETRY%` and the group. For popped messages the topic follows:
behind `_` (V1) or `+` (V2). Properties are one text in a header, as they are in a message.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple

from dissectors.rocketmq.labels import RETRY
from dissectors.rocketmq.stored import format_host, parse_properties
from dissectors.values import number, structs, text

MOST_IDS = 1024
"""Ids of one answer, and messages of one batch, that are told."""

Place = tuple[str, int, int]
"""The broker's address and port, the offset in its commit log, and which of an inner batch it is; else 0."""

_LENGTHS = (32, 56)
_PORT = 8
_MOST_DIGITS = 18
_POP_RETRY = {"1": "_", "2": "+"}


def parse_offset_id(id_: str) -> Place | None:
    """Parses an offset message id to its place; None if it is malformed."""
    if len(id_) not in _LENGTHS:
        return None
    try:
        raw = bytes.fromhex(id_)
    except ValueError:
        return None
    if len(raw) * 2 != len(id_):  # fromhex passes over spaces
        return None
    return format_host(raw[:-_PORT]), int.from_bytes(raw[-_PORT:], signed=True), 0


def parse_offset_ids(ids: str | None) -> list[Place]:
    """Parses offset ids between commas, as the answer to a batch has them."""
    found = [parse_offset_id(each) for each in (ids or "").split(",", MOST_IDS)[:MOST_IDS]]
    return [each for each in found if each is not None]


def format_offset_id(place: Place) -> str | None:
    """Returns the offset id of a place; None where its host is no address."""
    try:
        return (_pack_host(place[0]) + place[1].to_bytes(8, signed=True)).hex().upper()
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1024)
def _pack_host(endpoint: str) -> bytes:
    """The address and port of a host. Raises ValueError or OverflowError."""
    host, _, port = endpoint.rpartition(":")
    return ip_address(host.strip("[]")).packed + int(port).to_bytes(4, signed=True)


def read_properties(raw: object) -> Mapping[str, Any]:
    """Returns the properties of a message, of a header's text or as they were decoded."""
    if isinstance(raw, dict):
        return raw
    return parse_properties(raw) if isinstance(raw, str) else {}


def read_count(values: Mapping[str, Any], name: str) -> int | None:
    """Reads a property that is a non-negative number; None if it is none."""
    found = text(values, name)
    if found is None or len(found) > _MOST_DIGITS or not (found.isascii() and found.isdigit()):
        return None
    return int(found)


def resolve_retry_topic(topic: str | None, group: str | None, kind: str) -> str | None:
    """Returns the topic that a receipt handle means, which says by 0, 1 or 2 whether it is one of retries."""
    separator = _POP_RETRY.get(kind)
    if topic is None or group is None or separator is None or topic.startswith(RETRY):
        return topic
    return f"{RETRY}{group}{separator}{topic}"


def resolve_real_topic(topic: str | None, group: str | None, properties: Mapping[str, Any]) -> str | None:
    """Returns the topic that a message was sent to, of one that may be a retry's."""
    if topic is None or not topic.startswith(RETRY):
        return topic
    rest = topic[len(RETRY) + len(group or "") :]
    return text(properties, "RETRY_TOPIC") or (rest[1:] if rest[:1] in ("_", "+") else None) or topic


_WORDS = 8
_MOST_BITS = 4096
"""Offsets of one pop that are told."""


class ReceiptHandle(NamedTuple):
    """A receipt handle of one popped message; times in ms. kind: 0, 1 or 2, for topics of retries."""

    start: int
    time: int
    invisible: int
    revive: int
    kind: str
    broker: str
    queue: int
    offset: int

    @property
    def text(self) -> str:
        """The handle as it is encoded on the wire."""
        return " ".join(map(str, self))


def parse_handle(value: str | None) -> ReceiptHandle | None:
    """Parses a receipt handle; None if it is malformed."""
    words = (value or "").split(" ", _WORDS)
    if len(words) != _WORDS:
        return None
    numbers = [words[at] for at in (0, 1, 2, 3, 6, 7)]
    if not all(each.isascii() and each.isdigit() and len(each) <= _MOST_DIGITS for each in numbers):
        return None
    start, time, invisible, revive, queue, offset = map(int, numbers)
    return ReceiptHandle(start, time, invisible, revive, words[4], words[5], queue, offset)


class AckReceipt(NamedTuple):
    """The message that an acknowledgement names: its place in a group's queue. time: of the pop, as handles have it."""

    group: str | None
    topic: str | None
    queue: int
    offset: int
    time: int | None


def read_receipt(header: Mapping[str, Any]) -> AckReceipt:
    """Reads what ACK_MESSAGE or CHANGE_MESSAGE_INVISIBLETIME acknowledges from its header."""
    group, handle = text(header, "consumerGroup"), parse_handle(text(header, "extraInfo"))
    topic = resolve_retry_topic(text(header, "topic"), group, handle.kind if handle else "0")
    return AckReceipt(
        group, topic, number(header, "queueId"), number(header, "offset"), handle.time if handle else None
    )


def read_batch_receipts(body: Mapping[str, Any]) -> Iterator[AckReceipt]:
    """Reads what BATCH_ACK_MESSAGE acknowledges from its body."""
    for each in structs(body.get("acks")):
        group, retry = text(each, "c"), text(each, "r") or "0"
        topic = resolve_retry_topic(text(each, "t"), group, retry)
        queue, start, time = number(each, "q"), number(each, "so"), number(each, "pt")
        for bit in _iterate_bits(each.get("b")):
            yield AckReceipt(group, topic, queue, start + bit, time)


def _iterate_bits(value: object) -> Iterator[int]:
    if not isinstance(value, str) or len(value) > _MOST_BITS:
        return
    try:
        number = int.from_bytes(b64decode(value, validate=True), "little")
    except ValueError:
        return
    for bit in range(min(number.bit_length(), _MOST_BITS)):
        if number >> bit & 1:
            yield bit
