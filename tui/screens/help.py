"""The help page of all keys, commands and signs: you can search it, and Enter runs the command of a line.

Theory. The page is made of the same tables that define the keys, so it is never out of date. The words of a search must
occur in the line or in the title above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.render.lines import Line, strip_styles
from tui.crash_guard import CrashGuard
from tui.keys import KEYS, TITLES, KeyBinding
from tui.model.colour_rules import CompiledRule
from tui.model.row_spans import SIGN_HELP
from tui.screens.input_line import TextLine
from tui.theme import Palette
from tui.widgets.bars import Bar, BarPart
from tui.widgets.wrapping import WrappingPane

HINT = (("/", "search"), ("Enter", "do it"), ("Esc", "back"))


class HelpPane(WrappingPane):
    """The pane with the lines of the help page; Enter runs the command of a line."""

    DEFAULT_CSS = "HelpPane { height: 1fr; }"

    def __init__(self, palette: Palette, lines: Sequence[HelpLine], *, id: str) -> None:
        super().__init__(palette, id=id)
        self.help_lines = lines

    @property
    def item_count(self) -> int:
        """The number of entries of the help page."""
        return len(self.help_lines)

    def get_item(self, item: int) -> tuple[Line, str]:
        """Returns an entry of the help."""
        return self.help_lines[item].line, ""

    @property
    def key(self) -> KeyBinding | None:
        """The key of the selected line, or None."""
        return self.help_lines[self.item].key if self.help_lines else None


class HelpScreen(CrashGuard, ModalScreen[KeyBinding]):
    """The help page; its result is the key of the chosen line. Escape, q and ? close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark", "back", show=False),
        Binding("escape", "leave", show=False, priority=True),
        Binding("ctrl+c,ctrl+q", "app.quit", show=False, priority=True),
        Binding("enter", "choose", show=False),
        Binding("slash,ctrl+f", "search", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
    ]
    AUTO_FOCUS = "#help"
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen Vertical { width: 104; max-width: 100%; height: 90%; padding: 0 1; background: $surface; }
    HelpScreen Vertical { border: round $accent; }
    HelpScreen Input { display: none; border: none; height: 1; padding: 0; background: $surface; }
    HelpScreen Input:focus { border: none; }
    HelpScreen.-searching Input { display: block; }
    """

    def __init__(self, palette: Palette, rules: Sequence[CompiledRule] = ()) -> None:
        super().__init__()
        self._lines = make_help_lines(SIGN_HELP, rules)
        self.pane = HelpPane(palette, self._lines, id="help")
        self._hint = Bar(palette, "bar", id="hint")

    def compose(self) -> ComposeResult:
        """Yields search line, help and hint."""
        with Vertical():
            yield TextLine(placeholder="search words")
            yield self.pane
            yield self._hint

    def on_mount(self) -> None:
        """Shows the keys of this page."""
        parts = [
            each for key, text in HINT for each in (BarPart("bar-key", f" {key}"), BarPart("bar-dim", f" {text}  "))
        ]
        self._hint.show(parts)

    def _action_search(self) -> None:
        self.add_class("-searching")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _narrow(self, message: Input.Changed) -> None:
        self.pane.help_lines = filter_lines(self._lines, message.value)
        self.pane.cursor = 0
        self.pane.renew_items()

    def _action_move(self, by: int) -> None:
        self.pane.move_cursor(self.pane.cursor + by)

    @on(Input.Submitted)
    def _action_choose(self) -> None:
        key = self.pane.key
        if key is not None or not self.has_class("-searching"):
            self.dismiss(key)

    def _action_leave(self) -> None:
        """Closes the search, or the page."""
        if not self.has_class("-searching"):
            self.dismiss(None)
            return
        self.remove_class("-searching")
        self.query_one(Input).value = ""
        self.pane.focus()

    def _action_back(self) -> None:
        self.dismiss(None)


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
    ("role == request and not partner", "requests without a captured answer"),
    ("latency > 50ms and operation in {Fetch, Produce}", "slow answers"),
    ("kafka.topic == orders", "requests about a topic, and their answers"),
    ("kafka.Fetch.request.maxWaitMs >= 1s", "by a field of the body: Tab completes its name"),
    ('zookeeper.path matches "^/brokers/(ids|topics)"', "a regular expression, in upper and lower case"),
    ("source.ip == 10.0.0.0/8 and destination.port == 9092", "by source and destination"),
    ('bytes contains "secret-name"', "bytes anywhere in a message; text contains: in its decoded values"),
)
"""Examples of filters, as in docs/reference/filters.md."""

NOTES = (
    "and, or, xor, not; == != < <= > >= contains matches in {a, b} not in {a, b}; any, all, count(), len()",
    "A comparison with a missing field does not match. A field alone tests whether it exists.",
    "wireanalyze fields lists the names; docs/reference/filters.md has the whole language.",
)


class HelpLine(NamedTuple):
    """A line of the help.

    title: of its section. key: what Enter on it does.
    """

    line: Line
    title: str = ""
    key: KeyBinding | None = None


def make_help_lines(signs: Sequence[tuple[str, str]], rules: Sequence[CompiledRule]) -> list[HelpLine]:
    """Makes all lines.

    signs: of the list. rules: the colour rules in force.
    """
    lines: list[HelpLine] = []
    for where, title in TITLES.items():
        lines += _make_section(
            title, ((_make_line(key.label, key.help), key) for key in KEYS if key.place == where and key.keys)
        )
    lines += _make_section("Commands without a key", ((_make_line("", key.help), key) for key in KEYS if not key.keys))
    lines += _make_section("Signs in the list", _make_lines(signs))
    lines += _make_section("Mouse", _make_lines(MOUSE))
    lines += _make_section("Colour rules in force", ((_make_rule_line(rule), None) for rule in rules))
    filters = [((("name", f"  {text:<{FILTER_WIDTH}}"), ("", f"  {about}")), None) for text, about in FILTERS]
    return lines + _make_section("Filters (/)", [*filters, *((((("", f"  {note}"),)), None) for note in NOTES)])


def filter_lines(lines: Sequence[HelpLine], words: str) -> list[HelpLine]:
    """Returns the lines that contain all words; all lines without words."""
    wanted = words.lower().split()
    if not wanted:
        return list(lines)
    return [each for each in lines if each.line and all(word in _make_search_text(each) for word in wanted)]


def _make_search_text(lines: HelpLine) -> str:
    return f"{lines.title} {strip_styles(lines.line)}".lower() if lines.title else ""


def _make_section(
    title: str, lines: Iterator[tuple[Line, KeyBinding | None]] | Sequence[tuple[Line, KeyBinding | None]]
) -> list[HelpLine]:
    found = [HelpLine(line, title, key) for line, key in lines]
    return [HelpLine((("title", title),)), *found, HelpLine(())] if found else []


def _make_lines(table: Sequence[tuple[str, str]]) -> Iterator[tuple[Line, KeyBinding | None]]:
    return ((_make_line(sign, text), None) for sign, text in table)


def _make_line(keys: str, text: str) -> Line:
    return (("name", f"  {keys:<{KEY_WIDTH}}"), ("", text))


def _make_rule_line(rule: CompiledRule) -> Line:
    return ((rule.style, f"  {rule.sign} {rule.name:<{KEY_WIDTH - 2}}"), ("", rule.filter.text))
