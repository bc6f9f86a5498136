"""The report of partitions: their leaders and in-sync replicas as metadata told them, traffic, and moves.

Facts (KIP-951, KIP-320). A client learns leaders by Metadata. A broker that does not lead a partition answers
NOT_LEADER_OR_FOLLOWER, and the client asks for metadata and goes to the new leader. From Fetch version 12 and Produce
version 10 on, the answer with the error names the new leader itself. A greater leader epoch is a later leader; metadata
from an older broker's cache may come late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from dissectors.correlator import MergedMessages, MessageEvent, merge_by
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    format_counts,
    list_batches,
    list_errors,
    list_fetched,
    list_numbers,
    list_partitions,
    list_produced,
    read_error,
    read_replica,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import OpenRow, Report, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import number, structs
from dissectors.wire.row_sentence import RowSentence

MOVED = frozenset({"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"})

_NOBODY = -1
_PRODUCED = (("topicData", "partitionData", "records", "count"), ("topicData", "partitionData", "records", "length"))
_FETCHED = (("responses", "partitions", "records", "count"), ("responses", "partitions", "records", "length"))


@make_slotted(frozen=False, eq=False)
class PartitionRow(OpenRow):
    """One partition. sent_away: when clients were sent away and none was served since, ns since 1970."""

    topic: str = column("text", "the topic", "")
    partition: int = column("number", "the partition", -1)
    leader: int | None = column("number", "the broker that leads it, as metadata told last; -1: none")
    epoch: int | None = column("number", "the leader's epoch")
    moves: int = column("number", "how often another broker became leader", 0)
    leaders: list[str] = column("texts", "leaders in their order, with their epochs", default_factory=list)
    replicas: int | None = column("number", "replicas")
    in_sync: list[str] = column("texts", "brokers in sync, as metadata told last", default_factory=list)
    isr_changes: int = column("number", "how often these changed", 0)
    least_in_sync: int | None = column("number", "the fewest brokers in sync that were told")
    offline: dict[str, None] = column("texts", "replicas that were offline", default_factory=dict)
    produced: int = column("number", "records that were sent to it", 0)
    produced_bytes: int = column("number", "bytes of their batches, as they are sent", 0)
    fetched: int = column("number", "records that were read from it, by followers too", 0)
    fetched_bytes: int = column("number", "bytes of their batches", 0)
    writers: int = column("number", "clients that write to it", of=lambda row: len(row.producers))
    readers: int = column("number", "clients that read it, without followers", of=lambda row: len(row.consumers))
    sent_away: int = column("number", "answers that the broker does not lead it, or not in this epoch", 0)
    follow_ns: int | None = column("duration", "the longest time from such an answer until a broker served it again")
    errors: list[str] = column(
        *("texts", "errors of its answers, and how often"), of=lambda row: format_counts(row.failures)
    )
    away_since: int | None = None
    producers: dict[str | None, None] = field(default_factory=dict)
    consumers: dict[str | None, None] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    def lead(self, event: MessageEvent, leader: int, epoch: int) -> None:
        """Notes the leader from Metadata or from another answer."""
        if epoch >= 0 and self.epoch is not None and epoch < self.epoch:
            return
        if leader != self.leader or (epoch >= 0 and epoch != self.epoch):
            if self.leader is not None and leader != self.leader:
                self.moves += leader != _NOBODY
                self.note("moves", event)
            shown = f"{leader} (epoch {epoch})" if epoch >= 0 else str(leader)
            self.leaders = [*self.leaders[-31:], shown]
        self.leader, self.epoch = leader, epoch if epoch >= 0 else self.epoch

    def serve(self, event: MessageEvent, error: str | None) -> None:
        """Notes that a broker answered a request for the partition."""
        if error is None:
            if self.away_since is not None:
                self.follow_ns = max(self.follow_ns or 0, event.time - self.away_since)
                self.away_since = None
            return
        self.failures[error] += 1
        self.note("refused", event)
        if error in MOVED:
            self.sent_away += 1
            self.away_since = self.away_since or event.time


class PartitionReport(Report[PartitionRow]):
    """A row for each partition; rows stay open until the capture ends."""

    name = "partitions"
    about = "each partition: leaders and in-sync replicas over time, traffic, how long clients took to follow a move"
    needs = KAFKA
    row = PartitionRow
    sentence = RowSentence("{word}: {topic=}[{partition=}], leader ({leader=}|None), {moves=} moves")
    worst = ("moves", "follow_ns")
    selects = (("topic", "kafka.topic"), ("partition", "kafka.partition"))
    key = ("topic", "partition")

    def find_partition(self, event: MessageEvent, topic: str, partition: int) -> PartitionRow | None:
        """Returns the row of a partition; None where the topic is unknown."""
        if not topic or partition < 0:
            return None
        key = topic, partition
        row = self.rows.get(key)
        if row is None:
            row = self.find(key, event)
            row.add("begins", event.row)
        row.hear(event)
        return row

    def receive_metadata(self, event: MessageEvent) -> None:
        """Notes the leaders and replicas in a Metadata answer."""
        for name, index, each in list_partitions(event, event.values.get("topics")):
            row = self.find_partition(event, name, index)
            if row is None:
                continue
            row.lead(event, number(each, "leaderId", _NOBODY), number(each, "leaderEpoch", -1))
            row.replicas = len(list_numbers(each.get("replicaNodes")))
            self.note_in_sync(event, row, list_numbers(each.get("isrNodes")))
            for broker in list_numbers(each.get("offlineReplicas")):
                add_name(row.offline, str(broker))

    def note_in_sync(self, event: MessageEvent, row: PartitionRow, brokers: list[int]) -> None:
        """Notes the brokers in sync, and whether they have changed."""
        shown = [str(broker) for broker in sorted(brokers)]
        if row.in_sync and shown != row.in_sync:
            row.isr_changes += 1
            row.note("in sync", event)
        row.in_sync = shown
        row.least_in_sync = len(shown) if row.least_in_sync is None else min(row.least_in_sync, len(shown))

    def receive_produce(self, event: MessageEvent) -> None:
        """Counts what a Produce request writes."""
        for topic, partition, batch in list_batches(event):
            row = self.find_partition(event, topic, partition)
            if row is not None:
                if len(row.producers) < self.limit:
                    row.producers[event.client_name] = None
                row.produced += number(batch, "count")
                row.produced_bytes += number(batch, "length")

    def receive_produces(self, merged: MergedMessages) -> None:
        """Handles many requests at once that write alike."""
        event = merged.first
        counts, sizes = merged.sum_numbers(_PRODUCED[0]), merged.sum_numbers(_PRODUCED[1])
        for (topic, partition, _), records, size in zip(list_batches(event), counts, sizes, strict=True):
            row = self.find_partition(event, topic, partition)
            if row is not None:
                row.hear_all(merged)
                if len(row.producers) < self.limit:
                    row.producers[event.client_name] = None
                row.produced += records
                row.produced_bytes += size

    def receive_produced(self, event: MessageEvent) -> None:
        """Notes how each partition of a Produce request was answered."""
        for topic, partition, each in list_produced(event):
            self.serve(event, topic, partition, each)

    def receive_served(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error."""
        for topic, partition, each in list_produced(merged.first):
            row = self.serve(merged.first, topic, partition, each)
            if row is not None:
                row.hear_all(merged)

    def receive_fetch(self, event: MessageEvent) -> None:
        """Notes who reads partitions; a follower has a replica id."""
        self.await_answer(event, read_replica(event.values) < 0)

    def receive_fetches(self, merged: MergedMessages) -> None:
        """Handles many requests at once of consumers, or of a follower."""
        self.await_answers(merged, read_replica(merged.first.values) < 0)

    def receive_fetched(self, event: MessageEvent) -> None:
        """Counts what an answer to Fetch brings."""
        is_consumer = self.take_request(event)
        for topic, partition, each in list_fetched(event):
            row = self.serve(event, topic, partition, each)
            if row is None:
                continue
            if is_consumer and len(row.consumers) < self.limit:
                row.consumers[event.client_name] = None
            for batch in structs(each.get("records")):
                row.fetched += number(batch, "count")
                row.fetched_bytes += number(batch, "length")

    def receive_all_fetched(self, merged: MergedMessages) -> None:
        """Handles many answers at once with as many batches each, and without an error."""
        is_consumer, event = self.take_requests(merged), merged.first
        counts, sizes = iter(merged.sum_numbers(_FETCHED[0])), iter(merged.sum_numbers(_FETCHED[1]))
        for topic, partition, each in list_fetched(event):
            batches = len(structs(each.get("records")))
            records, size = sum(islice(counts, batches)), sum(islice(sizes, batches))
            row = self.serve(event, topic, partition, each)
            if row is not None:
                row.hear_all(merged)
                if is_consumer and len(row.consumers) < self.limit:
                    row.consumers[event.client_name] = None
                row.fetched += records
                row.fetched_bytes += size

    def serve(self, event: MessageEvent, topic: str, partition: int, answer: Mapping[str, Any]) -> PartitionRow | None:
        """Handles an answer about a partition, which may name another leader."""
        row = self.find_partition(event, topic, partition)
        if row is not None:
            row.serve(event, read_error(answer))
            current = answer.get("currentLeader")
            if isinstance(current, dict) and number(current, "leaderEpoch", -1) >= 0:
                row.lead(event, number(current, "leaderId", _NOBODY), number(current, "leaderEpoch"))
        return row

    on = (
        subscribe_to("Metadata", ANSWERS, receive_metadata, "topics")
        | subscribe_to(
            *("Produce", REQUESTS, receive_produce, ("topicData", "name"), ("topicData", "topicId")),
            *(("topicData", "partitionData", "index"), *_PRODUCED),
            merge=merge_by(receive_produces, numbers=_PRODUCED),
        )
        | subscribe_to(
            *("Produce", ANSWERS, receive_produced, ("responses", "name"), ("responses", "topicId")),
            *(("responses", "partitionResponses", name) for name in ("index", "errorCode", "currentLeader")),
            merge=merge_by(receive_served, quiet={("responses", "partitionResponses", "errorCode"): 0}),
        )
        | subscribe_to(
            *("Fetch", REQUESTS, receive_fetch, "replicaId", "replicaState"), merge=merge_by(receive_fetches)
        )
        | subscribe_to(
            *("Fetch", ANSWERS, receive_fetched, ("responses", "topic"), ("responses", "topicId")),
            *(("responses", "partitions", name) for name in ("partitionIndex", "errorCode", "currentLeader")),
            *_FETCHED,
            merge=merge_by(receive_all_fetched, numbers=_FETCHED, quiet={("responses", "partitions", "errorCode"): 0}),
        )
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message has a refusal: no other message can be in a row without being added to it."""
        return any(list_errors(values))
