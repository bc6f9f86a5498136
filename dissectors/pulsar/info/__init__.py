"""One line for people about a message: what it is about, not all that is in it.

Theory. The proto uses few names for the same things, so one table of sayings serves all commands. An answer says the
least of an exchange; its line is that of the answer and of what it `recalls` of its request together, as if the answer
had these fields too. What went wrong, or what was done, stands before what it was done to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.message import Path
from dissectors.pulsar.commands import commands
from dissectors.pulsar.info.sayings import sayings
from dissectors.pulsar.tables import table
from dissectors.wire.phrases import NOTHING, Values

_MOST_BITS, _LEAST_BITS = "txnid_most_bits", "txnid_least_bits"
_SUCCESS = 13
_CLOSES = (15, 16)
"""CLOSE_PRODUCER and CLOSE_CONSUMER, which the broker sends unasked."""


class _Kind(NamedTuple):
    """What is the same in all lines about one command of one role.

    recalled: names of fields of the request. meant: what the message says without saying it. deeds: what was done, by
    the command that asked for it. answers: it is an answer.
    """

    recalled: tuple[str, ...]
    meant: Values
    deeds: Mapping[int, str]
    answers: bool


@lru_cache(maxsize=512)
def _kind(role: Role, code: int | None) -> _Kind:
    known = None if code is None else commands().get(code)
    name, lines, answers = None if known is None else known.name, table("lines"), role is Role.RESPONSE
    meant = lines["meant"].get(name, NOTHING)
    return _Kind(
        tuple(lines["recalls"].get(name, ())) if answers else (),
        {**meant, "closed": True} if role is Role.PUSH and code in _CLOSES else meant,
        _deeds() if code == _SUCCESS else {},
        answers,
    )


def _deeds() -> Mapping[int, str]:
    deeds: Mapping[str, str] = table("lines")["deeds"]
    return {code: deeds[known.name] for code, known in commands().items() if known.name in deeds}


def recalled(context: Context) -> frozenset[Path]:
    """The fields of a request that the line of its answer is made of."""
    return frozenset((name,) for name in _kind(context.role, context.code).recalled)


def info_line(body: Body, context: Context) -> str:
    """The line for a decoded message; empty for one that says nothing but its name."""
    kind, values = _kind(context.role, context.code), body.values
    asked = {} if body.request is None else {name: body.request[name] for name in kind.recalled if name in body.request}
    head = [] if body.error is None else [body.error[1]]
    if body.asked is not None and body.asked in kind.deeds:
        head = [kind.deeds[body.asked]]
    if asked or kind.meant:
        values = {**kind.meant, **asked, **values}
    said = sayings(_told(values, ended=kind.answers and body.error is None))
    return ", ".join([" ".join([*head, *said[:1]]), *said[1:]] if head else said)


def _told(values: dict[str, Any], *, ended: bool) -> dict[str, Any]:
    """The same under the names that sayings have for what stands in two fields, or means two things.

    ended: a transaction is over, if it was to end.
    """
    topics = values.get("topic")
    if isinstance(topics, list):
        values = {**values, "topic": "", "topics": topics}
    if _LEAST_BITS in values or _MOST_BITS in values:
        values = {**values, "transaction": [values.get(_MOST_BITS, 0), values.get(_LEAST_BITS, 0)]}
        if ended and "txn_action" in values:
            values["outcome"] = values.pop("txn_action")
    return values
