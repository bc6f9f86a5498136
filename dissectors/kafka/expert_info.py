"""What is wrong in one message, or will be: throttling, versions that newer brokers refuse, batches that contradict
themselves.

Theory. An operator should be told such things without having to know where to look. They are read from decoded values,
so they are the same for values and for a tree, and only what is certain from the message alone is said. Which expert
info a kind of message needs is known before; most need one comparison. tables/expert_info.json has conditions and
sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.finding import Finding, Severity
from dissectors.kafka.labels import error_name
from dissectors.kafka.nested.rules import RECORDS
from dissectors.kafka.schemas import apis
from dissectors.kafka.tables import table
from dissectors.wire.expert_info import ExpertInfo, ExpertInfoTable, compile_expert_info
from dissectors.wire.schema import Versions
from dissectors.wire.summary import Summaries


def _session_lost(code: Any, _: str) -> str | None:
    text: str | None = table("expert_info")["sessions"].get(error_name(int(code)))
    return text


_SUMMARIES = Summaries(formatters={"session": _session_lost})


@lru_cache(maxsize=1024)
def find_expert_info(key: int, version: int, response: bool) -> ExpertInfoTable | None:
    """What to look for in the bodies of an API's version and direction; None where there is nothing."""
    found = tuple(_select(key, version, response))
    return ExpertInfoTable(found) if found else None


def _select(key: int, version: int, response: bool) -> Iterator[ExpertInfo]:
    rows = table("expert_info")["responses" if response else "requests"]
    for row in (*rows.get("all", ()), *rows.get(apis()[key].name, ())):
        yield compile_expert_info(_SUMMARIES, row)
    dropped = None if response else _find_dropped_version(key, version)
    if dropped is not None:
        yield ExpertInfo("", lambda _: (dropped,), sentence=True)
    if (key, response) in RECORDS:
        from dissectors.kafka.batch_expert_info import batch_check  # a message without records does not pay for them

        yield ExpertInfo("", batch_check(key, version, response), sentence=True)


# ---- versions that newer brokers refuse


@cache
def _current() -> Mapping[int, Versions]:
    """What the newest release accepts, by API key."""
    return {row["key"]: Versions.parse(row["request"]["current"]) for row in table("messages")["messages"]}


def _find_dropped_version(key: int, version: int) -> Finding | None:
    api, current = apis()[key], _current()[key]
    gone = current.high < current.low
    if version not in api.versions or (version >= current.low and not gone):
        return None
    content = table("expert_info")
    kind = "removed" if gone else "earlyAccess" if key in content["earlyAccess"] else "usual"
    text = content["dropped"][kind].format(api=api.name, version=version)
    return Finding(Severity.NOTE, "deprecated-version", text)
