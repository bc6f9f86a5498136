"""One line for people about a command: what went wrong, about what, how much.

Theory. Headers and JSON bodies use few names for the same things, so one table of sayings serves all operations: the
header's fields and the members of a JSON body are one set of values for it. An answer says the least of an exchange;
its line is that of the answer and of what it `recalls` of its request together. What is ordinary although its code is
not 0 (nothing to pull, stored but not flushed) is said in words, not called an error. Answers whose header has no
class have their remark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.message import Path
from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.extfields import header_class
from dissectors.rocketmq.info.reasons import outcome, reason
from dissectors.rocketmq.info.sayings import sayings
from dissectors.rocketmq.tables import table
from dissectors.wire.phrases import NOTHING, Values

_HEADER, _BODY, _EXT = "header", "body", "extFields"
_PLACE = "place"
_SENDS = "SEND_"


class _Kind(NamedTuple):
    """What is the same in all lines about one operation and role.

    recalled, bodies: names of fields of the request's header and body. called: other names for fields. outcomes: words
    for response codes. stores: which codes of an answer do not mean that a message is lost.
    """

    recalled: tuple[str, ...]
    bodies: tuple[str, ...]
    called: Mapping[str, str]
    outcomes: Mapping[int, str]
    stores: frozenset[int]
    answers: bool


@lru_cache(maxsize=1024)
def _kind(role: Role, code: int | None) -> _Kind:
    known, lines, answers = operations().get(-1 if code is None else code), table("lines"), role is Role.RESPONSE
    name = "" if known is None else known.name
    asked = header_class(code, False) if answers else None
    there = {field.name for field in (asked or {}).values()}
    wanted = lines["brief"].get(name, lines["recalls"])
    return _Kind(
        tuple(each for each in wanted if each in there),
        tuple(lines["bodies"].get(name, ())) if answers else (),
        lines["called"].get(name, {}),
        {int(number): words for number, words in lines["outcomes"].get(name, {}).items()},
        frozenset(lines["stored"]) if name.startswith(_SENDS) else frozenset(),
        answers,
    )


def recalled(context: Context) -> frozenset[Path]:
    """The fields of a request that the line of its answer is made of."""
    kind = _kind(context.role, context.code)
    return frozenset([*((_HEADER, name) for name in kind.recalled), *((_BODY, name) for name in kind.bodies)])


def info_line(body: Body, context: Context) -> str:
    """The line for a decoded command; empty for one that says nothing but its name."""
    kind, values = _kind(context.role, context.code), body.values
    told = _told(body, kind)
    head: list[str] = []
    if body.error is not None:
        code, name = body.error
        if code in kind.outcomes:
            told["outcome"] = outcome(kind.outcomes[code], values.get("remark"))
        else:
            head = [name]
        if code in kind.stores:
            told["stored"] = True
    said = sayings(told)
    remark = values.get("remark")
    if isinstance(remark, str) and remark != "" and "outcome" not in told:
        said += reason(remark, said, failed=body.error is not None)
    return ", ".join([" ".join([*head, *said[:1]]), *said[1:]] if head and _PLACE in told else head + said)


def _told(body: Body, kind: _Kind) -> dict[str, Any]:
    """All that a line may be made of, under names that mean one thing."""
    values = body.values
    header = values.get(_HEADER)
    content = values.get(_BODY)
    told: dict[str, Any] = {}
    if body.request is not None:
        for part, names in ((_HEADER, kind.recalled), (_BODY, kind.bodies)):
            asked = body.request.get(part)
            asked = asked if isinstance(asked, dict) else NOTHING
            told |= {name if part == _HEADER else f"asked {name}": asked[name] for name in names if name in asked}
    if isinstance(content, dict):
        told |= content
    elif content is not None:
        told[_BODY] = content
    told |= header or values.get(_EXT) or NOTHING
    if "bodyUncompressed" in values:
        told["bodyUncompressed"] = values["bodyUncompressed"]
    for name, meant in kind.called.items():
        if name in told:
            told[meant] = told.pop(name)
    if "topic" in told or "queueId" in told:
        told[_PLACE] = True
    told["answers"] = kind.answers
    return told


__all__ = ["Values", "info_line", "recalled"]
