"""The story of messages: when each was sent, stored, pulled or popped by a group, and acknowledged there.

Facts (SendMessageProcessor, PullMessageProcessor, PopMessageProcessor, AbstractSendMessageProcessor). The answer to a
SEND says where in which queue the message lies; what is pulled or popped says so itself. A copy of it, in a topic of
retries, behind a delay or a commit, lies elsewhere and keeps its UNIQ_KEY. Who pulls commits an offset, with
UPDATE_CONSUMER_OFFSET or in a PULL, behind everything that was consumed or sent back; consumers do so every few
seconds, so the time is the latest at which it was. Who pops acknowledges each message. A message that is sent back
too often goes to the group's `%DLQ%`, from where nobody gets it: known by the request's own count and most.
A group that broadcasts (its heartbeats say so) has a line for each client, and keeps its offsets to itself.

A proxy sends on what it is sent, so the same message is seen on two connections; the client's side of it counts. Where
a proxy and what it speaks with are on one host, so may be a second attempt there: an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from dissectors.api import Role
from dissectors.old_report import REPORTED, Ends, MessageEvent, OldReport, ReportRow
from dissectors.remembered import Remembered, Weighed
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, struct, structs, text
from dissectors.rocketmq.reports.delivery_lines import COLUMNS, lines, sentence
from dissectors.rocketmq.reports.handles import receipt, receipts
from dissectors.rocketmq.reports.ids import (
    MOST_IDS,
    RETRY,
    Place,
    place_of,
    places_of,
    real_topic,
)
from dissectors.rocketmq.reports.messages import (
    HALF,
    MOST_READERS,
    RECALLED,
    REFUSED,
    ROLLED_BACK,
    STORED,
    UNANSWERED,
    Delivery,
    Message,
    Messages,
    Reader,
)
from dissectors.rocketmq.reports.outstanding import Outstanding
from dissectors.rocketmq.reports.received import Found, received
from dissectors.rocketmq.reports.sending import COMMITTED, IS_STORED, SENDS, Sent, due, sent
from dissectors.rocketmq.reports.sending import ROLLED_BACK as ROLLS_BACK

MOST_NAMED = 16
"""Lines that name the same commit: those of the latest messages that it is for."""

MOST_PENDING = 65_536
"""Messages of SENDs whose answers are waited for, and places that acknowledgements name until theirs come."""

_PULLS, _POPS = ("PULL_MESSAGE", "LITE_PULL_MESSAGE"), ("POP_MESSAGE", "POP_LITE_MESSAGE")
_ACK, _BATCH_ACK, _BACK, _COMMIT = (
    "ACK_MESSAGE", "BATCH_ACK_MESSAGE", "CONSUMER_SEND_MSG_BACK", "UPDATE_CONSUMER_OFFSET",
)  # fmt: skip
_END, _RECALL, _BEAT = "END_TRANSACTION", "RECALL_MESSAGE", "HEART_BEAT"

_OK = "SEND_OK"
_COMMITS = 1
"""The bit of a PULL's sysFlag by which it commits an offset (PullSysFlag)."""

_Queue = tuple[Reader, str | None, int, str]
"""Of whom, which topic's, which one, and on which broker: by name, or by address where no header has it."""


class _Reading(NamedTuple):
    """A PULL or POP until its answer comes."""

    reader: Reader
    broker: str
    stream: int
    client: str
    how: str


class _Acking(NamedTuple):
    """An acknowledgement until its answer comes. told: without values, which may be many."""

    told: MessageEvent
    places: list[tuple[_Queue, int]]


class Deliveries(OldReport):
    """See the module."""

    name = "deliveries"
    about = "each message and group: when it was sent, stored, pulled or popped, and acknowledged"
    needs = ROCKETMQ
    columns = COLUMNS
    wants: ClassVar = {
        **of(SENDS[:2], ASKS, *("producerGroup", "topic", "sysFlag", "properties"), "reconsumeTimes",
             "maxReconsumeTimes"),
        **of(SENDS[2:], ASKS, *("producerGroup", "topic", "sysFlag", "properties"), ("body", "messages")),
        **of(SENDS, ANSWERS, "msgId", "queueId", "queueOffset", "transactionId", REPORTED),
        **of(_PULLS, ASKS, "consumerGroup", "topic", "queueId", "sysFlag", "commitOffset", "bname"),
        **of(_POPS, ASKS, "consumerGroup", "topic", "bname"),
        **of((*_PULLS, *_POPS), ANSWERS, ("body", "messages")),
        **of((_COMMIT,), ASKS, "consumerGroup", "topic", "queueId", "commitOffset", "bname"),
        **of((_ACK,), ASKS, "consumerGroup", "topic", "queueId", "offset", "extraInfo", "bname"),
        **of((_BATCH_ACK,), ASKS, ("body", "acks"), ("body", "brokerName")),
        **of((_BACK,), ASKS, "offset", "group", "originMsgId", "delayLevel", "maxReconsumeTimes"),
        **of((_ACK, _BATCH_ACK, _BACK), ANSWERS, REPORTED),
        **of((_END,), ASKS, "transactionId", "msgId", "commitOrRollback"),
        **of((_RECALL,), ANSWERS, "msgId", REPORTED),
        **of((_BEAT,), ASKS, ("body", "consumerDataSet")),
    }  # fmt: skip

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._over: list[ReportRow] = []
        self._known = Messages()
        self._broadcasting: Remembered[str, bool] = Remembered()
        self._pending: Weighed[int, list[Message]] = Weighed(len, MOST_PENDING)
        """By row of a SEND what it sends."""
        self._reading: Remembered[int, _Reading] = Remembered()
        self._acking: Weighed[int, _Acking] = Weighed(lambda asked: len(asked.places), MOST_PENDING)
        self._backing: Remembered[int, tuple[Message, Delivery]] = Remembered()
        self._out: Outstanding[tuple[Message, Delivery]] = Outstanding()

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """Nothing is over before the end, for another group may come; what is too much goes first."""
        answers = told.context.role is Role.RESPONSE
        does = _DOES.get((told.operation or "", answers))
        if does is not None:
            does(self, told)
        over, self._over = self._over, []
        return over

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for message in self._known.all():
            yield from lines(message)

    def _add(self, message: Message, *keys: str | Place | None) -> None:
        oldest = self._known.add(message, *keys)
        if oldest is not None:
            self._over += lines(oldest)

    # ---- producers

    def _send(self, told: MessageEvent) -> None:
        what = sent(told)
        if what.retry_group is not None:
            self._sent_back(told, what)
            return
        messages = [self._attempt(told, what, said) for said in what.each]
        if told.partner is not None:
            self._pending.keep(told.row, messages)

    def _attempt(self, told: MessageEvent, what: Sent, said: Mapping[str, Any]) -> Message:
        key, (client, _) = text(said, "UNIQ_KEY"), self.ends(told.stream)
        message = self._known.find(key)
        if message is None or (message.send is not None and message.status == _OK):
            message = Message(what.topic, told.time, told.time, key)
        if message.send is None:
            message.stream, message.client, message.language, message.group = (
                told.stream, client, told.client_name, what.group,
            )  # fmt: skip
            message.send, message.sent, message.size, message.state = told.row, told.time, told.size, UNANSWERED
            message.batch, message.half = what.batch, what.is_half
            message.named, message.tags = text(said, "KEYS"), text(said, "TAGS")
            message.due = due(said, told.time)
        if message.attempts == 0 or not self._passed_on(message, told):
            message.attempts += 1
            message.state = UNANSWERED
        message.note("sent", told)
        self._add(message, key)
        return message

    def _passed_on(self, message: Message, told: MessageEvent) -> bool:
        """Whether a proxy sends on what it was sent and has not answered."""
        if message.stream is None or message.stream == told.stream or message.state != UNANSWERED:
            return False
        return self._is_between(message.stream, told.stream)

    def _is_between(self, outer: int, inner: int) -> bool:
        """Whether the client of one connection is, by its host, the server of another, and not of the same server."""
        (_, proxy), (client, server) = self.ends(outer), self.ends(inner)
        return _host(proxy) == _host(client) and proxy != server

    def _sent(self, told: MessageEvent) -> None:
        messages = self._pending.take(told.partner)
        if messages is None:
            return
        said, (code, status) = header(told.values), told.error or (0, _OK)
        places, offset = places_of(text(said, "msgId")), number(said, "queueOffset", -1)
        for at, message in enumerate(messages):
            if message.answered is None or message.status != _OK or told.stream == message.stream:
                message.answered, message.status = told.time, status
            message.note("stored" if code in IS_STORED else "refused", told)
            if code not in IS_STORED:
                message.state = REFUSED
                continue
            message.state = HALF if message.half else STORED
            if not message.half and message.due is None:  # else the broker keeps it in a topic of its own
                message.queue, message.offset = number(said, "queueId", -1), offset + at
            key = message.key or text(said, "transactionId") if len(messages) == 1 else message.key
            if len(places) == len(messages):
                message.place = places[at]
            elif places:
                message.place = (*places[0][:2], at)
            message.key = key
            self._add(message, key, message.place)

    def _end(self, told: MessageEvent) -> None:
        said = header(told.values)
        message = self._known.find(text(said, "transactionId"), text(said, "msgId"))
        word = _ENDS.get(number(said, "commitOrRollback"))
        if message is not None and word is not None:
            message.note(word, told)
            message.state = STORED if word == "committed" else ROLLED_BACK

    def _recalled(self, told: MessageEvent) -> None:
        message = self._known.find(text(header(told.values), "msgId"))
        if message is not None and told.error is None:
            message.note("recalled", told)
            message.state = RECALLED

    # ---- consumers

    def _beat(self, told: MessageEvent) -> None:
        for each in structs(struct(told.values, "body").get("consumerDataSet"))[:MOST_READERS]:
            group, model = text(each, "groupName"), text(each, "messageModel")
            if group is not None:
                self._broadcasting.keep(group, model == "BROADCASTING")

    def _reader(self, group: str | None, told: MessageEvent) -> Reader:
        alone = self._broadcasting.get(group)
        return group, self.ends(told.stream)[0] if alone else None

    def _brokers(self, said: Mapping[str, Any], told: MessageEvent, name: str = "bname") -> tuple[str, ...]:
        """What a broker may be called: its name, where it is said, and the address."""
        called, address = text(said, name), self.ends(told.stream)[1]
        return (address,) if called is None else (called, address)

    def _read(self, told: MessageEvent) -> None:
        said = header(told.values)
        reader, broker = self._reader(text(said, "consumerGroup"), told), self._brokers(said, told)[0]
        pops = told.operation in _POPS
        if not pops and number(said, "sysFlag") & _COMMITS:
            self._commit(told)
        if told.partner is not None:
            client = self.ends(told.stream)[0]
            self._reading.keep(told.row, _Reading(reader, broker, told.stream, client, "pop" if pops else "pull"))

    def _commit(self, told: MessageEvent) -> None:
        said = header(told.values)
        reader, topic = self._reader(text(said, "consumerGroup"), told), text(said, "topic")
        for broker in self._brokers(said, told):
            queue = reader, topic, number(said, "queueId"), broker
            done = self._out.before(queue, number(said, "commitOffset"))
            for left, (message, found) in enumerate(reversed(done)):
                if found.at[:-1] == queue and not found.returned and found.open:
                    self._acked(told, message, found, names=left < MOST_NAMED)

    def _acked(self, told: MessageEvent, message: Message, found: Delivery, *, names: bool = True) -> None:
        message.seen(told)
        found.open = False
        if names:
            found.note("acked", told)
        if found.acked is None:
            found.acked, found.ack = told.time, told.row

    def _got(self, told: MessageEvent) -> None:
        reading = self._reading.take(told.partner)
        if reading is None:
            return
        for each in received(told, reading.reader[0]):
            self._deliver(told, reading, each)

    def _deliver(self, told: MessageEvent, reading: _Reading, each: Found) -> None:
        message = self._message(told, reading, each)
        reader, queue = reading.reader, (reading.reader, each.topic, each.queue, reading.broker)
        at = (*queue, each.offset)
        found = message.to.get(reader)
        if found is None:
            if len(message.to) >= MOST_READERS:
                return
            found = message.to[reader] = Delivery(
                reader[0], reading.client, told.stream, reading.how, at, told.row, told.time, each.count
            )
            found.note("delivered", told)
        elif self._is_echo(found, told):
            found.time, found.client = told.time, reading.client
            found.note("delivered", told)
        else:
            found.again += 1
            found.client = reading.client
            found.note("redelivered", told)
        message.seen(told)
        found.at, found.stream, found.count = at, told.stream, max(found.count, each.count)
        found.returned, found.open = False, True
        self._out.deliver(queue, each.offset, (message, found))

    def _message(self, told: MessageEvent, reading: _Reading, each: Found) -> Message:
        """What is sent under that name, or lies there; else one that was sent before the capture."""
        said, key = each.said, text(each.said, "UNIQ_KEY")
        message = self._known.find(each.place, key, place_of(text(said, "ORIGIN_MESSAGE_ID") or ""))
        if message is None:
            message = Message(real_topic(each.topic, reading.reader[0], said), told.time, told.time, key)
            message.named, message.tags = text(said, "KEYS"), text(said, "TAGS")
        if message.due is None:
            message.due = due(said, None)
        if not (each.topic or "").startswith(RETRY):
            message.place, message.queue, message.offset = each.place, each.queue, each.offset
        elif message.place is None:
            message.place = each.place
        if message.state in (UNANSWERED, HALF):
            message.state = STORED
        self._add(message, message.key, each.place)
        return message

    def _is_echo(self, found: Delivery, told: MessageEvent) -> bool:
        """Whether a proxy hands on what it got itself."""
        return found.open and found.stream != told.stream and self._is_between(told.stream, found.stream)

    def _acks(self, told: MessageEvent) -> None:
        if told.operation == _ACK:
            names, brokers = [receipt(header(told.values))], self._brokers(header(told.values), told)
        else:
            body = struct(told.values, "body")
            names, brokers = list(islice(receipts(body), MOST_IDS)), self._brokers(body, told, "brokerName")
        places = [
            ((self._reader(each.group, told), each.topic, each.queue, broker), each.offset)
            for each in names
            for broker in brokers
        ]
        if told.partner is None:
            self._take(told, places)
        else:
            self._acking.keep(told.row, _Acking(told._replace(values={}), places))

    def _take(self, told: MessageEvent, places: Iterable[tuple[_Queue, int]]) -> None:
        for queue, offset in places:
            done = self._out.take(queue, offset)
            if done is not None:
                self._acked(told, *done)

    def _answered(self, told: MessageEvent) -> None:
        """Of ACK and BATCH_ACK."""
        asked = self._acking.take(told.partner)
        if asked is not None and told.error is None:
            self._take(*asked)

    # ---- what is sent back

    def _back(self, told: MessageEvent) -> None:
        said = header(told.values)
        origin, at = text(said, "originMsgId"), number(said, "offset", -1)
        message = self._known.find((self.ends(told.stream)[1], at, 0))
        if message is None or origin not in (None, message.key):
            message = self._known.find(origin, place_of(origin or "")) or message
        found = None if message is None else message.to.get(self._reader(text(said, "group"), told))
        if message is None or found is None:
            return
        most = number(said, "maxReconsumeTimes", -1)
        found.dead = number(said, "delayLevel") < 0 or 0 <= most <= found.count
        self._returned(told, message, found)
        if told.partner is not None:
            self._backing.keep(told.row, (message, found))

    def _sent_back(self, told: MessageEvent, what: Sent) -> None:
        """A SEND to a topic of retries, as of one who consumes in order, or could not send back."""
        said = what.each[0]
        message = self._known.find(text(said, "UNIQ_KEY"), place_of(text(said, "ORIGIN_MESSAGE_ID") or ""))
        found = None if message is None else message.to.get(self._reader(what.retry_group, told))
        if message is not None and found is not None:
            found.dead = 0 <= what.most < what.again
            self._returned(told, message, found)

    def _returned(self, told: MessageEvent, message: Message, found: Delivery) -> None:
        found.returned = True
        found.backs += 1
        found.note("dead" if found.dead else "returned", told)
        message.seen(told)

    def _kept(self, told: MessageEvent) -> None:
        """The answer to what was sent back: an error, and it stays where it was."""
        asked = self._backing.take(told.partner)
        if asked is not None and told.error is not None:
            message, found = asked
            found.returned = found.dead = False
            found.backs -= 1
            found.note("kept", told)
            message.seen(told)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Heartbeats are asked for what they say of groups alone; see OldReport."""
        return operation != _BEAT

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        return sentence(entry, row)


_ENDS = {COMMITTED: "committed", ROLLS_BACK: "rolled back"}

_DOES: Mapping[tuple[str, bool], Callable[[Deliveries, MessageEvent], None]] = {
    **dict.fromkeys(((name, False) for name in SENDS), Deliveries._send),
    **dict.fromkeys(((name, True) for name in SENDS), Deliveries._sent),
    **dict.fromkeys(((name, False) for name in (*_PULLS, *_POPS)), Deliveries._read),
    **dict.fromkeys(((name, True) for name in (*_PULLS, *_POPS)), Deliveries._got),
    **dict.fromkeys(((name, False) for name in (_ACK, _BATCH_ACK)), Deliveries._acks),
    **dict.fromkeys(((name, True) for name in (_ACK, _BATCH_ACK)), Deliveries._answered),
    (_COMMIT, False): Deliveries._commit,
    (_BACK, False): Deliveries._back,
    (_BACK, True): Deliveries._kept,
    (_END, False): Deliveries._end,
    (_RECALL, True): Deliveries._recalled,
    (_BEAT, False): Deliveries._beat,
}


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]
