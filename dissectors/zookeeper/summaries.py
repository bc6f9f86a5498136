"""The formatters of the info lines, and the one-line summary of a four-letter command's answer.

Theory. mntr, srvr, stat and cons have similar content under different names; an engineer looks for release, role, size
and connected clients. For any other answer the first line is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from dissectors.wire.amounts import count_text
from dissectors.wire.info_line import Line, line, line_by_field
from dissectors.wire.summary import Formatter, Summaries
from dissectors.zookeeper.labels import error_name, labels, load_names, owner, session
from dissectors.zookeeper.tables import table

_COUNTER = 0xFFFF_FFFF


def format_metrics(answer: Mapping[str, Any], _: str) -> str | None:
    """Formats as `3.9.5, leader, zxid 0x3, 7 nodes, 2 connections`, or the first line."""
    found = answer.get("values")
    known = found if isinstance(found, Mapping) else {}
    values = ((say, next((known[name] for name in names if name in known), None)) for names, say in _METRICS)
    parts = [text for say, value in values if value is not None and (text := say(value))]
    first = str(answer["text"]).strip().partition("\n")[0].replace("\t", " ")
    return ", ".join(parts) or _EMPTY_ANSWERS.get(first, first)


def _release(value: Any) -> str:
    """Without the build."""
    return f"{value}".partition("-")[0]


def _count(number: int, noun: str) -> str:
    return count_text(number, f",{noun}")


def _make_counter(noun: str) -> Callable[[Any], str]:
    return lambda value: _count(value, noun) if isinstance(value, int) else ""


def _outstanding(value: Any) -> str:
    """Requests that wait: said only where there are some."""
    return f"{_count(value, 'request')} waiting" if isinstance(value, int) and value > 0 else ""


def _elements(value: Any) -> list[Mapping[str, Any]]:
    """What a list of an answer holds; a value of that name in a text that is none of these words' is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _connections(value: Any) -> str:
    """Their number, or a list of them; other answers say something else under that name."""
    clients = _elements(value)
    if isinstance(value, int):
        return _count(value, "connection")
    return _count(len(clients), "connection") if clients and all("interest" in each for each in clients) else ""


def _make_inner_counter(member: str, noun: str) -> Callable[[Any], str]:
    """How many there are in the lists that elements hold."""

    def say(value: Any) -> str:
        found = _elements(value)
        return _count(sum(len(_inside(each, member)) for each in found), noun) if found else ""

    return say


def _inside(element: Mapping[str, Any], member: str) -> Sequence[Any]:
    found = element.get(member)
    return found if isinstance(found, list) else ()


def _format_watches(value: Any) -> str:
    """By session (wchc), or by path (wchp)."""
    found = _elements(value)
    if not found:
        return ""
    return f"watches of {_count(len(found), 'session' if 'session' in found[0] else 'path')}"


_METRICS: tuple[tuple[tuple[str, ...], Callable[[Any], str]], ...] = (
    (("zk_version", "Zookeeper version", "zookeeper.version"), _release),
    (("zk_server_state", "Mode"), str),
    (("java.version",), "Java {}".format),
    (("Zxid",), "zxid {}".format),
    (("zk_znode_count", "Node count"), _make_counter("node")),
    (("zk_num_alive_connections", "Connections", "connections"), _connections),
    (("paths",), _make_counter("path")),
    (("Total watches",), _make_counter("watch/watches")),
    (("zk_outstanding_requests", "Outstanding"), _outstanding),
    (("sessions",), _make_inner_counter("ids", "session")),
    (("ephemerals",), _make_inner_counter("paths", "ephemeral node")),
    (("watches",), _format_watches),
)
"""By the names that the words have for it."""

_EMPTY_ANSWERS = {"": "nothing", "SessionTracker dump:": "no sessions"}
"""What is said of answers that have nothing under their title, or nothing at all."""


def say(name: str, struct: Mapping[str, Any]) -> list[str]:
    """Formats a struct by one line of the table, the most telling part first."""
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
    from dissectors.zookeeper.nested.content import token_words  # few messages have one

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
