"""The schema of every API in every version, by key and direction, made from the tables when first asked for.

Header versions follow from the schemas (a flexible message has the later header), with Kafka's exceptions in
quirks.json: ControlledShutdown v0 has no client id, and the answer to ApiVersions never has a flexible header, because
a client reads it before it knows the broker's versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.slotted import make_slotted
from dissectors.wire.plan import Plan, resolve
from dissectors.wire.schema import Schema, Versions


@make_slotted
class Api:
    """An API: its key and name, the versions of all releases, and the flexible ones among them (KIP-482)."""

    key: int
    name: str
    versions: Versions
    flexible: Versions


@cache
def apis() -> Mapping[int, Api]:
    """Returns all APIs by key."""
    found = {}
    for row in table("messages")["messages"]:
        request = row["request"]
        versions = Versions.parse(request["versions"])
        found[row["key"]] = Api(row["key"], row["name"], versions, Versions.parse(request.get("flexible", "none")))
    return found


@cache
def _rows() -> Mapping[int, Mapping[str, Any]]:
    return {row["key"]: row for row in table("messages")["messages"]}


@lru_cache(maxsize=256)
def body_schema(key: int, response: bool) -> Schema:
    """Returns the body of a request or response; KeyError for an unknown key."""
    row = _rows()[key]
    kind = "response" if response else "request"
    return Schema.parse(row["name"] + kind.capitalize(), row[kind], KAFKA)


@cache
def _list_named_rows() -> Mapping[str, Mapping[str, Any]]:
    messages = table("messages")
    return {row["name"]: row for part in (messages["headers"], messages["data"]) for row in part}


@lru_cache(maxsize=64)
def load_named_schema(name: str) -> Schema:
    """Returns a header or an embedded structure by its name, `RequestHeader`, `ConsumerProtocolSubscription`."""
    return Schema.parse(name, _list_named_rows()[name], KAFKA)


@make_slotted(eq=False)
class Variant:
    """Another layout of a version, and which releases wrote it, as people say it."""

    plan: Plan
    releases: str


@lru_cache(maxsize=1024)
def list_variants(name: str, version: int) -> tuple[Variant, ...]:
    """Returns other layouts that releases wrote under this version of a message or structure."""
    return tuple(
        Variant(resolve(Schema.parse(name, row, KAFKA), version), row["releases"])
        for row in table("variants")["variants"]
        if row["name"] == name and version in Versions.parse(row["versions"])
    )


@cache
def _records() -> Mapping[tuple[str, str, int], Mapping[str, Any]]:
    return {(row["module"], row["kind"], row["key"]): row for row in table("records")["records"] if "key" in row}


@lru_cache(maxsize=256)
def record_schema(module: str, kind: str, key: int) -> Schema | None:
    """Returns a record of an internal topic by its owner, what its bytes are, and its type; None for an unknown one."""
    row = _records().get((module, kind, key))
    return None if row is None else Schema.parse(row["name"], row, KAFKA)


@lru_cache(maxsize=1024)
def header_version(key: int, version: int, response: bool) -> int:
    """Returns the version of the header in front of a body: 0 to 2 of a request, 0 or 1 of a response.

    A version newer than the tables has the header of the newest one; KeyError for an unknown key.
    """
    quirks = table("quirks")
    api = apis()[key]
    flexible = min(version, api.versions.high) in api.flexible
    if response:
        return 0 if key in quirks["responseHeaderAlways0"] else int(flexible)
    return 0 if [key, version] in quirks["requestHeader0"] else 1 + flexible
