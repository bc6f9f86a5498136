"""Assignments of a group's partitions to its members, and the changes between two of them.

Facts. A classic consumer's assignment is a ConsumerProtocolAssignment in the bytes that the leader sends for it; a
Connect worker's names connectors and tasks (task -1 is the connector itself). Heartbeats of KIP-848 (consumer), KIP-932
(share) and KIP-1071 (streams) groups carry theirs as fields: topics by id, or tasks of subtopologies.

Facts. Cooperative assignors move a partition in two rebalances: in the first its owner gives it up, in the second
another member gets it. So the owner is remembered while the partition has none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from dissectors.correlator import MessageEvent
from dissectors.kafka.reports.fields import list_numbers, list_texts, name_topic, read_embedded
from dissectors.values import structs

Partition: TypeAlias = tuple[str, int]
"""A topic, connector or subtopology, and a number in it."""

Assignment: TypeAlias = Mapping[str, frozenset[Partition]]
"""Partitions by member."""

MOST_PARTITIONS = 100_000
"""Partitions of one member that are looked at."""

MOST_SHOWN = 8
"""Partitions of a topic, and topics, that a text names."""

_TASKS = ("activeTasks", "standbyTasks", "warmupTasks")


def read_assignment(value: object) -> frozenset[Partition]:
    """Returns the partitions that a classic member gets, by the bytes of its assignment."""
    content = read_embedded(value)
    found = [
        *_list_partitions(content.get("assignedPartitions"), "topic", "partitions"),
        *_list_partitions(content.get("assignment"), "connector", "tasks"),
    ]
    return frozenset(found[:MOST_PARTITIONS])


def _list_partitions(value: object, name: str, numbers: str) -> Iterator[Partition]:
    for each in structs(value):
        topic = each.get(name)
        if isinstance(topic, str):
            yield from ((topic, number) for number in list_numbers(each.get(numbers)))


def read_heartbeat_assignment(event: MessageEvent) -> frozenset[Partition] | None:
    """The partitions or tasks that the answer to a heartbeat gives its member; None where it gives none anew."""
    values = event.values
    if any(values.get(name) is not None for name in _TASKS):
        tasks = (each for name in _TASKS for each in _list_partitions(values.get(name), "subtopologyId", "partitions"))
        return frozenset(list(tasks)[:MOST_PARTITIONS])
    assignment = values.get("assignment")
    if not isinstance(assignment, dict):
        return None
    return read_topic_partitions(event, assignment.get("topicPartitions"))


def read_topic_partitions(event: MessageEvent, value: object) -> frozenset[Partition]:
    """Returns the partitions of an array of topics, which may have ids for names."""
    found = [
        (name, number)
        for topic in structs(value)
        if (name := name_topic(event, topic)) is not None
        for number in list_numbers(topic.get("partitions"))
    ]
    return frozenset(found[:MOST_PARTITIONS])


def list_subscribed_topics(protocols: object) -> frozenset[str]:
    """Returns the topics that a classic member subscribes to, by the metadata of its protocols."""
    return frozenset(
        topic for each in structs(protocols) for topic in list_texts(read_embedded(each.get("metadata")).get("topics"))
    )


class AssignmentChange(NamedTuple):
    """The difference between two assignments: what members gain and lose, moved partitions, and needless moves.

    A partition has moved if its last owner is still a member, and it has another owner now. Moves are needless as far
    as owners lose more partitions to other members than the new numbers of partitions ask for.
    """

    gained: Mapping[str, frozenset[Partition]]
    lost: Mapping[str, frozenset[Partition]]
    moved: int
    needless: int


def compare_assignments(owners: Mapping[Partition, str], before: Assignment, after: Assignment) -> AssignmentChange:
    """Compares assignments. owners: the last owner of each partition that had one, also of those without an owner now.

    An owner that is not in `after` has left.
    """
    gained = {member: after[member] - before.get(member, frozenset()) for member in after}
    lost = {member: before[member] - after.get(member, frozenset()) for member in before}
    moved = Counter(
        owner
        for member, partitions in gained.items()
        for partition in partitions
        if (owner := owners.get(partition)) is not None and owner != member and owner in after
    )
    had = Counter(owners.values())
    needed = sum(min(count, max(had[member] - len(after[member]), 0)) for member, count in moved.items())
    total = moved.total()
    return AssignmentChange(gained, lost, total, total - needed)


def format_partitions(partitions: Iterable[Partition]) -> str:
    """Formats as `orders[0-3, 7], returns[0]`: runs of numbers by topic; what is too much is counted."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(partitions):
        topics[topic].append(number)
    shown = [f"{topic}[{_format_numbers(numbers)}]" for topic, numbers in list(topics.items())[:MOST_SHOWN]]
    more = len(topics) - len(shown)
    return ", ".join([*shown, f"{more:,} more topics"] if more else shown)


def _format_numbers(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = ["-".join(map(str, run)) for run in runs[:MOST_SHOWN]]
    return ", ".join([*shown, "..."] if len(runs) > MOST_SHOWN else shown)


def format_change(names: Mapping[str, str], change: AssignmentChange) -> list[str]:
    """Formats what each member gains or loses: `c1 +orders[2] -orders[0]`. names: of members by id."""
    found = []
    for member in dict.fromkeys([*change.gained, *change.lost]):
        gained, lost = change.gained.get(member), change.lost.get(member)
        parts = [f"{sign}{format_partitions(each)}" for sign, each in (("+", gained), ("-", lost)) if each]
        if parts:
            found.append(" ".join([names.get(member, member), *parts]))
    return found


def list_owned(assignment: Assignment, names: Mapping[str, str]) -> list[str]:
    """Formats the partitions of each member: `c1: orders[0-1]`; `c2: none`."""
    return [
        f"{names.get(member, member)}: {format_partitions(partitions) or 'none'}"
        for member, partitions in assignment.items()
    ]
