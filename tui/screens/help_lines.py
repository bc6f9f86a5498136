"""What the help says: keys by place, commands without keys, signs, mouse, colour rules, filters. Lines, made of tables.

Theory. Help that is written beside what it describes goes stale, so it is made of the same tables: a key that is bound
is a line here. Words of a search are looked for in the line and in the title that it stands below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzer.render.lines import Line, plain
from tui.keys import KEYS, TITLES, Key
from tui.model.colouring import Rule

KEY_WIDTH, FILTER_WIDTH = 20, 46

MOUSE = (
    ("click", "select; on a mark, fold; on a tab, another source; on a key below, press it"),
    ("right click", "the menu of what is under the mouse"),
    ("wheel", "scroll; with Shift, sideways"),
    ("drag", "a divider between panes; the scroll bar"),
)

FILTERS = (
    ("error", "messages that report an error; or error == UNKNOWN_TOPIC_OR_PARTITION"),
    ("kafka.Fetch", "of an operation, both ways"),
    ("kafka.Produce.request", "one way"),
    ("role == request and not partner", "requests of which no answer was captured"),
    ("latency > 50ms and operation in {Fetch, Produce}", "slow answers"),
    ("kafka.topic == orders", "requests about a topic, and their answers"),
    ("kafka.Fetch.request.maxWaitMs >= 1s", "by a field of the body: Tab completes its name"),
    ('zookeeper.path matches "^/brokers/(ids|topics)"', "a regular expression, in upper and lower case"),
    ("source.ip == 10.0.0.0/8 and destination.port == 9092", "by who speaks to whom"),
    ('bytes contains "secret-name"', "bytes anywhere in a message; text contains: in what it decodes to"),
)
"""Examples; FILTERS.md has them, too."""

NOTES = (
    "and, or, xor, not; == != < <= > >= contains matches in {a, b} not in {a, b}; any, all, count(), len()",
    "What a message does not have fulfils no comparison: a field alone asks whether it is there.",
    "wireanalyze fields lists the names; FILTERS.md has the whole language.",
)


class Said(NamedTuple):
    """A line of the help. title: of what it stands below; key: what Enter on it does."""

    line: Line
    title: str = ""
    key: Key | None = None


def help_lines(signs: Sequence[tuple[str, str]], rules: Sequence[Rule]) -> list[Said]:
    """All that is to be said. signs: of the list; rules: the colour rules in force."""
    said: list[Said] = []
    for where, title in TITLES.items():
        said += _part(title, ((_line(key.shown, key.help), key) for key in KEYS if key.where == where and key.keys))
    said += _part("Commands without a key", ((_line("", key.help), key) for key in KEYS if not key.keys))
    said += _part("Signs in the list", _lines(signs))
    said += _part("Mouse", _lines(MOUSE))
    said += _part("Colour rules in force", ((_rule(rule), None) for rule in rules))
    filters = [((("name", f"  {text:<{FILTER_WIDTH}}"), ("", f"  {about}")), None) for text, about in FILTERS]
    return said + _part("Filters (/)", [*filters, *((((("", f"  {note}"),)), None) for note in NOTES)])


def fitting(said: Sequence[Said], words: str) -> list[Said]:
    """The lines that have all of the words; all lines without words."""
    wanted = words.lower().split()
    if not wanted:
        return list(said)
    return [each for each in said if each.line and all(word in _searched(each) for word in wanted)]


def _searched(said: Said) -> str:
    return f"{said.title} {plain(said.line)}".lower() if said.title else ""


def _part(title: str, lines: Iterator[tuple[Line, Key | None]] | Sequence[tuple[Line, Key | None]]) -> list[Said]:
    found = [Said(line, title, key) for line, key in lines]
    return [Said((("title", title),)), *found, Said(())] if found else []


def _lines(table: Sequence[tuple[str, str]]) -> Iterator[tuple[Line, Key | None]]:
    return ((_line(sign, text), None) for sign, text in table)


def _line(keys: str, text: str) -> Line:
    return (("name", f"  {keys:<{KEY_WIDTH}}"), ("", text))


def _rule(rule: Rule) -> Line:
    return ((rule.style, f"  {rule.sign} {rule.name:<{KEY_WIDTH - 2}}"), ("", rule.filter.text))
