"""The lines of the story of messages, one for each group, and what they say of one of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dissectors.old_report import Column, ReportRow
from dissectors.rocketmq.reports.ids import id_of
from dissectors.rocketmq.reports.messages import Delivery, Message
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

COLUMNS = (
    Column("topic", "text", "as it was sent to; of a message that comes again not the topic of retries"),
    Column("message", "text", "its UNIQ_KEY, which the client gives it; else its offset id"),
    Column("group", "text", "the consumer group that it was delivered to; each has a line of its own"),
    Column(
        "state",
        "text",
        "unanswered, stored, refused, half, rolled back, recalled (delivered to nobody); delivered, acked, returned "
        "(sent back), dead (sent back too often)",
    ),
    Column("status", "text", "what the broker answered: SEND_OK, or the name of the response code"),
    Column("keys", "text", "by which it may be looked for"),
    Column("tags", "text", "by which consumers choose"),
    Column("queue", "number", "in which queue of the topic it lies"),
    Column("offset", "number", "where in that queue"),
    Column("offset_id", "text", "the broker's address and the offset in its commit log, as hex"),
    Column("producer", "text", "the group that sends it"),
    Column("sender", "text", "the address that sends it"),
    Column("language", "text", "the language and version of who sends it"),
    Column("consumer", "text", "the address that it was delivered to last"),
    Column("how", "text", "pull or pop"),
    Column("sent", "time", "when its first SEND came"),
    Column("bytes", "number", "bytes of that SEND, all of the frame"),
    Column("batch", "number", "messages that were sent with it in one SEND, of a batch"),
    Column("attempts", "number", "how often it was sent"),
    Column("answer_ns", "duration", "from the first SEND to the answer that counts"),
    Column("due", "time", "when it shall be delivered; by DELAY or TIMER_DELAY an estimate"),
    Column("delivery_ns", "duration", "from SEND to the first answer with it"),
    Column("late_ns", "duration", "from when it was due to there"),
    Column("ack_ns", "duration", "from there to the ACK, or to the committed offset behind it"),
    Column("end_to_end_ns", "duration", "from SEND to there"),
    Column("redelivered", "number", "how often it was delivered again, seen or as the broker counts"),
    Column("returned", "number", "how often it was sent back"),
    Column("send", "message", "its SEND"),
    Column("delivery", "message", "the first answer with it"),
    Column("ack", "message", "the ACK, or what commits"),
)


def lines(message: Message) -> Iterator[ReportRow]:
    """A line for each group, or one where it was delivered to none."""
    for found in message.to.values():
        yield ReportRow(_values(message, found), (*message.rows, *found.rows), message.first, message.last)
    if not message.to:
        yield ReportRow(_values(message, None), tuple(message.rows), message.first, message.last)


def _values(message: Message, found: Delivery | None) -> tuple[Any, ...]:
    place = None if message.place is None else id_of(message.place)
    group, state, client, how, time, acked, again, backs, row, ack = (
        (None, message.state, None, None, None, None, 0, 0, None, None)
        if found is None
        else (
            *(found.group, found.state, found.client, found.how, found.time, found.acked),
            *(max(found.again, found.count), found.backs, found.row, found.ack),
        )
    )
    return (
        *(message.topic, message.key or place, group, state, message.status, message.named, message.tags),
        *(message.queue, message.offset, place, message.group, message.client, message.language, client, how),
        *(message.sent, message.size, message.batch, message.attempts or None),
        *(_after(message.sent, message.answered), message.due, _after(message.sent, time), _after(message.due, time)),
        *(_after(time, acked), _after(message.sent, acked), again, backs, message.send, row, ack),
    )


def _after(first: int | None, then: int | None) -> int | None:
    return None if first is None or then is None else max(then - first, 0)


_TOOK = (
    ("answered after", "answer_ns"),
    ("delivered after", "delivery_ns"),
    ("acknowledged after another", "ack_ns"),
    ("end to end", "end_to_end_ns"),
)

_VERBS = {
    "sent": "sends",
    "stored": "confirms",
    "refused": "refuses",
    "committed": "commits",
    "rolled back": "rolls back",
    "recalled": "recalls",
    "delivered": "delivers",
    "redelivered": "delivers again",
    "acked": "acknowledges",
    "returned": "sends back",
    "dead": "gives up",
    "kept": "does not take back",
}


def sentence(entry: ReportRow, row: int) -> str:
    """What a line says of one of its rows."""
    said = dict(zip((column.name for column in COLUMNS), entry.values, strict=True))
    word = next(word for word, each in entry.rows if each == row)
    what = f"message {said['message']}" if said["message"] else "a message"
    about = f" of {said['topic']}" if said["topic"] else ""
    to = f" to {said['group']}" if said["group"] else ""
    status = [said["status"]] if said["state"] == "refused" and said["status"] else []
    took = [f"{name} {lasting(said[key])}" for name, key in _TOOK if said[key] is not None]
    again = [f"redelivered {count_text(said['redelivered'], 'time')}"] if said["redelivered"] else []
    return f"{_VERBS[word]} {what}{about}{to}: " + ", ".join([said["state"], *status, *took, *again])
