"""Expert info of one message: throttling, versions that newer brokers refuse, inconsistent batches.

Theory. An operator should see such problems without knowing where to look. They are found in decoded values, so they
are the same for values and for a tree, and only facts that are certain from one message are reported. Each kind of
message has its list of expert info; most need one comparison. tables/expert_info.json has conditions and sentences.

Facts. Brokers refuse a batch in a Produce of a version that is older than its format or its codec, and remove from
older messages the features that only newer ones may carry (KIP-98, KIP-110). A Fetch of version 0 to 2 may get only the
beginning of a batch, if a whole one is longer than the partition's maximum (KIP-74); its consumer then repeats the same
request for ever. The rest are headers that contradict themselves. Checks that need all records are not made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from dissectors.finding import Finding, Severity
from dissectors.kafka.labels import error_name
from dissectors.kafka.nested.rules import RECORDS, RecordSite
from dissectors.kafka.schemas import apis
from dissectors.kafka.tables import table
from dissectors.wire.condition import first_of, number_of
from dissectors.wire.expert_info import ExpertInfo, ExpertInfoTable, compile_expert_info
from dissectors.wire.schema import Versions
from dissectors.wire.summary import Summaries


def _session_lost(code: Any, _: str) -> str | None:
    text: str | None = table("expert_info")["sessions"].get(error_name(int(code)))
    return text


_SUMMARIES = Summaries(formatters={"session": _session_lost})


@lru_cache(maxsize=1024)
def find_expert_info(key: int, version: int, response: bool) -> ExpertInfoTable | None:
    """Returns the expert info checks for a version of an API in one direction; None if there are none."""
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
        yield ExpertInfo("", batch_check(key, version, response), sentence=True)


# ---- versions that newer brokers refuse


@cache
def _current() -> Mapping[int, Versions]:
    """What the newest release accepts, by API key."""
    return {row["key"]: Versions.parse(row["request"]["current"]) for row in table("messages")["messages"]}


def _find_dropped_version(key: int, version: int) -> Finding | None:
    api, current = apis()[key], _current()[key]
    removed = current.high < current.low
    if version not in api.versions or (version >= current.low and not removed):
        return None
    content = table("expert_info")
    kind = "removed" if removed else "earlyAccess" if key in content["earlyAccess"] else "usual"
    text = content["dropped"][kind].format(api=api.name, version=version)
    return Finding(Severity.NOTE, "deprecated-version", text)


_MOST = 3
"""Findings about batches of one message."""

_PRODUCE, _FETCH = 0, 1
_BATCHES_FROM = 3
"""The version of Produce that took record batches in the place of older messages."""

_TOPIC, _PARTITION = ("topic", "name", "topicId"), ("partitionIndex", "partition", "index")

_ALWAYS: Mapping[str, str] = {
    "count": "lastOffsetDelta < count - 1",
    "timestamp": "maxTimestamp < 0 and count != 0 and not deleteHorizon and baseTimestamp >= 0",
    "sequence": "producerId < 0 and baseSequence > 0",
    "control": "control and not transactional and records.0.key.type in [0, 1]",
}
"""By the name of its sentence, when a batch contradicts itself. A delete horizon stands in the place of the first time;
control records of other types than 0 and 1 do not end a transaction, but are a controller's.
"""


def batch_check(key: int, version: int, response: bool) -> Callable[[Mapping[str, Any]], Iterable[Finding]]:
    """Yields the check of an API whose messages have a records field."""
    content, site = table("expert_info"), RECORDS[key, response]
    codec = content["zstd"].get(str(key))
    produce = key == _PRODUCE
    batches = not produce or version >= _BATCHES_FROM
    problems = {"magic01": "magic != 2"} if produce and batches else {} if batches else {"magic2": "magic == 2"}
    if codec is not None and version < codec[0]:
        problems["zstd"] = 'magic == 2 and compression == "zstd"'
    problems.update(_ALWAYS)
    problem = first_of(tuple(problems.values()))
    sentences = dict(content["batches"])
    if codec is not None:
        sentences["zstd"] = sentences["zstd"].format(version=codec[0], api=codec[1])
    texts = [sentences[name] for name in problems]

    def verdict(entries: Any) -> int:
        return _verdict(entries, problem, key == _FETCH) if isinstance(entries, list) else 0

    def find_problems(values: Mapping[str, Any]) -> Iterator[Finding]:
        for place, entries in _fields(values, site):
            number = number_of(verdict, entries)
            if number:
                yield _finding(place, int(number), texts)

    return lambda values: islice(find_problems(values), _MOST)


def _finding(place: _Place, number: int, texts: Sequence[str]) -> Finding:
    if number > 0:
        return Finding(Severity.WARNING, "inconsistent-batch", f"{place}: {texts[number - 1]}")
    text = f"only {-number} bytes of a batch are here, and no whole one: a consumer that asks for no more is stuck"
    return Finding(Severity.WARNING, "oversized-batch", f"{place}: {text}")


def _fields(values: Mapping[str, Any], site: RecordSite) -> Iterator[tuple[_Place, Any]]:
    """Each records field, and the name of its partition; a body that breaks may lack anything."""
    for topic in values.get(site.topics) or ():
        if not isinstance(topic, dict):
            continue
        for partition in topic.get(site.partitions) or ():
            entries = partition.get(site.field) if isinstance(partition, dict) else None
            if entries is not None:
                yield _Place(topic, partition), entries


class _Place:
    """The name of a partition, made when it is said: few are."""

    __slots__ = ("partition", "topic")

    def __init__(self, topic: Mapping[str, Any], partition: Mapping[str, Any]) -> None:
        self.topic, self.partition = topic, partition

    def __str__(self) -> str:
        topic = next((self.topic[name] for name in _TOPIC if self.topic.get(name)), "?")
        return f"{topic}-{next((self.partition[name] for name in _PARTITION if name in self.partition), '?')}"


def _verdict(entries: Sequence[Mapping[str, Any]], problem: Callable[[Mapping[str, Any]], int], unfit: bool) -> int:
    """Returns the number of the first problem, 0 for none.

    `unfit`: a lone beginning of a batch is a problem. The result is then its length in bytes, negative.
    """
    for entry in entries:
        if "partial" in entry:
            return -entry["length"] if unfit and len(entries) == 1 else 0
        number = problem(entry)
        if number:
            return number
    return 0
