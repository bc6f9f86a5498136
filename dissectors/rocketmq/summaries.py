"""The information line of a RocketMQ command: its templates, and the formatters that they use.

Theory. Headers and JSON bodies use few names for the same things, so one table of phrases serves all operations
(tables/summaries.json). The line of an answer is made of the answer and of some fields of its request together. An
ordinary result whose code is not 0 (nothing to pull, stored but not flushed) is described in words and not called an
error. Answers whose header has no class show their remark. structures.py has the formatters of structures in bodies.

Facts. If a controller elects masters, a broker's numbers begin with 1 and do not tell roles. A remark is
RemotingHelper's description of a Java exception (its class, its message, the place that threw it), a sentence with a
link to the FAQ in the next line (FAQUrl), the name of a GetMessageStatus, or `not set any response code`, the default
of a header. Properties are texts, also where they mean numbers (MessageConst).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.message import Path
from dissectors.rocketmq.codes import find_header_class, operations
from dissectors.rocketmq.labels import CODECS, COMPRESSED, ENDINGS, find_codec, format_delay
from dissectors.rocketmq.stored import NAME_VALUE, PROPERTY
from dissectors.rocketmq.structures import FORMATTERS as OF_STRUCTURES
from dissectors.rocketmq.structures import format_few, format_queue
from dissectors.rocketmq.tables import table
from dissectors.values import shorten
from dissectors.wire.amounts import count_text, duration_text, length_text, size_text
from dissectors.wire.info_line import Line, line_by_field
from dissectors.wire.secret import Secret
from dissectors.wire.summary import SHOWN, Formatter, Summaries, of_plain, pairs_in
from dissectors.wire.times import timestamp

_DIGITS = 19
_LONGEST = 120
_READ = 600
_CLASS = re.compile(r"(?:[a-z][\w$]*+\.)+([A-Z][\w$]*+)(?=$|[:,\s])")
_THROWN_AT = re.compile(r",\s*+[\w.$/<>]++\([^()]*+\)\s*+$")
_LINK = re.compile(r"\s*+(?:See|For more information)\b[^\n]*https?://.*", re.DOTALL)


# ---- numbers


def _format_retry(level: int) -> str:
    """When a message comes back that a consumer could not take."""
    return (
        f"again in {format_delay(level)}"
        if level > 0
        else "again later each time"
        if level == 0
        else "to the dead letters"
    )


def _format_codec(flag: int) -> str | None:
    return (find_codec(flag) or f"codec {flag >> 8 & len(CODECS)}") if flag & COMPRESSED else None


def _name_raft_code(code: int) -> str | None:
    name: str | None = table("summaries")["raft"].get(f"{code}")
    return name


# ---- texts


def _format_settings(text: str) -> str | None:
    """Of Java properties their names, for a value may be a secret; a line that is none has not many words."""
    names = [line.partition("=")[0].strip() for line in text.splitlines() if line.strip()]
    return format_few(names) if 0 < len(names) <= SHOWN else count_text(len(names), "setting")


def _format_first_id(ids: str) -> str | None:
    """The first of a batch's ids."""
    first, *more = ids.split(",")
    return f"{first}, {len(more)} more" if more else first or None


def _make_number_formatter(say: Callable[[int], str | None]) -> Formatter:
    """A verb about a text that is a number as Java writes one; more digits than a long has are none, and so is 0."""

    def verb(text: str) -> str | None:
        is_number = text.isascii() and text.isdecimal() and len(text) < _DIGITS
        return say(int(text)) if is_number and int(text) else None

    return of_plain(str, verb)


def _format_moment(value: int) -> str:
    return timestamp(value) or f"{value}"


def _format_cause(remark: str) -> str | None:
    """Why something else happened than what was asked for, if the remark says more than that."""
    known = table("summaries")["reasons"].get(remark)
    return f" ({known})" if known else None


def format_reason(remark: str) -> str | None:
    """Why an answer is no success: the remark, without what surrounds its one sentence."""
    lines, words = table("summaries"), remark.strip()
    if words in lines["usual"]:
        return None
    line = _LINK.sub("", lines["reasons"].get(words, words)[:_READ]).partition("\n")[0]
    line = _CLASS.sub(r"\1", _THROWN_AT.sub("", line)).strip()
    return shorten(line, _LONGEST) or None


# ---- messages


@cache
def _compile_properties() -> Line:
    return line_by_field(SUMMARIES, table("summaries")["properties"])


def _format_properties(pairs: dict[str, Any]) -> str | None:
    """What is told of a message besides its content."""
    return ", ".join(_compile_properties()(pairs, [])) or None


def _format_topics(messages: list[Any]) -> str | None:
    structs = [each for each in messages if isinstance(each, dict)]
    return format_few(dict.fromkeys(each["topic"] for each in structs if isinstance(each.get("topic"), str)))


def _list_offsets(messages: list[Any]) -> list[int]:
    found = [each.get("queueOffset") for each in messages if isinstance(each, dict)]
    return [offset for offset in found if isinstance(offset, int)]


def _sum_body_sizes(messages: list[Any]) -> int:
    """Bytes of bodies as they are on the wire."""
    bodies = [each.get("body") for each in messages if isinstance(each, dict)]
    return sum([len(body) for body in bodies if isinstance(body, bytes)])


FORMATTERS: Mapping[str, Formatter] = {
    **OF_STRUCTURES,
    "because": of_plain(str, _format_cause),
    "codec": of_plain(int, _format_codec),
    "due": _make_number_formatter(_format_moment),
    "first": of_plain(str, _format_first_id),
    "length": lambda value, _: length_text(value) if isinstance(value, (bytes, Secret)) else None,
    "level": _make_number_formatter(format_delay),
    "milliseconds": _make_number_formatter(duration_text),
    "peers": of_plain(str, lambda text: count_text(sum(1 for each in text.split(";") if each), "peer")),
    "properties": of_plain(dict, _format_properties),
    "raft": of_plain(int, _name_raft_code),
    "reason": of_plain(str, format_reason),
    "seconds": _make_number_formatter(lambda number: duration_text(1000 * number)),
    "settings": of_plain(str, _format_settings),
    "topics": of_plain(list, _format_topics),
    "unless": lambda value, usual: f"{value}" if isinstance(value, str) and value != usual else None,
}

NUMBERS: Mapping[str, Callable[[int], str]] = {
    "again": _format_retry,
    "bytes": size_text,
    "ending": lambda number: ENDINGS.get(number, f"{number}"),
    "moment": _format_moment,
    "number": lambda number: f"number {number}" if number else "master",
}

SUMMARIES = Summaries(
    formatters=FORMATTERS,
    numbers=NUMBERS,
    counts={
        "count": len,
        "first": lambda messages: min(_list_offsets(messages), default=0) if len(messages) > 1 else -1,
        "last": lambda messages: max(_list_offsets(messages), default=0) if len(messages) > 1 else -1,
        "only": lambda messages: min(_list_offsets(messages), default=0) if len(messages) == 1 else -1,
        "size": _sum_body_sizes,
    },
)


_HEADER, _BODY, _EXT = "header", "body", "extFields"
_PLACE = "place"
_SENDS = "SEND_"
_REMARK = SUMMARIES.phrase("{remark%reason}")

Values = Mapping[str, Any]


class _LineKind(NamedTuple):
    """What is the same in all lines about one operation and role.

    request_fields, bodies: names of fields of the request's header and body. called: other names for fields. outcomes:
    words for response codes. stores: which codes of an answer do not mean that a message is lost.
    """

    request_fields: tuple[str, ...]
    bodies: tuple[str, ...]
    called: Mapping[str, str]
    outcomes: Mapping[int, str]
    stores: frozenset[int]
    answers: bool


@lru_cache(maxsize=1024)
def _make_line_kind(role: Role, code: int | None) -> _LineKind:
    known, lines, answers = operations().get(-1 if code is None else code), table("summaries"), role is Role.RESPONSE
    name = "" if known is None else known.name
    header_class = find_header_class(code, False) if answers else None
    there = {field.name for field in (header_class or {}).values()}
    wanted = lines["brief"].get(name, lines["requestFields"])
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
    """Returns the fields of a request that the line of its answer is made of."""
    kind = _make_line_kind(context.role, context.code)
    return frozenset([*((_HEADER, name) for name in kind.request_fields), *((_BODY, name) for name in kind.bodies)])


def format_info(body: Body, context: Context) -> str:
    """Formats the summary line of a decoded command; empty if its name says everything."""
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
    if "requested mqSet" in struct:
        struct["refused"] = _list_refused_queues(struct)
    struct["answers"] = kind.answers
    return struct


def _collect_request_fields(request: Values, kind: _LineKind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part, names in ((_HEADER, kind.request_fields), (_BODY, kind.bodies)):
        sent = request.get(part)
        if isinstance(sent, dict):
            found |= {name if part == _HEADER else f"requested {name}": sent[name] for name in names if name in sent}
    return found


def _collect_single_message(messages: Any) -> dict[str, Any]:
    """A single stored message and its properties: nothing else says what the command is about."""
    only = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    if len(only) != 1 or not isinstance(only[0].get("topic"), str):
        return {}
    return {"single": only[0], "properties": only[0].get("properties")}


def _list_refused_queues(struct: Values) -> list[str]:
    """The queues that a client wanted to lock and has not got."""
    requested, got = struct["requested mqSet"], struct.get("lockOKMQSet")
    locked = [format_queue(each) for each in got] if isinstance(got, list) else []
    return [name for name in map(format_queue, requested) if name not in locked] if isinstance(requested, list) else []
