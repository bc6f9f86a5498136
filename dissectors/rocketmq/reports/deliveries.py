"""The report of messages: when each was sent, stored, pulled or popped by a group, and acknowledged there.

Facts (SendMessageProcessor, PullMessageProcessor, PopMessageProcessor, AbstractSendMessageProcessor). The answer to a
SEND tells queue and offset of the message; a pulled or popped message contains them. A copy of it, in a topic of
retries, after a delay or a commit, has another place and keeps its UNIQ_KEY. A pulling consumer commits an offset, with
UPDATE_CONSUMER_OFFSET or in a PULL, behind everything that was consumed or sent back; it does so every few seconds, so
the time is an upper bound. A popping consumer acknowledges each message. A message that is sent back too often goes to
the group's `%DLQ%`, from where nobody gets it: known by the request's own count and maximum. A group that broadcasts
(its heartbeats say so) has a row for each client, and does not commit offsets.

A proxy forwards requests, so the same message appears on two connections; the client's side of it counts. If a proxy
and its partner are on one host, a second attempt there may be taken for a forwarded one: an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from dissectors.correlator import LIMIT, BoundedTable, MessageEvent, WeighedTable, for_request
from dissectors.outstanding import Outstanding
from dissectors.report import REPORTED, Report
from dissectors.rocketmq.labels import RETRY
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, POPS, PULLS, ROCKETMQ, read_header, subscribe_to
from dissectors.rocketmq.reports.ids import (
    MOST_IDS,
    AckReceipt,
    parse_offset_id,
    parse_offset_ids,
    read_batch_receipts,
    read_receipt,
    resolve_real_topic,
)
from dissectors.rocketmq.reports.messages import (
    BATCH_SEND,
    HALF,
    IS_STORED,
    MOST_READERS,
    OUTCOMES,
    RECALLED,
    REFUSED,
    ROLLED_BACK,
    SINGLE_SENDS,
    STORED,
    UNANSWERED,
    GroupReader,
    MessageDelivery,
    MessageTracker,
    ReceivedMessage,
    SendRequest,
    TrackedMessage,
    estimate_due,
    iterate_messages,
    read_send,
)
from dissectors.values import host_of, number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

MOST_NAMED = 16
"""Rows that name the same commit: those of the latest messages that it is for."""

MOST_PENDING = 4 * LIMIT
"""Messages and places that requests name whose answers are waited for."""

_OK = "SEND_OK"
_COMMITS = 1
"""The bit of a PULL's sysFlag by which it commits an offset (PullSysFlag)."""

_SENT = ("producerGroup", "topic", "sysFlag", "properties")
"""What is read of the header of a SEND."""

_Queue = tuple[GroupReader, str | None, int, str]
"""Of whom, which topic's, which one, and on which broker: by name, or by address where no header has it."""


class _PendingRead(NamedTuple):
    """A PULL or POP until its answer comes."""

    reader: GroupReader
    broker: str
    client: str
    how: str


class _PendingAck(NamedTuple):
    """An acknowledgement until its answer comes. event: without values, which may be many."""

    event: MessageEvent
    places: list[tuple[_Queue, int]]


def _weigh_request(request: list[TrackedMessage] | _PendingRead | _PendingAck | MessageDelivery) -> int:
    """Of a SEND its messages are kept, and what is sent back as it is."""
    if isinstance(request, list):
        return len(request)
    return len(request.places) if isinstance(request, _PendingAck) else 1


class DeliveryReport(Report[MessageDelivery]):
    """The report of messages.

    Rows stay open until the capture ends, because another group may follow; the oldest is closed first.
    """

    name = "deliveries"
    about = "each message and group: when it was sent, stored, pulled or popped, and acknowledged"
    needs = ROCKETMQ
    row = MessageDelivery
    worst = ("redelivered", "end_to_end_ns")
    sentence = RowSentence(
        "{word} (message {message}|a message)( of {topic})( to {group}): {state}"
        '({?state == "refused": , {status}})(, answered after {answer_ns%lasting})'
        "(, delivered after {delivery_ns%lasting})(, acknowledged after another {ack_ns%lasting})"
        "(, end to end {end_to_end_ns%lasting})(, redelivered {redelivered%many time})"
    )
    verbs: ClassVar[Mapping[str, str]] = {
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
    unnamed = ("HEART_BEAT",)

    def _begin(self) -> None:
        self.requests = WeighedTable(_weigh_request, MOST_PENDING)
        self.messages = MessageTracker(self.close_message)
        self.broadcasting: BoundedTable[str, bool] = BoundedTable()
        self.outstanding: Outstanding[MessageDelivery] = Outstanding()

    def close_message(self, message: TrackedMessage) -> None:
        """Closes the rows of a message: one for each group, or one if it was delivered to none."""
        for found in list(message.to.values()) or [MessageDelivery(message.first, message.last, subject=message)]:
            rows, found.rows = found.rows, [*message.rows, *found.rows]
            found.first, found.last = message.first, message.last
            self.close(found)
            found.rows = rows

    def finish(self) -> None:
        """Closes all rows that are open when the capture ends."""
        for message in self.messages.list_messages():
            self.close_message(message)

    def receive_send(self, event: MessageEvent) -> None:
        """Notes the messages of a SEND until its answer comes."""
        what = read_send(event)
        if what.retry_group is None:
            self.await_answer(event, [self.attempt(event, what, each) for each in what.each])
        else:
            self.send_back(event, what)

    def attempt(self, event: MessageEvent, what: SendRequest, properties: Mapping[str, Any]) -> TrackedMessage:
        """Notes one message of a SEND, which may have been sent before."""
        key = text(properties, "UNIQ_KEY")
        message = self.messages.find(key)
        if message is None or (message.send is not None and message.status == _OK):
            message = TrackedMessage(event.time, event.time, topic=what.topic, key=key)
        if message.send is None:
            message.stream, message.client, message.language, message.group = (
                event.stream, event.client, event.client_name, what.group,
            )  # fmt: skip
            message.send, message.sent, message.size, message.state = event.row, event.time, event.size, UNANSWERED
            message.batch, message.half = what.batch, what.is_half
            message.keys, message.tags = text(properties, "KEYS"), text(properties, "TAGS")
            message.due = estimate_due(properties, event.time)
        if message.attempts == 0 or not self.is_passed_on(message, event):
            message.attempts += 1
            message.state = UNANSWERED
        message.note("sent", event)
        self.messages.add(message, key)
        return message

    def is_passed_on(self, message: TrackedMessage, event: MessageEvent) -> bool:
        """Returns whether a proxy sends on what it was sent and has not answered."""
        if message.stream is None or message.stream == event.stream or message.state != UNANSWERED:
            return False
        return self.is_between(message.stream, event.stream)

    def is_between(self, outer: int, inner: int) -> bool:
        """Whether the client of one connection is, by its host, the server of another, and not of the same server."""
        (_, proxy), (client, server) = self.ends(outer), self.ends(inner)
        return host_of(proxy) == host_of(client) and proxy != server

    def receive_sent(self, messages: list[TrackedMessage], event: MessageEvent) -> None:
        """Handles the answer to a SEND."""
        header = read_header(event.values)
        code, status = event.error or (0, _OK)
        places, offset = parse_offset_ids(text(header, "msgId")), number(header, "queueOffset", -1)
        for at, message in enumerate(messages):
            if message.answered is None or message.status != _OK or event.stream == message.stream:
                message.answered, message.status = event.time, status
            message.note("stored" if code in IS_STORED else "refused", event)
            if code not in IS_STORED:
                message.state = REFUSED
                continue
            message.state = HALF if message.half else STORED
            if not message.half and message.due is None:  # else the broker keeps it in a topic of its own
                message.queue, message.offset = number(header, "queueId", -1), offset + at
            if len(places) == len(messages):
                message.place = places[at]
            elif places:
                message.place = (*places[0][:2], at)
            if len(messages) == 1:
                message.key = message.key or text(header, "transactionId")
            self.messages.add(message, message.key, message.place)

    def end_transaction(self, event: MessageEvent) -> None:
        """Notes how END_TRANSACTION ends a half message."""
        header = read_header(event.values)
        message = self.messages.find(text(header, "transactionId"), text(header, "msgId"))
        word = OUTCOMES.get(number(header, "commitOrRollback"))
        if message is not None and word is not None:
            message.note(word, event)
            message.state = STORED if word == "committed" else ROLLED_BACK

    def recall(self, event: MessageEvent) -> None:
        """Handles the answer to RECALL_MESSAGE."""
        message = self.messages.find(text(read_header(event.values), "msgId"))
        if message is not None and event.error is None:
            message.note("recalled", event)
            message.state = RECALLED

    def receive_beat(self, event: MessageEvent) -> None:
        """Notes from HEART_BEAT which groups broadcast."""
        for each in structs(struct(event.values, "body").get("consumerDataSet"))[:MOST_READERS]:
            group, model = text(each, "groupName"), text(each, "messageModel")
            if group is not None:
                self.broadcasting[group] = model == "BROADCASTING"

    def find_reader(self, group: str | None, event: MessageEvent) -> GroupReader:
        """Finds who reads: a group, or one client of a group that broadcasts."""
        return group, event.client if self.broadcasting.get(group) else None

    def receive_read(self, event: MessageEvent) -> None:
        """Notes a PULL or POP until its answer comes."""
        header, pops = read_header(event.values), (event.operation or "") in POPS.split()
        reader, broker = self.find_reader(text(header, "consumerGroup"), event), _list_broker_names(header, event)[0]
        if not pops and number(header, "sysFlag") & _COMMITS:
            self.commit(event)
        self.await_answer(event, _PendingRead(reader, broker, event.client, "pop" if pops else "pull"))

    def commit(self, event: MessageEvent) -> None:
        """Acknowledges what a committed offset covers."""
        header = read_header(event.values)
        reader, topic = self.find_reader(text(header, "consumerGroup"), event), text(header, "topic")
        for broker in _list_broker_names(header, event):
            queue = reader, topic, number(header, "queueId"), broker
            done = self.outstanding.acknowledge_before(queue, number(header, "commitOffset"))
            for left, (found, *_) in enumerate(reversed(done)):
                if found.at[:-1] == queue and not found.is_back and found.open:
                    _mark_acknowledged(event, found, is_named=left < MOST_NAMED)

    def receive_messages(self, reading: _PendingRead, event: MessageEvent) -> None:
        """Handles the answer to a PULL or POP."""
        for each in iterate_messages(event, reading.reader[0]):
            self.deliver(event, reading, each)

    def deliver(self, event: MessageEvent, reading: _PendingRead, each: ReceivedMessage) -> None:
        """Notes that a message was delivered to a group."""
        message = self.find_message(event, reading, each)
        reader, queue = reading.reader, (reading.reader, each.topic, each.queue, reading.broker)
        found, word = message.to.get(reader), "delivered"
        if found is None:
            if len(message.to) >= MOST_READERS:
                return
            found = message.to[reader] = MessageDelivery(
                *(event.time, event.time), subject=message, group=reader[0], how=reading.how, delivery=event.row,
                time=event.time,
            )  # fmt: skip
        elif found.open and found.stream != event.stream and self.is_between(event.stream, found.stream):
            found.time = event.time  # a proxy hands on what it got itself
        else:
            found.again += 1
            word = "redelivered"
        found.consumer = reading.client
        found.note(word, event)
        message.hear(event)
        found.at, found.stream, found.counted = (*queue, each.offset), event.stream, max(found.counted, each.count)
        found.is_back, found.open = False, True
        self.outstanding.deliver(queue, each.offset, found)

    def find_message(self, event: MessageEvent, reading: _PendingRead, each: ReceivedMessage) -> TrackedMessage:
        """Returns the message with this name or place; makes one if it was sent before the capture."""
        properties, key = each.properties, text(each.properties, "UNIQ_KEY")
        message = self.messages.find(each.place, key, parse_offset_id(text(properties, "ORIGIN_MESSAGE_ID") or ""))
        if message is None:
            topic = resolve_real_topic(each.topic, reading.reader[0], properties)
            message = TrackedMessage(event.time, event.time, topic=topic, key=key)
            message.keys, message.tags = text(properties, "KEYS"), text(properties, "TAGS")
        if message.due is None:
            message.due = estimate_due(properties, None)
        if not (each.topic or "").startswith(RETRY):
            message.place, message.queue, message.offset = each.place, each.queue, each.offset
        elif message.place is None:
            message.place = each.place
        if message.state in (UNANSWERED, HALF):
            message.state = STORED
        self.messages.add(message, message.key, each.place)
        return message

    def receive_ack(self, event: MessageEvent) -> None:
        """Handles ACK_MESSAGE: a consumer acknowledges one message that it got by POP."""
        header = read_header(event.values)
        self.acknowledge([read_receipt(header)], _list_broker_names(header, event), event)

    def receive_batch_ack(self, event: MessageEvent) -> None:
        """Handles BATCH_ACK_MESSAGE: a consumer acknowledges up to MOST_IDS messages that it got by POP."""
        body = struct(event.values, "body")
        self.acknowledge(
            islice(read_batch_receipts(body), MOST_IDS), _list_broker_names(body, event, "brokerName"), event
        )

    def acknowledge(self, names: Iterable[AckReceipt], brokers: Iterable[str], event: MessageEvent) -> None:
        """Messages are acknowledged, if the answer says so, or none is awaited."""
        places = [
            ((self.find_reader(each.group, event), each.topic, each.queue, broker), each.offset)
            for each in names
            for broker in brokers
        ]
        acking = _PendingAck(event._replace(values={}), places)
        self.await_answer(event, acking)
        if event.partner is None:
            self.receive_acked(acking, event)

    def receive_acked(self, acking: _PendingAck, event: MessageEvent) -> None:
        """Handles the answer to an acknowledgement."""
        for queue, offset in acking.places if event.error is None or event.partner is None else ():
            done = self.outstanding.acknowledge(queue, offset)
            if done is not None:
                _mark_acknowledged(acking.event, done.thing)

    def receive_back(self, event: MessageEvent) -> None:
        """Handles CONSUMER_SEND_MSG_BACK: a consumer returns a message, to get it again later."""
        header = read_header(event.values)
        origin, at = text(header, "originMsgId"), number(header, "offset", -1)
        message = self.messages.find((event.server, at, 0))
        if message is None or origin not in (None, message.key):
            message = self.messages.find(origin, parse_offset_id(origin or "")) or message
        found = None if message is None else message.to.get(self.find_reader(text(header, "group"), event))
        if found is not None:
            most = number(header, "maxReconsumeTimes", -1)
            found.dead = number(header, "delayLevel") < 0 or 0 <= most <= found.counted
            _mark_returned(event, found)
            self.await_answer(event, found)

    def send_back(self, event: MessageEvent, what: SendRequest) -> None:
        """Handles a SEND to a retry topic, by which ordered consumers return messages."""
        properties = what.each[0]
        message = self.messages.find(
            text(properties, "UNIQ_KEY"), parse_offset_id(text(properties, "ORIGIN_MESSAGE_ID") or "")
        )
        found = None if message is None else message.to.get(self.find_reader(what.retry_group, event))
        if found is not None:
            found.dead = 0 <= what.most < what.again
            _mark_returned(event, found)

    def receive_returned(self, found: MessageDelivery, event: MessageEvent) -> None:
        """Handles the answer to what was sent back: an error, and it stays where it was."""
        if event.error is not None:
            found.is_back = found.dead = False
            found.returned -= 1
            found.note("kept", event)
            found.subject.hear(event)

    on = (
        subscribe_to(SINGLE_SENDS, ASKS, receive_send, *_SENT, "reconsumeTimes", "maxReconsumeTimes")
        | subscribe_to(BATCH_SEND, ASKS, receive_send, *_SENT, ("body", "messages"))
        | subscribe_to(
            *(
                f"{SINGLE_SENDS} {BATCH_SEND}",
                ANSWERS,
                for_request(receive_sent, list),
                "msgId",
                "queueId",
                "queueOffset",
            ),
            *("transactionId", REPORTED),
        )
        | subscribe_to(
            *(PULLS, ASKS, receive_read, "consumerGroup", "topic", "queueId", "sysFlag", "commitOffset", "bname"),
        )
        | subscribe_to(POPS, ASKS, receive_read, "consumerGroup", "topic", "bname")
        | subscribe_to(f"{PULLS} {POPS}", ANSWERS, for_request(receive_messages, _PendingRead), ("body", "messages"))
        | subscribe_to(
            "UPDATE_CONSUMER_OFFSET", ASKS, commit, "consumerGroup", "topic", "queueId", "commitOffset", "bname"
        )
        | subscribe_to(
            "ACK_MESSAGE", ASKS, receive_ack, *("consumerGroup", "topic", "queueId", "offset", "extraInfo", "bname")
        )
        | subscribe_to("BATCH_ACK_MESSAGE", ASKS, receive_batch_ack, ("body", "acks"), ("body", "brokerName"))
        | subscribe_to(
            *("CONSUMER_SEND_MSG_BACK", ASKS, receive_back, "offset", "group", "originMsgId", "delayLevel"),
            "maxReconsumeTimes",
        )
        | subscribe_to("ACK_MESSAGE BATCH_ACK_MESSAGE", ANSWERS, for_request(receive_acked, _PendingAck), REPORTED)
        | subscribe_to("CONSUMER_SEND_MSG_BACK", ANSWERS, for_request(receive_returned, MessageDelivery), REPORTED)
        | subscribe_to("END_TRANSACTION", ASKS, end_transaction, "transactionId", "msgId", "commitOrRollback")
        | subscribe_to("RECALL_MESSAGE", ANSWERS, recall, "msgId", REPORTED)
        | subscribe_to("HEART_BEAT", ASKS, receive_beat, ("body", "consumerDataSet"))
    )


def _list_broker_names(header: Mapping[str, Any], event: MessageEvent, name: str = "bname") -> tuple[str, ...]:
    """What a broker may be called: its name, where it is said, and the address."""
    called = text(header, name)
    return (event.server,) if called is None else (called, event.server)


def _mark_acknowledged(event: MessageEvent, found: MessageDelivery, *, is_named: bool = True) -> None:
    found.subject.hear(event)
    found.open = False
    if is_named:
        found.note("acked", event)
    if found.acked is None:
        found.acked, found.ack = event.time, event.row


def _mark_returned(event: MessageEvent, found: MessageDelivery) -> None:
    found.is_back = True
    found.returned += 1
    found.note("dead" if found.dead else "returned", event)
    found.subject.hear(event)
