"""Records whose time is far from that of the capture: a wrong clock, or seconds or microseconds for milliseconds.

Facts. A record's time is milliseconds since 1970, set by the producer (CreateTime). From 3.6 on a broker refuses what
is more than an hour ahead of its own clock (message.timestamp.after.max.ms, KIP-937); what is old is legal, since data
is copied, but retention by time deletes it. -1 is no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.kafka.checks.produced import RECORDS, iterate_batches, on_produce
from dissectors.values import structs

_HOUR = 3_600_000
_DAY = 24 * _HOUR
AHEAD, BEHIND = _HOUR, 7 * _DAY
"""Milliseconds from the capture's time on that are worth saying: the broker's bound, and the usual retention."""

_NS = 1_000_000


class ClockCheck(Check):
    """See the module."""

    def receive_produce(self, event: MessageEvent) -> None:
        """The first batch of a request that is far off, in each direction."""
        now = event.time // _NS
        early = late = False
        for each in iterate_batches(event.values):
            first, last = _times(each.batch)
            if last is not None and last - now > AHEAD and not late:
                late = True
                text = f"{each.place(event)}: a record's time is {_format_span(last - now)} ahead of the capture's"
                self.warn("far-timestamp", text)
            if first is not None and now - first > BEHIND and not early:
                early = True
                text = f"{each.place(event)}: a record's time is {_format_span(now - first)} before the capture's"
                self.note("far-timestamp", text)

    on = on_produce(
        receive_produce,
        *((*RECORDS, name) for name in ("baseTimestamp", "maxTimestamp", "timestamp")),
        (*RECORDS, "messages", "timestamp"),
    )


def _times(batch: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The first and the last time in a batch, or in a message and those that it wraps; None where there is none."""
    inner = [each.get("timestamp") for each in structs(batch.get("messages"))]
    first, last = (
        [time for time in (batch.get(name, batch.get("timestamp")), *inner) if time is not None and time >= 0]
        for name in ("baseTimestamp", "maxTimestamp")
    )
    return min(first, default=None), max(last, default=None)


def _format_span(milliseconds: int) -> str:
    """How far, in the largest unit of which there are two."""
    for size, unit in ((365 * _DAY, "years"), (_DAY, "days"), (_HOUR, "hours")):
        if milliseconds >= 2 * size:
            return f"{milliseconds // size:,} {unit}"
    return f"{milliseconds // 60_000:,} minutes"
