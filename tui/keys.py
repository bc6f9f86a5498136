"""All keys in one table: what they do, where, and what help and footer say of them.

A key that works everywhere belongs to the screen, the others to the pane that has the focus. What a key does everywhere
is a function in tui.commands, `do('module.function')`; what it does in a pane is the pane's method `_action_NAME`. A
row without keys is a command that the palette alone has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

Where = Literal["screen", "pane", "list", "tree", "hex"]

TITLES: dict[Where, str] = {
    "screen": "Everywhere",
    "pane": "In every pane",
    "list": "In the list",
    "tree": "In the tree",
    "hex": "In the bytes",
}


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` as Textual names them, with commas; `shown` is what people call them; `short` stands in the footer.

    asks: it opens a line, into which goes what is typed behind it, however fast.
    """

    where: Where
    keys: str
    action: str
    shown: str
    help: str
    short: str = ""
    asks: bool = False


KEYS: tuple[Key, ...] = (
    Key("screen", "question_mark", "do('helping.keys')", "?", "this page", "help"),
    Key("screen", "slash", "filter", "/", "show what fulfils a filter: latency > 50ms; empty: all", "filter", True),
    Key("screen", "q,ctrl+q,ctrl+c", "quit", "q", "quit, at once, also while a file is being read", "quit"),
    Key("screen", "tab", "next_pane", "Tab", "the next pane", "pane"),
    Key("screen", "shift+tab", "previous_pane", "Shift+Tab", "the pane before"),
    Key("screen", "p", "do('going.partner')", "p", "the other half of the exchange: request or response", "partner"),
    Key("screen", "v", "view", "v", "streams with their messages, or one flat timeline", "view"),
    Key("screen", "ctrl+g", "do('going.number')", "Ctrl+G", "go to a message by its number", "go to", True),
    Key("screen", "ctrl+f", "find", "Ctrl+F", 'find a text; 0x00ff or "text": bytes; =FILTER', "find", True),
    Key("screen", "n", "find_next", "n", "the next message that has it, round the end"),
    Key("screen", "N", "find_previous", "N", "the one before, round the beginning"),
    Key("screen", "escape", "give_up", "Esc", "stop a search, or a filter that is at work: the one before is back"),
    Key("pane", "down,j", "down", "j, Down", "one line down"),
    Key("pane", "up,k", "up", "k, Up", "one line up"),
    Key("pane", "pagedown", "page_down", "PgDn", "one page down"),
    Key("pane", "pageup", "page_up", "PgUp", "one page up"),
    Key("pane", "g,home", "top", "g, Home", "the first line"),
    Key("pane", "G,end", "bottom", "G, End", "the last line; in the list: stay at the end as rows come in"),
    Key("pane", "shift+right,greater_than_sign", "shift_right", ">, Shift+Right", "more of a long line to the right"),
    Key("pane", "shift+left,less_than_sign", "shift_left", "<, Shift+Left", "back to its beginning"),
    Key("list", "enter", "enter", "Enter", "fold or unfold a stream; of a message, go to its tree", "open"),
    Key("list", "space", "fold", "Space", "fold or unfold the stream, also from one of its messages", "fold"),
    Key("list", "right,l", "inward", "l, Right", "unfold the stream, then its first message"),
    Key("list", "left,h", "outward", "h, Left", "from a message to its stream, then fold that"),
    Key("list", "equals_sign,plus", "unfold_all", "=", "unfold all streams", "all"),
    Key("list", "minus", "fold_all", "-", "fold all streams", "none"),
    Key(
        "tree", "enter", "enter", "Enter", "fold or unfold the field; where there is nothing to unfold, go to its bytes"
    ),
    Key("tree", "space", "fold", "Space", "fold or unfold the field", "fold"),
    Key("tree", "right,l", "inward", "l, Right", "unfold the field, then the first one in it"),
    Key("tree", "left,h", "outward", "h, Left", "fold the field, then the one around it"),
    Key("tree", "equals_sign,plus", "unfold_all", "=", "unfold everything", "all"),
    Key("tree", "minus", "fold_all", "-", "fold everything", "none"),
    Key("hex", "right,l", "inward", "l, Right", "one byte on; the innermost field around it is selected", "byte"),
    Key("hex", "left,h", "outward", "h, Left", "one byte back"),
    Key(
        "hex", "right_square_bracket", "next_source", "]", "the next source: what was decompressed or joined", "source"
    ),
    Key("hex", "left_square_bracket", "previous_source", "[", "the source before"),
)


def bindings(where: Where) -> list[BindingType]:
    """The Textual bindings of one place."""
    rows = [key for key in KEYS if key.where == where and key.keys]
    return [Binding(key.keys, key.action, key.help, show=False, priority=key.asks) for key in rows]


def footer(where: Where) -> list[Key]:
    """The keys that the footer names while a pane has the focus: its own first, then those of everywhere."""
    return [key for place in (where, "screen") for key in KEYS if key.where == place and key.short]
