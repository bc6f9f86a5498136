"""HTML whose text is escaped by construction: anything that is not Html is escaped.

Theory. Everything on a page may come from a network. The children of an element are texts and Html. A text is made safe
for people (analyzer.columns.text) and escaped for HTML; only functions of this module create Html. Names of elements
and attributes are ours; values of attributes are escaped like texts. So a topic named `<script>` is text everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from analyzer.columns.text import safe_text

VOID = frozenset({"meta", "br", "hr", "path", "rect", "line"})
"""Elements without content."""


class Html(str):
    """Markup in which all text is escaped."""

    __slots__ = ()


def make_element(name: str, /, *children: str, **attributes: str | int | float | None) -> Html:
    """Makes an element; attributes with value None are left out. `class_` stands for `class`."""
    formatted = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{formatted}/>")
    return Html(f"<{name}{formatted}>{join_parts(children)}</{name}>")


def join_parts(parts: Iterable[str], between: str = "") -> Html:
    """Joins parts, with a text between them."""
    return Html(escape_text(between).join(map(escape_text, parts)))


def escape_text(text: str) -> Html:
    """Escapes text for HTML, with control characters made visible."""
    return text if isinstance(text, Html) else Html(escape(safe_text(text)))


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int] = frozenset()) -> Html:
    """Makes a table that scrolls if it is too wide. numbers: columns that are aligned right."""
    kinds = ["number" if place in numbers else None for place in range(len(head))]
    lines = [
        make_element("tr", *(make_element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    top = make_element("tr", *(make_element("th", cell, class_=kind) for cell, kind in zip(head, kinds, strict=True)))
    table = make_element("table", make_element("thead", top), make_element("tbody", *lines))
    return make_element("div", table, class_="wide")


def make_details(summary: str, *children: str, **attributes: str | None) -> Html:
    """Makes a line with folded content below it."""
    return make_element("details", make_element("summary", summary), *children, **attributes)
