"""Topics that the system itself has, and delay levels, which are queues of one of them.

Facts (TopicValidator, MixAll, KeyBuilder). A group's retry topic is `%RETRY%` and its name; what is popped again has
the topic behind it, after `_`, or `+` in the second form. A message that waits for delay level n lies in queue n - 1 of
SCHEDULE_TOPIC_XXXX (ScheduleMessageService); how long a level lasts is a setting of the broker (messageDelayLevel).
"""

from __future__ import annotations

from typing import Any

from dissectors.rocketmq.labels import format_delay
from dissectors.rocketmq.tables import table

SCHEDULED = frozenset({"SCHEDULE_TOPIC_XXXX", "SCHEDULE_TOPIC_XXXX_V2"})


def format_topic(topic: Any) -> str | None:
    """What a topic is for, if it is one of the system's."""
    if not isinstance(topic, str):
        return None
    known: str | None = table("meanings")["topics"].get(topic)
    if known is not None:
        return known
    prefixes: dict[str, str] = table("meanings")["prefixes"]
    prefix = next((each for each in prefixes if topic.startswith(each)), None)
    if prefix is None:
        return None
    group, plus, popped = topic[len(prefix) :].partition("+")
    return f"{prefixes[prefix]} {group}" + (f", popped from {popped}" if plus else "")


def format_default_delay(level: Any) -> str | None:
    """How long a delay level lasts by default."""
    lasts = format_delay(level) if isinstance(level, int) else None
    return None if lasts is None else f"{lasts} by default"
