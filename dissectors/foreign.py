"""Recognises foreign protocols that are common on our ports, by their first bytes.

Theory. Common faults are a client that speaks TLS to a plain port, a browser or health check that speaks HTTP, and a
load balancer that sends its preamble first. Each begins with a few fixed bytes. Our protocols read these bytes as a
four-byte size, an absurd number that then appears in servers' logs. So the number is named here too.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Foreign(NamedTuple):
    """Another protocol. `preamble`: how many bytes to skip when it is only put before the real conversation, else 0."""

    name: str
    text: str
    preamble: int = 0

    @property
    def advice(self) -> str:
        """Advice for a user who expected a supported protocol on this connection."""
        return advice(self.name)

    @property
    def elsewhere(self) -> str:
        """The text for bytes of the other side, which themselves tell nothing."""
        return self.text.replace("the bytes are", "those of the other side are", 1)


_ADVICE = {
    "tls": "to see what is inside, record where TLS ends, or without it",
    "http2": "a gRPC client belongs to a port that speaks HTTP/2",
    "http": "a browser, a scrape or a health check may have the wrong port",
}
_STRANGER = "a client may have the wrong port"


def advice(name: str) -> str:
    """Returns advice for a user whose capture has the protocol of this name in place of a known one."""
    return _ADVICE.get(name, _STRANGER)


_PATTERNS: tuple[tuple[str, str, bytes], ...] = (
    ("tls", "a TLS ClientHello", rb"\x16\x03[\x00-\x04]..\x01"),
    ("tls", "a TLS ServerHello", rb"\x16\x03[\x00-\x04]..\x02"),
    ("tls", "a TLS handshake record", rb"\x16\x03[\x00-\x04].."),
    ("tls", "a TLS alert", rb"\x15\x03[\x00-\x04]\x00\x02"),
    ("tls", "a TLS data record", rb"\x17\x03[\x00-\x04].."),
    ("tls", "an SSL 2 hello", rb"\x80.\x01\x03[\x00-\x04]"),
    ("http2", "the HTTP/2 preface (gRPC uses it too)", rb"PRI \* HTTP/2\.0\r\n"),
    ("http", "an HTTP request", rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT) "),
    ("http", "an HTTP response", rb"HTTP/[0-3](?:\.[0-9])? [1-5]\d\d"),
    ("ssh", "an SSH greeting", rb"SSH-[12]\.\d"),
    ("smtp", "an SMTP greeting", rb"220[ -][^\r\n]*SMTP"),
    ("amqp", "an AMQP header", rb"AMQP[\x00-\x03]"),
    ("mqtt", "an MQTT CONNECT", rb"\x10[\x0c-\xff](?:.?)\x00(?:\x04MQTT|\x06MQIsdp)"),
    ("postgresql", "a PostgreSQL SSL request", rb"\x00\x00\x00\x08\x04\xd2\x16\x2f"),
    ("redis", "a Redis command", rb"\*[1-9]\d{0,2}\r\n\$\d+\r\n"),
)

_FIRST = frozenset(b"\x10\x15\x16\x17*2ACDGHOPST\x80")
"""What one of the patterns may begin with, but for PostgreSQL's."""

_POSTGRESQL = b"\0\0\0\x08\x04"

_PROXY_V1 = rb"PROXY (?:TCP[46]|UNKNOWN)[^\r\n]{0,100}\r\n"
_PROXY_V1_BEGIN = rb"PROXY (?:TCP[46]|UNKNOWN)[ \r]"
_PROXY_V2 = b"\r\n\r\n\0\r\nQUIT\n"
_PROXY_V2_HEADER = 16


def foreign(prefix: bytes) -> Foreign | None:
    """Returns the protocol that begins with these bytes, or None when they may be ours.

    Costs little for bytes that are.
    """
    if prefix.startswith(_PROXY_V2):
        size = _PROXY_V2_HEADER + int.from_bytes(prefix[14:16])
        return Foreign("haproxy", "a HAProxy preamble (version 2) comes before the conversation", size)
    if (not prefix or prefix[0] not in _FIRST) and not prefix.startswith(_POSTGRESQL):
        return None
    if re.match(_PROXY_V1_BEGIN, prefix):
        whole = re.match(_PROXY_V1, prefix)
        size = whole.end() if whole is not None else len(prefix)
        return Foreign("haproxy", "a HAProxy preamble (version 1) comes before the conversation", size)
    for name, what, pattern in _compile_patterns():
        if pattern.match(prefix):
            return Foreign(name, f"the bytes are {what}{_as_size(prefix)}")
    return None


@cache
def _compile_patterns() -> tuple[tuple[str, str, re.Pattern[bytes]], ...]:
    """The patterns; made when bytes may be foreign, for most never are."""
    return tuple((name, what, re.compile(pattern, re.DOTALL)) for name, what, pattern in _PATTERNS)


def _as_size(prefix: bytes) -> str:
    size = int.from_bytes(prefix[:4])
    return f"; a server that reads a size there sees {size}" if size > 1 << 24 else ""
