"""What a request that sends says of each message in it.

Facts (SendMessageProcessor, MessageBatch, MessageConst, MessageStoreConfig). A batch has a name of its own, and each
message in it another. DELAY is a level of the broker's table messageDelayLevel, of which only the usual one can be
known here; TIMER_DELIVER_MS says when, TIMER_DELAY_MS and TIMER_DELAY_SEC how long after the broker has it. The flag's
bits 2 and 3 are the phase of a transaction: 4 is a half message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import MessageEvent
from dissectors.rocketmq.reports.fields import read_header
from dissectors.rocketmq.reports.ids import MOST_IDS, RETRY, read_count, read_properties
from dissectors.values import number, struct, structs, text

SINGLE_SENDS, BATCH_SEND = "SEND_MESSAGE SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"
MS = 1_000_000

PHASE, PREPARED, COMMITTED, ROLLED_BACK = 12, 4, 8, 12
"""Bits of a message's sysFlag, and of END_TRANSACTION's commitOrRollback."""

IS_STORED = frozenset({0, 10, 11, 12})
"""Success, and the three answers that say that it is stored, but not as safely as was asked: FLUSH_DISK_TIMEOUT,
SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT (SendMessageProcessor.handlePutMessageResult).
"""

_HALF = "TRAN_MSG\x01true"
_LEVELS = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Seconds by level of delay, from 1 on: the default; 18 stands for all higher ones."""

_TIMES = frozenset({"TIMER_DELIVER_MS", "TIMER_OUT_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "DELAY"})
_LATEST = (1 << 63) - 1


class SendRequest(NamedTuple):
    """A request that sends. each: the properties of every message; batch: how many these are, None for a single one."""

    topic: str | None
    group: str | None
    is_half: bool
    again: int
    most: int
    each: list[Mapping[str, Any]]
    batch: int | None

    @property
    def retry_group(self) -> str | None:
        """The group that sends a message back to itself, as clients do that could not ask the broker to."""
        topic = self.topic or ""
        return topic[len(RETRY) :] if topic.startswith(RETRY) else None


def is_half_message(said: Mapping[str, Any]) -> bool:
    """Whether the header of a SEND is of a half message: by its flag, and in the properties, which old brokers read."""
    properties = said.get("properties")
    return number(said, "sysFlag") & PHASE == PREPARED or (isinstance(properties, str) and _HALF in properties)


def read_send(event: MessageEvent) -> SendRequest:
    """What a SEND says; of a batch at most MOST_IDS messages."""
    said = read_header(event.values)
    own = read_properties(said.get("properties"))
    batch: list[Mapping[str, Any]] = []
    if event.operation == BATCH_SEND:
        items = structs(struct(event.values, "body").get("messages"))[:MOST_IDS]
        batch = [read_properties(item.get("properties")) for item in items]
    return SendRequest(
        text(said, "topic"),
        text(said, "producerGroup"),
        is_half_message(said),
        number(said, "reconsumeTimes"),
        number(said, "maxReconsumeTimes", -1),
        batch or [own],
        len(batch) or None,
    )


def estimate_due(said: Mapping[str, Any], sent: int | None) -> int | None:
    """When a message shall be delivered, ns since 1970, by its properties and when it was sent; None for at once.

    An estimate, but for TIMER_DELIVER_MS, and TIMER_OUT_MS, which a broker adds.
    """
    if _TIMES.isdisjoint(said):
        return None
    until = read_count(said, "TIMER_DELIVER_MS") or read_count(said, "TIMER_OUT_MS")
    if until is not None:
        found = until * MS
    elif sent is None:
        return None
    else:
        milliseconds, seconds, level = (
            read_count(said, name) for name in ("TIMER_DELAY_MS", "TIMER_DELAY_SEC", "DELAY")
        )
        if milliseconds is None and seconds is None and not level:
            return None
        if level and seconds is None:
            seconds = _LEVELS[min(level, len(_LEVELS)) - 1]
        found = sent + ((seconds or 0) * 1_000 if milliseconds is None else milliseconds) * MS
    return found if found <= _LATEST else None
