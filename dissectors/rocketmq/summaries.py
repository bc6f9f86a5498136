"""What RocketMQ's phrases make of numbers, texts and stored messages; structures.py has the structures of bodies.

Facts. Where a controller elects masters, a broker's numbers begin with 1 and say nothing of roles. A remark is
RemotingHelper's account of a Java exception (its class, its message, the place that threw it), a sentence with a line
behind it that links to the FAQ (FAQUrl), the name of a GetMessageStatus, or `not set any response code`, which is what
a header says that nobody has touched. Properties are texts, also where they mean numbers (MessageConst).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dissectors.rocketmq.labels import CODECS, COMPRESSED, find_codec, format_delay
from dissectors.rocketmq.structures import FORMATTERS as OF_STRUCTURES
from dissectors.rocketmq.structures import format_few
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import count_text, duration_text, length_text, size_text
from dissectors.wire.info_line import Line, line_by_field
from dissectors.wire.secret import Secret
from dissectors.wire.summary import SHOWN, Formatter, Summaries, of_plain
from dissectors.wire.times import timestamp

_ENDS = {0: "unknown", 8: "commit", 12: "rollback"}
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


def _format_length(value: Any, _: str) -> str | None:
    return length_text(value) if isinstance(value, (bytes, Secret)) else None


def _format_unless(value: Any, usual: str) -> str | None:
    return f"{value}" if isinstance(value, str) and value != usual else None


def _format_settings(text: str) -> str | None:
    """Of Java properties their names, for a value may be a secret; a line that is none has not many words."""
    names = [line.partition("=")[0].strip() for line in text.splitlines() if line.strip()]
    return format_few(names) if 0 < len(names) <= SHOWN else count_text(len(names), "setting")


def _format_first_id(ids: str) -> str | None:
    """The first of a batch's ids."""
    first, *more = ids.split(",")
    return f"{first}, {len(more)} more" if more else first or None


def _format_peers(text: str) -> str:
    return count_text(sum(1 for each in text.split(";") if each), "peer")


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


def _format_reason(remark: str) -> str | None:
    """Why an answer is no success: the remark, without what surrounds its one sentence."""
    lines, words = table("summaries"), remark.strip()
    if words in lines["usual"]:
        return None
    line = _LINK.sub("", lines["reasons"].get(words, words)[:_READ]).partition("\n")[0]
    line = _CLASS.sub(r"\1", _THROWN_AT.sub("", line)).strip()
    return (line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + "...") or None


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


def _find_first_offset(messages: list[Any]) -> int:
    return min(_list_offsets(messages), default=0) if len(messages) > 1 else -1


def _find_last_offset(messages: list[Any]) -> int:
    return max(_list_offsets(messages), default=0) if len(messages) > 1 else -1


def _find_only_offset(messages: list[Any]) -> int:
    return min(_list_offsets(messages), default=0) if len(messages) == 1 else -1


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
    "length": _format_length,
    "level": _make_number_formatter(format_delay),
    "milliseconds": _make_number_formatter(duration_text),
    "peers": of_plain(str, _format_peers),
    "properties": of_plain(dict, _format_properties),
    "raft": of_plain(int, _name_raft_code),
    "reason": of_plain(str, _format_reason),
    "seconds": _make_number_formatter(lambda number: duration_text(1000 * number)),
    "settings": of_plain(str, _format_settings),
    "topics": of_plain(list, _format_topics),
    "unless": _format_unless,
}

NUMBERS: Mapping[str, Callable[[int], str]] = {
    "again": _format_retry,
    "bytes": size_text,
    "ending": lambda number: _ENDS.get(number, f"{number}"),
    "moment": _format_moment,
    "number": lambda number: f"number {number}" if number else "master",
}

SUMMARIES = Summaries(
    formatters=FORMATTERS,
    numbers=NUMBERS,
    counts={
        "count": len,
        "first": _find_first_offset,
        "last": _find_last_offset,
        "only": _find_only_offset,
        "size": _sum_body_sizes,
    },
)
