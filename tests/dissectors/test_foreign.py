"""Other protocols by their first bytes, and none of ours taken for one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.foreign import foreign

CASES = [
    ("tls hello", bytes.fromhex("16030100c8010000c40303"), "tls", "369295616"),
    ("tls server hello", bytes.fromhex("160303007a02000076"), "tls", "ServerHello"),
    ("tls alert", bytes.fromhex("15030300020228"), "tls", "alert"),
    ("tls data", bytes.fromhex("1703030020aabb"), "tls", "data"),
    ("http get", b"GET /metrics HTTP/1.1\r\n", "http", "1195725856"),
    ("http get, four bytes of it", b"GET ", "http", "1195725856"),
    ("http response", b"HTTP/1.1 400 Bad Request\r\n", "http", "response"),
    ("http/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2", "gRPC"),
    ("ssh", b"SSH-2.0-OpenSSH_9.2\r\n", "ssh", "SSH"),
    ("amqp", b"AMQP\x00\x00\x09\x01", "amqp", "AMQP"),
    ("redis", b"*1\r\n$4\r\nPING\r\n", "redis", "Redis"),
    ("tls handshake", bytes.fromhex("1603030030040000"), "tls", "handshake record"),
    ("ssl 2", bytes.fromhex("802e0103010015"), "tls", "SSL 2"),
    ("smtp", b"220 mail.example ESMTP\r\n", "smtp", "SMTP"),
    ("mqtt", bytes.fromhex("100c00044d515454"), "mqtt", "MQTT"),
    ("postgresql", bytes.fromhex("0000000804d2162f"), "postgresql", "PostgreSQL"),
    *(
        (word.decode(), word + b" ", "http", "request")
        for word in b"HEAD POST PUT DELETE OPTIONS PATCH TRACE CONNECT".split()
    ),
    ("haproxy 1", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nrest", "haproxy", "version 1"),
    ("haproxy 2", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12) + b"rest", "haproxy", "version 2"),
]


@pytest.mark.parametrize(("data", "name", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_table(data: bytes, name: str, text: str) -> None:
    found = foreign(data)
    assert found is not None
    assert found.name == name
    assert text in found.text
    assert (found.preamble > 0) == (name == "haproxy")
    if found.preamble:
        assert data[found.preamble :] == b"rest"


@pytest.mark.parametrize("word", [b"ruok", b"stat", b"mntr", b"envi", b"srvr"])
def test_four_letter_words_are_not_foreign(word: bytes) -> None:
    assert foreign(word) is None


@given(st.integers(0, 0x0FFFFFFF), st.binary(max_size=60))
def test_framed_messages_of_sane_size_are_not_foreign(size: int, rest: bytes) -> None:
    assert foreign(size.to_bytes(4) + rest) is None or size.to_bytes(4).startswith((b"\r\n\r\n", b"\x08"))


@given(st.binary(max_size=60))
def test_takes_anything(data: bytes) -> None:
    found = foreign(data)
    assert found is None or found.preamble <= max(len(data), 16 + 0xFFFF)
