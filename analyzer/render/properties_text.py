"""Formats the properties of captures for people: a name and a text for each line; TLS handshakes in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from analyzer.render.lines import Line

SHOWN, LONGEST = 20, 500
"""Number of comments and names that are shown, and length of a text in characters."""

WIDTH = 22
"""Cells of a name, including its colon."""


class PropertyLine(NamedTuple):
    """A line of properties. about: its subject as (kind, name), such as a protocol or packet; or None."""

    name: str
    text: str
    about: tuple[str, str] | None = None


def format_properties(found: Mapping[str, Any]) -> Iterator[PropertyLine]:
    """Yields the lines of the properties of a capture; empty ones are left out."""
    for file in found["files"]:
        for name, value in file.items():
            if name == "more_comments":
                yield from (PropertyLine("comment", _format_value(comment)) for comment in value[:SHOWN])
            elif isinstance(value, list):
                for number, each in enumerate(value):
                    values = ", ".join(f"{_split_words(key)} {_format_value(of)}" for key, of in each.items() if of)
                    yield PropertyLine(f"{_split_words(name[:-1])} {number}", values)
            elif value is not None and value != 0:
                yield PropertyLine(_split_words(name), _format_value(value))
    kinds = ", ".join(f"{count:,} {_split_words(name)}" for name, count in found["packets"].items() if count)
    yield PropertyLine("packets by kind", kinds)
    for each in found["comments"][:SHOWN]:
        packet = each["packet"]
        yield PropertyLine(f"comment on {packet}", safe_text(each["text"], LONGEST), ("packet", str(packet)))
    for address, names in list(found["names"].items())[:SHOWN]:
        yield PropertyLine(address, safe_text(", ".join(names), LONGEST))
    yield PropertyLine("streams", f"{found['streams']:,}")
    yield PropertyLine("messages", f"{found['messages']:,}")
    for each in found["protocols"]:
        text = ", ".join(format_counted(each[name], name[:-1]) for name in ("messages", "bytes", "streams"))
        yield PropertyLine(f"  {each['protocol']}", text, ("protocol", each["protocol"]))
    for each in found.get("tls", ())[:SHOWN]:
        yield PropertyLine(f"TLS on port {each['port']}", safe_text("; ".join(list_tls_words(each)), LONGEST))


def _split_words(name: str) -> str:
    return name.replace("_", " ")


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return safe_text("none" if value is None else str(value))


_NAMED = (
    ("server_name", "server name"),
    ("alpn", "ALPN"),
    ("fingerprint", "client"),
    ("alerts", "alert"),
)


def list_tls_words(each: Mapping[str, Any]) -> Iterator[str]:
    """Yields the facts about a TLS connection, or about several with the same facts."""
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
    """Yields the line about the TLS connection of a message, if there is one."""
    if each is not None:
        yield (("name", "TLS: "), ("text", safe_text("; ".join(list_tls_words(each)), LONGEST)))
