"""A command's extFields as the header class of its operation means them.

Facts. On the wire all of them are text under text; the class says which are numbers and booleans, as Java's own
parsers read them, and what the letters of SendMessageRequestHeaderV2 stand for. Names that no class has (signatures,
regions, traces) are extFields alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.labels import BY_NAME
from dissectors.rocketmq.tables import table
from dissectors.wire.specs import Wrapping
from dissectors.wire.varint import Unfit

_NUMBER = re.compile(r"[-+]?[0-9]{1,40}")
_PULLS = frozenset({"PullMessageRequestHeader"})


class HeaderField(NamedTuple):
    """One field of a header class: its name, and how its text becomes a value (None: it is text). May raise Unfit.

    is_told: whether that is more than what stands on the wire, so that a tree shows it.
    """

    name: str
    convert: Callable[[str], object] | None
    spec: Wrapping
    is_told: bool


def _make_integer_parser(bits: int) -> Callable[[str], int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(text: str) -> int:
        if not _NUMBER.fullmatch(text):
            raise Unfit
        value = int(text)
        if not low <= value <= high:
            raise Unfit
        return value

    return convert


def _parse_boolean(text: str) -> bool:
    """As Java's Boolean.parseBoolean: whatever is not true is false."""
    return text == "true" or text.lower() == "true"


_CONVERT: Mapping[str, Callable[[str], object] | None] = {
    "string": None,
    "int": _make_integer_parser(32),
    "long": _make_integer_parser(64),
    "bool": _parse_boolean,
}


@cache
def _load_class(name: str) -> Mapping[str, HeaderField]:
    row = table("headers")["headers"][name]
    fields = dict(_load_class(row["extends"])) if "extends" in row else {}
    names = row.get("names", {})
    for wire, kind in row["fields"].items():
        plain = names.get(wire, wire)
        label = BY_NAME.get("pullSysFlag" if plain == "sysFlag" and name in _PULLS else plain)
        is_told = plain != wire or kind != "string"
        fields[wire] = HeaderField(plain, _CONVERT[kind], Wrapping(plain, kind, label), is_told)
    return fields


@cache
def _collect_required(name: str) -> frozenset[str]:
    row = table("headers")["headers"][name]
    own = frozenset(row.get("required", ()))
    return own | _collect_required(row["extends"]) if "extends" in row else own


@lru_cache(maxsize=1024)
def find_required(code: int | None, response: bool) -> frozenset[str]:
    """The names on the wire without which Java refuses the class of header_class()."""
    operation = operations().get(code) if code is not None else None
    name = None if operation is None else operation.response if response else operation.request
    return frozenset() if name is None else _collect_required(name)


@lru_cache(maxsize=1024)
def find_header_class(code: int | None, response: bool) -> Mapping[str, HeaderField] | None:
    """The fields of the class for a request code and direction, by their names on the wire; None without one."""
    operation = operations().get(code) if code is not None else None
    if operation is None:
        return None
    name = operation.response if response else operation.request
    return None if name is None else _load_class(name)
