"""Names of RocketMQ's numbers: request and response codes, languages, versions.

Facts. A request code names an operation; the same field of an answer is a response code, 0 for success (200 in
DLedger's raft, which controllers speak to each other in the same frames). Before version 5 three response codes meant
failed changes of access rules. The binary header has its code in an int16: a larger code loses its upper half, and only
the table tells which operation was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from dissectors.rocketmq.labels import BY_NAME, name_label
from dissectors.rocketmq.tables import table
from dissectors.wire.map_header import BOUNDS, MapField
from dissectors.wire.specs import Wrapping
from dissectors.wire.varint import Unfit


@dataclass(frozen=True, slots=True)
class RequestCode:
    """One request code.

    request, response: the classes of the headers; request_body, response_body: how bodies are written, None for plain
    bytes. from_server: servers ask it of clients. success: the response code that means success.
    """

    code: int
    name: str
    request: str | None = None
    response: str | None = None
    request_body: str | None = None
    response_body: str | None = None
    from_server: bool = False
    success: int = 0
    versions: None = None


@cache
def operations() -> Mapping[int, RequestCode]:
    """Returns all request codes of all releases."""
    return {
        int(code): RequestCode(
            int(code),
            row["name"],
            row.get("request"),
            row.get("response"),
            row.get("requestBody"),
            row.get("responseBody"),
            row.get("fromServer", False),
            row.get("success", 0),
        )
        for code, row in table("requests")["requests"].items()
    }


@cache
def map_binary_codes() -> Mapping[int, int]:
    """Maps int16 codes of binary headers to the request codes that do not fit into an int16."""
    return {row["binary"]: int(code) for code, row in table("requests")["requests"].items() if "binary" in row}


def decode_binary_code(code: int) -> int:
    """Returns the request code that a binary header means by an int16."""
    return map_binary_codes().get(code, code)


def find_operation_name(code: int) -> str | None:
    """Returns the name of a request code."""
    operation = operations().get(code)
    return None if operation is None else operation.name


@cache
def _read_names(which: str) -> Mapping[int, str]:
    return {int(number): name for number, name in table("names")[which].items()}


@cache
def _read_versions() -> tuple[tuple[str, ...], int]:
    names = tuple(table("names")["versions"])
    return names, names.index("V5_0_0_SNAPSHOT")


def find_response_name(code: int, version: int | None = None) -> str | None:
    """Returns the name of a response code, as it was in the answerer's version."""
    if version is not None and version < _read_versions()[1] and code in _read_names("responsesBefore5"):
        return _read_names("responsesBefore5")[code]
    return _read_names("responses").get(code)


def list_response_names() -> Collection[str]:
    """Returns the names of all response codes, those before 5.0 among them."""
    return {*_read_names("responses").values(), *_read_names("responsesBefore5").values()}


def find_language(number: int) -> str | int:
    """Returns the name of a client's language by its number in a binary header; a number that is none of them stays."""
    return _read_names("languages").get(number, number)


def find_version_name(number: int) -> str | None:
    """Formats as `V5_5_0`; the last name there is for all newer ones, as RocketMQ itself says it."""
    names, _ = _read_versions()
    return names[min(number, len(names) - 1)] if number >= 0 else None


_MOST_DIGITS = 40
_NUMBER = re.compile(rf"[-+]?[0-9]{{1,{_MOST_DIGITS}}}")


def _make_integer_parser(kind: str) -> Callable[[str], int]:
    low, high = BOUNDS[kind]

    def convert(text: str) -> int:
        if not (text.isdigit() and text.isascii() and len(text) <= _MOST_DIGITS) and not _NUMBER.fullmatch(text):
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
    "int": _make_integer_parser("int"),
    "long": _make_integer_parser("long"),
    "bool": _parse_boolean,
}


@cache
def _load_class(name: str) -> Mapping[str, MapField]:
    row = table("headers")["headers"][name]
    fields = dict(_load_class(row["extends"])) if "extends" in row else {}
    names = row.get("names", {})
    for wire, kind in row["fields"].items():
        plain = names.get(wire, wire)
        label = BY_NAME.get(name_label(plain, name))
        is_converted = plain != wire or kind != "string"
        fields[wire] = MapField(plain, _CONVERT[kind], Wrapping(plain, kind, label), is_converted)
    return fields


@cache
def _collect_required(name: str) -> frozenset[str]:
    row = table("headers")["headers"][name]
    own = frozenset(row.get("required", ()))
    return own | _collect_required(row["extends"]) if "extends" in row else own


@lru_cache(maxsize=1024)
def find_required(code: int | None, response: bool) -> frozenset[str]:
    """Returns the names on the wire without which Java refuses the class of header_class()."""
    name = _find_class_name(code, response)
    return frozenset() if name is None else _collect_required(name)


def _find_class_name(code: int | None, response: bool) -> str | None:
    operation = operations().get(code) if code is not None else None
    return None if operation is None else operation.response if response else operation.request


@lru_cache(maxsize=1024)
def find_header_class(code: int | None, response: bool) -> Mapping[str, MapField] | None:
    """The fields of the class for a request code and direction, by their names on the wire; None without one."""
    name = _find_class_name(code, response)
    return None if name is None else _load_class(name)
