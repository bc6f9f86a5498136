"""Where Kafka's messages have bytes that hold a structure.

Theory. Which fields these are, and under what condition, is a table (`embedded` in quirks.json). Of records the topic
decides, which the message names, or names by an id; one topic has the same id everywhere, and what coordinators write
is told by all of it together. Values and nodes are walked by the same rules: an Access reads and replaces either.
embed_values.py has that of values, embed_fields.py that of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from dissectors.kafka.structures import (
    Fit,
    Pair,
    control,
    enveloped_request,
    enveloped_response,
    records,
    versioned,
)
from dissectors.kafka.tables import table

S = TypeVar("S")
Hints = Mapping[str, str]
"""What earlier messages tell: Context.extra."""

GROUP_KIND, INNER_KEY, INNER_VERSION = "protocolType", "innerCode", "innerVersion"
_CONSUMER = "consumer"
TOPIC_NAMES, TOPIC_ID = ("topic", "name"), "topicId"


class Access(Protocol[S]):
    """How to read the members of a struct, and to say what one of them holds."""

    def get(self, struct: S, name: str) -> object:
        """A plain value; None where there is none."""

    def each(self, struct: S, name: str) -> Sequence[S]:
        """The structs of an array; none where it is null or missing."""

    def put(self, struct: S, name: str, fit: Fit) -> None:
        """Unfolds the bytes `name`."""

    def settle(self, batch: S) -> None:
        """After the last put() in a batch."""


class Site(NamedTuple):
    """A bytes field by its names, and what fits it. `grouped`: only in a group of consumers."""

    path: tuple[str, ...]
    grouped: bool
    fit: Callable[[bytes, Hints], Fit | None]


class RecordSite(NamedTuple):
    """A records field by the names of topics, partitions and itself; `told`: also by what the records are."""

    topics: str
    partitions: str
    field: str
    told: bool = False


RECORDS: Mapping[tuple[int, bool], RecordSite] = {
    (0, False): RecordSite("topicData", "partitionData", "records"),
    (1, True): RecordSite("responses", "partitions", "records", told=True),
    (59, True): RecordSite("topics", "partitions", "unalignedRecords"),
    (78, True): RecordSite("responses", "partitions", "records"),
}
"""By API key, and whether it is the response. Coordinators' records are written by no client, but read by some."""


@lru_cache(maxsize=256)
def sites(name: str) -> tuple[Site, ...]:
    """The bytes fields that may hold a structure, other than records, of a message or of a structure by its name."""
    found = []
    for place, (condition, form, holds) in table("quirks")["embedded"].items():
        message, *path = place.split(".")
        if message != name or form not in _FORMS:
            continue
        names = tuple(each[0].lower() + each[1:] for each in path)
        found.append(Site(names, condition != "", _FORMS[form](holds)))
    return tuple(found)


def _in_envelope(_: str) -> Callable[[bytes, Hints], Fit | None]:
    return lambda data, hints: enveloped_request(data)


def _in_answered_envelope(_: str) -> Callable[[bytes, Hints], Fit | None]:
    def fit(data: bytes, hints: Hints) -> Fit | None:
        if INNER_KEY not in hints:
            return None
        return enveloped_response(data, int(hints[INNER_KEY]), int(hints[INNER_VERSION]))

    return fit


_FORMS: Mapping[str, Callable[[str], Callable[[bytes, Hints], Fit | None]]] = {
    "int16 version": lambda name: lambda data, hints: versioned(name, data),
    "RequestHeader+request": _in_envelope,
    "ResponseHeader+response": _in_answered_envelope,
}


@cache
def modules() -> Mapping[str, str]:
    """Whose records are in which topic, by name."""
    return {place.split()[-1]: rule[2] for place, rule in table("quirks")["embedded"].items() if "__" in place}


@cache
def modules_by_id() -> Mapping[str, str]:
    """The same by id, of a topic that has the same one everywhere."""
    return {number: modules()[name] for number, name in table("quirks")["topicIds"].items()}


def whose(access: Access[S], topic: S, site: RecordSite) -> tuple[str | None, bool]:
    """Whose records are in this topic, None for a user's; and whether the records may tell it, for its id does not."""
    for name in TOPIC_NAMES:
        value = access.get(topic, name)
        if value is not None:
            return (modules().get(value) if isinstance(value, str) else None), False
    number = access.get(topic, TOPIC_ID)
    module = modules_by_id().get(number) if isinstance(number, str) else None
    return module, site.told and module is None and number is not None


def unfold_sites(access: Access[S], struct: S, name: str, hints: Hints) -> None:
    """Unfolds the bytes fields, other than records, of a struct: what the schema `name` describes."""
    for site in sites(name):
        _unfold(access, struct, site.path, site, hints, hints.get(GROUP_KIND))


def _unfold(access: Access[S], struct: S, path: tuple[str, ...], site: Site, hints: Hints, kind: object) -> None:
    own = access.get(struct, GROUP_KIND)
    kind = kind if own is None else own
    if len(path) > 1:
        for inner in access.each(struct, path[0]):
            _unfold(access, inner, path[1:], site, hints, kind)
        return
    data = access.get(struct, path[0])
    if isinstance(data, bytes) and (kind == _CONSUMER or not site.grouped):
        fit = site.fit(data, hints)
        if fit is not None:
            access.put(struct, path[0], fit)


def unfold_partition(access: Access[S], partition: S, site: RecordSite, module: str | None, told: bool) -> None:
    """Unfolds the records of a partition: those of control batches, and those of an internal topic.

    told: where there is no module, the records may tell it.
    """
    held: list[tuple[S, list[S]]] = []
    for batch, rows in _batches(access, partition, site.field):
        if access.get(batch, "control"):
            _put(access, batch, rows, [control(*_pair(access, row)) for row in rows])
        else:
            held.append((batch, rows))
    if module is None and not told:
        return
    pairs = records([_pair(access, row) for _, rows in held for row in rows], module)
    if pairs is not None:
        each = iter(pairs)
        for batch, rows in held:
            _put(access, batch, rows, list(islice(each, len(rows))))


def _batches(access: Access[S], holder: S, name: str) -> Iterator[tuple[S, list[S]]]:
    """Each batch and its records; a message of the formats before batches is its only record."""
    for entry in access.each(holder, name):
        if access.get(entry, "magic") == 2:
            yield entry, list(access.each(entry, "records"))
        elif access.get(entry, "compression") == "none":
            yield entry, [entry]
        else:
            yield from _batches(access, entry, "messages")


def _pair(access: Access[S], row: S) -> tuple[bytes | None, bytes | None]:
    key, value = access.get(row, "key"), access.get(row, "value")
    return key if isinstance(key, bytes) else None, value if isinstance(value, bytes) else None


def _put(access: Access[S], batch: S, rows: list[S], pairs: list[Pair]) -> None:
    for row, (key, value) in zip(rows, pairs, strict=True):
        if key is not None:
            access.put(row, "key", key)
        if value is not None:
            access.put(row, "value", value)
    if any(map(any, pairs)):
        access.settle(batch)
