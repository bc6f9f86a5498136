"""Tokens in messages: trees, and every printed form of them."""

from __future__ import annotations

from base64 import b64encode

import pytest

from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.render.message_text import format_message
from analyzer.render.tree_json import PrintedMessage, make_tree_object
from dissectors.api import Body, Context, MessageHeader, Role
from dissectors.field import Tree
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.kafka.sasl.exchange import CLIENT, SASL_MECHANISM, SASL_SENDER, SERVER
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from tests.dissectors.kafka.sasl.tokens import CASES, OPAQUE, Case
from tests.dissectors.trees import assert_tiles, node

KAFKA = Kafka()
SASL_AUTHENTICATE = 36


def uvarint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + uvarint(value >> 7)


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def request(token: bytes, version: int) -> bytes:
    head = b"\0\x24" + version.to_bytes(2) + b"\0\0\0\1\xff\xff"
    if version < 2:
        return framed(head + framed(token))
    return framed(head + b"\0" + uvarint(len(token) + 1) + token + b"\0")


def response(token: bytes, version: int) -> bytes:
    head = b"\0\0\0\1"
    if version < 2:
        return framed(head + b"\0\0\xff\xff" + framed(token) + (bytes(8) if version else b""))
    return framed(head + b"\0" + b"\0\0\0" + uvarint(len(token) + 1) + token + bytes(7) + b"\x64" + b"\0")


def ways(case: Case) -> list[tuple[bytes, Context]]:
    """The token in every message that it may stand in, with and without what the handshake said."""
    sender = {SASL_SENDER: CLIENT if case.from_client else SERVER}
    role, made = (Role.REQUEST, request) if case.from_client else (Role.RESPONSE, response)
    found = []
    for hints in ({**sender, SASL_MECHANISM: case.mechanism}, sender, None):
        found += [(made(case.data, each), Context(role, SASL_AUTHENTICATE, each, hints)) for each in (0, 1, 2)]
        found.append((framed(case.data), Context(Role.RAW, extra=hints)))
    return found


def both(frame: bytes, context: Context) -> tuple[Body, Tree]:
    body, tree = KAFKA.values(frame, context), KAFKA.tree(frame, context)
    assert_tiles(tree)
    assert fold_tree(tree, error_name) == body
    return body, tree


def printed(frame: bytes, context: Context, limits: Limits) -> str:
    """All that is shown of a message: values, tree as JSON, tree and bytes as text, and its line."""
    body, tree = both(frame, context)
    info = KAFKA.info(body, context)
    message = PrintedMessage("kafka", MessageHeader(context.role), body.error, info, body.findings)
    writer = JsonWriter(limits)
    lines = ["".join(text for _, text in line) for line in format_message(message, tree, limits)]
    dump = " ".join(line[10:58] for line in lines if line[:8].isalnum())
    text = "".join(line[60:-1] for line in lines if line[:8].isalnum())
    values, nodes = writer.dumps(body.values).decode(), writer.dumps(make_tree_object(message, tree)).decode()
    return "\n".join([info, *lines, dump.replace(" ", ""), text, values, nodes])


ALL = Limits(bytes_limit=None)


@pytest.mark.parametrize("case", [*CASES, *OPAQUE[:2]], ids=str)
def test_no_secret_is_printed(case: Case) -> None:
    secrets = case.secrets or (() if case in CASES else (case.data,))
    for frame, context in ways(case):
        shown = printed(frame, context, ALL)
        for secret in secrets:
            for form in (secret, secret.hex().encode(), b64encode(secret), secret[:12]):
                assert form.decode("latin-1") not in shown


@pytest.mark.parametrize("case", [case for case in CASES if case.secrets], ids=str)
def test_all_is_printed_when_requested(case: Case) -> None:
    """The bytes of the message are shown as they are, and so is what was decoded from a token."""
    for frame, context in ways(case):
        assert frame.hex() in printed(frame, context, Limits(bytes_limit=None, show_secrets=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_line_says_who(case: Case) -> None:
    frame, context = ways(case)[0]
    info = KAFKA.info(KAFKA.values(frame, context), context)
    assert info.startswith(", ".join((case.mechanism, *case.words)))


def test_parts_of_a_token_are_readable_next_to_secret_ones() -> None:
    frame, context = ways(CASES[0])[2]
    _, tree = both(frame, context)
    token = node(tree, "body", "authBytes")
    assert isinstance(token.value, Secret)
    assert [(child.spec.name, child.offset, child.length, child.head) for child in token.children] == [
        ("length", 15, 1, 0), ("authzid", 16, 0, 0), ("user", 16, 4, 1), ("password", 20, 17, 1),
    ]  # fmt: skip
    shown = printed(frame, context, ALL)
    assert '"tim"' in shown
    assert "00 74 69 6d 00 ** **" in shown.replace("  ", " ")


def test_claims_are_a_source() -> None:
    case = next(case for case in CASES if case.name == "bearer, JWT")
    frame, context = ways(case)[0]
    _, tree = both(frame, context)
    claims = tree.sources[2]
    assert claims.name == "JWT claims"
    found = tree.fields
    for index in claims.parent or ():
        at = found[index]
        found = at.children
    assert at.spec.name == "claims"
    assert [child.spec.name for child in at.children if not isinstance(child.value, Secret)] == [
        "object", "iss", "sub", "aud", "exp", "scope",
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_every_cut_of_a_message(case: Case) -> None:
    for frame, context in ways(case)[:4]:
        for size in range(len(frame)):
            body, _ = both(frame[:size], context)
            assert isinstance(KAFKA.info(body, context), str)


@pytest.mark.parametrize(
    ("role", "version", "frame", "line"),
    [
        (Role.RESPONSE, 2, response(b"", 2), "PLAIN, accepted, session of 100 ms"),
        (Role.RESPONSE, 0, framed(b"\0\0\0\1\0\x3a\0\2no" + bytes(4)), "SASL_AUTHENTICATION_FAILED, PLAIN, no"),
        (Role.REQUEST, 0, request(b"", 0), "PLAIN, empty token"),
        (Role.REQUEST, 0, request(b"x", 0), "PLAIN, token 1, 1 byte"),
        (Role.RAW, None, framed(b"xy"), "PLAIN, token 1, 2 bytes"),
    ],
)
def test_lines_of_tokens_that_say_nothing(role: Role, version: int | None, frame: bytes, line: str) -> None:
    sender = SERVER if role is Role.RESPONSE else CLIENT
    hints = {SASL_MECHANISM: "PLAIN", SASL_SENDER: sender, "round": "1"}
    context = Context(role, None if version is None else SASL_AUTHENTICATE, version, hints)
    assert KAFKA.info(KAFKA.values(frame, context), context) == line
