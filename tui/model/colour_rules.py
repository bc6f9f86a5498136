"""Finds the colour rule of a row: the first rule that matches, for the rows on the screen only.

Theory. A rule is a filter, a style and a sign; the sign says the same without colours. Filters over columns are applied
when a row comes to the screen, in some ten microseconds each. Filters that read messages are applied by another thread
(`match_expensive`); until it has answered, a row has the first match among the others. Results are cached for the last
few thousand rows. They are computed again when they may have changed: for a request that got its answer, and for all
rows when names were resolved or the input has ended (`clear`).

Built-in rules for protocols apply only if the capture has several protocols.

Theory. A kept rule is a line of text: style, filter and name with tabs between, because filters may have any other
character. Wireshark keeps its rules in a file `colorfilters`: `@NAME@FILTER@[R,G,B][R,G,B]`, background and foreground
in sixteen bits for each colour; a `!` in front disables a rule, and `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import list_distinct
from analyzer.config.model import ColorRule, protocol_colors
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.filter import Filter, compile_filter
from analyzer.session import Session
from dissectors.registry import dissectors
from tui.saved_state import SavedState

MOST_MATCHES = 4096
"""The number of rows whose match is cached."""

SIGNS = {"error": "!", "gap": "%", "guessed": "?", "orphaned": "o", "slow": "~", "retransmitted": "r", "raw": "·"}
"""The signs of built-in rules. Others have their dissector's sign, or the first letter of their name."""


class CompiledRule(NamedTuple):
    """A rule with its compiled filter.

    style: the palette's name for its style. words: the style in the configuration's notation. of_protocol: a built-in
    rule for a protocol.
    """

    name: str
    filter: Filter
    style: str
    words: str
    sign: str
    of_protocol: bool

    @property
    def is_cheap(self) -> bool:
        """Whether the filter reads columns of the index only."""
        return all(field.is_cheap for field in self.filter.fields)


class RuleMatch(NamedTuple):
    """The first rule of each kind that matches a row, cheap and expensive; None for none.

    partner: the row's partner by then. is_requested: whether `expensive` is known.
    """

    partner: int | None
    cheap: int | None
    expensive: int | None = None
    is_requested: bool = False

    @property
    def rule(self) -> int | None:
        """The number of the rule that applies; None for none."""
        rules = [rule for rule in (self.cheap, self.expensive) if rule is not None]
        return min(rules, default=None)


def compile_rules(colors: Sequence[ColorRule], named: Mapping[str, str]) -> tuple[list[CompiledRule], list[str]]:
    """Compiles the rules; returns them, and a sentence for each rule whose filter is wrong.

    The palette checks the styles.
    """
    rules: list[CompiledRule] = []
    wrong: list[str] = []
    for number, color in enumerate(colors):
        try:
            filter_ = compile_filter(color.filter, named)
        except UserError as error:
            wrong.append(f"The colour rule {color.name} is left out. {error}")
            continue
        of_protocol = color in protocol_colors()
        rules.append(
            CompiledRule(color.name, filter_, f"rule-{number}", color.style, choose_sign(color.name), of_protocol)
        )
    return rules, wrong


def choose_sign(name: str) -> str:
    """Chooses the sign of a rule, one character."""
    known = SIGNS.get(name) or next((each.sign for each in dissectors() if each.name == name), None)
    return known or next((each.lower() for each in name if each.isalnum() and each.isascii()), "c")


class ColourRules:
    """The rules in force and their matches; used by the thread that paints, except match_expensive()."""

    def __init__(self, session: Session, rules: Sequence[CompiledRule]) -> None:
        self.rules = rules
        self.has_protocols = False
        self._session = session
        self._reader, self._other_reader = RowReader(session), RowReader(session)
        self._cheap = [number for number, rule in enumerate(rules) if rule.is_cheap]
        self._expensive = [number for number, rule in enumerate(rules) if not rule.is_cheap]
        self._matches: dict[int, RuleMatch] = {}
        self._protocols: set[int] = set()
        self._rows = self._edition = 0

    def grow(self, rows: int, first: int = 0) -> None:
        """Takes the number of announced rows, and notes their protocols; rows before `first` were evicted."""
        new = self._session.rows.column("protocol")[max(self._rows, first) : rows]
        self._rows = rows
        if len(new) and not self.has_protocols:
            self._protocols.update(int(each) for each in list_distinct(new) if each >= 0)
            if len(self._protocols) > 1:
                self.has_protocols = True
                self.clear()

    def find_rules(self, partners: Mapping[int, int | None]) -> dict[int, CompiledRule | None]:
        """Returns the rule of each row, as far as it is known.

        partners: the partner of each row.
        """
        known = {row: self._matches[row] for row in partners if row in self._matches}
        new = [row for row, partner in partners.items() if row not in known or known[row].partner != partner]
        rules = self._find_first(self._cheap, self._reader, sorted(new))
        known |= {row: RuleMatch(partners[row], rules.get(row)) for row in new}
        self._cache(known)
        found = ((row, known[row].rule) for row in partners)
        return {row: None if rule is None else self.rules[rule] for row, rule in found}

    def list_missing(self, rows: Sequence[int]) -> list[int]:
        """Returns those of the rows that match_expensive() should examine."""
        return (
            [row for row in rows if row in self._matches and not self._matches[row].is_requested]
            if self._expensive
            else []
        )

    @property
    def edition(self) -> int:
        """A number that rises with clear(): results of an earlier edition are ignored."""
        return self._edition

    def match_expensive(self, rows: Sequence[int]) -> dict[int, int]:
        """Returns the first expensive rule of each row that has one; called in another thread."""
        return self._find_first(self._expensive, self._other_reader, sorted(rows))

    def add_matches(self, edition: int, rows: Sequence[int], rules: Mapping[int, int]) -> list[int]:
        """Adds a result of match_expensive(); returns the rows whose rule has changed."""
        if edition != self._edition:
            return []
        before = {row: self._matches[row] for row in rows if row in self._matches}
        self._cache({row: known._replace(expensive=rules.get(row), is_requested=True) for row, known in before.items()})
        return [row for row, known in before.items() if row in self._matches and self._matches[row].rule != known.rule]

    def clear(self) -> None:
        """Drops all matches; they are computed again on demand."""
        self._edition += 1
        self._matches.clear()
        self._reader, self._other_reader = RowReader(self._session), RowReader(self._session)

    def _find_first(self, numbers: Sequence[int], reader: RowReader, rows: Sequence[int]) -> dict[int, int]:
        """Returns the first matching rule of each row that has one; rows are ascending."""
        left = np.array(rows, np.int64)
        found: dict[int, int] = {}
        for number in numbers:
            if not len(left):
                break
            rule = self.rules[number]
            if rule.of_protocol and not self.has_protocols:
                continue
            mask = rule.filter.find_mask(reader, left)
            found |= dict.fromkeys(left[mask].tolist(), number)
            left = left[~mask]
        return found

    def _cache(self, known: Mapping[int, RuleMatch]) -> None:
        """Caches matches, and drops those that were not used for longest."""
        for row in known:
            self._matches.pop(row, None)
        self._matches |= known
        while len(self._matches) > MOST_MATCHES:
            del self._matches[next(iter(self._matches))]


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
