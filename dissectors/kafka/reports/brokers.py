"""The report of brokers and controllers: answers and their times, controllers, votes, registrations, followers.

Facts. Metadata tells each broker's address, and a controller. With ZooKeeper this is the broker that leads the others.
With KRaft it is any broker, since brokers forward requests for the controller. The leader of the KRaft quorum announces
itself by BeginQuorumEpoch (KIP-595). Brokers register with the controller and send it heartbeats (KIP-631); a broker
without heartbeats is fenced, and leads nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.correlator import MILLISECOND, BoundedTable, MergedMessages, MessageEvent, merge_by
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    format_counts,
    list_fetched,
    list_partitions,
    name_topic,
    read_error,
    read_replica,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import OpenRow, Report, ReportRow, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import number, structs, text
from dissectors.wire.row_sentence import RowSentence

METADATA_LOG = "__cluster_metadata"

_TIMED = "Produce FindCoordinator OffsetCommit CreateTopics ListOffsets"
_WAITING = "JoinGroup"
"""A request that a broker may keep until there is something to tell, as it does Fetch."""

_THROTTLE, _ERROR, _REPLICA = ("throttleTimeMs",), ("errorCode",), ("replicaId",)
_END = ("responses", "partitions", "highWatermark")


@make_slotted(frozen=False, eq=False)
class BrokerRow(OpenRow):
    """One broker, by the address that clients reach it at. waited: answer times of what is not kept waiting, in ns."""

    address: str = column("text", "where it is reached", "")
    broker: int | None = column("number", "its number, where metadata or it itself tells it")
    rack: str | None = column("text", "its rack")
    connections: int = column("number", "connections to it", of=lambda row: len(row.streams))
    requests: int = column("number", "requests of the common kinds", 0)
    answer_ns: int | None = column(
        *("duration", "how long answers took, on average, but for Fetch and JoinGroup, which may wait"),
        of=lambda row: row.waited // row.answers if row.answers else None,
    )
    slowest_ns: int | None = column("duration", "the slowest of these")
    throttled_ns: int = column("duration", "how long it throttled clients, all together", 0)
    controller: str | None = column(
        "text", "leads (the quorum of KRaft), or named (by metadata; with KRaft that may be any broker)"
    )
    controller_epochs: dict[str, None] = column(
        "texts", "epochs in which it led the quorum, or asked for votes", default_factory=dict
    )
    votes: int = column("number", "requests for votes that it sent", 0)
    registrations: int = column("number", "how often it registered with the controller", 0)
    heartbeats: int = column("number", "its heartbeats to the controller", 0)
    fenced: int = column("number", "answers to these that say that it is fenced", 0)
    metadata_fetches: int = column("number", "its fetches of the metadata log", 0)
    follower_fetches: int = column("number", "its fetches as a follower", 0)
    follower_lag: int | None = column("number", "the most records that it was behind as a follower")
    errors: list[str] = column(
        *("texts", "errors of its answers, and how often"), of=lambda row: format_counts(row.failures)
    )
    streams: dict[int, None] = field(default_factory=dict)
    waited: int = 0
    answers: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def measure(self, elapsed: list[int]) -> None:
        """Adds answers that took so long, ns."""
        taken = [max(each, 0) for each in elapsed]
        self.waited += sum(taken)
        self.answers += len(taken)
        slowest = max(taken, default=0)
        if slowest > (self.slowest_ns or 0):
            self.slowest_ns = slowest


class BrokerReport(Report[BrokerRow]):
    """A row for each broker; rows stay open until the capture ends."""

    name = "brokers"
    about = "each broker: answer times, controller epochs, votes, registration, fencing, its lag as a follower"
    needs = KAFKA
    row = BrokerRow
    sentence = RowSentence(
        "{word}: (broker {broker=} at {address=}|{address=})(, answers in {answer_ns%lasting} on average)"
    )
    worst = ("slowest_ns",)
    selects = (("address", "address"),)
    key = ("address",)

    def _begin(self) -> None:
        self.numbers: BoundedTable[int, str] = BoundedTable()
        """Addresses by broker number, as metadata told."""

    @classmethod
    def list_names(cls, entry: ReportRow) -> Iterator[tuple[str | tuple[int, bool], str]]:
        """Yields the broker of an address, by its number."""
        cells = cls.cells(entry)
        if cells["broker"] is not None:
            yield cells["address"], f"broker {cells['broker']}"

    def find_server(self, event: MessageEvent) -> BrokerRow:
        """Returns the row of the broker that a request is for, or that answers."""
        row = self.rows.get(event.server)
        if row is None:
            row = self.find(event.server, event)
            row.add("begins", event.row)
        row.hear(event)
        if len(row.streams) < self.limit:
            row.streams[event.stream] = None
        return row

    def find_broker(self, event: MessageEvent, broker: int) -> BrokerRow | None:
        """Returns the row of a broker by its id, or by its address if that is known."""
        if broker < 0:
            return None
        row = self.find(self.numbers.get(broker) or f"broker {broker}", event)
        row.broker = broker
        return row

    def receive_request(self, event: MessageEvent) -> None:
        """Counts a request to a broker."""
        self.find_server(event).requests += 1

    def receive_requests(self, merged: MergedMessages) -> None:
        """Handles many requests at once."""
        row = self.find_server(merged.first)
        row.hear_all(merged)
        row.requests += merged.count

    def receive_answer(self, event: MessageEvent) -> None:
        """Measures how long an answer took."""
        row = self.find_server(event)
        row.throttled_ns += number(event.values, "throttleTimeMs") * MILLISECOND
        error = read_error(event.values)
        if error is not None:
            row.failures[error] += 1
        if event.elapsed is not None and event.operation not in ("Fetch", _WAITING):
            row.measure([event.elapsed])

    def receive_answers(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error."""
        row = self.find_server(merged.first)
        row.hear_all(merged)
        row.throttled_ns += sum(merged.sum_numbers(_THROTTLE)) * MILLISECOND
        if merged.first.operation not in ("Fetch", _WAITING):
            row.measure(merged.list_elapsed())

    def receive_metadata(self, event: MessageEvent) -> None:
        """Notes the addresses and numbers of brokers, and the controller."""
        self.receive_answer(event)
        for each in structs(event.values.get("brokers")):
            broker, host = number(each, "nodeId", -1), text(each, "host")
            if broker >= 0 and host is not None:
                address = self.find_address(event, f"{host}:{number(each, 'port')}")
                self.numbers[broker] = address
                row = self.find(address, event)
                row.broker, row.rack = broker, text(each, "rack") or row.rack
        controller = self.find_broker(event, number(event.values, "controllerId", -1))
        if controller is not None and controller.controller is None:
            controller.controller = "named"
            controller.note("controller", event)

    def find_address(self, event: MessageEvent, advertised: str) -> str:
        """The address by which a broker is known here: that of a connection with its port, where there is only one."""
        port = advertised.rpartition(":")[2]
        if advertised in self.rows:
            return advertised
        alike = [each for each in (row.address for row in self.rows.values()) if each.rpartition(":")[2] == port]
        return alike[0] if len(alike) == 1 else advertised

    # ---- the quorum of controllers, and brokers that speak to it

    def receive_vote(self, event: MessageEvent) -> None:
        """Counts a Vote request: a candidate asks for votes."""
        for _, _, each in list_partitions(event, event.values.get("topics")):
            candidate = number(each, "candidateId", number(each, "replicaId", -1))
            epoch = number(each, "candidateEpoch", number(each, "replicaEpoch", -1))
            row = self.find_broker(event, candidate)
            if row is not None:
                row.votes += 1
                add_name(row.controller_epochs, f"{epoch} (candidate)")
                row.note("asks for votes", event)

    def receive_leader(self, event: MessageEvent) -> None:
        """Notes a BeginQuorumEpoch: a new leader announces itself."""
        for _, _, each in list_partitions(event, event.values.get("topics")):
            row = self.find_broker(event, number(each, "leaderId", -1))
            if row is not None:
                row.controller = "leads"
                add_name(row.controller_epochs, str(number(each, "leaderEpoch", -1)))
                row.note("leads", event)

    def receive_registration(self, event: MessageEvent) -> None:
        """Counts a BrokerRegistration request (KIP-631) of its broker, and notes the rack."""
        row = self.find_broker(event, number(event.values, "brokerId", -1))
        if row is not None:
            row.registrations += 1
            row.rack = text(event.values, "rack") or row.rack
            row.note("registers", event)

    def receive_heartbeat(self, event: MessageEvent) -> None:
        """Counts a BrokerHeartbeat, and waits for its answer."""
        row = self.find_broker(event, number(event.values, "brokerId", -1))
        if row is not None:
            row.heartbeats += 1
            self.await_answer(event, row)

    def answer_heartbeat(self, event: MessageEvent) -> None:
        """Handles the controller's answer to a BrokerHeartbeat."""
        row = self.take_request(event)
        if isinstance(row, BrokerRow) and event.values.get("isFenced") is True:
            row.fenced += 1
            row.note("fenced", event)

    def receive_fetch(self, event: MessageEvent) -> None:
        """Notes a Fetch of a consumer or of a follower."""
        follower = self.find_broker(event, read_replica(event.values))
        if follower is None:
            self.receive_request(event)
            return
        topics = structs(event.values.get("topics"))
        follower.metadata_fetches += sum(name_topic(event, topic) == METADATA_LOG for topic in topics)
        partitions = list_partitions(event, topics, index="partition")
        offsets = {(name, index): number(each, "fetchOffset", -1) for name, index, each in partitions}
        follower.follower_fetches += 1
        self.await_answer(event, (follower, offsets))

    def receive_fetched(self, event: MessageEvent) -> None:
        """Handles the answer to a follower's Fetch: how far it is behind."""
        pending = self.take_request(event)
        if pending is None:
            self.receive_answer(event)
            return
        follower, offsets = pending
        ends = [number(each, "highWatermark", -1) for _, _, each in list_fetched(event)]
        self.measure_lag(follower, offsets, event, [[end] for end in ends])

    def receive_all_fetched(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error."""
        pending = self.take_requests(merged)
        if pending is None:
            self.receive_answers(merged)
        else:
            follower, offsets = pending
            self.measure_lag(follower, offsets, merged.first, merged.list_numbers(_END))

    def measure_lag(
        self, follower: BrokerRow, offsets: Mapping[tuple[str, int], int], event: MessageEvent, ends: list[list[int]]
    ) -> None:
        """Notes how far a follower is behind. ends: high watermarks of each partition of an answer."""
        for (topic, partition, _), told in zip(list_fetched(event), ends, strict=False):
            at, end = offsets.get((topic, partition)), max(told)
            if at is not None and at >= 0 and end >= 0:
                follower.follower_lag = max(follower.follower_lag or 0, end - at)

    on = (
        subscribe_to(f"{_TIMED} {_WAITING} Metadata", REQUESTS, receive_request, merge=merge_by(receive_requests))
        | subscribe_to(
            *(f"{_TIMED} {_WAITING}", ANSWERS, receive_answer, _THROTTLE, _ERROR),
            merge=merge_by(receive_answers, numbers=(_THROTTLE,), quiet={_ERROR: 0}),
        )
        | subscribe_to("Metadata", ANSWERS, receive_metadata, "throttleTimeMs", "errorCode", "brokers", "controllerId")
        | subscribe_to(
            *("Fetch", REQUESTS, receive_fetch, "replicaId", "replicaState"),
            *(("topics", name) for name in ("topic", "topicId")),
            *(("topics", "partitions", name) for name in ("partition", "fetchOffset")),
            merge=merge_by(receive_requests, numbers=(("topics", "partitions", "fetchOffset"),), quiet={_REPLICA: -1}),
        )
        | subscribe_to(
            *("Fetch", ANSWERS, receive_fetched, "throttleTimeMs", "errorCode"),
            *(("responses", name) for name in ("topic", "topicId")),
            *(("responses", "partitions", name) for name in ("partitionIndex", "highWatermark")),
            merge=merge_by(receive_all_fetched, numbers=(_THROTTLE, _END), quiet={_ERROR: 0}),
        )
        | subscribe_to("Vote", REQUESTS, receive_vote, "topics")
        | subscribe_to("BeginQuorumEpoch", REQUESTS, receive_leader, "topics")
        | subscribe_to("BrokerRegistration", REQUESTS, receive_registration, "brokerId", "rack")
        | subscribe_to("BrokerHeartbeat", REQUESTS, receive_heartbeat, "brokerId")
        | subscribe_to("BrokerHeartbeat", ANSWERS, answer_heartbeat, "isFenced")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message elects, registers or fences; rows mention no others."""
        return operation in ("Vote", "BeginQuorumEpoch", "BrokerRegistration", "BrokerHeartbeat")
