"""Pages that are lists: response codes, languages, versions, properties."""

from __future__ import annotations

from dissectors.guide import Page
from dissectors.rocketmq.tables import table
from dissectors.wire.guide.shelf import listed
from dissectors.wire.guide.text import INDENT, columns

_PER_LINE = 6
"""Versions in a line: a release and its snapshot stand beside each other."""


def make_response_page(name: str) -> Page:
    """One response code, by its name."""
    code = map_response_codes()[name]
    said, former = table("guide")["responses"].get(name, ""), _find_former_name(code)
    lines = [f"{name} (response code {code})"]
    lines += columns([row for row in (("what", said), ("formerly", former)) if row[1]])
    data = {"name": name, "code": code, "what": said, "formerly": former}
    return Page(lines, {key: value for key, value in data.items() if value != ""})


def map_response_codes() -> dict[str, int]:
    """Response codes by what they are called now."""
    return {name: int(code) for code, name in table("names")["responses"].items()}


def _find_former_name(code: int) -> str:
    return str(table("guide")["formerResponses"].get(str(code), ""))


def make_responses_page() -> Page:
    """All response codes; what one was called before where it has another name now."""
    rows = [
        (f"{code}", name, table("guide")["responses"].get(name, ""), _find_former_name(code))
        for name, code in map_response_codes().items()
    ]
    gone = {int(code) for code in table("guide")["formerResponses"]} - set(map_response_codes().values())
    rows += [(f"{code}", "", "", _find_former_name(code)) for code in sorted(gone)]
    page = listed(("code", "name", "what", "formerly"), rows, "responses")
    lines = [
        f"{code:>6}  {name}" + (f": {said}" if said else "") + (f" (formerly {former})" if former else "")
        for code, name, said, former in rows
    ]
    return Page(lines, page.data)


def make_languages_page() -> Page:
    """Languages by their number in a binary header; JSON has the name."""
    return listed(("number", "name"), list(table("names")["languages"].items()), "languages")


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
    data = [{"name": name, "constant": constant} | ({"about": said} if said else {}) for name, constant, said in rows]
    return Page(lines, {"properties": data})


def make_topics_page() -> Page:
    """Topics of the system's own, and what the names of others begin with."""
    rows = [(name, said) for which in ("topics", "prefixes") for name, said in table("meanings")[which].items()]
    return listed(("topic", "what"), rows, "topics")
