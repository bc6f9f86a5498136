"""Recognises capture filters (tcpdump's language) and display filters where the other one is expected."""

from __future__ import annotations

import re

from analyzer.query.filter.operators import OPERATORS, SYMBOLS

_WORDS = "|".join(map(re.escape, (*OPERATORS, "in", "not", "and", "or")))
_PRIMITIVE = re.compile(
    rf"(?<![\w.])(?:(?:tcp|ip6?)\s+)?(?:(src|dst)\s+)?(port|host|net)\s+(?!(?:{_WORDS})\b)([\w.:/-]+)"
)
_ANY_TCP = re.compile(r"(?<![\w.])(?:tcp|ip6?)\s+and\s+(?=[\w(])")
_FIELDS = {
    ("port", None): "tcp.port",
    ("port", "src"): "tcp.srcport",
    ("port", "dst"): "tcp.dstport",
    ("host", None): "ip.addr",
    ("host", "src"): "ip.src",
    ("host", "dst"): "ip.dst",
}
_SIGNS = "|".join(map(re.escape, sorted(SYMBOLS, key=len, reverse=True)))
_COMPARISON = re.compile(
    rf"(?<![\w.\]])(?!len\b)[A-Za-z_]\w*(?:\.\w+)*\s*(?:(?:{_SIGNS})|(?:contains|matches)\b|in\s*\{{)"
)


def translate_capture_filter(text: str) -> str | None:
    """Translates a capture filter (BPF) to a display filter; None if the text is not one."""
    translated, count = _PRIMITIVE.subn(_translate, text)
    return _ANY_TCP.sub("", translated) if count else None


def _translate(match: re.Match[str]) -> str:
    kind = "host" if match[2] == "net" else match[2]
    return f"{_FIELDS[kind, match[1]]} == {match[3]}"


def is_display_filter(text: str) -> bool:
    """Returns whether a text compares fields by name, as only display filters do."""
    return _COMPARISON.search(text) is not None
