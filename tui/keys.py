"""All keys in one table: what they do, where, and what help and footer say of them.

A key that works everywhere belongs to the screen, the others to the pane that has the focus. What a key does everywhere
is a function in tui.commands, `do('module.function')`; what it does in a pane is the pane's method `_action_NAME`. A
row without keys is a command that the palette alone has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

KeyPlace = Literal["screen", "pane", "list", "tree", "hex", "folding", "views"]

TITLES: dict[KeyPlace, str] = {
    "screen": "Everywhere",
    "pane": "In every pane",
    "list": "In the list",
    "tree": "In the tree",
    "hex": "In the bytes",
    "folding": "In findings (F), packets (P) and what is followed (f)",
    "views": "In statistics (s) and conversations (C)",
}


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """`keys` as Textual names them, with commas; `shown` is what people call them; `short` stands in the footer.

    asks: it opens a line, into which goes what is typed behind it, however fast.
    """

    place: KeyPlace
    keys: str
    action: str
    label: str
    help: str
    footer: str = ""
    opens_line: bool = False


KEYS: tuple[KeyBinding, ...] = (
    KeyBinding("screen", "question_mark", "do('palette.open_help')", "?", "help: all keys and signs", "help"),
    KeyBinding(
        "screen", "slash", "filter", "/", "show what fulfils a filter: latency > 50ms; empty: all", "filter", True
    ),
    KeyBinding("screen", "q,ctrl+q,ctrl+c", "quit", "q", "quit, at once, also while a file is being read", "quit"),
    KeyBinding("screen", "tab", "next_pane", "Tab", "the next pane", "pane"),
    KeyBinding("screen", "shift+tab", "previous_pane", "Shift+Tab", "the pane before"),
    KeyBinding(
        "screen",
        "p",
        "do('going.go_to_partner')",
        "p",
        "the other half of the exchange: request or response",
        "partner",
    ),
    KeyBinding("screen", "v", "view", "v", "streams with their messages, or one flat timeline", "view"),
    KeyBinding(
        "screen", "L", "do('layout.cycle_layout')", "L", "the next layout: by the width, side by side, stacked, mixed"
    ),
    KeyBinding("screen", "z", "do('layout.toggle_zoom')", "z", "zoom: this pane alone, and back"),
    KeyBinding("screen", "1", "do('layout.toggle_list')", "1", "hide or show the list"),
    KeyBinding("screen", "2", "do('layout.toggle_tree')", "2", "hide or show the tree"),
    KeyBinding("screen", "3", "do('layout.toggle_hex')", "3", "hide or show the bytes"),
    KeyBinding(
        "screen",
        "ctrl+right,alt+l",
        "do('layout.move_divider_right')",
        "Ctrl+Right, Alt+l",
        "the divider beside this pane to the right",
    ),
    KeyBinding(
        "screen",
        "ctrl+left,alt+h",
        "do('layout.move_divider_left')",
        "Ctrl+Left, Alt+h",
        "the divider beside this pane to the left",
    ),
    KeyBinding(
        "screen",
        "ctrl+down,alt+j",
        "do('layout.move_divider_down')",
        "Ctrl+Down, Alt+j",
        "the divider under or over this pane down",
    ),
    KeyBinding(
        "screen",
        "ctrl+up,alt+k",
        "do('layout.move_divider_up')",
        "Ctrl+Up, Alt+k",
        "the divider under or over this pane up",
    ),
    KeyBinding("screen", "0", "do('layout.reset_layout')", "0", "all panes as they stand if nobody moves them"),
    KeyBinding(
        "screen", "ctrl+g", "do('going.go_to_number')", "Ctrl+G", "go to a message by its number", "go to", True
    ),
    KeyBinding("screen", "ctrl+f", "find", "Ctrl+F", 'find a text; 0x00ff or "text": bytes; =FILTER', "find", True),
    KeyBinding("screen", "n", "find_next", "n", "the next message that has it, round the end"),
    KeyBinding("screen", "N", "find_previous", "N", "the one before, round the beginning"),
    KeyBinding(
        "screen",
        "f",
        "do('examining.open_conversation')",
        "f",
        "follow: the whole conversation of this message as a dialogue",
    ),
    KeyBinding("screen", "F", "do('examining.open_findings')", "F", "findings: all that is wrong, the gravest first"),
    KeyBinding(
        "screen", "P", "do('examining.open_packets')", "P", "the packets that brought this message, and their bytes"
    ),
    KeyBinding(
        "screen", "i", "do('examining.open_properties')", "i", "properties of the capture: files, packets, protocols"
    ),
    KeyBinding(
        "screen",
        "c",
        "do('columns.choose_columns')",
        "c",
        "columns: which, in which order; any field can be one",
        "columns",
    ),
    KeyBinding(
        "screen",
        "t",
        "do('timing.cycle_time_format')",
        "t",
        "times as clock, date, since the first packet, the line above, 1970",
    ),
    KeyBinding(
        "screen",
        "ctrl+t,T",
        "do('timing.toggle_reference')",
        "Ctrl+T, T",
        "a time reference: relative times count from here",
    ),
    KeyBinding("screen", "m", "do('marking.toggle_mark')", "m", "mark this message, or take its mark away", "mark"),
    KeyBinding("screen", "apostrophe", "do('marking.go_to_next_mark')", "'", "the next marked message, round the end"),
    KeyBinding(
        "screen",
        "quotation_mark",
        "do('marking.go_to_previous_mark')",
        '"',
        "the marked one before, round the beginning",
    ),
    KeyBinding(
        "screen",
        "d",
        "do('marking.toggle_ignored')",
        "d",
        "ignore this message: not decoded, found, counted; or no longer",
    ),
    KeyBinding("screen", "D", "do('marking.clear_ignored')", "D", "ignore no message any more"),
    KeyBinding(
        "screen", "backspace,alt+left", "do('going.go_back')", "Backspace, Alt+Left", "back to before the last jump"
    ),
    KeyBinding("screen", "alt+right", "do('going.go_forward')", "Alt+Right", "forward again"),
    KeyBinding("screen", "", "do('marking.clear_marks')", "", "mark no message any more"),
    KeyBinding("screen", "", "do('timing.clear_references')", "", "no time reference any more"),
    KeyBinding(
        "screen", "", "do('colouring.choose_palette')", "", "theme: dark, light, high contrast, the terminal's colours"
    ),
    KeyBinding(
        "screen", "s", "do('examining.open_statistics')", "s", "statistics of what is shown; Tab, 1 to 9: another view"
    ),
    KeyBinding(
        "screen", "C", "do('examining.open_conversations')", "C", "conversations: connections, endpoints, client hosts"
    ),
    KeyBinding(
        "screen", "", "do('examining.open_reports')", "", "what happened: sessions, producers, consumers, lookups, ..."
    ),
    KeyBinding(
        "screen", "y", "do('copying.choose_copy')", "y", "copy: value, bytes, row, filter; also to a file", "copy", True
    ),
    KeyBinding("screen", "Y", "do('copying.copy_again')", "Y", "copy the same of what is selected now"),
    KeyBinding(
        "screen",
        "w",
        "do('saving.choose_rows')",
        "w",
        "save messages: as lines, tables, packets, objects",
        "save",
        True,
    ),
    KeyBinding(
        "screen",
        "Z",
        "do('capturing.toggle_pause')",
        "Z",
        "pause: the list stands still as messages come in; and goes on",
    ),
    KeyBinding(
        "screen", "E,ctrl+e", "do('capturing.stop_capture')", "E, Ctrl+E", "stop capturing; then: begin another capture"
    ),
    KeyBinding(
        "screen",
        "R,ctrl+r",
        "do('capturing.restart_capture')",
        "R, Ctrl+R",
        "begin another capture in the place of this one",
    ),
    KeyBinding(
        "screen",
        "W,ctrl+s",
        "do('capturing.save_packets')",
        "W, Ctrl+S",
        "save all packets captured so far, as pcapng",
        "",
        True,
    ),
    KeyBinding(
        "screen",
        "x,shift+f10",
        "do('menu.open_menu')",
        "x, Shift+F10",
        "menu: filters for what is like it, ...",
        "menu",
    ),
    KeyBinding(
        "screen", "ctrl+p", "do('palette.open_palette')", "Ctrl+P", "all commands, to be found by a word", "", True
    ),
    KeyBinding(
        "screen", "", "do('decoding.choose_protocol')", "", "decode this stream, or its port, as another protocol"
    ),
    KeyBinding("screen", "", "do('saving.save_selected_field')", "", "save the bytes of this field to a file"),
    KeyBinding("screen", "", "do('defects.show_bug')", "", "report a dissector's bug in this message"),
    KeyBinding(
        "screen", "escape", "give_up", "Esc", "stop a search, or a filter that is at work: the one before is back"
    ),
    KeyBinding("pane", "down,j", "down", "j, Down", "one line down"),
    KeyBinding("pane", "up,k", "up", "k, Up", "one line up"),
    KeyBinding("pane", "pagedown", "page_down", "PgDn", "one page down"),
    KeyBinding("pane", "pageup", "page_up", "PgUp", "one page up"),
    KeyBinding("pane", "g,home", "top", "g, Home", "the first line"),
    KeyBinding("pane", "G,end", "bottom", "G, End", "the last line; in the list: stay at the end as rows come in"),
    KeyBinding(
        "pane", "shift+right,greater_than_sign", "shift_right", ">, Shift+Right", "more of a long line to the right"
    ),
    KeyBinding("pane", "shift+left,less_than_sign", "shift_left", "<, Shift+Left", "back to its beginning"),
    KeyBinding("list", "enter", "enter", "Enter", "fold or unfold a stream; of a message, go to its tree", "open"),
    KeyBinding("list", "space", "fold", "Space", "fold or unfold the stream, also from one of its messages", "fold"),
    KeyBinding("list", "right,l", "inward", "l, Right", "unfold the stream, then its first message"),
    KeyBinding("list", "left,h", "outward", "h, Left", "from a message to its stream, then fold that"),
    KeyBinding("list", "equals_sign,plus", "unfold_all", "=", "unfold all streams", "all"),
    KeyBinding("list", "minus", "fold_all", "-", "fold all streams", "none"),
    KeyBinding(
        "tree", "enter", "enter", "Enter", "fold or unfold the field; where there is nothing to unfold, go to its bytes"
    ),
    KeyBinding("tree", "space", "fold", "Space", "fold or unfold the field", "fold"),
    KeyBinding("tree", "right,l", "inward", "l, Right", "unfold the field, then the first one in it"),
    KeyBinding("tree", "left,h", "outward", "h, Left", "fold the field, then the one around it"),
    KeyBinding("tree", "equals_sign,plus", "unfold_all", "=", "unfold everything", "all"),
    KeyBinding("tree", "minus", "fold_all", "-", "fold everything", "none"),
    KeyBinding(
        "hex", "right,l", "inward", "l, Right", "one byte on; the innermost field around it is selected", "byte"
    ),
    KeyBinding("hex", "left,h", "outward", "h, Left", "one byte back"),
    KeyBinding(
        "hex", "right_square_bracket", "next_source", "]", "the next source: what was decompressed or joined", "source"
    ),
    KeyBinding("hex", "left_square_bracket", "previous_source", "[", "the source before"),
    KeyBinding("folding", "space", "fold", "Space", "fold or unfold what the line is of"),
    KeyBinding("folding", "right,l", "inward", "l, Right", "unfold it, then its first line"),
    KeyBinding("folding", "left,h", "outward", "h, Left", "to the line that unfolds, then fold it"),
    KeyBinding("folding", "equals_sign,plus", "unfold_all", "=", "unfold all, as they come into sight"),
    KeyBinding("folding", "minus", "fold_all", "-", "fold all"),
    KeyBinding("folding", "r", "screen.anew", "r", "make the page anew: there may be more by now"),
    KeyBinding(
        "folding", "o", "screen.one_side", "o", "of what is followed: both sides, the client's messages, the server's"
    ),
    KeyBinding("views", "o", "screen.sort", "o", "sort by the next column; a click on its title does so, too"),
    KeyBinding("views", "O", "screen.reverse", "O", "the other way round"),
    KeyBinding(
        "views", "e", "screen.turn(1)", "e, Tab", "the next view: connections, endpoints, client hosts; / narrows"
    ),
    KeyBinding(
        "views", "space", "screen.fold", "Space", "fold or unfold how the latencies of an operation are distributed"
    ),
    KeyBinding("views", "right,l", "screen.inward", "l, Right", "unfold it, then its first line"),
    KeyBinding("views", "left,h", "screen.outward", "h, Left", "to the operation, then fold it"),
    KeyBinding("views", "equals_sign,plus", "screen.more", "=, +", "unfold all; of the rate, shorter intervals"),
    KeyBinding("views", "minus", "screen.less", "-", "fold all; of the rate, longer intervals"),
    KeyBinding("views", "r", "screen.anew", "r", "count anew: there may be more by now"),
)


def list_bindings(where: KeyPlace) -> list[BindingType]:
    """The Textual bindings of one place."""
    rows = [key for key in KEYS if key.place == where and key.keys]
    return [Binding(key.keys, key.action, key.help, show=False, priority=key.opens_line) for key in rows]


def list_footer_keys(where: KeyPlace) -> list[KeyBinding]:
    """The keys that the footer names while a pane has the focus: its own first, then those of everywhere."""
    return [key for place in (where, "screen") for key in KEYS if key.place == place and key.footer]
