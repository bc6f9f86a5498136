"""Receipt handles: what a consumer that pops says of the messages that it acknowledges.

Facts (ExtraInfoUtil, BatchAck, PopMessageProcessor). A handle is eight words with spaces between them: where the pop
began in the queue, when it was (ms since 1970, the broker's clock), for how many ms nobody else gets the message, the
queue of the broker's own topic in which it waits to be revived, 0, 1 or 2 for an ordinary topic or one of retries, the
broker's name, the queue, and the offset there. Many acknowledgements in one have their offsets as the bits of a
java.util.BitSet, little-endian, counted from where the pop began. What is popped from a topic of retries has the name
of the ordinary one, and its handle in the property POP_CK; of all others the consumer makes the handle.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.rocketmq.reports.ids import resolve_retry_topic
from dissectors.values import number, structs, text

_WORDS = 8
_MOST_DIGITS = 18
_MOST_BITS = 4096
"""Offsets of one pop that are told."""


class ReceiptHandle(NamedTuple):
    """One message of a pop; times in ms. kind: 0, 1 or 2, whether its topic is one of retries."""

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
        """As it stands on the wire."""
        return " ".join(map(str, self))


def parse_handle(value: str | None) -> ReceiptHandle | None:
    """What a handle means; None for what is none."""
    words = (value or "").split(" ", _WORDS)
    if len(words) != _WORDS:
        return None
    numbers = [words[at] for at in (0, 1, 2, 3, 6, 7)]
    if not all(each.isascii() and each.isdigit() and len(each) <= _MOST_DIGITS for each in numbers):
        return None
    start, time, invisible, revive, queue, offset = map(int, numbers)
    return ReceiptHandle(start, time, invisible, revive, words[4], words[5], queue, offset)


class AckReceipt(NamedTuple):
    """What an acknowledgement names: a message in a group's queue. time: of the pop, as handles have it."""

    group: str | None
    topic: str | None
    queue: int
    offset: int
    time: int | None


def read_receipt(header: Mapping[str, Any]) -> AckReceipt:
    """Of ACK_MESSAGE and CHANGE_MESSAGE_INVISIBLETIME, by their headers."""
    group, handle = text(header, "consumerGroup"), parse_handle(text(header, "extraInfo"))
    topic = resolve_retry_topic(text(header, "topic"), group, handle.kind if handle else "0")
    return AckReceipt(
        group, topic, number(header, "queueId"), number(header, "offset"), handle.time if handle else None
    )


def read_batch_receipts(body: Mapping[str, Any]) -> Iterator[AckReceipt]:
    """Of BATCH_ACK_MESSAGE, by its body."""
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
