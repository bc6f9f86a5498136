"""Lines about transactions, statistics, and what scalable topics are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.holes import made
from dissectors.wire.amounts import count_text, duration_text
from dissectors.wire.phrases import MOST, Say, Values, is_number, joined, shown_in, some


def transaction(value: Any, _: Values) -> Iterable[str]:
    """As Pulsar prints it: its coordinator, and its number there."""
    return ("transaction (" + ",".join(f"{each}" for each in value) + ")",)


def in_time(value: Any, _: Values) -> Iterable[str]:
    """Milliseconds that a transaction may take."""
    if is_number(value) and 0 < value <= MOST:
        yield f"timeout {made(duration_text, value)}"


def rate(words: str) -> Say:
    """A figure per second, where anything happens."""
    return lambda value, _: (words.format(value),) if isinstance(value, float) and value > 0 else ()


def layout(value: Any, _: Values) -> Iterable[str]:
    """Segments of a topic, or of it those of one consumer."""
    if not isinstance(value, dict):
        return
    epoch = value.get("epoch", value.get("layout_epoch"))
    segments, controller = value.get("segments"), value.get("controller_broker_url")
    yield count_text(len(segments) if isinstance(segments, list) else 0, "segment")
    if epoch is not None:
        yield f"epoch {epoch}"
    if isinstance(controller, str) and controller != "":
        yield f"controller {controller}"


def snapshot(value: Any, _: Values) -> Iterable[str]:
    """All topics that are watched, or coordinators."""
    if not isinstance(value, dict):
        return
    if "parallelism" in value:
        there = value.get("assignments")
        yield f"{len(there) if isinstance(there, list) else 0} of {count_text(value['parallelism'], 'coordinator')}"
    else:
        yield from some(value.get("topics", []), "topic")


def diff(value: Any, _: Values) -> Iterable[str]:
    """What has come and gone among the topics that are watched."""
    if isinstance(value, dict):
        yield from joined("new ", value.get("added"))
        yield from joined("deleted ", value.get("removed"))


def filters(value: Any, _: Values) -> Iterable[str]:
    """Properties that topics must have to be watched."""
    return joined("only ", value, shown_in("key", "value", by="="))
