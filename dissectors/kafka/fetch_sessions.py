"""Fetch sessions (KIP-227) and share sessions (KIP-932): all that an incremental request asks for.

An incremental request names only the changes.

Facts. A Fetch with epoch 0 names all partitions and asks for a session; its answer has the session's id, 0 for none.
Epochs from 1 on are incremental: named partitions are added or changed, those in forgottenTopicsData removed, and all
others stay. Epoch -1 names all and ends the session. A request that is answered with an error changes nothing. From
version 13 on topics have ids. A ShareFetch counts its epochs in the same way. Its session is that of a group's member,
and a partition that it acknowledges and forgets is in both lists.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from dissectors.api import Context, Values
from dissectors.name_binding import Exchange, SessionContents, SessionPartition
from dissectors.session_state import Partition, SessionChange, SessionKind, SessionTracker

FETCH, SHARE_FETCH = 1, 78
MOST = 100_000
"""Partitions that are remembered of a session."""


def read_contents(exchanges: Iterable[Exchange]) -> SessionContents | None:
    """The contents of the session that a Fetch and the exchanges before it tell; None for one that names all."""
    remaining = iter(exchanges)
    last = next(remaining, None)
    request = None if last is None else last.request()
    if request is None:
        return None
    session, epoch = request.get("sessionId"), request.get("sessionEpoch")
    if not isinstance(session, int) or not isinstance(epoch, int) or not session or epoch <= 0:
        return None
    changes = [request]
    since = None
    for exchange in remaining:
        earlier = exchange.request()
        if earlier is None:
            continue
        number = earlier.get("sessionEpoch")
        if number == 0 and _find_opened_session(exchange.answer()) == session:
            changes.append(earlier)
            since = exchange.number
            break
        if earlier.get("sessionId") == session:
            if number in (0, -1):
                break  # this session ended here, and another one has the same id
            if not _has_failed(exchange.answer()):
                changes.append(earlier)
    contents: dict[Partition, int | None] = {}
    for change in reversed(changes):
        _apply(change, contents)
    found = (SessionPartition(topic, partition, offset) for (topic, partition), offset in contents.items())
    return SessionContents(session, epoch, tuple(found), since)


def _find_opened_session(answer: Values | None) -> object:
    return None if answer is None or answer.get("errorCode") else answer.get("sessionId")


def _has_failed(answer: Values | None) -> bool:
    return answer is not None and bool(answer.get("errorCode"))


def _apply(request: Values, contents: dict[Partition, int | None]) -> None:
    for topic, partition in _partitions(request, "forgottenTopicsData"):
        contents.pop((topic, partition), None)
    for topic, partition in _partitions(request, "topics"):
        number, offset = partition.get("partition"), partition.get("fetchOffset")
        if isinstance(number, int) and (len(contents) < MOST or (topic, number) in contents):
            contents[topic, number] = offset if isinstance(offset, int) else None


def _partitions(request: Values, name: str) -> Iterator[tuple[str, Any]]:
    for topic in request.get(name) or ():
        known = topic.get("topic", topic.get("topicId"))
        if isinstance(known, str):
            for partition in topic.get("partitions") or ():
                yield known, partition


def _change(request: Values) -> SessionChange:
    """What a Fetch changes; a partition that it forgets and names stays."""
    added = dict.fromkeys(_numbers(request, "topics", "partition"))
    return SessionChange(
        tuple(added), tuple(each for each in _numbers(request, "forgottenTopicsData") if each not in added)
    )


def _share_change(request: Values) -> SessionChange:
    """What a ShareFetch changes; a partition that it forgets and names goes."""
    return SessionChange(
        tuple(_numbers(request, "topics", "partitionIndex")), tuple(_numbers(request, "forgottenTopicsData"))
    )


def _numbers(request: Values, name: str, number: str | None = None) -> Iterator[Partition]:
    for topic, partition in _partitions(request, name):
        found = partition if number is None else partition.get(number)
        if isinstance(found, int):
            yield topic, found


def _session_of(key: tuple[Hashable, ...], answer: Values | None) -> tuple[Hashable, ...] | None:
    """The session that the answer to a Fetch names."""
    session = _find_opened_session(answer)
    return (session,) if session else None


def _share_session_of(key: tuple[Hashable, ...], answer: Values | None) -> tuple[Hashable, ...] | None:
    """The session of a ShareFetch, which its request names."""
    return None if _has_failed(answer) else key


def _paths(*names: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(name.split(".")) for name in names)


_KINDS = (
    SessionKind(
        FETCH,
        "Fetch",
        (("sessionId",),),
        ("sessionEpoch",),
        (("topics", "topic"), ("topics", "topicId")),
        ("topics", "partitions", "partition"),
        (("forgottenTopicsData", "topic"), ("forgottenTopicsData", "topicId")),
        _paths(
            *("topics.topic", "topics.topicId", "topics.partitions.partition"),
            *(f"forgottenTopicsData.{name}" for name in ("topic", "topicId", "partitions")),
        ),
        _change,
        _paths("errorCode", "sessionId"),
        _session_of,
        _has_failed,
    ),
    SessionKind(
        SHARE_FETCH,
        "ShareFetch",
        (("groupId",), ("memberId",)),
        ("shareSessionEpoch",),
        (("topics", "topicId"),),
        ("topics", "partitions", "partitionIndex"),
        (("forgottenTopicsData", "topicId"),),
        _paths(
            *("topics.topicId", "topics.partitions.partitionIndex"),
            *(f"forgottenTopicsData.{name}" for name in ("topicId", "partitions")),
        ),
        _share_change,
        _paths("errorCode"),
        _share_session_of,
        _has_failed,
    ),
)


def _find_contents(context: Context, exchanges: Iterable[Exchange]) -> SessionContents | None:
    """The partitions in a fetch session."""
    return read_contents(exchanges) if context.code == FETCH else None


SESSIONS = SessionTracker(_KINDS, _find_contents)
