"""Lines for people: of one frame, and of many.

Facts. The first report of a slave is where its log ends (0: it has none); the master goes on from there, or from the
beginning of its last file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dissectors.api import Body

_NAMED = 3


def format_info(body: Body) -> str:
    """Where in the log, how much, and which messages."""
    return ", ".join(_iterate_parts(body.values))


def _iterate_parts(values: Mapping[str, Any]) -> Iterator[str]:
    offset, size, messages = values.get("offset"), values.get("size"), values.get("messages")
    if "epochs" in values:
        yield from (
            f"log ends at {offset:,}",
            f"epoch {values.get('epoch')}",
            format_count(len(values["epochs"]), "epoch"),
        )
        return
    if "brokerId" in values or "address" in values:
        yield f"broker {values['brokerId']}" if "brokerId" in values else f"slave {values['address']}"
    if values.get("syncFromLastFile"):
        yield "sync from last file"
    if values.get("asyncLearner"):
        yield "async learner"
    if isinstance(size, int) and size:
        yield format_count(size, "byte")
    if isinstance(offset, int):
        yield f"at {offset:,}" if offset >= 0 else "no log yet"
    if isinstance(messages, list):
        yield format_topics(Counter(each.get("topic") for each in messages if isinstance(each, dict)))
    elif "blank" in values:
        yield "the end of a file"
    elif "continued" in values or "continues" in values:
        yield "part of a message"


def format_topics(topics: Mapping[str | bytes | None, int], at_least: bool = False) -> str:
    """`12 messages of orders and 3 more topics`, the largest first; what is no UTF-8 has no name."""
    named = [name for name, _ in sorted(topics.items(), key=lambda item: -item[1]) if name and isinstance(name, str)]
    of = f" of {format_names(named)}" if named else ""
    return f"{'at least ' if at_least else ''}{format_count(sum(topics.values()), 'message')}{of}"


def format_names(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    known = list(names)
    more = len(known) - _NAMED
    return ", ".join(known[:_NAMED]) + (f" and {format_count(more, 'more topic')}" if more > 0 else "")


def format_count(number: int, noun: str) -> str:
    """`1 byte`, `2 bytes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
