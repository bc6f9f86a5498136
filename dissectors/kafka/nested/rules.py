"""Rules for bytes fields of Kafka's messages that hold a structure.

Theory. The table `embedded` in quirks.json lists these fields: the path of each, the form of its content, `hints` (the
members of the same struct, or of one around it, that give a hint) and `when` (the hints that must be there). The topic
decides about records. A message has the topic's name or its id; one internal topic has the same id everywhere. Records
of the other coordinators' topics are recognised by the content of the whole partition. Values and nodes are walked by
the same rules through an Access: values.py implements it for values, fields.py for nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from dissectors.api import load
from dissectors.kafka.nested.payload_detection import DetectedPayload, Pair
from dissectors.kafka.sensitive import SENSITIVE_MODULES, is_sensitive_record
from dissectors.kafka.tables import table

S = TypeVar("S")
Hints: TypeAlias = Mapping[str, object]
"""What earlier messages tell (Context.extra), and what members do on the way to a bytes field."""

GROUP_KIND, INNER_KEY, INNER_VERSION = "protocolType", "innerCode", "innerVersion"
TOPIC_NAMES, TOPIC_ID = ("topic", "name"), "topicId"
PARTITION_NAMES = ("partitionIndex", "index", "partition")


class Access(Protocol[S]):
    """How to read the members of a struct, and to say what one of them holds."""

    def get(self, struct: S, name: str) -> object:
        """Returns a plain value of a member; None if there is none or it is decoded further."""

    def list_structs(self, struct: S, name: str) -> Sequence[S]:
        """Returns the structs of an array, or the only one; none where it is null or missing."""

    def attach_structure(self, struct: S, name: str, fit: DetectedPayload, hints: Hints) -> None:
        """Unfolds the bytes `name`, and what is in them."""

    def hide(self, struct: S, name: str) -> None:
        """Makes the bytes `name` a secret."""

    def settle(self, batch: S) -> None:
        """After the last put() or hide() in a batch."""


PayloadDetector: TypeAlias = "Callable[[bytes, Hints], DetectedPayload | None]"


class Site(NamedTuple):
    """A bytes field by its names, and what fits it: under which hints, and which members tell hints."""

    path: tuple[str, ...]
    hint_members: Mapping[str, str]
    when: Mapping[str, Sequence[object]]
    fit: PayloadDetector
    may_be_secret: Callable[[bytes, Hints], bool] | None = None
    """Whether bytes that nothing fits may hold a secret; None: never."""


class RecordSite(NamedTuple):
    """A records field by the names of topics, partitions and itself; `by_content`: also by what the records are."""

    topics: str
    partitions: str
    field: str
    by_content: bool = False


RECORDS: Mapping[tuple[int, bool], RecordSite] = {
    (0, False): RecordSite("topicData", "partitionData", "records"),
    (1, True): RecordSite("responses", "partitions", "records", by_content=True),
    (59, True): RecordSite("topics", "partitions", "unalignedRecords"),
    (78, True): RecordSite("responses", "partitions", "records"),
}
"""By API key, and whether it is the response. Coordinators' records are written by no client, but read by some."""


@lru_cache(maxsize=256)
def list_sites(name: str) -> tuple[Site, ...]:
    """Returns the bytes fields, other than records, of a message or structure that may contain a structure."""
    found = []
    for row in table("quirks")["embedded"]:
        message, *path = row["at"].split(".")
        if message == name:
            form = row["form"]
            fit = partial(_load(_FORMS[form]), row["holds"])
            may_be_secret = _load(_SENSITIVE[form]) if form in _SENSITIVE else None
            found.append(Site(tuple(path), row.get("hints", {}), row.get("when", {}), fit, may_be_secret))
    return tuple(found)


_FORMS: Mapping[str, str] = {
    "int16 version": "structures:detect_versioned",
    "int16 version, or newer": "structures:detect_newest",
    "int32 version within": "structures:detect_streams",
    "no version": "structures:detect_unversioned",
    "JSON object": "structures:detect_json_object",
    "compressed protobuf": "telemetry:detect_metrics",
    "request": "envelope:detect_request",
    "response": "envelope:detect_response",
}
"""What detects a form, in the modules beside this one; they are loaded for the few messages that have such a form."""

_SENSITIVE = {"request": "envelope:may_hide_request", "response": "envelope:may_hide_response"}
"""What tells whether bytes that nothing fits may hold a secret."""


def _load(target: str) -> Any:
    return load(f"dissectors.kafka.nested.{target}")


@cache
def list_modules() -> Mapping[str, str]:
    """Maps internal topics to the module of Kafka that writes their records."""
    topics: Mapping[str, str] = table("quirks")["internalTopics"]
    return topics


@cache
def list_modules_by_id() -> Mapping[str, str]:
    """Returns the owners of internal topics by topic id, for topics whose id is fixed."""
    return {number: list_modules()[name] for number, name in table("quirks")["topicIds"].items()}


def topic_key(names: Container[str]) -> str:
    """Returns the member by which a message knows topics: one of TOPIC_NAMES, or TOPIC_ID."""
    return next(name for name in (*TOPIC_NAMES, TOPIC_ID) if name in names)


def modules_by(key: str) -> Mapping[str, str]:
    """Returns the modules of internal topics by what this member of a topic says."""
    return list_modules_by_id() if key == TOPIC_ID else list_modules()


def find_module(access: Access[S], topic: S, site: RecordSite) -> tuple[str | None, bool]:
    """Whose records are in this topic, None for a user's; and whether the records may tell it, for its id does not."""
    for name in TOPIC_NAMES:
        value = access.get(topic, name)
        if value is not None:
            return (list_modules().get(value) if isinstance(value, str) else None), False
    number = access.get(topic, TOPIC_ID)
    module = list_modules_by_id().get(number) if isinstance(number, str) else None
    return module, site.by_content and module is None and number is not None


def unfold_sites(access: Access[S], struct: S, name: str, hints: Hints) -> None:
    """Unfolds the bytes fields, other than records, of a struct: what the schema `name` describes."""
    for site in list_sites(name):
        _unfold(access, struct, site.path, site, hints)


def _unfold(access: Access[S], struct: S, path: tuple[str, ...], site: Site, hints: Hints) -> None:
    for hint, member in site.hint_members.items():
        value = access.get(struct, member)
        if value is not None:
            hints = {**hints, hint: value}
    if len(path) > 1:
        for inner in access.list_structs(struct, path[0]):
            _unfold(access, inner, path[1:], site, hints)
        return
    if not all(hints.get(hint) in allowed for hint, allowed in site.when.items()):
        return
    data = access.get(struct, path[0])
    if not isinstance(data, bytes):
        return
    fit = site.fit(data, hints)
    if fit is not None:
        access.attach_structure(struct, path[0], fit, hints)
    elif data and site.may_be_secret is not None and site.may_be_secret(data, hints):
        access.hide(struct, path[0])


def unfold_partition(access: Access[S], partition: S, site: RecordSite, module: str | None, by_content: bool) -> None:
    """Unfolds the records of a partition: those of control batches, and those of an internal topic.

    by_content: where there is no module, the records may tell it.
    """
    from dissectors.kafka.nested.structures import detect_control, detect_records  # most messages have no records

    batches: list[tuple[S, list[S]]] = []
    for batch, rows in iterate_batches(access, partition, site.field):
        if access.get(batch, "control"):
            _put(access, batch, rows, [detect_control(*_pair(access, row)) for row in rows])
        else:
            batches.append((batch, rows))
    if module is None and not by_content:
        return
    pairs = detect_records([_pair(access, row) for _, rows in batches for row in rows], module)
    if pairs is not None:
        each = iter(pairs)
        for batch, rows in batches:
            _put(access, batch, rows, list(islice(each, len(rows))), module)


def iterate_batches(access: Access[S], holder: S, name: str) -> Iterator[tuple[S, list[S]]]:
    """Yields each batch and its records; a message of older formats is a batch of one record."""
    for entry in access.list_structs(holder, name):
        if access.get(entry, "magic") == 2:
            yield entry, list(access.list_structs(entry, "records"))
        elif access.get(entry, "compression") == "none":
            yield entry, [entry]
        else:
            yield from iterate_batches(access, entry, "messages")


def _pair(access: Access[S], row: S) -> tuple[bytes | None, bytes | None]:
    key, value = access.get(row, "key"), access.get(row, "value")
    return key if isinstance(key, bytes) else None, value if isinstance(value, bytes) else None


def _is_sensitive(value: object) -> bool:
    return isinstance(value, bytes) and is_sensitive_record(value)


def _put(access: Access[S], batch: S, rows: list[S], pairs: list[Pair], module: str | None = None) -> None:
    hidden = False
    for row, (key, value) in zip(rows, pairs, strict=True):
        if key is not None:
            access.attach_structure(row, "key", key, {})
        if value is not None:
            access.attach_structure(row, "value", value, {})
        elif module in SENSITIVE_MODULES and _is_sensitive(access.get(row, "value")):
            access.hide(row, "value")
            hidden = True
    if hidden or any(map(any, pairs)):
        access.settle(batch)
