"""The summary line of a message: the few facts that an engineer wants first.

Theory. The subject of a message differs between APIs, so a table has a row for each (tables/info.json): topics with
their partitions, offsets and records; groups, members, epochs; durations and amounts. The rest is the same for all: the
message's own error comes first, an explanation and throttling last. An error of a part of the message is beside that
part; if the line is too short for it, it comes first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.kafka.labels import find_operation_name
from dissectors.kafka.summaries import SUMMARIES
from dissectors.kafka.tables import table
from dissectors.wire.summary import Say

_SASL = frozenset({17, 36})


def info_line(body: Body, context: Context) -> str:
    """Formats the summary line of a decoded message; empty if its name says everything."""
    reported: list[int] = []
    values: dict[str, Any] = body.values
    parts = []
    if _has_sasl(context):
        from dissectors.kafka.sasl.tokens import sasl_words  # few messages are part of an exchange of tokens

        error = [] if body.error is None else [body.error[1]]
        return ", ".join([*error, *sasl_words(values, context)])
    for say in _line(context.code, context.version, context.role is Role.RESPONSE, context.role is Role.RAW):
        text = say(values, reported)
        if text:
            parts.append(text)
    if body.error is not None and body.error[0] not in reported:
        parts.insert(0, body.error[1])
    return ", ".join(parts)


def _has_sasl(context: Context) -> bool:
    return context.role is Role.RAW or context.code in _SASL


@lru_cache(maxsize=1024)
def _line(code: int | None, version: int | None, response: bool, raw: bool) -> tuple[Say, ...]:
    """The phrases of a message's line, in order."""
    content = table("info")
    name = None if code is None or raw else find_operation_name(code)
    if name is None:
        return tuple(map(SUMMARIES.phrase, content["unknown"]))
    direction = "response" if response else "request"
    line = content["lines"][name]
    phrases = line.get(f"{direction} {version}", line[direction])
    return tuple(map(SUMMARIES.phrase, (*content["first"], *phrases, *content["last"], *content["unknown"])))
