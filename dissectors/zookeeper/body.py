"""One message of a client's connection to values or to a tree.

Theory. A request is read by the opcode in its header, a reply by the opcode of its request (Context.code). Messages
without a code or a header, connects and words, are recognised by their own bytes. recipes.py reads messages that fit
their layout, and this module reads all others. dissectors.wire.message holds the part that all protocols share.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dissectors.api import Body, Context, Role
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.fields import read_members
from dissectors.wire.message import Recipe, fits, fold_tree, read_framed, values_by
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, Wrapping
from dissectors.zookeeper import four_letter_commands
from dissectors.zookeeper.guessing import NOTHING, Guess
from dissectors.zookeeper.header import has_absurd_error, lacks_path
from dissectors.zookeeper.labels import error_name, transaction
from dissectors.zookeeper.nested import OPENED, RECONFIG
from dissectors.zookeeper.nested.content import open_tree, open_values
from dissectors.zookeeper.nested.hidden import hide_framed, is_sensitive_message, resembles_connect
from dissectors.zookeeper.recipes import (
    EVENT,
    add_expert_info,
    check_command_answer,
    check_size,
    connect_plan,
    connect_recipe,
    reply_recipe,
    reply_steps,
    request_recipe,
    response_record,
)
from dissectors.zookeeper.schemas import INT, LONG, find_steps, operations, plan_of

_REQUEST_HEADER = Wrapping("header", "struct")
_REPLY_HEADER = LayoutSpec("header", "struct")
_BODY = LayoutSpec("body", "struct")
_XID = Wrapping("xid", "int")
_ZXID = FieldSpec("zxid", "long", transaction)
_NO_ERR = Wrapping("err", "int")
_PAYLOAD = FieldSpec("payload", "bytes")
_SECRET_PAYLOAD = FieldSpec("payload", "bytes", secret=True)


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the values of a message, the first error that it reports, and its findings."""
    if _is_command_text(message, context):
        body = four_letter_commands.decode_values(message)
        return body._replace(findings=(*body.findings, *check_command_answer(message)))
    found = _guess(message, context)
    recipe = _recipe_of(message, context, found.opcode)
    if recipe is None:
        return fold_tree(decode_tree(message, context), error_name)
    body = values_by(recipe, message, context, tuple(_doubts(message, context, found)))
    code = context.code if found.opcode is None else found.opcode
    if code in OPENED:
        open_values(body.values, answers_reconfig=code == RECONFIG)
    if body.findings and "_rest" in body.values and _is_sensitive(message, context):
        return fold_tree(decode_tree(message, context), error_name)
    return body


def is_request(message: bytes, code: int) -> bool:
    """Returns whether all bytes of a message fit a request."""
    recipe = _recipe_of(message, Context(Role.REQUEST, code), None)
    return recipe is None or fits(recipe, message)


def decode_tree(message: bytes, context: Context) -> Tree:
    """Returns the annotated tree of a message."""
    if _is_command_text(message, context):
        tree = four_letter_commands.decode_tree(message)
        tree.findings.extend(check_command_answer(message))
        return tree
    found = _guess(message, context)
    tree = read_framed(message, INT, partial(_content, context=context, guess=found), _doubts(message, context, found))
    add_expert_info(tree, context)
    if _is_sensitive(message, context):
        body = next((node for node in tree.fields if node.spec is _BODY), None)
        hide_framed(tree, body, message, misread=context.role is Role.REQUEST and lacks_path(message))
    return open_tree(tree, answers_reconfig=RECONFIG in (context.code, found.opcode))


def _is_sensitive(message: bytes, context: Context) -> bool:
    return is_sensitive_message(message, context.code, connect_plan(message, context) is not None)


def _guess(message: bytes, context: Context) -> Guess:
    """What a reply may be that nothing else tells."""
    if context.code is not None or context.role is not Role.RESPONSE:
        return NOTHING
    from dissectors.zookeeper.guessing.guess import guess, is_orphan, read_guess  # hardly a capture has many

    known = read_guess(context)
    if known is not None:
        return known
    return guess(message) if is_orphan(message, context) else NOTHING


def _is_command_text(message: bytes, context: Context) -> bool:
    if context.code is not None:
        return False
    if context.role is Role.REQUEST:
        return four_letter_commands.word_of(message) is not None
    return context.role is Role.RESPONSE and four_letter_commands.is_text(message)


def _doubts(message: bytes, context: Context, guess: Guess) -> Iterator[Finding]:
    """What there is to say before a message is read."""
    yield from check_size(message, context)
    if guess.finding is not None:
        yield guess.finding
    if context.code is not None and context.code not in operations():
        yield Finding(Severity.NOTE, "unknown-operation", f"opcode {context.code} is not in the tables")


def _recipe_of(message: bytes, context: Context, guessed: int | None) -> Recipe | None:
    """What reads a message fast; None where nothing does."""
    if context.role is Role.RESPONSE and context.code is not None and has_absurd_error(message):
        return None
    if guessed is not None:
        return reply_recipe(guessed, message, decode_tree)
    if context.code is None:
        plan = connect_plan(message, context)
        return None if plan is None else connect_recipe(plan, decode_tree)
    if context.role is Role.REQUEST:
        return request_recipe(context.code, decode_tree)
    return reply_recipe(context.code, message, decode_tree)


def _content(reader: Reader, context: Context, guess: Guess) -> None:
    """All behind the length."""
    connect = connect_plan(reader.data, context)
    if connect is not None:
        reader.enter(_BODY)
        read_members(reader, connect.steps)
        reader.leave()
    elif context.role is Role.REQUEST:
        _request(reader, context.code)
    elif context.role is Role.RAW:
        _payload(reader)
    elif context.role is Role.RESPONSE and has_absurd_error(reader.data):
        reader.enter(_BODY)
        _payload(reader)
        reader.leave()
    else:
        _reply(reader, context.code if guess.opcode is None else guess.opcode, guess.secret)


def _request(reader: Reader, code: int | None) -> None:
    reader.enter(_REQUEST_HEADER)
    read_members(reader, plan_of("RequestHeader").steps)
    reader.leave()
    known = None if code is None else operations().get(code)
    if known is None:
        _payload(reader)
    elif known.request is not None:
        _body(reader, known.request)


def _reply(reader: Reader, code: int | None, secret: bool) -> None:
    reader.enter(_REPLY_HEADER)
    reader.take(_XID, INT)
    event = code == EVENT
    if event:
        reader.take(_ZXID, LONG)
        reader.take(_NO_ERR, INT)
    else:
        read_members(reader, reply_steps())
    error = not event and reader.into[-1].value != 0
    reader.leave()
    if code not in operations():
        _payload(reader, secret)
        return
    assert code is not None
    record = response_record(code, error, reader.at < reader.end)
    if record is not None:
        _body(reader, record)


def _body(reader: Reader, record: str) -> None:
    reader.enter(_BODY)
    read_members(reader, find_steps(record))
    reader.leave()


def _payload(reader: Reader, secret: bool = False) -> None:
    if reader.at < reader.end:
        content = reader.data[reader.at : reader.end]
        if secret or resembles_connect(reader.data):
            reader.leaf(_SECRET_PAYLOAD, Secret(content), reader.end)
        else:
            reader.leaf(_PAYLOAD, content, reader.end)
