"""One Kafka frame to values or to a tree.

Theory. reading.py chooses the plan for a body: usually key, version and direction determine it. Where only the bytes
do, the other plans are tried after the usual one did not fit. dissectors.wire.message holds the part that all
protocols share.
"""

from __future__ import annotations

from functools import lru_cache, partial

from dissectors.api import Body, Context, Role
from dissectors.errors import DecodeError
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.kafka.expert_info import find_expert_info
from dissectors.kafka.header import BODY_START, has_client
from dissectors.kafka.labels import error_name
from dissectors.kafka.nested.fields import unfold_bytes
from dissectors.kafka.nested.values import make_unfolding_decoder
from dissectors.kafka.reading import API_VERSIONS, Extra, Reading, body_plan, extra_key, has_variants, reading_of
from dissectors.kafka.schemas import header_version, load_named_schema
from dissectors.kafka.sensitive import is_sensitive_message
from dissectors.slotted import replace
from dissectors.wire.budget import Budget
from dissectors.wire.emit import values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.first_error import first_nonzero
from dissectors.wire.hiding import HIDDEN, hide_broken
from dissectors.wire.message import Recipe, fold_tree, read_framed, values_by
from dissectors.wire.plan import Plan, resolve
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import REST, LayoutSpec, Wrapping, members

_HEADER = Wrapping("header", "struct")
_BODY = LayoutSpec("body", "struct")
_PAYLOAD = FieldSpec("payload", "undecoded")
_TOKEN = FieldSpec("payload", "bytes", secret=True)
_SASL_AUTHENTICATE = 36


@lru_cache(maxsize=1024)
def _recipe(plan: Plan, key: int, version: int, response: bool, extra: Extra, *, guessed: bool = False) -> Recipe:
    start = BODY_START[response, header_version(key, version, response)]
    decode = make_unfolding_decoder(values_decoder(plan), plan, key, response, dict(extra or ()))
    expert_info = None if guessed else find_expert_info(key, version, response)
    return Recipe(INT32, start, decode, first_nonzero(plan, "error"), error_name, decode_tree, expert_info)


@lru_cache(maxsize=1024)
def find_usual_recipe(key: int | None, version: int | None, response: bool, extra: Extra) -> Recipe | None:
    """Returns the recipe of a body in the requested version, or None."""
    if key is None or version is None:
        return None
    plan = body_plan(key, version, response)
    if plan is None or plan.version != version:
        return None
    return _recipe(plan, key, version, response, extra)


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the values of a frame's body, its first error, and its findings."""
    role, key, version = context.role, context.code, context.version
    response = role is Role.RESPONSE
    extra = extra_key(context.extra)
    recipe = None if role is Role.RAW else find_usual_recipe(key, version, response, extra)
    if recipe is not None and not (response and key == API_VERSIONS):
        body = values_by(recipe, message, context)
        assert key is not None
        assert version is not None
        if not body.findings:
            return body
        if not has_variants(key, version, response):
            return _hide_unread_bytes(body, message, context) if is_sensitive_message(key, response) else body
    reading = reading_of(message, context)
    if reading.plan is None or reading.key is None or reading.version is None:
        return fold_tree(_tree(message, context, reading), error_name)
    guessed = key is None
    recipe = _recipe(reading.plan, reading.key, reading.version, response, None if guessed else extra, guessed=guessed)
    body = values_by(recipe, message, context, reading.doubts)
    return _hide_unread_bytes(body, message, context) if is_sensitive_message(reading.key, response) else body


def _hide_unread_bytes(body: Body, message: bytes, context: Context) -> Body:
    """Returns the body of a sensitive message. If bytes follow it, they are hidden as in its tree (sensitive.py)."""
    return fold_tree(decode_tree(message, context), error_name) if REST.name in body.values else body


def decode_tree(message: bytes, context: Context) -> Tree:
    """Returns the annotated tree of a frame: `length`, `header`, `body`, and what is left."""
    return _tree(message, context, reading_of(message, context))


def _tree(message: bytes, context: Context, reading: Reading) -> Tree:
    budget = Budget()
    tree = read_framed(message, INT32, partial(_content, context=context, reading=reading), reading.doubts, budget)
    body = next((node for node in tree.fields if node.spec is _BODY), None)
    if reading.plan is not None and body is not None and reading.key is not None:
        response, hints = context.role is Role.RESPONSE, context.extra or {}
        unfold_bytes(tree, budget, body, reading.plan.name, reading.key, response, hints)
        if reading.newer and int.from_bytes(message[:4]) + 4 <= len(message):
            _soften_unsupported_version(tree, reading.plan)
    if context.role is Role.RAW or context.code == _SASL_AUTHENTICATE:
        from dissectors.kafka.sasl.tokens import unfold_token  # few messages have one

        unfold_token(tree, context)
    if reading.secret or is_sensitive_message(reading.key, context.role is Role.RESPONSE):
        hide_broken(tree, body, message, newer=reading.newer)
    if reading.plan is not None:
        tree.findings.extend(_find_expert_info(tree, context))
    return tree


def _find_expert_info(tree: Tree, context: Context) -> tuple[Finding, ...]:
    """What the values of a whole body say of themselves; of one that breaks, that is what there is to say."""
    if context.code is None or context.version is None:
        return ()
    if any(finding.code == DecodeError.code for finding in tree.findings):
        return ()
    check = find_expert_info(context.code, context.version, context.role is Role.RESPONSE)
    return () if check is None else check(members(tree.fields))


def _soften_unsupported_version(tree: Tree, plan: Plan) -> None:
    """A version that no table describes and that goes on otherwise than the known one breaks no layout."""
    for index, finding in enumerate(tree.findings):
        if finding.code == DecodeError.code and finding.source == 0:
            text = f"not decoded to its end, for it is not as version {plan.version}: {finding.text}"
            tree.findings[index] = replace(finding, severity=Severity.WARNING, code="unsupported-version", text=text)


def _content(reader: Reader, context: Context, reading: Reading) -> None:
    """All behind the length. A body that no plan reads, or a SASL token, which has no header, is one leaf."""
    if context.role is not Role.RAW:
        _header(reader, context, reading)
    if reading.plan is not None:
        reader.enter(_BODY)
        read_members(reader, reading.plan.steps)
        reader.leave()
    elif reader.at < reader.end:
        content = reader.data[reader.at : reader.end]
        if context.role is Role.RAW:
            reader.leaf(_TOKEN, Secret(content), reader.end)
        elif reading.secret:
            reader.leaf(HIDDEN, Secret(content), reader.end)
        else:
            reader.leaf(_PAYLOAD, content, reader.end)


def _header(reader: Reader, context: Context, reading: Reading) -> None:
    response = context.role is Role.RESPONSE
    kind = 0
    if reading.plan is not None:
        assert reading.key is not None
        assert reading.version is not None
        kind = header_version(reading.key, reading.version, response)
    elif not response and has_client(reader.data):
        kind = 1
    reader.enter(_HEADER)
    read_members(reader, resolve(load_named_schema("ResponseHeader" if response else "RequestHeader"), kind).steps)
    reader.leave()
