"""One Kafka frame to values or to a tree.

Theory. Which plan reads a body follows from key, version and direction, with one exception: a broker that does not know
the asked version of ApiVersions answers in version 0, which can be seen only in the bytes (error 35). Values come from
the emitted decoder. Where that fails the frame is read again into a tree, and the values are folded from it: so what
broken bytes still tell, and why they are broken, has one source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from struct import Struct
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.errors import Truncated
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.kafka.header import body_start
from dissectors.kafka.labels import error_name
from dissectors.kafka.schemas import apis, body_schema, header_version, named_schema
from dissectors.kafka.tables import table
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, Decode, First, first_nonzero, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Plan, resolve
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import Layout, members
from dissectors.wire.varint import Unfit

_SIZE = Struct(">i")
_LENGTH = FieldSpec("length", "int32")
_HEADER = FieldSpec("header", "struct")
_BODY = Layout("body", "struct")
_REST = FieldSpec("_rest", "bytes")
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


class Recipe(NamedTuple):
    """All that decoding a body of one kind needs, made once: its plan, the decoder, where errors stand, the header."""

    plan: Plan
    read: Decode
    first_error: First
    header: int


@lru_cache(maxsize=1024)
def _recipe(plan: Plan, header: int) -> Recipe:
    return Recipe(plan, values_decoder(plan), first_nonzero(plan, "error"), header)


@lru_cache(maxsize=1024)
def _usual(key: int | None, version: int | None, response: bool) -> Recipe | None:
    """The recipe of a body in the version that was asked for; None where there is none."""
    if key is None or version is None:
        return None
    plan = body_plan(key, version, response)
    if plan is None or plan.version != version:
        return None
    return _recipe(plan, header_version(key, version, response))


def decode(message: bytes, context: Context) -> Body:
    """The values of a frame's body, its first error, and what there is to say."""
    role = context.role
    response = role is Role.RESPONSE
    recipe = None if role is Role.RAW else _usual(context.code, context.version, response)
    findings: tuple[Finding, ...] = ()
    if recipe is None or (response and context.code == _API_VERSIONS):
        plan = plan_of(message, context)
        if plan is None or context.code is None or context.version is None:
            return body_values(read(message, context))
        recipe = _recipe(plan, header_version(context.code, context.version, response))
        findings = tuple(_doubts(plan, context))
    try:
        if _SIZE.unpack_from(message)[0] + 4 != len(message):
            raise Unfit
        values, stop = recipe.read(message, body_start(message, recipe.header, response), Budget())
        if stop > len(message):
            raise Unfit
    except FAILURES:
        return body_values(read(message, context))
    if stop < len(message):
        values["_rest"] = message[stop:]
        findings += (_trailing(stop, len(message)),)
    code = recipe.first_error(values)
    return Body(values, (code, error_name(code)) if code else None, findings)


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


def _trailing(stop: int, length: int) -> Finding:
    return Finding(Severity.NOTE, "trailing-bytes", f"{length - stop} bytes behind the body", 0, stop, length - stop)


def _is_fallback(plan: Plan, context: Context) -> bool:
    return context.role is Role.RESPONSE and context.code == _API_VERSIONS and plan.version == 0


def read(message: bytes, context: Context) -> Tree:
    """The annotated tree of a frame: `length`, `header`, `body`, and what is left."""
    reader = Reader.start(message, Budget())
    plan = plan_of(message, context)
    length = len(message)
    findings = reader.tree.findings
    findings.extend(_doubts(plan, context))
    if not reader.guard(partial(_frame, context=context, plan=plan), length):
        return reader.tree
    if reader.at < length:
        if plan is not None:
            findings.append(_trailing(reader.at, length))
        _payload(reader, context, plan)
    declared = _SIZE.unpack_from(message)[0]
    if declared > length - 4 and not any(finding.code == "malformed-body" for finding in findings):
        reader.find(Truncated("message", 4, declared, length - 4))
    return reader.tree


def _frame(reader: Reader, context: Context, plan: Plan | None) -> None:
    reader.need(4, 0, "length")
    reader.leaf(_LENGTH, _SIZE.unpack_from(reader.data)[0], 4)
    response = context.role is Role.RESPONSE
    if context.role is Role.RAW:
        return
    if plan is None:
        kind = 0
    else:
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


def _payload(reader: Reader, context: Context, plan: Plan | None) -> None:
    """What stands behind what could be read: a client's leftovers, a SASL token, or an unknown body."""
    content = reader.data[reader.at :]
    stop = len(reader.data)
    if plan is not None:
        reader.leaf(_REST, content, stop)
    elif context.role is Role.RAW:
        reader.leaf(_TOKEN, Secret(content), stop)
    else:
        reader.leaf(_PAYLOAD, content, stop)


def body_values(tree: Tree) -> Body:
    """The values that a tree holds: what could be read, and what its Findings say."""
    kept = [node for node in tree.fields if node.spec not in (_LENGTH, _HEADER)]
    values: dict[str, Any] = members(kept)
    code = next(_errors(kept), 0)
    return Body(values, (code, error_name(code)) if code else None, tuple(tree.findings))


def _errors(nodes: Iterable[Field]) -> Iterator[int]:
    for node in nodes:
        if node.spec.label is error_name and node.value:
            yield node.value
        yield from _errors(node.children)
