"""The guide pages of RocketMQ's requests, header classes, codes and layouts.

Theory. The tables that decode a command also describe it; guide.json has the texts that decoding does not need. A
header class is a table of names, plus those of the classes that it extends. On the wire all values are texts; a type is
Java's interpretation of one. A name on the wire may be a letter, so its meaning is shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from dissectors.guide import Page
from dissectors.rocketmq.codes import RequestCode, find_response_name, map_binary_codes, operations
from dissectors.rocketmq.labels import name_label
from dissectors.rocketmq.secrets import SECRETS
from dissectors.rocketmq.tables import table
from dissectors.wire.guide import INDENT, Pages, Shelf, columns, list_page, normalize_name, part_data

NOTHING = f"{INDENT}nothing"
_PARTS = ("part", "type", "")


class _Row(NamedTuple):
    """A field of a class: its name on the wire, what it is called, its type, and the class it comes from."""

    wire: str
    name: str
    type: str
    owner: str
    required: bool


def list_superclasses(name: str) -> list[str]:
    """Returns the classes that a class extends, the nearest first."""
    row = table("headers")["headers"][name]
    return [row["extends"], *list_superclasses(row["extends"])] if "extends" in row else []


def has_fast_codec(name: str) -> bool:
    """Returns whether a class has code of its own for the binary header."""
    return bool(table("headers")["headers"][name].get("fast"))


def _iterate_rows(name: str) -> Iterator[_Row]:
    """A class's own fields, then those of the classes above that it has not itself."""
    listed: set[str] = set()
    for owner in (name, *list_superclasses(name)):
        row = table("headers")["headers"][owner]
        for wire, kind in row["fields"].items():
            if wire not in listed:
                listed.add(wire)
                plain = row.get("names", {}).get(wire, wire)
                yield _Row(wire, plain, kind, owner, wire in row.get("required", ()))


def format_class(name: str) -> list[str]:
    """Returns the fields of a class below each other."""
    rows = list(_iterate_rows(name))
    if not rows:
        return [NOTHING]
    if all(row.name == row.wire for row in rows):
        return columns([("field", "type", ""), *((row.wire, row.type, _format_notes(name, row)) for row in rows)])
    head = ("field", "name", "type", "")
    return columns([head, *((row.wire, row.name, row.type, _format_notes(name, row)) for row in rows)])


def _format_notes(name: str, row: _Row) -> str:
    found = ["required"] if row.required else []
    if row.owner != name:
        found.append(f"of {row.owner}")
    found += _list_notes(row)
    if row.wire in SECRETS:
        found.append("masked")
    return "; ".join(found)


def _list_notes(row: _Row) -> list[str]:
    """What there is to know of a field beside its type."""
    guide = table("guide")
    found = []
    if row.wire in guide["newerFields"].get(row.owner, ()):
        found.append("later than 5.3")
    if f"{row.owner}.{row.wire}" in guide["formerFields"]:
        found.append(guide["formerFields"][f"{row.owner}.{row.wire}"])
    label = name_label(row.name, row.owner)
    if label in guide["fields"]:
        found.append(guide["fields"][label])
    return found


def make_class_data(name: str) -> list[dict[str, Any]]:
    """Makes the fields of a header class ready for JSON; a property that does not hold is left out."""
    return [_make_row_data(name, row) for row in _iterate_rows(name)]


def _make_row_data(name: str, row: _Row) -> dict[str, Any]:
    found: dict[str, Any] = {"field": row.wire, "type": row.type}
    if row.name != row.wire:
        found["name"] = row.name
    if row.required:
        found["required"] = True
    if row.owner != name:
        found["of"] = row.owner
    if row.wire in SECRETS:
        found["secret"] = True
    if _list_notes(row):
        found["about"] = "; ".join(_list_notes(row))
    return found


def make_parts_page(name: str) -> Page:
    """Makes the page of a layout of guide.json: its parts in order, and remarks."""
    layout: Mapping[str, Any] = table("guide")["pages"][name]
    lines = [name, *columns([_PARTS, *layout["parts"]]), "", *layout["says"]]
    return Page(lines, {"name": name, "parts": part_data(layout["parts"]), "says": layout["says"]})


_PER_LINE = 6
"""Versions in a line: a release and its snapshot stand beside each other."""


def make_response_page(name: str) -> Page:
    """Makes the page of one response code, by its name."""
    code = map_response_codes()[name]
    text, former = table("guide")["responses"].get(name, ""), _find_former_name(code)
    lines = [f"{name} (response code {code})"]
    lines += columns([row for row in (("what", text), ("formerly", former)) if row[1]])
    data = {"name": name, "code": code, "what": text, "formerly": former}
    return Page(lines, {key: value for key, value in data.items() if value != ""})


def map_response_codes() -> dict[str, int]:
    """Maps the current names of response codes to the codes."""
    return {name: int(code) for code, name in table("names")["responses"].items()}


def _find_former_name(code: int) -> str:
    return str(table("guide")["formerResponses"].get(str(code), ""))


def make_responses_page() -> Page:
    """Makes the page of all response codes, with former names."""
    rows = [
        (f"{code}", name, table("guide")["responses"].get(name, ""), _find_former_name(code))
        for name, code in map_response_codes().items()
    ]
    former_codes = {int(code) for code in table("guide")["formerResponses"]} - set(map_response_codes().values())
    rows += [(f"{code}", "", "", _find_former_name(code)) for code in sorted(former_codes)]
    page = list_page(("code", "name", "what", "formerly"), rows, "responses")
    lines = [
        f"{code:>6}  {name}" + (f": {text}" if text else "") + (f" (formerly {former})" if former else "")
        for code, name, text, former in rows
    ]
    return Page(lines, page.data)


def make_languages_page() -> Page:
    """Languages by their number in a binary header; JSON has the name."""
    return list_page(("number", "name"), list(table("names")["languages"].items()), "languages")


def make_versions_page() -> Page:
    """Versions by their number, which each release raises by two."""
    names = table("names")["versions"]
    cells = [f"{number} {name}" for number, name in enumerate(names)]
    rows = [cells[at : at + _PER_LINE] for at in range(0, len(cells), _PER_LINE)]
    return Page(columns(rows, ""), {"versions": dict(enumerate(names))})


def make_properties_page() -> Page:
    """Properties of messages that RocketMQ itself gives a meaning."""
    guide, meanings = table("guide"), table("meanings")["properties"]
    rows = [
        (name, constant, meanings.get(name, {}).get("says", guide["notProperties"].get(constant, "")))
        for constant, name in guide["properties"].items()
    ]
    lines = ["properties: texts of a message, NAME, byte 1, VALUE, byte 2; those that mean something to RocketMQ", ""]
    lines += [*columns([("name", "constant", ""), *rows]), "", f"{INDENT}Other names are the application's."]
    data = [{"name": name, "constant": constant} | ({"about": text} if text else {}) for name, constant, text in rows]
    return Page(lines, {"properties": data})


def make_topics_page() -> Page:
    """Topics of the system's own, and what the names of others begin with."""
    rows = [(name, text) for which in ("topics", "prefixes") for name, text in table("meanings")[which].items()]
    return list_page(("topic", "what"), rows, "topics")


_SIDES = ("request", "response")
_UNKNOWN = f"{INDENT}none that is known"


def map_page_names() -> dict[int, str]:
    """Maps request codes to names of pages; codes with the same name get their number behind it."""
    found: dict[int, str] = {}
    for code, operation in operations().items():
        found[code] = f"{operation.name}_{code}" if operation.name in found.values() else operation.name
    return found


def make_request_page(code: int) -> Page:
    """Returns the page of a request code."""
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
    phrase: str = guide["kinds"].get(kind, kind)
    return f"{phrase}: {name}" if name else phrase


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
    """Makes the page of a header class, with the requests and answers that have it."""
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


@cache
def _make_pages() -> Pages:
    names = map_page_names()
    return {
        **{name: partial(make_parts_page, name) for name in table("guide")["pages"]},
        "responses": make_responses_page,
        "languages": make_languages_page,
        "versions": make_versions_page,
        "properties": make_properties_page,
        "topics": make_topics_page,
        **{name: partial(make_request_page, code) for code, name in names.items()},
        **{old: partial(make_request_page, int(code)) for code, old in table("guide")["former"].items()},
        **{name: partial(make_response_page, name) for name in map_response_codes()},
        **{name: partial(make_class_page, name) for name in table("headers")["headers"]},
    }


def _map_numbers() -> dict[int, str]:
    """Request codes as JSON has them, and what is left of them in a binary header."""
    names = map_page_names()
    return names | {binary: names[code] for binary, code in map_binary_codes().items()}


GUIDE = Shelf("RocketMQ", _make_pages, _map_numbers, normalize_name)
