"""No piece of a secret is seen of a message that is cut, damaged, of no known layout, or nested."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.tree_json import make_node_object
from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.kafka import Kafka
from dissectors.kafka.labels import is_sensitive
from dissectors.kafka.sensitive import is_sensitive_message
from dissectors.wire.secret import Secret
from tests.dissectors.kafka.nested.structured import METADATA_ID, OTHER_ID, batched, both, fetched, framed
from tests.dissectors.kafka.truth import GOLDEN, frames
from tests.dissectors.trees import every

KAFKA = Kafka()
SHORTEST = 6
"""Bytes of a secret that count as a piece of it: fewer are in a number beside it by chance."""


class Case(NamedTuple):
    """A frame, how it is read, and the secret in it."""

    name: str
    frame: bytes
    context: Context
    secret: bytes

    def __str__(self) -> str:
        return self.name


def text(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


PASSWORD = b"tUr1ngs-9wXq"
CONFIG = text(b"listener.name.x.scram-sha-512.sasl.jaas.config") + text(PASSWORD)
ALTER = struct.pack(">hhi", 33, 0, 5) + text(b"me") + struct.pack(">ib", 1, 2) + text(b"t") + b"\0\0\0\1" + CONFIG
SCRAM = b"\1\x0b\0\2u\1" + bytes([len(PASSWORD) + 1]) + PASSWORD + b"\2k\2s\0\0\x10\0\0"
ASKED, ANSWERED, ORPHAN = (Context(Role.REQUEST, 33, 0), Context(Role.RESPONSE, 58, 0), Context(Role.RESPONSE))
SNAPSHOT = Context(Role.RESPONSE, 1, 17)


def envelope(inner: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        body = bytes([*varint(len(inner) + 1)]) + inner + b"\1" + b"\1"
        inner = struct.pack(">hhi", 58, 0, 5) + text(b"b") + b"\0" + body + b"\0"
    return framed(inner)


def varint(value: int) -> Iterator[int]:
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def damaged(data: bytes, add: int = 60) -> bytes:
    """The length in front of the secret is wrong."""
    at = data.index(PASSWORD) - 1
    return data[:at] + bytes([(data[at] + add) % 256]) + data[at + 1 :]


ENVELOPE = Context(Role.REQUEST, 58, 0)
CASES = [
    Case("a wrong length", framed(damaged(ALTER + b"\0")), ASKED, PASSWORD),
    Case("a length too short", framed(damaged(ALTER + b"\0", -9)), ASKED, PASSWORD),
    Case("more behind it", framed(ALTER + b"\0" + PASSWORD), ASKED, PASSWORD),
    Case("no such version", framed(ALTER + b"\0"), Context(Role.REQUEST, 33, 90), PASSWORD),
    Case("in an envelope", envelope(ALTER + b"\0"), ENVELOPE, PASSWORD),
    Case("in two envelopes", envelope(ALTER + b"\0", 2), ENVELOPE, PASSWORD),
    Case("broken in an envelope", envelope(damaged(ALTER)), ENVELOPE, PASSWORD),
    Case("cut in two envelopes", envelope(ALTER[:-3], 2), ENVELOPE, PASSWORD),
    Case("in too many envelopes", envelope(ALTER + b"\0", 6), ENVELOPE, PASSWORD),
    Case("an answer to nobody knows what", framed(b"\0\0\0\5\0" + b"\0\0" + PASSWORD), ANSWERED, PASSWORD),
    Case("an orphan of no layout", framed(b"\0\0\0\5" + text(PASSWORD) + b"\xff"), ORPHAN, PASSWORD),
    Case("a token whose handshake was lost", framed(b"\0alice\0" + PASSWORD), Context(Role.REQUEST, 97, 27753),
         PASSWORD),
    Case("a record", fetched(METADATA_ID, batched([(None, SCRAM)])), SNAPSHOT, PASSWORD),
    Case("a broken record", fetched(METADATA_ID, batched([(None, damaged(SCRAM))])), SNAPSHOT, PASSWORD),
    Case("a cut record", fetched(METADATA_ID, batched([(None, SCRAM[:-7])])), SNAPSHOT, PASSWORD),
    Case("a record of a later version", fetched(METADATA_ID, batched([(None, b"\1\x0b\x63" + SCRAM[3:])])), SNAPSHOT,
         PASSWORD),
    Case("a record of a later type", fetched(METADATA_ID, batched([(None, b"\1\x63" + SCRAM[2:])])), SNAPSHOT,
         PASSWORD),
    Case("a batch that is cut", fetched(METADATA_ID, batched([(None, SCRAM)])[:-3]), SNAPSHOT, PASSWORD),
    Case("a batch that breaks", fetched(METADATA_ID, damaged(batched([(None, SCRAM)]))), SNAPSHOT, PASSWORD),
]  # fmt: skip


def pieces(secret: bytes) -> set[bytes]:
    return {secret[at : at + SHORTEST] for at in range(len(secret) - SHORTEST + 1)}


def seen(tree: Tree) -> bytes:
    """All that a dump shows of a tree's sources, and what a program is told of its nodes."""
    dumps = []
    for source in tree.sources:
        data = bytearray(source.data)
        for start, stop in find_secret_spans(tree).get(source.id, ()):
            data[start:stop] = b"\0" * (stop - start)
        dumps.append(bytes(data))
    nodes = [make_node_object(node) for node in tree.fields]
    reported = JsonWriter(Limits(bytes_limit=None)).format_line({"fields": nodes})
    return b"\n".join((*dumps, reported))


def leaks(tree: Tree, secret: bytes) -> bool:
    shown = seen(tree)
    return any(piece in shown or piece.hex().encode() in shown for piece in pieces(secret))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_is_seen(case: Case) -> None:
    body, tree = both(case.frame, case.context)
    assert not leaks(tree, case.secret)
    reported = JsonWriter(Limits(bytes_limit=None)).format_line(body.values)
    assert not any(piece in reported or piece.hex().encode() in reported for piece in pieces(case.secret))
    nodes = [make_node_object(node) for node in tree.fields]
    requested = JsonWriter(Limits(None, None, show_secrets=True)).format_line(nodes)
    there = case.secret[:SHORTEST] in requested or case.secret[:SHORTEST].hex().encode() in requested
    assert there or any(node.spec.type in ("undecoded", "partial") for node in every(tree.fields))


def test_others_are_shown_as_they_are() -> None:
    unfit = [(None, b"\1\2\0" + b"no topic record")]
    assert b"no topic record".hex().encode() in seen(KAFKA.tree(fetched(METADATA_ID, batched(unfit)), SNAPSHOT))
    user = fetched(OTHER_ID, batched([(None, damaged(SCRAM))]))
    assert PASSWORD.hex().encode() in seen(KAFKA.tree(user, SNAPSHOT)), "what users write is theirs"
    heartbeat = envelope(struct.pack(">hhi", 12, 0, 5) + b"\xff\xff" + b"\0\2broken")
    assert b"broken".hex().encode() in seen(KAFKA.tree(heartbeat, ENVELOPE))
    unknown = framed(struct.pack(">hhi", 200, 0, 5) + text(b"me") + b"content")
    assert b"content".hex().encode() in seen(KAFKA.tree(unknown, Context(Role.REQUEST, 200, 0)))


def test_zeros_behind_a_body_are_a_habit() -> None:
    body, _ = both(framed(ALTER + b"\0" + bytes(3)), ASKED)
    assert body.values["resources"][0]["configs"][0]["value"] == Secret(PASSWORD.decode())
    assert body.values["_rest"] == Secret(bytes(3))


def _secret_frames() -> Iterator[Case]:
    known = set()
    for frame in frames(GOLDEN):
        key, role = frame.context.code, frame.context.role
        if (key, role) in known or not is_sensitive_message(key, role is Role.RESPONSE):
            continue
        tree = KAFKA.tree(frame.data, frame.context)
        for node in every(tree.fields):
            if isinstance(node.value, Secret) and len(node.value) > 2 * SHORTEST:
                content = node.value.reveal()
                known.add((key, role))
                yield Case(frame.name, frame.data, frame.context, content if isinstance(content, bytes) else b"")
                break


def test_cut_anywhere() -> None:
    """By the snap length, and with a size that fits what is left."""
    count = 0
    for case in _secret_frames():
        at = case.frame.index(case.secret)
        for end in range(at, len(case.frame), 3):
            for data in (case.frame[:end], framed(case.frame[4:end])):
                assert not leaks(KAFKA.tree(data, case.context), case.secret), (case.name, end)
                count += 1
    assert count > 200


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("ssl.keystore.password", True),
        ("SSL.Key.Password", True),
        ("listener.name.x.scram-sha-512.sasl.jaas.config", True),
        ("sasl.oauthbearer.assertion.private.key.passphrase", True),
        ("sasl.oauthbearer.assertion.private.key.file", False),
        ("listener.name.y.ssl.keystore.key", True),
        ("database.password", True),
        ("aws.secret.access.key", True),
        ("basic.auth.user.info", True),
        ("confluent.api_key", True),
        ("delegation.token.expiry.time.ms", False),
        ("schema.registry.token", True),
        ("ssl.keystore.type", False),
        ("ssl.keystore.location", False),
        ("cleanup.policy", False),
        ("message.key.converter", False),
        (None, False),
        (b"ssl.key.password", False),
    ],
)
def test_sensitive_keys(key: object, secret: bool) -> None:
    assert is_sensitive(key) is secret
