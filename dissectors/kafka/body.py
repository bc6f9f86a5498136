"""One Kafka frame to values or to a tree.

Theory. Which plan reads a body follows from key, version and direction, with one exception: a broker that does not know
the asked version of ApiVersions answers in version 0, which can be seen only in the bytes (error 35). What is the same
for all protocols about reading a frame, fast or annotated, is in dissectors.wire.message.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TypeAlias

from dissectors.api import Body, Context, Role
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.kafka.embed_fields import unfold_bytes
from dissectors.kafka.embed_values import unfolding
from dissectors.kafka.header import BODY_START
from dissectors.kafka.labels import error_name
from dissectors.kafka.schemas import apis, body_schema, header_version, named_schema
from dissectors.kafka.tables import table
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, first_nonzero, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import Recipe, folded, framed, values_by
from dissectors.wire.plan import Plan, resolve
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import Layout, Wrapping

_HEADER = Wrapping("header", "struct")
_BODY = Layout("body", "struct")
_PAYLOAD = FieldSpec("payload", "bytes")
_TOKEN = FieldSpec("payload", "bytes", secret=True)
_API_VERSIONS = 18


@lru_cache(maxsize=1024)
def body_plan(key: int, version: int, response: bool) -> Plan | None:
    """The plan of a body; of the newest known version for a newer one; None for an unknown key or no version."""
    api = apis().get(key)
    if api is None or version < api.versions.low:
        return None
    return resolve(body_schema(key, response), min(version, api.versions.high))


def plan_of(message: bytes, context: Context) -> Plan | None:
    """The plan that reads this frame's body, or None when nothing can."""
    key, version = context.code, context.version
    if context.role is Role.RAW or key is None or version is None:
        return None
    response = context.role is Role.RESPONSE
    if response and key == _API_VERSIONS and version != 0:
        fallback = _fallback(message, version)
        if fallback is not None:
            return fallback
    return body_plan(key, version, response)


def _fallback(message: bytes, version: int) -> Plan | None:
    """The plan of ApiVersions v0 when this answer is one although another version was asked for.

    In a version that exists, error 35 may also stand in that version's own layout: then only a body that fits exactly
    is one of version 0.
    """
    rule = table("quirks")["apiVersionsFallback"]
    if message[8:10] != int(rule["error"]).to_bytes(2, "big"):
        return None
    plan = body_plan(_API_VERSIONS, rule["parseAs"], True)
    assert plan is not None
    if version not in apis()[_API_VERSIONS].versions:
        return plan
    try:
        _, stop = values_decoder(plan)(message, 8, Budget())
    except FAILURES:
        return None
    return plan if stop == len(message) else None


Extra: TypeAlias = tuple[tuple[str, str], ...] | None
"""Context.extra as a key of a cache."""


@lru_cache(maxsize=1024)
def _recipe(plan: Plan, key: int, version: int, response: bool, extra: Extra) -> Recipe:
    start = BODY_START[response, header_version(key, version, response)]
    decode = unfolding(values_decoder(plan), plan, key, response, dict(extra or ()))
    return Recipe(INT32, start, decode, first_nonzero(plan, "error"), error_name, read)


@lru_cache(maxsize=1024)
def usual(key: int | None, version: int | None, response: bool, extra: Extra) -> Recipe | None:
    """The recipe of a body in the version that was asked for; None where there is none."""
    if key is None or version is None:
        return None
    plan = body_plan(key, version, response)
    if plan is None or plan.version != version:
        return None
    return _recipe(plan, key, version, response, extra)


def decode(message: bytes, context: Context) -> Body:
    """The values of a frame's body, its first error, and what there is to say."""
    role = context.role
    response = role is Role.RESPONSE
    extra = None if context.extra is None else tuple(sorted(context.extra.items()))
    recipe = None if role is Role.RAW else usual(context.code, context.version, response, extra)
    if recipe is not None and not (response and context.code == _API_VERSIONS):
        return values_by(recipe, message, context)
    plan = plan_of(message, context)
    if plan is None or context.code is None or context.version is None:
        return folded(read(message, context), error_name)
    recipe = _recipe(plan, context.code, context.version, response, extra)
    return values_by(recipe, message, context, tuple(_doubts(plan, context)))


def _doubts(plan: Plan | None, context: Context) -> Iterator[Finding]:
    """What is to be said of a frame before its body is read: which layout is missing, or only guessed."""
    code, version = context.code, context.version
    if code is None or version is None:
        return
    if code not in apis():
        yield Finding(Severity.NOTE, "unknown-operation", f"API key {code} is not in the tables")
    elif plan is None:
        yield Finding(Severity.NOTE, "unsupported-version", f"there is no version {version} of this API")
    elif version > plan.version and not _is_fallback(plan, context):
        text = f"version {version} is newer than the tables, read as version {plan.version}"
        yield Finding(Severity.WARNING, "unsupported-version", text)


def _is_fallback(plan: Plan, context: Context) -> bool:
    return context.role is Role.RESPONSE and context.code == _API_VERSIONS and plan.version == 0


def read(message: bytes, context: Context) -> Tree:
    """The annotated tree of a frame: `length`, `header`, `body`, and what is left."""
    plan = plan_of(message, context)
    tree = framed(message, INT32, partial(_content, context=context, plan=plan), _doubts(plan, context))
    body = next((node for node in tree.fields if node.spec is _BODY), None)
    if plan is not None and body is not None and context.code is not None:
        unfold_bytes(tree, body, plan.name, context.code, context.role is Role.RESPONSE, context.extra or {})
    return tree


def _content(reader: Reader, context: Context, plan: Plan | None) -> None:
    """All behind the length. A body that no plan reads, or a SASL token, which has no header, is one leaf."""
    if context.role is not Role.RAW:
        response = context.role is Role.RESPONSE
        kind = 0
        if plan is not None:
            assert context.code is not None
            assert context.version is not None
            kind = header_version(context.code, context.version, response)
        reader.enter(_HEADER)
        read_members(reader, resolve(named_schema("ResponseHeader" if response else "RequestHeader"), kind).steps)
        reader.leave()
    if plan is not None:
        reader.enter(_BODY)
        read_members(reader, plan.steps)
        reader.leave()
    elif reader.at < reader.end:
        content = reader.data[reader.at : reader.end]
        if context.role is Role.RAW:
            reader.leaf(_TOKEN, Secret(content), reader.end)
        else:
            reader.leaf(_PAYLOAD, content, reader.end)
