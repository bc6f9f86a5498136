"""All keys in one table: what they do, where, and what help and footer say of them.

A key that works everywhere belongs to the screen, the others to the pane that has the focus. What a key does everywhere
is a function in tui.commands, `do('module.function')`; what it does in a pane is the pane's method `_action_NAME`. A
row without keys is a command that the palette alone has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

Where = Literal["screen", "pane", "list", "tree", "hex", "folding", "views"]

TITLES: dict[Where, str] = {
    "screen": "Everywhere",
    "pane": "In every pane",
    "list": "In the list",
    "tree": "In the tree",
    "hex": "In the bytes",
    "folding": "In findings (F), packets (P) and what is followed (f)",
    "views": "In statistics (s) and conversations (C)",
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
    Key("screen", "question_mark", "do('palette.keys')", "?", "help: all keys and signs", "help"),
    Key("screen", "slash", "filter", "/", "show what fulfils a filter: latency > 50ms; empty: all", "filter", True),
    Key("screen", "q,ctrl+q,ctrl+c", "quit", "q", "quit, at once, also while a file is being read", "quit"),
    Key("screen", "tab", "next_pane", "Tab", "the next pane", "pane"),
    Key("screen", "shift+tab", "previous_pane", "Shift+Tab", "the pane before"),
    Key("screen", "p", "do('going.partner')", "p", "the other half of the exchange: request or response", "partner"),
    Key("screen", "v", "view", "v", "streams with their messages, or one flat timeline", "view"),
    Key("screen", "L", "do('layout.cycle')", "L", "the next layout: by the width, side by side, stacked, mixed"),
    Key("screen", "z", "do('layout.zoom')", "z", "zoom: this pane alone, and back"),
    Key("screen", "1", "do('layout.turn_list')", "1", "hide or show the list"),
    Key("screen", "2", "do('layout.turn_tree')", "2", "hide or show the tree"),
    Key("screen", "3", "do('layout.turn_hex')", "3", "hide or show the bytes"),
    Key(
        "screen",
        "ctrl+right,alt+l",
        "do('layout.right')",
        "Ctrl+Right, Alt+l",
        "the divider beside this pane to the right",
    ),
    Key(
        "screen", "ctrl+left,alt+h", "do('layout.left')", "Ctrl+Left, Alt+h", "the divider beside this pane to the left"
    ),
    Key(
        "screen", "ctrl+down,alt+j", "do('layout.down')", "Ctrl+Down, Alt+j", "the divider under or over this pane down"
    ),
    Key("screen", "ctrl+up,alt+k", "do('layout.up')", "Ctrl+Up, Alt+k", "the divider under or over this pane up"),
    Key("screen", "0", "do('layout.reset')", "0", "all panes as they stand if nobody moves them"),
    Key("screen", "ctrl+g", "do('going.number')", "Ctrl+G", "go to a message by its number", "go to", True),
    Key("screen", "ctrl+f", "find", "Ctrl+F", 'find a text; 0x00ff or "text": bytes; =FILTER', "find", True),
    Key("screen", "n", "find_next", "n", "the next message that has it, round the end"),
    Key("screen", "N", "find_previous", "N", "the one before, round the beginning"),
    Key("screen", "f", "do('examining.follow')", "f", "follow: the whole conversation of this message as a dialogue"),
    Key("screen", "F", "do('examining.findings')", "F", "findings: all that is wrong, the gravest first"),
    Key("screen", "P", "do('examining.packets')", "P", "the packets that brought this message, and their bytes"),
    Key("screen", "i", "do('examining.properties')", "i", "properties of the capture: files, packets, protocols"),
    Key("screen", "c", "do('columns.choose')", "c", "columns: which, in which order; any field can be one", "columns"),
    Key("screen", "t", "do('timing.cycle')", "t", "times as clock, date, since the first packet, the line above, 1970"),
    Key(
        "screen", "ctrl+t,T", "do('timing.reference')", "Ctrl+T, T", "a time reference: relative times count from here"
    ),
    Key("screen", "m", "do('marking.mark')", "m", "mark this message, or take its mark away", "mark"),
    Key("screen", "apostrophe", "do('marking.following')", "'", "the next marked message, round the end"),
    Key("screen", "quotation_mark", "do('marking.previous')", '"', "the marked one before, round the beginning"),
    Key("screen", "d", "do('marking.ignore')", "d", "ignore this message: not decoded, found, counted; or no longer"),
    Key("screen", "D", "do('marking.ignore_none')", "D", "ignore no message any more"),
    Key("screen", "backspace,alt+left", "do('going.back')", "Backspace, Alt+Left", "back to before the last jump"),
    Key("screen", "alt+right", "do('going.forward')", "Alt+Right", "forward again"),
    Key("screen", "", "do('marking.unmark_all')", "", "mark no message any more"),
    Key("screen", "", "do('timing.forget')", "", "no time reference any more"),
    Key("screen", "", "do('colouring.choose')", "", "theme: dark, light, high contrast, the terminal's colours"),
    Key("screen", "s", "do('examining.statistics')", "s", "statistics of what is shown; Tab, 1 to 9: another view"),
    Key("screen", "C", "do('examining.conversations')", "C", "conversations: connections, endpoints, client hosts"),
    Key("screen", "", "do('examining.reports')", "", "what happened: sessions, producers, consumers, lookups, ..."),
    Key("screen", "y", "do('copying.choose')", "y", "copy: value, bytes, row, filter; also to a file", "copy", True),
    Key("screen", "Y", "do('copying.again')", "Y", "copy the same of what is selected now"),
    Key("screen", "w", "do('saving.choose')", "w", "save messages: as lines, tables, packets, objects", "save", True),
    Key("screen", "Z", "do('capturing.pause')", "Z", "pause: the list stands still as messages come in; and goes on"),
    Key("screen", "E,ctrl+e", "do('capturing.stop')", "E, Ctrl+E", "stop capturing; then: begin another capture"),
    Key("screen", "R,ctrl+r", "do('capturing.restart')", "R, Ctrl+R", "begin another capture in the place of this one"),
    Key(
        "screen",
        "W,ctrl+s",
        "do('capturing.save')",
        "W, Ctrl+S",
        "save all packets captured so far, as pcapng",
        "",
        True,
    ),
    Key("screen", "x,shift+f10", "do('menu.show')", "x, Shift+F10", "menu: filters for what is like it, ...", "menu"),
    Key("screen", "ctrl+p", "do('palette.show')", "Ctrl+P", "all commands, to be found by a word", "", True),
    Key("screen", "", "do('decoding.choose')", "", "decode this stream, or its port, as another protocol"),
    Key("screen", "", "do('saving.field')", "", "save the bytes of this field to a file"),
    Key("screen", "", "do('defects.show')", "", "report a dissector's bug in this message"),
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
    Key("folding", "space", "fold", "Space", "fold or unfold what the line is of"),
    Key("folding", "right,l", "inward", "l, Right", "unfold it, then its first line"),
    Key("folding", "left,h", "outward", "h, Left", "to the line that unfolds, then fold it"),
    Key("folding", "equals_sign,plus", "unfold_all", "=", "unfold all, as they come into sight"),
    Key("folding", "minus", "fold_all", "-", "fold all"),
    Key("folding", "r", "screen.anew", "r", "make the page anew: there may be more by now"),
    Key("folding", "o", "screen.one_side", "o", "of what is followed: both sides, the client's messages, the server's"),
    Key("views", "o", "screen.sort", "o", "sort by the next column; a click on its title does so, too"),
    Key("views", "O", "screen.reverse", "O", "the other way round"),
    Key("views", "e", "screen.turn(1)", "e, Tab", "the next view: connections, endpoints, client hosts; / narrows"),
    Key("views", "space", "screen.fold", "Space", "fold or unfold how the latencies of an operation are distributed"),
    Key("views", "right,l", "screen.inward", "l, Right", "unfold it, then its first line"),
    Key("views", "left,h", "screen.outward", "h, Left", "to the operation, then fold it"),
    Key("views", "equals_sign,plus", "screen.more", "=, +", "unfold all; of the rate, shorter intervals"),
    Key("views", "minus", "screen.less", "-", "fold all; of the rate, longer intervals"),
    Key("views", "r", "screen.anew", "r", "count anew: there may be more by now"),
)


def bindings(where: Where) -> list[BindingType]:
    """The Textual bindings of one place."""
    rows = [key for key in KEYS if key.where == where and key.keys]
    return [Binding(key.keys, key.action, key.help, show=False, priority=key.asks) for key in rows]


def footer(where: Where) -> list[Key]:
    """The keys that the footer names while a pane has the focus: its own first, then those of everywhere."""
    return [key for place in (where, "screen") for key in KEYS if key.where == place and key.short]
