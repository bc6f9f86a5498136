"""The colour rules that the user has made in the terminal UI: kept for the next run, before those of the configuration.

Theory. A kept rule is a line of text: style, filter and name with tabs between, because filters may have any other
character. Wireshark keeps its rules in a file `colorfilters`: `@NAME@FILTER@[R,G,B][R,G,B]`, background and foreground
in sixteen bits for each colour; a `!` in front disables a rule, and `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from analyzer.config.model import ColorRule
from tui.saved_state import SavedState

RULES_KEY = "colours"
"""The key of the saved rules."""

MOST_RULES, LONGEST_NAME = 64, 40

STYLES = ("red", "yellow", "green", "cyan", "blue", "magenta", "black on red", "black on yellow", "black on green")
"""The styles that the menu offers; the palette has its own colours for these names."""

_SEPARATOR = "\t"
_WIRESHARK = re.compile(r"@(?P<name>[^@]*)@(?P<filter>.*)@\[(?P<back>[\d, ]+)\]\[(?P<front>[\d, ]+)\]\s*$")


def load_own_rules(saved_state: SavedState) -> list[ColorRule]:
    """Returns the saved rules, the first one that counts first."""
    lines = (line.split(_SEPARATOR) for line in saved_state.get(RULES_KEY, list[str]()))
    return [ColorRule(name, filter_, style) for style, filter_, name in (line for line in lines if len(line) == 3)]


def save_own_rules(saved_state: SavedState, rules: Sequence[ColorRule]) -> None:
    """Saves rules for the next run."""
    saved_state.set(RULES_KEY, [_SEPARATOR.join((rule.style, rule.filter, rule.name)) for rule in rules[:MOST_RULES]])


def add_rule(rules: Sequence[ColorRule], filter_text: str, style: str) -> list[ColorRule]:
    """Returns the rules with a new one first; a rule of the same filter is replaced."""
    text = " ".join(filter_text.split())
    return [ColorRule(text[:LONGEST_NAME], text, style), *(rule for rule in rules if rule.filter != text)]


def move_rule(rules: Sequence[ColorRule], place: int, to: int) -> list[ColorRule]:
    """Returns the rules with one moved to another place."""
    found = list(rules)
    found.insert(max(to, 0), found.pop(place))
    return found


def parse_colorfilters(lines: Iterable[str]) -> list[ColorRule]:
    """Returns the enabled rules of Wireshark's colorfilters; their filters may be Wireshark's own."""
    found = []
    for line in lines:
        rule = _WIRESHARK.match(line.strip())
        if rule is not None:
            front, back = _read_colour(rule["front"]), _read_colour(rule["back"])
            if front and back:
                name = rule["name"].replace(_SEPARATOR, " ")[:LONGEST_NAME]
                found.append(ColorRule(name, rule["filter"].replace(_SEPARATOR, " "), f"{front} on {back}"))
    return found


def _read_colour(text: str) -> str | None:
    """Returns sixteen-bit numbers of a colour as `#rrggbb`, or None."""
    numbers = [int(each) for each in text.replace(" ", "").split(",") if each]
    if len(numbers) != 3 or max(numbers) > 0xFFFF:
        return None
    return "#" + "".join(f"{number >> 8:02x}" for number in numbers)
