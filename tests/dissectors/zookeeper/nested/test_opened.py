"""Fields with content of their own, in whole messages: what values say, what a tree shows, and what nobody sees."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.tree_json import make_node_object
from dissectors.api import Context, Dissector, Role
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.election.dissector import ZooKeeperElection
from dissectors.zookeeper.labels import error_name, load_numbers
from dissectors.zookeeper.quorum.dissector import ZooKeeperQuorum
from tests.dissectors.damage import damage
from tests.dissectors.kafka.sasl.tokens import AP_REQ, KERBEROS, der
from tests.dissectors.trees import assert_tiles, node
from tests.dissectors.zookeeper.messages import (
    acl,
    buffer,
    notification,
    packet,
    proposal,
    reply,
    request,
    sasl,
    ustring,
    vector,
)

CLIENT, QUORUM, ELECTION = ZooKeeper(), ZooKeeperQuorum(), ZooKeeperElection()
CHALLENGE = b'realm="r",nonce="NONCE-1234",algorithm=md5-sess'
RESPONSE = b'username="u",realm="r",nonce="NONCE-1234",cnonce="CNONCE-1234",response=PROOF-1234,qop=auth'
CONFIG = "server.1=a:2888:3888:participant;0.0.0.0:2181\nversion=100000000"
CONFIG_VALUES = {
    "servers": [{"sid": 1, "addresses": ["a:2888:3888"], "role": "participant", "client": "0.0.0.0:2181"}],
    "version": 0x1_0000_0000,
}
STAT = bytes(68)
MASKED = JsonWriter(Limits(None, None, show_secrets=False))


class Case(NamedTuple):
    """A message; the path of a field and what values have there as JSON; names of the tree below it; what is secret."""

    name: str
    dissector: Dissector
    data: bytes
    context: Context
    path: tuple[str, ...]
    value: Any
    shown: tuple[str, ...]
    hidden: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        return self.name


def masked(size: int) -> dict[str, Any]:
    return {"redacted": True, "length": size}


def context(operation: str, role: Role = Role.REQUEST) -> Context:
    return Context(role, load_numbers("operation")[operation])


def auth(scheme: str, data: bytes) -> bytes:
    return request(-4, "auth", bytes(4) + ustring(scheme) + buffer(data))


def client(name: str, data: bytes, operation: str, role: Role, *more: Any) -> Case:
    return Case(name, CLIENT, data, context(operation, role), *more)


ASK, ANSWER = Role.REQUEST, Role.RESPONSE
PACKET = Context(Role.ONEWAY, load_numbers("packet")["NEWLEADER"])
PROPOSAL = Context(Role.REQUEST, load_numbers("packet")["PROPOSAL"])
CASES = [
    client("a challenge", reply(1, buffer(CHALLENGE)), "sasl", ANSWER, ("token",),
           {**masked(len(CHALLENGE)), "as": "DIGEST-MD5",
            "value": {"realm": "r", "nonce": masked(10), "algorithm": "md5-sess"}},
           ("length", "realm", "nonce", "algorithm"), (b"NONCE-1234",)),
    client("a response", request(1, "sasl", buffer(RESPONSE)), "sasl", ASK, ("token",),
           {**masked(len(RESPONSE)), "as": "DIGEST-MD5",
            "value": {"username": "u", "realm": "r", "nonce": masked(10), "cnonce": masked(11), "response": masked(10),
                      "qop": "auth"}},
           ("length", "username", "realm", "nonce", "cnonce", "response", "qop"), (b"NONCE-1234", b"PROOF-1234")),
    client("an empty token", request(1, "sasl", buffer(b"")), "sasl", ASK, ("token",), masked(0), ()),
    client("no token", reply(1, buffer(None), err=-115), "sasl", ANSWER, ("token",), None, ()),
    client("a token of no known form", request(1, "sasl", buffer(b"SECRET-1234")), "sasl", ASK, ("token",), masked(11),
           (), (b"SECRET-1234",)),
    client("credentials", auth("digest", b"erin:PASS:WORD"), "auth", ASK, ("auth",),
           {**masked(14), "as": "DigestCredentials", "value": {"user": "erin", "password": masked(9)}},
           ("length", "user", "password"), (b"PASS:WORD",)),
    client("credentials without a user", auth("digest", b"PASSWORD"), "auth", ASK, ("auth",), masked(8), (),
           (b"PASSWORD",)),
    client("credentials of another scheme", auth("own", b"me:PASSWORD"), "auth", ASK, ("auth",), masked(11), (),
           (b"PASSWORD",)),
    client("an identity", request(1, "setACL", ustring("/") + vector(acl("digest", "me:HASH12=")) + bytes(4)),
           "setACL", ASK, ("acl", "[0]", "id", "id"), masked(10), ("length", "user", "hash"), (b"HASH12=",)),
    client("an identity alone", request(1, "setACL", ustring("/") + vector(acl("digest", "HASH12")) + bytes(4)),
           "setACL", ASK, ("acl", "[0]", "id", "id"), masked(6), (), (b"HASH12",)),
    client("whoever asks", request(1, "setACL", ustring("/") + vector(acl("auth", "")) + bytes(4)),
           "setACL", ASK, ("acl", "[0]", "id", "id"), masked(0), ()),
    client("whoever asks, with a password",
           request(1, "setACL", ustring("/") + vector(acl("auth", "me:PASS:1234")) + bytes(4)), "setACL", ASK,
           ("acl", "[0]", "id", "id"), masked(12), ("length", "user", "password"), (b"PASS:1234",)),
    client("a new configuration", reply(1, buffer(CONFIG.encode()) + STAT), "reconfig", ANSWER, ("data",),
           {"hex": CONFIG.encode().hex(), "length": len(CONFIG), "as": "QuorumConfig", "value": CONFIG_VALUES},
           ("length", "servers", "version")),
    client("a configuration that is none", reply(1, buffer(b"?") + STAT), "reconfig", ANSWER, ("data",),
           {"hex": "3f", "length": 1}, ()),
    client("the same data of a node", reply(1, buffer(CONFIG.encode()) + STAT), "getData", ANSWER, ("data",),
           {"hex": CONFIG.encode().hex(), "length": len(CONFIG)}, ()),
    client("who joins", request(1, "reconfig", ustring("server.4=d:1:2;3") + buffer(None) * 2 + bytes(8)), "reconfig",
           ASK, ("joiningServers",), "server.4=d:1:2;3", ("length", "servers")),
    Case("between servers", QUORUM, sasl(RESPONSE), Context(Role.ONEWAY), ("token",),
         {**masked(len(RESPONSE)), "as": "DIGEST-MD5",
          "value": {"username": "u", "realm": "r", "nonce": masked(10), "cnonce": masked(11), "response": masked(10),
                    "qop": "auth"}},
         ("length", "username", "realm", "nonce", "cnonce", "response", "qop"), (b"NONCE-1234", b"CNONCE-1234")),
    Case("at an election", ELECTION, sasl(b"rspauth=PROOF-1234", 1), Context(Role.ONEWAY), ("token",),
         {**masked(18), "as": "DIGEST-MD5", "value": {"rspauth": masked(10)}}, ("length", "rspauth"), (b"PROOF-1234",)),
    Case("a leader's configuration", QUORUM, packet("NEWLEADER", 7, CONFIG.encode()), PACKET, ("data", "config"),
         CONFIG, ("servers", "version")),
    Case("a notification's", ELECTION, notification(config=CONFIG), Context(Role.ONEWAY), ("config",), CONFIG,
         ("length", "servers", "version")),
    Case("a transaction's", QUORUM,
         proposal("setData", ustring("/zookeeper/config") + buffer(CONFIG.encode()) + bytes(4)), PROPOSAL,
         ("data", "txn", "data"), {"hex": CONFIG.encode().hex(), "length": len(CONFIG)},
         ("length", "servers", "version")),
    Case("a transaction's identity", QUORUM,
         proposal("setACL", ustring("/") + vector(acl("digest", "me:HASH12=")) + bytes(4)), PROPOSAL,
         ("data", "txn", "acl", "[0]", "id", "id"), masked(10), ("length", "user", "hash"), (b"HASH12=",)),
]  # fmt: skip
IDS = [case.name for case in CASES]


def errors_of(case: Case) -> Any:
    return error_name if case.dissector is CLIENT else None


def within(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        values = values.get("value", values) if isinstance(values, dict) else values
        values = values[int(name[1:-1])] if name.startswith("[") else values[name]
    return values


def printed(case: Case, data: bytes) -> bytes:
    """All that is printed of a message without its secrets: values, tree, and the bytes that are not masked."""
    body, tree = case.dissector.values(data, case.context), case.dissector.tree(data, case.context)
    plain = bytearray(data)
    for start, stop in find_secret_spans(tree).get(0, ()):
        plain[start:stop] = bytes(len(plain[start:stop]))
    nodes = b"".join(MASKED.format_line(make_node_object(each)) for each in tree.fields)
    return MASKED.format_line(body.values) + nodes + bytes(plain) + case.dissector.info(body, case.context).encode()


def assert_hidden(case: Case, data: bytes) -> None:
    out = printed(case, data)
    for secret in case.hidden:
        for form in (secret, secret.hex().encode()):
            assert form not in out, secret


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_values_and_tree(case: Case) -> None:
    body, tree = case.dissector.values(case.data, case.context), case.dissector.tree(case.data, case.context)
    assert within(json.loads(MASKED.format_line(body.values)), case.path) == case.value
    assert_tiles(tree)
    assert fold_tree(tree, errors_of(case)) == body
    inside = case.path if case.dissector is not CLIENT else ("body", *case.path)
    assert tuple(child.spec.name for child in node(tree, *inside).children) == case.shown
    assert_hidden(case, case.data)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_cut(case: Case) -> None:
    for size in range(len(case.data)):
        data = case.data[:size]
        body, tree = case.dissector.values(data, case.context), case.dissector.tree(data, case.context)
        assert_tiles(tree)
        assert fold_tree(tree, errors_of(case)) == body
        assert_hidden(case, data)


@pytest.mark.parametrize("case", [case for case in CASES if case.hidden], ids=str)
def test_bytes_behind_the_end_are_as_secret(case: Case) -> None:
    size = len(case.data) - 4 + len(case.hidden[0])
    data = case.data + case.hidden[0]
    if case.dissector is CLIENT:
        data = size.to_bytes(4) + data[4:]
    body, tree = case.dissector.values(data, case.context), case.dissector.tree(data, case.context)
    assert fold_tree(tree, errors_of(case)) == body
    if case.dissector is CLIENT or case.hidden[0].startswith((b"HASH", b"PROOF", b"NONCE")):
        assert_hidden(case, data)


@given(st.sampled_from(CASES), st.data())
def test_a_mutation_is_read_alike_both_ways(case: Case, data: st.DataObject) -> None:
    content = damage(case.data, data)
    body, tree = case.dissector.values(content, case.context), case.dissector.tree(content, case.context)
    assert_tiles(tree)
    assert fold_tree(tree, errors_of(case)) == body


def test_a_ticket() -> None:
    token = der(KERBEROS + b"\x01\0" + AP_REQ)
    body = CLIENT.values(request(1, "sasl", buffer(token)), context("sasl"))
    content = body.values["token"]
    assert (content.name, content.data) == ("GSSAPI", Secret(token))
    service = content.value["message"]["ticket"]["service"]
    assert service["nameString"] == ["kafka", "b1.example.com"]
    assert b"sealed" not in MASKED.format_line(body.values)


def test_secrets_are_shown_to_who_asks() -> None:
    shown = JsonWriter(Limits(None, None, show_secrets=True))
    values = json.loads(shown.format_line(CLIENT.values(auth("digest", b"me:pw"), context("auth")).values))
    assert values["auth"] == {
        "hex": b"me:pw".hex(), "length": 5, "as": "DigestCredentials", "value": {"user": "me", "password": "pw"}
    }  # fmt: skip
