"""Lines about producers and consumers: what they ask for when they are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.holes import made
from dissectors.pulsar.info.phrases import version_number
from dissectors.wire.amounts import duration_text
from dissectors.wire.phrases import MOST, SHOWN, Values, is_number, joined, shown_in


def subscription(value: Any, _: Values) -> Iterable[str]:
    """A name, or those in a transaction with their topics."""
    if isinstance(value, str):
        yield f"subscription {value}"
    for each in value[:SHOWN] if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield f"subscription {each.get('subscription', '?')} of {each.get('topic', '?')}"
    if isinstance(value, list) and len(value) > SHOWN:
        yield f"{len(value) - SHOWN} more"


def key_shared(value: Any, _: Values) -> Iterable[str]:
    """Which hashes of keys a consumer insists on, and whether their order matters."""
    if not isinstance(value, dict):
        return
    if value.get("keySharedMode") == "STICKY":
        yield from joined("sticky ", value.get("hashRanges"), shown_in("start", "end", by="-"))
    if value.get("allowOutOfOrderDelivery") is True:
        yield "any order"


def rollback(value: Any, _: Values) -> Iterable[str]:
    """Seconds."""
    if is_number(value) and 0 < value <= MOST:
        yield f"from {made(lambda seconds: duration_text(seconds * 1000), value)} ago"


def schema(value: Any, _: Values) -> Iterable[str]:
    """What kind it is; none is that of plain bytes."""
    kind = value.get("type") if isinstance(value, dict) else None
    return (f"schema {kind}",) if isinstance(kind, str | int) and kind != "None" else ()


def schema_version(value: Any, _: Values) -> Iterable[str]:
    """A number, as brokers count them."""
    number = version_number(value)
    return () if number is None else (f"schema version {number}",)
