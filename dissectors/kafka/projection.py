"""Kafka messages that may be read in part, and their fields (wire/projection.py does the reading).

Theory. Usually key, version and direction tell the layout, so only the wanted fields are read. values() reads the
messages that need all bytes: to choose between two layouts, to hide secrets in a damaged message, and to read the
contents of records and of bytes that hold a structure. The headers of batches can be read without their records
(records/headers.py).
"""

from __future__ import annotations

from functools import lru_cache

from dissectors.api import Context, Pick, Role
from dissectors.kafka.header import BODY_START
from dissectors.kafka.nested.rules import list_sites
from dissectors.kafka.reading import API_VERSIONS, body_plan, has_variants
from dissectors.kafka.records.headers import HEADER_FIELDS, read_batch_headers
from dissectors.kafka.schemas import header_version
from dissectors.kafka.sensitive import is_sensitive_message
from dissectors.message import Path
from dissectors.slotted import replace
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, members_of
from dissectors.wire.projection import pick

_PUSH_TELEMETRY = 72
"""Whose metrics are decompressed into as many nodes as there may be."""


LONGEST_WITH_RECORDS = 8 * 1024 * 1024
"""Bytes of a message of which the headers of batches are read."""


def make_projection(context: Context, paths: frozenset[Path]) -> Pick | None:
    """Returns a function that reads only some paths of a body; None where the full decoder must do it."""
    key, version, response = context.code, context.version, context.role is Role.RESPONSE
    if key is None or version is None or context.role is Role.RAW:
        return None
    plan = body_plan(key, version, response)
    if plan is None or plan.version != version or has_variants(key, version, response):
        return None
    if is_sensitive_message(key, response) or key == _PUSH_TELEMETRY or (response and key == API_VERSIONS):
        return None
    if any(name.startswith("_") for path in paths for name in path):
        return None
    records = _find_records(plan)
    headers = {path for path in paths for place in records if _is_of_header(path, place)}
    nested = (site.path for site in list_sites(plan.name))
    if any(_meets(path, place) for place in (*records, *nested) for path in paths - headers):
        return None
    start = BODY_START[response, header_version(key, version, response)]
    return pick(_with_headers(plan), paths, start, LONGEST_WITH_RECORDS) if headers else pick(plan, paths, start)


def _is_of_header(path: Path, place: Path) -> bool:
    """Whether a path leads to a field of the headers of batches at a place."""
    return path[: len(place)] == place and len(path) == len(place) + 1 and path[-1] in HEADER_FIELDS


@lru_cache(maxsize=256)
def _with_headers(plan: Plan) -> Plan:
    """The layout with records of which the headers of batches alone are read."""
    return Plan(plan.name, plan.version, tuple(map(_read_headers_in, plan.steps)))


def _read_headers_in(step: Step) -> Step:
    if isinstance(step, Leaf):
        primitive = step.primitive
        if not (isinstance(primitive, SizedBytes) and primitive.type.endswith("records")):
            return step
        return replace(step, primitive=replace(primitive, nested=read_batch_headers))
    if isinstance(step, Array):
        return replace(step, element=_read_headers_in(step.element))
    if isinstance(step, Struct):
        return replace(step, steps=tuple(map(_read_headers_in, step.steps)))
    return step


@lru_cache(maxsize=1024)
def _find_records(plan: Plan) -> tuple[Path, ...]:
    """Where there are records."""
    return tuple(path for step in members_of(plan.steps) for path in _records(step, ()))


def _records(step: Leaf | Struct | Array, around: Path) -> list[Path]:
    """The records fields in a step."""
    path = (*around, step.spec.name)
    inner = step.element if isinstance(step, Array) else step
    if isinstance(inner, Leaf):
        return [path] if inner.primitive.type.endswith("records") else []
    return [found for each in members_of(inner.steps) for found in _records(each, path)]


def _meets(path: Path, place: Path) -> bool:
    """Whether one of them leads through the other."""
    shorter = min(len(path), len(place))
    return path[:shorter] == place[:shorter]
