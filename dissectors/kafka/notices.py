"""What is wrong in one message, or will be: throttling, versions that newer brokers refuse, batches that contradict
themselves.

Theory. An operator should be told such things without having to know where to look. They are read from decoded values,
so they are the same for values and for a tree, and only what is certain from the message alone is said. Which notices a
kind of message needs is known before; most need one comparison. tables/notices.json has conditions and sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.finding import Finding, Severity
from dissectors.kafka.embedded.rules import RECORDS
from dissectors.kafka.labels import error_name
from dissectors.kafka.schemas import apis
from dissectors.kafka.tables import table
from dissectors.wire.notice import Notice, Notices, notice
from dissectors.wire.schema import Versions
from dissectors.wire.summary import Summaries


def _session_lost(code: Any, _: str) -> str | None:
    text: str | None = table("notices")["sessions"].get(error_name(int(code)))
    return text


_SUMMARIES = Summaries(verbs={"session": _session_lost})


@lru_cache(maxsize=1024)
def notices(key: int, version: int, response: bool) -> Notices | None:
    """What to look for in the bodies of an API's version and direction; None where there is nothing."""
    found = tuple(_notices(key, version, response))
    return Notices(found) if found else None


def _notices(key: int, version: int, response: bool) -> Iterator[Notice]:
    rows = table("notices")["responses" if response else "requests"]
    for row in (*rows.get("all", ()), *rows.get(apis()[key].name, ())):
        yield notice(_SUMMARIES, row)
    dropped = None if response else _dropped(key, version)
    if dropped is not None:
        yield Notice("", lambda _: (dropped,), sentence=True)
    if (key, response) in RECORDS:
        from dissectors.kafka.batch_notices import batch_check  # a message without records does not pay for them

        yield Notice("", batch_check(key, version, response), sentence=True)


# ---- versions that newer brokers refuse


@cache
def _current() -> Mapping[int, Versions]:
    """What the newest release accepts, by API key."""
    return {row["key"]: Versions.parse(row["request"]["current"]) for row in table("messages")["messages"]}


def _dropped(key: int, version: int) -> Finding | None:
    api, current = apis()[key], _current()[key]
    gone = current.high < current.low
    if version not in api.versions or (version >= current.low and not gone):
        return None
    content = table("notices")
    kind = "removed" if gone else "earlyAccess" if key in content["earlyAccess"] else "usual"
    text = content["dropped"][kind].format(api=api.name, version=version)
    return Finding(Severity.NOTE, "deprecated-version", text)
