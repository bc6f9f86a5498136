"""What Pulsar's lines are made of beside common phrases: message ids, positions, versions of schemas.

Facts. Ids and positions are unsigned on the wire and signed where Pulsar prints them: 2^64-1 is -1, the place before
the first entry of a ledger, and as a ledger before all of them (MessageId.earliest); 2^63-1 is behind them
(MessageId.latest). Values may be missing or of another type in a body that breaks, and may be holes (dissectors.holes).
"""

from __future__ import annotations

from typing import Any

from dissectors.holes import made, plain
from dissectors.wire.phrases import MOST, is_number


def signed(number: Any) -> str:
    """A number of 64 bits as Pulsar prints it."""
    return made(lambda value: f"{value - (1 << 64)}", number) if number > MOST else f"{number}"


def message_id(value: Any) -> str:
    """`272:0`, with partition and index in the batch where it has them, as MessageId.toString has them."""
    if not isinstance(value, dict):
        return "?"
    parts = [signed(value[name]) if name in value else "?" for name in ("ledgerId", "entryId")]
    partition: Any = value.get("partition", -1)
    index: Any = value.get("batch_index", -1)
    if index >= 0:
        parts += [f"{partition}", f"{index}"]
    elif partition >= 0:
        parts.append(f"{partition}")
    return ":".join(parts)


def position(value: Any) -> str:
    """A message id, or which end of the topic it stands for."""
    ledger = value.get("ledgerId", 0) if isinstance(value, dict) else 0
    if ledger > MOST:
        return "the earliest"
    return "the latest" if ledger == MOST else message_id(value)


def unacknowledged(words: Any) -> int:
    """How many messages of a batch an ack set leaves: a set bit is one that is not yet acknowledged."""
    return sum((plain(word) & (1 << 64) - 1).bit_count() for word in words if is_number(word))


def version_number(data: Any) -> int | None:
    """The version of a schema, which its 8 bytes are; None for any other bytes."""
    content = plain(data)
    return int.from_bytes(content) if isinstance(content, bytes) and len(content) == 8 else None
