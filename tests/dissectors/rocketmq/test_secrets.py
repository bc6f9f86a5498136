"""Secrets stay secret: in every spelling, and where a frame breaks around them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from struct import pack

import pytest

from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.api import Context, Role
from dissectors.field import Field
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from dissectors.rocketmq.secrets import SECRETS, is_sensitive
from tests.dissectors.rocketmq.frames import binary, command, frame, pair
from tests.dissectors.trees import assert_tiles

ROCKETMQ = RocketMQ()
SECRET = "hunter2hunter2"
PART = SECRET[:6]
WRITER = JsonWriter(Limits(None, None))
NAMES = ("Signature", "SIGNATURE", "SecurityToken", "security_token", "secretKey", "secret-key", "Password", "passwd")
FIXED = {"code": 310, "flag": 0, "language": "JAVA", "opaque": 7, "version": 513}


def header(ext: object, **more: object) -> bytes:
    return json.dumps({**FIXED, "extFields": ext, **more}, separators=(",", ":")).encode()


SIGNED = header({"AccessKey": "who", "Signature": SECRET, "b": "orders"})
SIGNED_BINARY = binary(310, pair(b"AccessKey", b"who") + pair(b"Signature", SECRET.encode()) + pair(b"b", b"t"))


def shown(nodes: list[Field]) -> Iterator[str]:
    for node in nodes:
        yield f"{node.value!r} {node.text}"
        if isinstance(node.value, bytes):
            yield node.value.hex()
        yield from shown(node.children)


def printed(data: bytes, code: int | None, role: Role = Role.REQUEST) -> str:
    """All that any view says of a frame."""
    context = Context(role, code)
    body, tree = ROCKETMQ.values(data, context), ROCKETMQ.tree(data, context)
    assert_tiles(tree)
    assert fold_tree(tree, context) == body
    text = [ROCKETMQ.info(body, context), *(finding.text for finding in body.findings), *shown(tree.fields)]
    return "\n".join([WRITER.format_line({"fields": body.values}).decode(), repr(body.values), *text])


def assert_hidden(data: bytes, code: int | None, role: Role = Role.REQUEST) -> None:
    found = printed(data, code, role)
    assert PART not in found
    assert PART.encode().hex() not in found


def test_an_access_key_is_none() -> None:
    for data in (frame(SIGNED), SIGNED_BINARY):
        found = printed(data, 310)
        assert "who" in found
        assert "redacted" in found


@pytest.mark.parametrize("name", NAMES)
def test_every_spelling(name: str) -> None:
    assert name in SECRETS
    assert_hidden(frame(header({name: SECRET})), 310)
    assert_hidden(frame(header({}, **{name: SECRET})), 310)
    assert_hidden(frame(header({"x": {name: SECRET}}, y={name: SECRET}, flag={name: SECRET})), 310)
    assert_hidden(binary(310, pair(name.encode(), SECRET.encode())), 310)


@pytest.mark.parametrize("name", ["AccessKey", "topic", "signatureMethod", "n" * 100, ""])
def test_what_is_no_secret(name: str) -> None:
    assert name not in SECRETS


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "escaped": lambda data: data.replace(b"Signature", b"\\u0053ignature"),
    "escaped as fastjson may": lambda data: data.replace(b"Signature", b"\\x53ignature"),
    "bare": lambda data: data.replace(b'"Signature"', b"Signature"),
    "single quotes": lambda data: data.replace(b'"Signature"', b"'Signature'"),
    "a number": lambda data: data.replace(f'"{SECRET}"'.encode(), b"6875"),
    "twice": lambda data: data.replace(b'"b":', b'"Signature":'),
    "in two extFields": lambda data: data[:-1] + b',"extFields":{"a":"g"}}',
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_headers_cut_and_damaged_anywhere(spelling: str) -> None:
    """But for the name itself, by which alone it is known."""
    good = SPELLINGS[spelling](SIGNED)
    at = good.index(b"ignature")
    assert_hidden(frame(good, b"body"), 310)
    for cut in range(0, len(good), 3):
        assert_hidden(frame(good[:cut], b"body"), 310)
        assert_hidden(frame(good, b"body")[: 8 + cut], 310)
        assert_hidden(pack(">II", 4 + len(good), cut) + good, 310)
        if not at - 6 <= cut < at + 8:
            for byte in b'"{:\\':
                assert_hidden(frame(good[:cut] + bytes([byte]) + good[cut + 1 :]), 310)


def test_binary_headers_with_wrong_lengths() -> None:
    at = SIGNED_BINARY.index(b"Signature")
    for place in range(4, len(SIGNED_BINARY)):
        assert_hidden(SIGNED_BINARY[:place], 310)
        if not at <= place < at + len("Signature"):
            for more in (1, 5, 255, 251):
                wrong = bytes([SIGNED_BINARY[place] + more & 0xFF])
                assert_hidden(SIGNED_BINARY[:place] + wrong + SIGNED_BINARY[place + 1 :], 310)


@pytest.mark.parametrize("more", range(0, len(SECRET) + 40, 3))
def test_binary_lengths_that_swallow_a_secret(more: int) -> None:
    """A remark or a name as long as that must not show what it took in, nor may what is said of it."""
    remark, name = SIGNED_BINARY.index(b"AccessKey") - 10, SIGNED_BINARY.index(b"AccessKey") - 2
    for place, width in ((remark, 4), (name, 2)):
        size = SIGNED_BINARY.index(SECRET.encode()) - place - width + more
        assert_hidden(SIGNED_BINARY[:place] + size.to_bytes(width) + SIGNED_BINARY[place + width :], 310)


BODIES: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda data: data,
    "cut": lambda data: data[:-8],
    "no JSON": lambda data: b"x" + data,
    "more": lambda data: data + b"x",
    "escaped": lambda data: data.replace(b"password", b"\\u0070assword"),
    "bare": lambda data: data.replace(b'"password"', b"password"),
    "in another case": lambda data: data.replace(b"password", b"PassWord"),
}


@pytest.mark.parametrize("spelling", BODIES)
@pytest.mark.parametrize(
    ("code", "role"),
    [(3001, Role.REQUEST), (3002, Role.ONEWAY), (3004, Role.RESPONSE), (34, Role.REQUEST), (None, Role.RESPONSE)],
)
def test_passwords_in_bodies(spelling: str, code: int | None, role: Role) -> None:
    body = json.dumps({"username": "u", "password": SECRET, "more": [{"password": SECRET}]}).encode()
    assert_hidden(command(0, BODIES[spelling](body), flag=int(role is Role.RESPONSE)), code, role)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("a=b\nsecretKey=x", True),
        ("brokerPassword: x", True),
        ("brokerPassword x", True),
        ("pass\\u0077ord=x", True),
        ("pass\\\n  word=x", True),
        ("accessToken=x", True),
        ('initAuthenticationUser={"username":"u"}', True),
        ("initAuthenticationUser=\nb=c", False),
        ("passwordless", False),
        ("a=password", False),
        ("tokenCount=3", False),
    ],
)
def test_settings(text: str, secret: bool) -> None:
    assert is_sensitive(text) is secret
