"""What TLS handshakes say (analyzer.insight.tls.describe_tls), in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from analyzer.render.lines import Line

_LONGEST = 500

_NAMED = (
    ("server_name", "server name"),
    ("alpn", "ALPN"),
    ("fingerprint", "client"),
    ("alerts", "alert"),
)


def list_tls_words(each: Mapping[str, Any]) -> Iterator[str]:
    """Yields the facts about a connection, or about several that agree in them."""
    if "connections" in each:
        yield format_counted(each["connections"], "connection")
    version = " ".join(part for part in (each["version"], each["suite"]) if part)
    yield version or "no answer of TLS"
    yield from (f"{words} {each[name]}" for name, words in _NAMED if each[name])
    if each["certificate"]:
        yield f"certificate {each['certificate']}, valid until {each['certificate_expires'][:10]}"
    if each["resumed"]:
        yield "resumed"
    yield "decrypted" if each["decrypted"] else f"not decrypted{': ' if each['reason'] else ''}{each['reason'] or ''}"


def format_tls(each: Mapping[str, Any] | None) -> Iterator[Line]:
    """Yields the line about the connection of a message, if it has TLS."""
    if each is not None:
        yield (("name", "TLS: "), ("text", safe_text("; ".join(list_tls_words(each)), _LONGEST)))
