"""Lines about clients: heartbeats, subscriptions, pulls and pops, transactions, who is connected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dissectors.holes import made, plain
from dissectors.rocketmq.labels import delay
from dissectors.wire.amounts import count_text, duration_text
from dissectors.wire.phrases import MOST, SHOWN, Values, is_number, joined

_SUSPENDS, _COMMITS = 2, 1
_EVERYTHING = ("", "*")
_LONGEST = 60
_TYPES = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_INNER = "CLIENT_INNER_PRODUCER"
_RETRY = "%RETRY%"


def duration(words: str) -> Any:
    """A length of time, in milliseconds; none of nothing."""
    return lambda value, _: (
        (words.format(made(duration_text, value)),) if is_number(value) and 0 < value <= MOST else ()
    )


def patience(value: Any, values: Values) -> Iterable[str]:
    """How long a pull may wait for messages; the bit says whether it does at all."""
    flag = values.get("sysFlag")
    if is_number(flag) and not flag & _SUSPENDS:
        yield "does not wait"
    elif is_number(value) and 0 < value <= MOST:
        yield f"waits up to {made(duration_text, value)}"


def commits(value: Any, values: Values) -> Iterable[str]:
    """The offset that a group is done with; a pull commits only if a bit says so, and nothing below 0.

    What is there to commit says -1, too: Go's client does so for queues that it has not read.
    """
    flag: Any = values.get("sysFlag", _COMMITS)
    if is_number(value) and is_number(flag) and flag & _COMMITS and ("sysFlag" not in values or value >= 0):
        yield f"commits {value}"


def expression(value: Any, values: Values) -> Iterable[str]:
    """What a consumer wants of a topic, if not all."""
    kind: Any = values.get("expressionType", values.get("expType", "TAG"))
    if isinstance(value, str) and value not in _EVERYTHING:
        words = plain(value)
        shown = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
        yield shown if kind == "TAG" or not isinstance(kind, str) else f"{kind} {shown}"


def consumers(value: Any, _: Values) -> Iterator[str]:
    """Groups of a heartbeat: how each consumes, and what."""
    rows = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    for row in rows[:SHOWN]:
        about = [_TYPES.get(str(plain(row.get("consumeType"))), "")]
        about.append("broadcasting" if row.get("messageModel") == "BROADCASTING" else "")
        subscribed = row.get("subscriptionDataSet")
        about += _subscriptions(subscribed if isinstance(subscribed, list) else [])
        yield f"consumer {row.get('groupName', '?')} ({', '.join(filter(None, about))})"
    if len(rows) > SHOWN:
        yield f"{len(rows) - SHOWN} more"


def _subscriptions(rows: list[Any]) -> list[str]:
    """Topics and expressions, but for the group's own topic of retries."""
    known = [
        each for each in rows if isinstance(each, dict) and not str(plain(each.get("topic", ""))).startswith(_RETRY)
    ]
    return list(joined("", known, _subscription))


def _subscription(row: Any) -> str:
    wanted = row.get("subString")
    words = "" if wanted in _EVERYTHING or not isinstance(wanted, str) else f" {wanted[:_LONGEST]}"
    return f"{row.get('topic', '?')}{words}"


def producers(value: Any, _: Values) -> Iterable[str]:
    """Groups of a heartbeat, but for the one that every client has for itself."""
    rows = [each.get("groupName", "?") for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    return joined("producer ", [name for name in rows if name != _INNER])


def connections(value: Any, _: Values) -> Iterator[str]:
    """Who is connected."""
    if isinstance(value, list):
        yield count_text(len(value), "connection")
        yield from joined("", value, _connection)


def _connection(row: Any) -> str:
    return f"{row.get('clientId', '?')} at {row.get('clientAddr', '?')}" if isinstance(row, dict) else "?"


def consume_type(value: Any, _: Values) -> Iterable[str]:
    """Push, pull or pop."""
    return (_TYPES[value],) if isinstance(value, str) and value in _TYPES else ()


_ENDS = {0: "unknown", 8: "commit", 12: "rollback"}


def ending(value: Any, values: Values) -> Iterable[str]:
    """How a transaction ends, and whether the broker had to ask."""
    if is_number(value):
        yield made(lambda number: _ENDS.get(number, f"{number}"), value)
    if values.get("fromTransactionCheck") is True:
        yield "asked by the broker"


def again(value: Any, _: Values) -> Iterable[str]:
    """When a message comes back that a consumer could not take."""
    if is_number(value):
        yield made(_again, value)


def _again(level: int) -> str:
    return f"again in {delay(level)}" if level > 0 else "again later each time" if level == 0 else "to the dead letters"


def group(role: str) -> Any:
    """The group of a producer or of a consumer, which only where both may stand needs the word."""

    def words(value: Any, values: Values) -> Iterable[str]:
        either = "clientID" in values or ("producerGroup" in values and "consumerGroup" in values)
        return (f"{role if either else 'group'} {value}",) if isinstance(value, str) and value != "" else ()

    return words


def subscription(value: Any, _: Values) -> Iterable[str]:
    """What a group wants of a topic, as a broker answers."""
    return (f"subscribed to {_subscription(value)}",) if isinstance(value, dict) and "topic" in value else ()


def statistics(value: Any, values: Values) -> Iterator[str]:
    """How many in the last minute, hour and day, as far as a broker counts yet."""
    for name, words in (("statsMinute", "minute"), ("statsHour", "hour"), ("statsDay", "day")):
        row = values.get(name)
        number = row.get("sum") if isinstance(row, dict) else None
        if isinstance(number, int):
            yield f"{number} in a {words}" if words != "hour" else f"{number} in an hour"


def result(value: Any, values: Values) -> Iterable[str]:
    """What came of a message that an operator had a client consume."""
    spent = values.get("spentTimeMills")
    if isinstance(value, str):
        yield f"{value} in {spent} ms" if is_number(spent) else value


def subject(value: Any, values: Values) -> Iterable[str]:
    """A user or a subject of rules; kinds and states are said by themselves."""
    if isinstance(value, str) and value != "":
        yield f"{value}"
    policies = values.get("policies")
    if isinstance(policies, list):
        yield f"{len(policies)} {'policy' if len(policies) == 1 else 'policies'}"
