"""Fetch sessions (KIP-227): all that an incremental Fetch asks for, of which it names only what has changed.

Facts. A Fetch with epoch 0 names all partitions and asks for a session; its answer has the session's id, 0 for none.
Epochs from 1 on are incremental: partitions that are named are added or changed, those in forgottenTopicsData removed,
all others stay. Epoch -1 names all and ends the session. A request that is answered with an error changed nothing. From
version 13 on topics have ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dissectors.lesson import Exchange, Held, Standing, Values

FETCH = 1
MOST = 100_000
"""Partitions that are remembered of a session."""

_Key = tuple[str, int]


def standing(exchanges: Iterable[Exchange]) -> Standing | None:
    """See Dissector.standing: None for a Fetch that names all it asks for."""
    asked = iter(exchanges)
    last = next(asked, None)
    request = None if last is None else last.request()
    if request is None:
        return None
    session, epoch = request.get("sessionId"), request.get("sessionEpoch")
    if not isinstance(session, int) or not isinstance(epoch, int) or not session or epoch <= 0:
        return None
    changes = [request]
    since = None
    for exchange in asked:
        earlier = exchange.request()
        if earlier is None:
            continue
        number = earlier.get("sessionEpoch")
        if number == 0 and _opened(exchange.answer()) == session:
            changes.append(earlier)
            since = exchange.number
            break
        if earlier.get("sessionId") == session:
            if number in (0, -1):
                break  # this session ended here, and another one has the same id
            if not _failed(exchange.answer()):
                changes.append(earlier)
    held: dict[_Key, int | None] = {}
    for change in reversed(changes):
        _apply(change, held)
    found = (Held(topic, partition, offset) for (topic, partition), offset in held.items())
    return Standing(session, epoch, tuple(found), since)


def _opened(answer: Values | None) -> object:
    return None if answer is None or answer.get("errorCode") else answer.get("sessionId")


def _failed(answer: Values | None) -> bool:
    return answer is not None and bool(answer.get("errorCode"))


def _apply(request: Values, held: dict[_Key, int | None]) -> None:
    for topic, partition in _partitions(request, "forgottenTopicsData"):
        held.pop((topic, partition), None)
    for topic, partition in _partitions(request, "topics"):
        number, offset = partition.get("partition"), partition.get("fetchOffset")
        if isinstance(number, int) and (len(held) < MOST or (topic, number) in held):
            held[topic, number] = offset if isinstance(offset, int) else None


def _partitions(request: Values, name: str) -> Iterator[tuple[str, Any]]:
    for topic in request.get(name) or ():
        known = topic.get("topic", topic.get("topicId"))
        if isinstance(known, str):
            for partition in topic.get("partitions") or ():
                yield known, partition
