"""The lines of summaries.json, and the formatters that their phrases use: names, numbers as logs have them, tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dissectors.wire.amounts import count_text
from dissectors.wire.info_line import Line, line, line_by_field
from dissectors.wire.summary import Formatter, Summaries
from dissectors.zookeeper.labels import error_name, labels, load_names, owner, session
from dissectors.zookeeper.metrics import format_metrics
from dissectors.zookeeper.tables import table

_COUNTER = 0xFFFF_FFFF


def say(name: str, struct: Mapping[str, Any]) -> list[str]:
    """What one of the lines says of a struct, the most telling first."""
    return _line(name)(struct, [])


@cache
def _line(name: str) -> Line:
    """The line of this name; there are few, so the cache is bounded."""
    rows = table("summaries")[name]
    return line_by_field(SUMMARIES, rows) if isinstance(rows, dict) else line(SUMMARIES, rows)


def format_name(value: Any, words: str) -> str | None:
    """A name from an enum, `words` being its name and what a number without a name is said to be; some names are empty.

    What is a name already stays one.
    """
    enum, _, noun = words.partition(" ")
    name = value if isinstance(value, str) else load_names(enum).get(value)
    return f"{noun} {value}" if name is None else name or None


def _raw(value: Any, _: str) -> str | None:
    """A path as it is; one that is not UTF-8 is bytes, and shown as these."""
    return f"{value}" if value else None


def _sequential(value: Any, _: str) -> str | None:
    """The kind of a node, if it gets a number behind its name."""
    kind = format_name(value, "nodeKind mode")
    return kind if kind is not None and "seq" in kind else None


def _token(value: Any, _: str) -> str | None:
    from dissectors.zookeeper.nested.tokens import token_words  # few messages have one

    return ", ".join(token_words(value)) or None


def _servers(value: Any, _: str) -> str | None:
    """How many servers the text of a configuration names."""
    if not isinstance(value, str):
        return None
    return count_text(value.count("server."), ",server")


def _addresses(value: Any, _: str) -> str | None:
    """Several addresses stand with bars between them."""
    return str(value).replace("|", ", ") or None


def _epoch(zxid: int) -> str:
    """A zxid that begins an epoch: the epoch in its upper half, and as a rule nothing below (Leader, Learner)."""
    return f"{zxid >> 32}, zxid {zxid:#x}" if zxid & _COUNTER else f"{zxid >> 32}"


_FORMATTERS: Mapping[str, Formatter] = {
    "addresses": _addresses,
    "metrics": format_metrics,
    "named": format_name,
    "raw": _raw,
    "sequential": _sequential,
    "servers": _servers,
    "token": _token,
}
_NUMBERS: Mapping[str, Callable[[int], str]] = {
    "epoch": _epoch,
    "error": error_name,
    "hex": hex,
    "owner": lambda number: owner(number) or "",
    "session": session,
}
SUMMARIES = Summaries(labels, error_name, _FORMATTERS, {"no": ("no", False)}, numbers=_NUMBERS)
