"""The messages that an answer to PULL or POP holds, and where the group that asked finds each.

Facts (PopMessageProcessor, MessageDecoder.decodeMessagesInnerBatch). A batch that is stored as one message is consumed
message by message, each at an offset of its own. What is popped from a topic of retries says so in its handle alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.correlator import MessageEvent
from dissectors.rocketmq.reports.handles import parse_handle
from dissectors.rocketmq.reports.ids import Place, read_properties, resolve_retry_topic
from dissectors.slotted import slotted
from dissectors.values import number, struct, structs, text


@slotted
class ReceivedMessage:
    """topic, queue, offset: where the group finds it; said: its properties; count: reconsumeTimes."""

    topic: str | None
    queue: int
    offset: int
    place: Place
    said: Mapping[str, Any]
    count: int


def iterate_messages(event: MessageEvent, group: str | None) -> Iterator[ReceivedMessage]:
    """The messages of an answer; those of an inner batch one by one."""
    for each in structs(struct(event.values, "body").get("messages")):
        said, host = read_properties(each.get("properties")), text(each, "storeHost") or ""
        at, topic, queue = number(each, "commitLogOffset"), text(each, "topic"), number(each, "queueId")
        offset, count = number(each, "queueOffset"), number(each, "reconsumeTimes")
        handle = parse_handle(text(said, "POP_CK"))
        if handle is not None and handle.kind != "0":
            topic, queue, offset = resolve_retry_topic(topic, group, handle.kind), handle.queue, handle.offset
        inner = structs(each.get("messages"))
        if not inner:
            yield ReceivedMessage(topic, queue, offset, (host, at, 0), said, count)
        for index, item in enumerate(inner):
            yield ReceivedMessage(
                topic,
                queue,
                number(item, "queueOffset"),
                (host, at, index),
                read_properties(item.get("properties")),
                count,
            )
