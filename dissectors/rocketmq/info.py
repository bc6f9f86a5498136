"""One line for people about a command: what went wrong, about what, how much.

Theory. Headers and JSON bodies use few names for the same things, so one table of phrases serves all operations
(tables/summaries.json): the header's fields and the members of a JSON body are one struct for it. An answer says the
least of an exchange; its line is that of the answer and of what it `recalls` of its request together. What is ordinary
although its code is not 0 (nothing to pull, stored but not flushed) is said in words, not called an error. Answers
whose header has no class have their remark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.message import Path
from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.extfields import find_header_class
from dissectors.rocketmq.stored import NAME_VALUE, PROPERTY
from dissectors.rocketmq.structures import format_queue
from dissectors.rocketmq.summaries import SUMMARIES
from dissectors.rocketmq.tables import table
from dissectors.wire.info_line import Line, line_by_field
from dissectors.wire.summary import pairs_in

_HEADER, _BODY, _EXT = "header", "body", "extFields"
_PLACE = "place"
_SENDS = "SEND_"
_REMARK = SUMMARIES.phrase("{remark%reason}")

Values = Mapping[str, Any]


class _LineKind(NamedTuple):
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
def _make_line_kind(role: Role, code: int | None) -> _LineKind:
    known, lines, answers = operations().get(-1 if code is None else code), table("summaries"), role is Role.RESPONSE
    name = "" if known is None else known.name
    asked = find_header_class(code, False) if answers else None
    there = {field.name for field in (asked or {}).values()}
    wanted = lines["brief"].get(name, lines["recalls"])
    return _LineKind(
        tuple(each for each in wanted if each in there),
        tuple(lines["bodies"].get(name, ())) if answers else (),
        lines["called"].get(name, {}),
        {int(number): words for number, words in lines["outcomes"].get(name, {}).items()},
        frozenset(lines["stored"]) if name.startswith(_SENDS) else frozenset(),
        answers,
    )


@cache
def _compile_line() -> Line:
    return line_by_field(SUMMARIES, table("summaries")["line"])


def list_request_fields(context: Context) -> frozenset[Path]:
    """The fields of a request that the line of its answer is made of."""
    kind = _make_line_kind(context.role, context.code)
    return frozenset([*((_HEADER, name) for name in kind.recalled), *((_BODY, name) for name in kind.bodies)])


def format_info(body: Body, context: Context) -> str:
    """The line for a decoded command; empty for one that says nothing but its name."""
    kind, values = _make_line_kind(context.role, context.code), body.values
    struct = _make_struct(body, kind)
    head: list[str] = []
    if body.error is not None:
        code, name = body.error
        if code in kind.outcomes:
            struct |= {"outcome": kind.outcomes[code], "remark": values.get("remark")}
        else:
            head = [name]
        if code in kind.stores:
            struct["stored"] = True
    parts = _compile_line()(struct, [])
    if "outcome" not in struct and (head or not parts):
        parts += filter(None, [_REMARK(values, [])])
    return ", ".join([" ".join([*head, *parts[:1]]), *parts[1:]] if head and _PLACE in struct else head + parts)


def _make_struct(body: Body, kind: _LineKind) -> dict[str, Any]:
    """All that a line may be made of, under names that mean one thing."""
    values = body.values
    content = values.get(_BODY)
    struct: dict[str, Any] = {}
    if body.request is not None:
        struct |= _collect_request_fields(body.request, kind)
    if isinstance(content, dict):
        struct |= content
    elif content is not None:
        struct[_BODY] = content
    struct |= values.get(_HEADER) or values.get(_EXT) or {}
    if "bodyUncompressed" in values:
        struct["bodyUncompressed"] = values["bodyUncompressed"]
    for name, meant in kind.called.items():
        if name in struct:
            struct[meant] = struct.pop(name)
    if "properties" in struct:
        struct["properties"] = pairs_in(struct["properties"], NAME_VALUE, PROPERTY)
    if "messages" in struct and "topic" not in struct:
        struct |= _collect_single_message(struct["messages"])
    if "topic" in struct or "queueId" in struct:
        struct[_PLACE] = True
    if "asked mqSet" in struct:
        struct["refused"] = _list_refused_queues(struct)
    struct["answers"] = kind.answers
    return struct


def _collect_request_fields(request: Values, kind: _LineKind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part, names in ((_HEADER, kind.recalled), (_BODY, kind.bodies)):
        asked = request.get(part)
        if isinstance(asked, dict):
            found |= {name if part == _HEADER else f"asked {name}": asked[name] for name in names if name in asked}
    return found


def _collect_single_message(messages: Any) -> dict[str, Any]:
    """A single stored message and its properties: nothing else says what the command is about."""
    only = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    if len(only) != 1 or not isinstance(only[0].get("topic"), str):
        return {}
    return {"single": only[0], "properties": only[0].get("properties")}


def _list_refused_queues(struct: Values) -> list[str]:
    """The queues that a client wanted to lock and has not got."""
    asked, got = struct["asked mqSet"], struct.get("lockOKMQSet")
    locked = [format_queue(each) for each in got] if isinstance(got, list) else []
    return [name for name in map(format_queue, asked) if name not in locked] if isinstance(asked, list) else []
