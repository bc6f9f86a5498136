"""The table of all keys: where each one works, what it does, and its texts for the help page and the footer.

A key that works everywhere belongs to the screen; the others belong to the pane that has the focus. The action of the
screen's keys is a command, `module.function` in tui.commands, or a method `_action_NAME` of the screen; the action of a
pane's key is a method `_action_NAME` of the pane. A row without keys is a command that only the palette offers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from textual.binding import Binding, BindingType

KeyPlace = Literal[
    "screen", "pane", "list", "tree", "hex", "time", "folding", "views", "diagram", "compare", "graphs", "map"
]

TITLES: dict[KeyPlace, str] = {
    "screen": "Everywhere",
    "pane": "In every pane",
    "list": "In the list",
    "tree": "In the tree",
    "hex": "In the bytes",
    "time": "In the time line (b)",
    "folding": "In findings (F), packets (P) and conversations (f)",
    "views": "In statistics (s) and conversations (C)",
    "diagram": "In the sequence diagram (S)",
    "compare": "In the comparison (V)",
    "graphs": "In graphs (I)",
    "map": "In the service map (M)",
}


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """One row of the table.

    keys: Textual's names, with commas. action: Textual's action. label: the keys as people write them. help: the text
    of the help page. footer: the text in the footer, empty for none. opens_line: the key opens an input line; it has
    priority, so that the line gets whatever is typed next, however fast.
    """

    place: KeyPlace
    keys: str
    action: str
    label: str
    help: str
    footer: str = ""
    opens_line: bool = False


_Row = tuple[Any, ...]
"""Keys, action, label and help; then footer and opens_line where they are not the defaults."""

_ROWS: Mapping[KeyPlace, Sequence[_Row]] = {
    "screen": (
        ("question_mark", "menu.open_help", "?", "help: all keys and signs", "help"),
        ("slash", "filter", "/", "show messages that match a filter: latency > 50ms; empty: all", "filter", True),
        ("q,ctrl+q,ctrl+c", "quit", "q", "quit, at once, also while a file is being read", "quit"),
        ("tab", "next_pane", "Tab", "the next pane", "pane"),
        ("shift+tab", "previous_pane", "Shift+Tab", "the previous pane"),
        ("p", "navigation.go_to_partner", "p", "the other half of the exchange: request or response", "partner"),
        (
            "o",
            "columns.choose_order",
            "o",
            "sort by a column, as a flat list; the same column again: reversed",
            "sort",
        ),
        ("O", "columns.reverse_order", "O", "reverse the order of the list"),
        ("", "columns.clear_order", "", "the order of time again"),
        ("v", "view", "v", "streams with their messages, or one flat timeline", "view"),
        ("L", "appearance.cycle_layout", "L", "the next layout: by the width, side by side, stacked, mixed"),
        ("z", "appearance.toggle_zoom", "z", "zoom: this pane alone, and back"),
        ("1", "appearance.toggle_list", "1", "hide or show the list"),
        ("2", "appearance.toggle_tree", "2", "hide or show the tree"),
        ("3", "appearance.toggle_hex", "3", "hide or show the bytes"),
        (
            "ctrl+right,alt+l",
            "appearance.move_divider_right",
            "Ctrl+Right, Alt+l",
            "move the divider next to this pane to the right",
        ),
        (
            "ctrl+left,alt+h",
            "appearance.move_divider_left",
            "Ctrl+Left, Alt+h",
            "move the divider next to this pane to the left",
        ),
        (
            "ctrl+down,alt+j",
            "appearance.move_divider_down",
            "Ctrl+Down, Alt+j",
            "move the divider above or below this pane down",
        ),
        (
            "ctrl+up,alt+k",
            "appearance.move_divider_up",
            "Ctrl+Up, Alt+k",
            "move the divider above or below this pane up",
        ),
        ("0", "appearance.reset_layout", "0", "all panes at their default sizes"),
        ("ctrl+g", "navigation.go_to_number", "Ctrl+G", "go to a message by its number", "go to", True),
        ("ctrl+f", "find", "Ctrl+F", 'find a text; 0x00ff or "text": bytes; =FILTER', "find", True),
        ("n", "find_next", "n", "the next match; wraps around at the end"),
        ("N", "find_previous", "N", "the previous match; wraps around at the beginning"),
        ("f", "pages.open_conversation", "f", "follow: the whole conversation of this message as a dialogue", "follow"),
        ("F", "pages.open_findings", "F", "findings: all problems, the most severe first", "findings"),
        ("S", "pages.open_diagram", "S", "sequence diagram of the filter, the stream, a report"),
        ("V", "pages.open_comparison", "V", "compare: request and response, marked messages, their streams"),
        ("I", "pages.open_graphs", "I", "graphs: rate, bytes, errors, latency over time; the heatmap of latencies"),
        ("M", "pages.open_map", "M", "service map: clients and servers, with rate, latency and errors between them"),
        ("P", "pages.open_packets", "P", "the packets that contain this message, and their bytes"),
        ("i", "pages.open_properties", "i", "properties of the capture: files, packets, protocols"),
        (
            "b",
            "navigation.focus_time_line",
            "b",
            "the time line: brush times, zoom; again: back to the list",
            "time",
        ),
        ("B", "navigation.cycle_time_line", "B", "the time line in one line, in three lines, hidden"),
        ("c", "columns.choose_columns", "c", "columns: which, in which order; any field can be one", "columns"),
        (
            "t",
            "appearance.cycle_time_format",
            "t",
            "times as clock, date, since the first packet, the line above, 1970",
        ),
        ("ctrl+t,T", "appearance.toggle_reference", "Ctrl+T, T", "a time reference: relative times count from here"),
        ("m", "navigation.toggle_mark", "m", "mark this message, or remove its mark", "mark"),
        ("apostrophe", "navigation.go_to_next_mark", "'", "the next marked message; wraps around"),
        ("quotation_mark", "navigation.go_to_previous_mark", '"', "the previous marked message; wraps around"),
        ("d", "navigation.toggle_ignored", "d", "ignore this message: not decoded, found, counted; or include it"),
        ("D", "navigation.clear_ignored", "D", "include all ignored messages again"),
        ("backspace,alt+left", "navigation.go_back", "Backspace, Alt+Left", "back to the message before the last jump"),
        ("alt+right", "navigation.go_forward", "Alt+Right", "forward again"),
        ("", "navigation.clear_marks", "", "remove all marks"),
        ("", "appearance.clear_references", "", "remove all time references"),
        ("", "appearance.choose_palette", "", "theme: dark, light, high contrast, the terminal's colours"),
        ("s", "pages.open_statistics", "s", "statistics of what is shown; Tab, 1 to 9: another view", "statistics"),
        ("C", "pages.open_conversations", "C", "conversations: connections, endpoints, client hosts"),
        ("H", "pages.open_reports", "H", "reports: what happened to groups, producers, sessions; the worst first"),
        ("y", "copying.choose_copy", "y", "copy: value, bytes, row, filter; also to a file", "copy", True),
        ("Y", "copying.copy_again", "Y", "copy the same kind of data of the current selection"),
        ("w", "saving.choose_rows", "w", "save messages: as lines, tables, packets, objects", "save", True),
        ("Z", "capturing.toggle_pause", "Z", "pause or resume the list; capturing continues"),
        ("E,ctrl+e", "capturing.stop_capture", "E, Ctrl+E", "stop capturing; then: start another capture"),
        ("R,ctrl+r", "capturing.restart_capture", "R, Ctrl+R", "start another capture in place of this one"),
        ("W,ctrl+s", "capturing.save_packets", "W, Ctrl+S", "save all packets captured so far, as pcapng", "", True),
        ("x,shift+f10", "menu.open_menu", "x, Shift+F10", "menu: filters for similar messages, ...", "menu"),
        ("ctrl+o", "opening.choose_capture", "Ctrl+O", "open: another file, an interface, a recent capture", "", True),
        ("right_curly_bracket", "opening.show_next", "}", "the next open capture"),
        ("left_curly_bracket", "opening.show_previous", "{", "the previous open capture"),
        ("Q", "opening.close_capture", "Q", "close this capture, if another one is open"),
        ("", "opening.open_file", "", "open a file in a tab of its own"),
        ("", "opening.merge_file", "", "merge: read another file into this timeline"),
        ("", "opening.open_interface", "", "capture on an interface, in a tab of its own"),
        ("ctrl+p", "menu.open_palette", "Ctrl+P", "all commands, with a search for words", "", True),
        (
            "u",
            "profiles.choose_profile",
            "u",
            "profiles: columns, colours, theme, layout, filter by name; Enter: the last one",
        ),
        (
            "number_sign",
            "navigation.write_comment",
            "#",
            "comment on this message; w saves comments as pcapng",
            "",
            True,
        ),
        ("", "colouring.colour_filter", "", "colour the messages that match the filter"),
        ("", "colouring.edit_rules", "", "colour rules of yours: order, change, remove"),
        ("", "colouring.import_rules", "", "import colour rules of Wireshark (colorfilters)"),
        ("", "decoding.choose_protocol", "", "decode this stream, or its port, as another protocol"),
        ("", "decoding.reread", "", "read the capture again, with what key logs of TLS have got since"),
        ("", "saving.save_selected_field", "", "save the bytes of this field to a file"),
        ("", "pages.show_bug", "", "report a dissector's bug in this message"),
        (
            "escape",
            "give_up",
            "Esc",
            "cancel a search or a running filter; else show all messages again, and stay at this one",
        ),
    ),
    "pane": (
        ("down,j", "down", "j, Down", "one line down"),
        ("up,k", "up", "k, Up", "one line up"),
        ("pagedown", "page_down", "PgDn", "one page down"),
        ("pageup", "page_up", "PgUp", "one page up"),
        ("g,home", "top", "g, Home", "the first line"),
        ("G,end", "bottom", "G, End", "the last line; in the list: stay at the end as rows come in"),
        ("shift+right,greater_than_sign", "shift_right", ">, Shift+Right", "scroll a long line to the right"),
        ("shift+left,less_than_sign", "shift_left", "<, Shift+Left", "scroll back to its beginning"),
    ),
    "list": (
        ("enter", "enter", "Enter", "fold or unfold a stream; of a message, go to its tree", "open"),
        ("space", "fold", "Space", "fold or unfold the stream, also from one of its messages", "fold"),
        ("right,l", "inward", "l, Right", "unfold the stream, then its first message"),
        ("left,h", "outward", "h, Left", "from a message to its stream, then fold that"),
        ("equals_sign,plus", "unfold_all", "=", "unfold all streams", "all"),
        ("minus", "fold_all", "-", "fold all streams", "none"),
        ("r", "screen.do('decoding.reread')", "r", "read the capture again: key logs of TLS may have more by now"),
    ),
    "tree": (
        ("enter", "enter", "Enter", "fold or unfold the field; if it has no members, go to its bytes"),
        ("space", "fold", "Space", "fold or unfold the field", "fold"),
        ("right,l", "inward", "l, Right", "unfold the field, then the first one in it"),
        ("left,h", "outward", "h, Left", "fold the field, then the one around it"),
        ("equals_sign,plus", "unfold_all", "=", "unfold everything", "all"),
        ("minus", "fold_all", "-", "fold everything", "none"),
    ),
    "hex": (
        ("right,l", "inward", "l, Right", "the next byte; selects the innermost field around it", "byte"),
        ("left,h", "outward", "h, Left", "the previous byte"),
        ("right_square_bracket", "next_source", "]", "the next source: decompressed or reassembled bytes", "source"),
        ("left_square_bracket", "previous_source", "[", "the previous source"),
    ),
    "time": (
        (
            "shift+right",
            "turn('brush', 1)",
            "Shift+Right",
            "brush: the list shows only these times",
            "brush",
        ),
        ("shift+left", "turn('brush', -1)", "Shift+Left", "move the end of the brush back"),
        ("right,l", "turn('pan', 1)", "l, Right", "later times, if the line shows a part of the capture", "pan"),
        ("left,h", "turn('pan', -1)", "h, Left", "earlier times"),
        ("equals_sign,plus", "turn('zoom', 1)", "+", "zoom in", "zoom in"),
        ("minus", "turn('zoom', -1)", "-", "zoom out", "zoom out"),
        ("home,g", "turn('all', 0)", "Home", "the whole capture"),
        ("escape", "turn('clear', 0)", "Esc", "all times again; then back to the list", "all times"),
        ("enter,down", "turn('list', 0)", "Enter", "back to the list", "list"),
    ),
    "folding": (
        ("space", "fold", "Space", "fold or unfold the entry of the line"),
        ("right,l", "inward", "l, Right", "unfold it, then its first line"),
        ("left,h", "outward", "h, Left", "to the head of the entry, then fold it"),
        ("equals_sign,plus", "unfold_all", "=", "unfold all entries, as they become visible"),
        ("minus", "fold_all", "-", "fold all"),
        ("r", "screen.anew", "r", "update the page: there may be new data"),
        ("o", "screen.one_side", "o", "of a conversation: both sides, the client's messages, the server's"),
    ),
    "views": (
        ("o", "screen.sort", "o", "sort by the next column; a click on its title does so, too"),
        ("O", "screen.reverse", "O", "reverse the order"),
        ("e", "screen.turn(1)", "e, Tab", "the next view: connections, endpoints, client hosts; / narrows"),
        ("space", "screen.fold", "Space", "fold or unfold how the latencies of an operation are distributed"),
        ("right,l", "screen.inward", "l, Right", "unfold it, then its first line"),
        ("left,h", "screen.outward", "h, Left", "to the operation, then fold it"),
        ("equals_sign,plus", "screen.more", "=, +", "unfold all; of the rate, shorter intervals"),
        ("minus", "screen.less", "-", "fold all; of the rate, longer intervals"),
        ("r", "screen.anew", "r", "count again: there may be new data"),
    ),
    "diagram": (
        ("tab", "turn(1)", "Tab", "the next subject: the filter, the connection, reports of the selected message"),
        ("shift+tab", "turn(-1)", "Shift+Tab", "the previous subject"),
        ("plus,equals_sign", "detail(2)", "+", "more arrows: fewer messages are folded"),
        ("minus", "detail(0.5)", "-", "fewer arrows"),
        ("w", "save", "w", "save it as text, SVG or Mermaid", "", True),
    ),
    "compare": (
        ("tab", "turn(1)", "Tab", "the next pair: marked messages, the partner, the message before, streams"),
        ("shift+tab", "turn(-1)", "Shift+Tab", "the previous pair"),
        ("a", "toggle_all", "a", "all fields and bytes, or only what differs"),
        ("s", "swap", "s", "swap left and right"),
    ),
    "graphs": (
        ("right,l", "screen.inward", "l, Right", "select the next interval; Enter then keeps only its messages"),
        ("left,h", "screen.outward", "h, Left", "the interval before; Esc selects all times"),
        ("shift+right,greater_than_sign", "screen.extend(1)", ">, Shift+Right", "select one more interval"),
        ("shift+left,less_than_sign", "screen.extend(-1)", "<, Shift+Left", "select one interval less"),
        ("space", "screen.fold", "Space", "draw the line of the selected value, or leave it out"),
        ("b", "screen.choose_field", "b", "by which field: a line for each of its values"),
        ("a", "screen.log", "a", "a logarithmic axis, or a linear one"),
        ("equals_sign,plus", "screen.more", "=, +", "shorter intervals"),
        ("minus", "screen.less", "-", "longer intervals"),
        ("w", "screen.save", "w", "save the graph as SVG", "", True),
    ),
    "map": (("w", "save", "w", "save the map as SVG, DOT (Graphviz) or Mermaid", "", True),),
}

KEYS = tuple(
    KeyBinding(place, keys, f"do('{action}')" if place == "screen" and "." in action else action, label, text, *more)
    for place, rows in _ROWS.items()
    for keys, action, label, text, *more in rows
)
"""All keys, in the order of the help page."""


def list_bindings(place: KeyPlace) -> list[BindingType]:
    """Returns the Textual bindings of one place."""
    rows = [key for key in KEYS if key.place == place and key.keys]
    return [Binding(key.keys, key.action, key.help, show=False, priority=key.opens_line) for key in rows]


FOOTER = ("/", "s", "F", "f", "x", "o", "?", "q", "p", "Tab", "v")
"""The keys of the screen that the footer names first, by labels."""

SYNONYMS: Mapping[str, str] = {
    "pages.open_statistics": "latency p99 percentile rate throughput volume chart",
    "pages.open_map": "topology dependency nodes edges clients brokers coordinators",
    "pages.open_graphs": "plot chart io graph heatmap percentile throughput in flight concurrency time series",
    "pages.open_findings": "problems errors warnings expert info diagnosis",
    "pages.open_conversation": "tcp stream dialogue transcript",
    "pages.open_conversations": "connections endpoints hosts clients streams",
    "pages.open_packets": "frames tcp",
    "pages.open_comparison": "diff difference versus side by side",
    "pages.open_properties": "summary about file",
    "pages.open_reports": "rebalance groups lag consumer producers transactions sessions election timeline",
    "navigation.go_to_partner": "request response answer reply",
    "navigation.toggle_mark": "bookmark",
    "navigation.go_to_number": "jump goto line",
    "columns.choose_order": "order slowest largest",
    "columns.choose_columns": "fields headers",
    "appearance.choose_palette": "colours colors dark light",
    "appearance.cycle_time_format": "clock timestamp delta relative",
    "appearance.toggle_zoom": "maximize full",
    "copying.choose_copy": "clipboard yank",
    "saving.choose_rows": "export write pcapng csv json",
    "opening.choose_capture": "load file tab recent merge",
    "opening.open_file": "load tab",
    "opening.merge_file": "combine join add",
    "opening.open_interface": "live sniff network",
    "menu.open_menu": "context right click",
    "menu.open_help": "keys shortcuts manual",
    "decoding.reread": "reload refresh",
    "decoding.choose_protocol": "decode as",
    "find": "search grep",
    "find_next": "search",
    "filter": "search where query display",
    "give_up": "clear filter cancel reset",
    "enter": "open expand",
    "unfold_all": "open expand",
    "fold_all": "close collapse",
    "quit": "exit close",
}
"""Other words by which people look for a command in the palette."""


def find_synonyms(key: KeyBinding) -> str:
    """Returns the other words for a command."""
    return SYNONYMS.get(key.action.removeprefix("do('").removesuffix("')"), "")


def list_footer_keys(place: KeyPlace) -> list[KeyBinding]:
    """Returns the keys that the footer names while a pane has the focus, the most useful ones of the place first."""
    first = {label: rank for rank, label in enumerate(FOOTER)}
    general = [key for key in KEYS if key.place == "screen" and key.footer]
    general.sort(key=lambda key: first.get(key.label.split(",")[0], len(first)))
    own = [key for key in KEYS if key.place == place and key.footer]
    if place == "list":
        return [*general[: len(first)], *own, *general[len(first) :]]
    return [*own, *general]
