"""DIGEST-MD5 tokens: those that RFC 2831 prints (section 4), those of Java's and Python's clients, and others."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.wire.parts import part_values
from dissectors.wire.sasl.digest_md5 import LARGEST, digest_token
from dissectors.wire.secret import Secret
from tests.dissectors.parting import assert_parts_tile


class Case(NamedTuple):
    name: str
    data: bytes
    words: tuple[str, ...]
    values: dict[str, Any]

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("challenge of the RFC",
         b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8',
         ("challenge", "realm elwood.innosoft.com"),
         {"realm": "elwood.innosoft.com", "nonce": Secret("OA6MG9tEQGm2hh"), "qop": "auth", "algorithm": "md5-sess",
          "charset": "utf-8"}),
    Case("response of the RFC",
         b'charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,'
         b'cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",'
         b"response=d388dad90d4bbd760a152321f2143af7,qop=auth",
         ("response", "user chris", "realm elwood.innosoft.com", "service imap/elwood.innosoft.com"),
         {"charset": "utf-8", "username": "chris", "realm": "elwood.innosoft.com", "nonce": Secret("OA6MG9tEQGm2hh"),
          "nc": "00000001", "cnonce": Secret("OA6MHXh6VqTrRk"), "digest-uri": "imap/elwood.innosoft.com",
          "response": Secret("d388dad90d4bbd760a152321f2143af7"), "qop": "auth"}),
    Case("the server's proof", b"rspauth=ea40f60335c427b5527b84dbabcdfffd", ("server's proof",),
         {"rspauth": Secret("ea40f60335c427b5527b84dbabcdfffd")}),
    Case("for somebody else, with numbers",
         b'username="a",nonce="n",cnonce="c",response=r,maxbuf=65536,authzid="b"', ("response", "user a", "for b"),
         {"username": "a", "nonce": Secret("n"), "cnonce": Secret("c"), "response": Secret("r"), "maxbuf": 65536,
          "authzid": "b"}),
    Case("spaces, empty elements, capitals", b' Realm = "x" , , nonce="n"\t,ALGORITHM=md5-sess',
         ("challenge", "realm x"), {"realm": "x", "nonce": Secret("n"), "algorithm": "md5-sess"}),
    Case("a backslash and a comma in quotes", rb'realm="a\"b\\,c",nonce="n",algorithm=md5-sess',
         ("challenge", 'realm a"b\\,c'), {"realm": 'a"b\\,c', "nonce": Secret("n"), "algorithm": "md5-sess"}),
    Case("a name that is not known is secret", b"rspauth=ab,pass=word", ("server's proof",),
         {"rspauth": Secret("ab"), "pass": Secret("word")}),
    Case("a text that is no UTF-8", b'realm="\xff",nonce="n",algorithm=md5-sess', ("challenge",),
         {"realm": b"\xff", "nonce": Secret("n"), "algorithm": "md5-sess"}),
    Case("a number that is none", b"maxbuf=many,rspauth=a", ("server's proof",),
         {"maxbuf": "many", "rspauth": Secret("a")}),
]  # fmt: skip

OTHERS = {
    "nothing": b"",
    "no value": b"rspauth=",
    "no name": b"=a,rspauth=b",
    "a quote without an end": b'rspauth="abc',
    "words behind a quote": b'realm="a"b,rspauth=c',
    "no step": b'realm="a",qop="auth"',
    "SCRAM": b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
    "not separated": b"rspauth=a nonce=b",
    "too many": b",".join([b"rspauth=a"] * 33),
    "too long": b"rspauth=" + b"a" * LARGEST,
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_token(case: Case) -> None:
    token = digest_token(case.data)
    assert token is not None
    assert (token.mechanism, token.words, part_values(token.parts)) == ("DIGEST-MD5", case.words, case.values)
    assert_parts_tile(token.parts, 0, len(case.data))


@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS)
def test_what_is_none(data: bytes) -> None:
    assert digest_token(data) is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_cut_shows_no_more(case: Case) -> None:
    secrets = {value.reveal() for value in case.values.values() if isinstance(value, Secret)}
    for size in range(len(case.data)):
        token = digest_token(case.data[:size])
        if token is not None:
            assert_parts_tile(token.parts, 0, size)
            shown = [part.value for part in token.parts if not part.spec.secret]
            assert not secrets & {value for value in shown if isinstance(value, str)}


NAMES = st.sampled_from(("realm", "nonce", "cnonce", "response", "username", "algorithm", "rspauth", "x-own"))


@given(st.dictionaries(NAMES, st.text(min_size=1, max_size=20), min_size=1, max_size=8))
def test_what_is_written_is_read(attributes: dict[str, str]) -> None:
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in attributes.items()}
    token = digest_token(",".join(f'{name}="{value}"' for name, value in quoted.items()).encode())
    known = [{"nonce", "cnonce", "response"}, {"nonce", "algorithm"}, {"rspauth"}]
    assert (token is not None) == any(names <= attributes.keys() for names in known)
    if token is not None:
        values = {n: v.reveal() if isinstance(v, Secret) else v for n, v in part_values(token.parts).items()}
        assert values == attributes


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    token = digest_token(b"rspauth=a," + data)
    if token is not None:
        assert_parts_tile(token.parts, 0, len(data) + 10)
