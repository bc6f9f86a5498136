"""Checks of the cluster: leaders of partitions that change, controllers that change, topics that stay unknown.

Facts (KIP-320, KIP-595). Metadata tells the leader of each partition; from version 7 on with its epoch. A greater epoch
is a later leader, even if an older broker's cache says otherwise. A leader of -1 means none: an election is going on,
or no replica can lead. If the old leader is not among the brokers of the same answer, it is gone; otherwise an
administrator or the balancer moved the leadership.

Facts (KIP-595, KIP-996). Controllers elect their leader by Vote; the winner tells the others by BeginQuorumEpoch. A
controller that stops in good order sends EndQuorumEpoch first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.check import Check
from dissectors.correlator import SECOND, BoundedTable, MessageEvent, Repeats, WindowTable, merge_by
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import (
    ANSWERS,
    REQUESTS,
    list_fetched,
    list_partitions,
    list_produced,
    name_topic,
    read_error,
    subscribe_to,
)
from dissectors.slotted import make_slotted
from dissectors.values import number, struct, structs, text
from dissectors.wire.times import lasting

_NOBODY = -1
_SHOWN = 3
"""Partitions that a sentence names; the others are counted."""

_MOVED = "Do nothing: an administrator or the balancer moved the leadership, or the broker stopped in good order."

_MOST_CLUSTERS = 16
"""Clusters of which answers are understood that do not name theirs."""

_TOPIC = ("topics", "name"), ("topics", "topicId")
_QUORUM = [("topics", "partitions", name) for name in ("leaderId", "leaderEpoch")]

_Partition = tuple[str, str, int]
"""Cluster, topic and partition."""


@make_slotted(frozen=False, eq=False)
class _Leader:
    """Who leads a partition. since: when it was first heard that nobody does, ns since 1970."""

    broker: int
    epoch: int
    since: int | None = None


class LeaderChanges(Check):
    """Finds partitions whose leader changes, by the Metadata that clients get, and by errors that tell the new one."""

    def _begin(self) -> None:
        self.leaders: BoundedTable[_Partition, _Leader] = BoundedTable()
        self.clusters: BoundedTable[str, str] = BoundedTable(_MOST_CLUSTERS)

    def receive_metadata(self, event: MessageEvent) -> None:
        """Compares the leaders in an answer with those known before."""
        cluster = text(event.values, "clusterId") or event.server
        self.clusters[cluster] = cluster
        brokers = {number(each, "nodeId", _NOBODY) for each in structs(event.values.get("brokers"))}
        moved: dict[tuple[int, int], list[str]] = {}
        longest = 0
        for name, index, each in list_partitions(event, event.values.get("topics")):
            change = self.lead(event, (cluster, name, index), each) if name else None
            if change is not None:
                longest = max(longest, change[2])
                moved.setdefault(change[:2], []).append(f"{name}[{index}]")
        for (old, new), partitions in moved.items():
            self.report(old, new, partitions, longest, has_left=bool(brokers) and old not in brokers)

    def lead(self, event: MessageEvent, key: _Partition, partition: Mapping[str, Any]) -> tuple[int, int, int] | None:
        """Notes a partition's leader; the old leader, the new one and ns without any, if that is a change."""
        leader, epoch = number(partition, "leaderId", _NOBODY), number(partition, "leaderEpoch", -1)
        known = self.leaders.get(key)
        if known is None:
            if leader != _NOBODY:
                self.leaders[key] = _Leader(leader, epoch)
            return None
        if 0 <= epoch < known.epoch:
            return None
        if leader == _NOBODY:
            known.since = known.since or event.time
            return None
        old, since, known.since = known.broker, known.since, None
        known.broker, known.epoch = leader, epoch
        return None if leader == old else (old, leader, event.time - since if since is not None else 0)

    def receive_refusal(self, event: MessageEvent) -> None:
        """Handles errors in answers that tell the new leader of a partition (KIP-951)."""
        moved: dict[tuple[int, int], list[str]] = {}
        for name, index, each in (*list_fetched(event), *list_produced(event)):
            leader = struct(each, "currentLeader")
            if read_error(each) is None or number(leader, "leaderId", _NOBODY) == _NOBODY:
                continue
            known = [place for cluster in self.clusters.values() if (place := (cluster, name, index)) in self.leaders]
            change = self.lead(event, known[0], leader) if len(known) == 1 else None  # of several, nothing tells which
            if change is not None:
                moved.setdefault(change[:2], []).append(f"{name}[{index}]")
        for (old, new), partitions in moved.items():
            self.report(old, new, partitions, 0, has_left=False)

    def report(self, old: int, new: int, partitions: list[str], longest: int, *, has_left: bool) -> None:
        """Reports the partitions that moved from one broker to another."""
        shown = ", ".join(partitions[:_SHOWN])
        more = f" and {len(partitions) - _SHOWN:,} more" if len(partitions) > _SHOWN else ""
        lost = ", which is not among the brokers any more" if has_left else ""
        without = f"; clients saw no leader for {lasting(longest)}" if longest else ""
        sentence = f"broker {new} leads {shown}{more} in place of broker {old}{lost}{without}"
        severity, advice = (Severity.WARNING, "") if has_left or longest else (Severity.NOTE, _MOVED)
        self.emit(Finding(severity, "leader-changed", sentence, subject=f"broker {old}", advice=advice))

    on = subscribe_to(
        *("Metadata", ANSWERS, receive_metadata, "clusterId", ("brokers", "nodeId"), *_TOPIC),
        *(("topics", "partitions", name) for name in ("partitionIndex", "leaderId", "leaderEpoch")),
    ) | {
        **subscribe_to(
            *("Fetch", ANSWERS, receive_refusal, ("responses", "topic"), ("responses", "topicId")),
            *(("responses", "partitions", name) for name in ("partitionIndex", "errorCode", "currentLeader")),
            merge=merge_by(None, quiet={("responses", "partitions", "errorCode"): 0}),
        ),
        **subscribe_to(
            *("Produce", ANSWERS, receive_refusal, ("responses", "name"), ("responses", "topicId")),
            *(("responses", "partitionResponses", name) for name in ("index", "errorCode", "currentLeader")),
            merge=merge_by(None, quiet={("responses", "partitionResponses", "errorCode"): 0}),
        ),
    }


class ControllerChanges(Check):
    """Finds quorums of controllers that get another leader."""

    def _begin(self) -> None:
        self.leaders: BoundedTable[str, _Leader] = BoundedTable()
        self.resigned: BoundedTable[str, int] = BoundedTable()
        """By cluster the epoch whose leader has resigned."""

    def receive_vote(self, event: MessageEvent) -> None:
        """Handles a vote: a controller is a candidate because the previous one is lost or resigned (KIP-595)."""
        known = self.leaders.get(text(event.values, "clusterId") or "")
        if known is not None:
            known.since = known.since or event.time

    def receive_resignation(self, event: MessageEvent) -> None:
        """Handles a leader's EndQuorumEpoch: it resigns (KIP-595)."""
        cluster = text(event.values, "clusterId") or ""
        for leader, epoch in self.list_leaders(event):
            if cluster not in self.leaders:
                self.leaders[cluster] = _Leader(leader, epoch, event.time)
            self.resigned[cluster] = epoch

    def receive_leader(self, event: MessageEvent) -> None:
        """Handles a leader's BeginQuorumEpoch: it announces itself (KIP-595)."""
        cluster = text(event.values, "clusterId") or ""
        for leader, epoch in self.list_leaders(event):
            known = self.leaders.get(cluster)
            if known is None or epoch > known.epoch:
                self.leaders[cluster] = _Leader(leader, epoch)
                if known is not None:
                    self.report(known, leader, epoch, event, resigned=self.resigned.get(cluster) == known.epoch)

    def list_leaders(self, event: MessageEvent) -> list[tuple[int, int]]:
        """Returns the leader and the epoch that a message names."""
        partitions = list_partitions(event, event.values.get("topics"))
        return [(number(each, "leaderId", _NOBODY), number(each, "leaderEpoch", -1)) for _, _, each in partitions]

    def report(self, known: _Leader, leader: int, epoch: int, event: MessageEvent, *, resigned: bool) -> None:
        """Reports that another broker is the controller now."""
        who = "again" if leader == known.broker else f"in place of controller {known.broker}"
        how = ", which resigned" if resigned and leader != known.broker else ""
        took = "" if known.since is None else f"; the election took {lasting(event.time - known.since)}"
        text = f"controller {leader} leads the quorum {who}{how}, epoch {epoch}{took}"
        self.warn("controller-changed", text, f"epoch {epoch}")

    on = (
        subscribe_to("Vote", REQUESTS, receive_vote, "clusterId")
        | subscribe_to("EndQuorumEpoch", REQUESTS, receive_resignation, "clusterId", *_QUORUM)
        | subscribe_to("BeginQuorumEpoch", REQUESTS, receive_leader, "clusterId", *_QUORUM)
    )


_TIMES, _WINDOW = 10, 60 * SECOND
"""So often within this time a client asks for a topic that is not there, before that is worth saying."""


class MissingTopics(Check):
    """Finds clients that ask for a topic again and again that is not there."""

    def _begin(self) -> None:
        self.missing_topics: WindowTable[tuple[int, str], Repeats] = WindowTable(Repeats, _WINDOW)

    def receive_metadata(self, event: MessageEvent) -> None:
        """Counts the topics that an answer does not know."""
        for topic in structs(event.values.get("topics")):
            name = name_topic(event, topic)
            if name and read_error(topic) == "UNKNOWN_TOPIC_OR_PARTITION":
                window = self.missing_topics.find_at((event.stream, name), event.time)
                if window.add(_TIMES):
                    how_often = f"{window.count:,} times within {lasting(event.time - window.begun)}"
                    sentence = f"{how_often} a client asked for topic {name}, which is not there"
                    self.warn("topic-missing", sentence, f"topic {name}")

    on = subscribe_to("Metadata", ANSWERS, receive_metadata, ("topics", "errorCode"), *_TOPIC)
