"""A page for each request code: what it asks, its header and body, those of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dissectors.guide import Page
from dissectors.rocketmq.codes import RequestCode, find_response_name, map_binary_codes, operations
from dissectors.rocketmq.guide.layouts import format_class, has_fast_codec, list_superclasses, make_class_data
from dissectors.rocketmq.tables import table
from dissectors.wire.guide.text import INDENT, columns

_SIDES = ("request", "response")
_UNKNOWN = f"{INDENT}none that is known"


def map_page_names() -> dict[int, str]:
    """What a page is called by its request code: the name, with the number behind it where another code has it too."""
    found: dict[int, str] = {}
    for code, operation in operations().items():
        found[code] = f"{operation.name}_{code}" if operation.name in found.values() else operation.name
    return found


def make_request_page(code: int) -> Page:
    """The page of a request code."""
    operation = operations()[code]
    facts = dict(_list_facts(operation))
    lines = [f"{operation.name} (request code {code})", *columns(facts.items())]
    data: dict[str, Any] = {"name": operation.name, "code": code, **facts}
    for side in _SIDES:
        header, body = getattr(operation, side), _describe_body(operation, side)
        lines += ["", _format_title(side, header), *(format_class(header) if header else [_UNKNOWN])]
        lines += ["", f"{side.capitalize()} body", f"{INDENT}{body}" if body else _UNKNOWN]
        data[side] = {"header": header, "fields": make_class_data(header) if header else []} | (
            {"body": body} if body else {}
        )
    lines += [
        "",
        "Beside these any header may have those of extFields. See frame, json-header, binary-header, responses.",
    ]
    return Page(lines, data)


def _format_title(side: str, header: str | None) -> str:
    title = f"{side.capitalize()} header"
    return title if header is None else f"{title}: {header}{_format_superclasses(header)}"


def _format_superclasses(header: str) -> str:
    """What a class extends, as a part of its title."""
    found = [f"extends {', '.join(list_superclasses(header))}"] if list_superclasses(header) else []
    found += ["written by code of its own"] if has_fast_codec(header) else []
    return f" ({', '.join(found)})" if found else ""


def _describe_body(operation: RequestCode, side: str) -> str | None:
    """How a body is written; None where there is none, or none of which anything is known."""
    guide = table("guide")
    kind = operation.request_body if side == "request" else operation.response_body
    if kind is None:
        return None
    name = guide["classes"].get(str(operation.code), {}).get(side)
    said: str = guide["kinds"].get(kind, kind)
    return f"{said}: {name}" if name else said


def _list_facts(operation: RequestCode) -> Iterator[tuple[str, str]]:
    guide, code = table("guide"), operation.code
    wrapped = {meant: binary for binary, meant in map_binary_codes().items()}
    if operation.name in guide["commands"] and code not in guide["raft"]:
        yield "what", guide["commands"][operation.name]
    yield "asked of", _describe_receiver(operation)
    if code in guide["oneway"]:
        yield "role", "request, or one-way: then nothing answers it"
    if operation.success:
        yield "success", f"response code {operation.success}, as DLedger says it between controllers"
    if str(code) in guide["empty"]:
        yield "ordinary", f"{_format_codes(guide['empty'][str(code)])}: nothing went wrong"
    if code in wrapped:
        yield "binary", f"{wrapped[code]} in a binary header, whose code has 16 bits; Java servers refuse it with 3"
    if str(code) in guide["former"]:
        yield "formerly", guide["former"][str(code)]
    if code in guide["removed"]:
        yield "until", "removed from later releases"
    if code in guide["newer"]:
        yield "since", "later than 5.3"


def _describe_receiver(operation: RequestCode) -> str:
    if operation.code in table("guide")["raft"]:
        return "a controller, by another one"
    return "a client, by its server" if operation.from_server else "a server"


def _format_codes(codes: list[int]) -> str:
    return ", ".join(f"{code} {find_response_name(code)}" for code in codes)


def make_class_page(name: str) -> Page:
    """A header class, and the requests and answers that have it."""
    used = [f"{each.name} {side}" for each in operations().values() for side in _SIDES if getattr(each, side) == name]
    below = [each for each in table("headers")["headers"] if name in list_superclasses(each)]
    lines = [f"{name}{_format_superclasses(name)}"]
    lines += [f"{INDENT}used by  {', '.join(used)}"] if used else []
    lines += [f"{INDENT}extended by  {len(below)} classes"] if below else []
    data = {
        "name": name,
        "extends": list_superclasses(name),
        "usedBy": used,
        "extendedBy": below,
        "fields": make_class_data(name),
    }
    return Page([*lines, "", *format_class(name)], data)
