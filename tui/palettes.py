"""The palettes as data: the look of each style in the notation of rich, and the sixteen ANSI colours of each palette.

Theory. A style outside OVERLAYS has its own background, or that of `""`. An overlay is laid over another style, whose
colours stay where the overlay has none. A rule of the configuration that names a colour, such as `red`, gets the
palette's own red, so that the text is readable on any background here: contrasts are at least 4.5 (WCAG 2.1, AA), also
on the cursor's line, and 7 (AAA) in CONTRAST; tests compute them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

StyleWords = Mapping[str, str]

OVERLAYS = ("cursor", "cursor-off", "byte")
"""Styles that are laid over others; where they have no colour, the others' colours stay."""

DARK: StyleWords = {
    "": "#c8ccd4 on #15171e",
    "title": "bold #e6e9ef",
    "name": "#82a8f9",
    "value": "#d5d9e0",
    "text": "#9ece6a",
    "type": "#949cab",
    "place": "#949cab",
    "dim": "#949cab",
    "masked": "#bb9af7",
    "highlight": "#ffffff on #3d59a1",
    "note": "#7dcfff",
    "warning": "#e0af68",
    "error": "bold #ff8a9e",
    "request": "#d5d9e0",
    "response": "#aab1bf",
    "partner": "bold #7dcfff",
    "cursor": "on #26314f",
    "cursor-off": "on #252a3a",
    "byte": "bold #1a1b26 on #e0af68",
    "track": "on #1c1f2a",
    "thumb": "#565f89 on #1c1f2a",
    "bar": "#aab1bf on #1f2330",
    "bar-title": "bold #e6e9ef on #1f2330",
    "bar-dim": "#8b93a3 on #1f2330",
    "bar-key": "bold #7aa2f7 on #1f2330",
    "bar-warning": "#e0af68 on #1f2330",
    "bar-error": "bold #f7768e on #1f2330",
    "head": "#8b93a3 on #1a1d27",
    "head-on": "bold #e6e9ef on #2b3350",
    "tab": "#8b93a3 on #1a1d27",
    "tab-on": "bold #e6e9ef on #3a4466",
}

LIGHT: StyleWords = {
    "": "#343b45 on #fbfbfc",
    "title": "bold #14181f",
    "name": "#1a54ad",
    "value": "#20262e",
    "text": "#2f6616",
    "type": "#59606b",
    "place": "#59606b",
    "dim": "#59606b",
    "masked": "#7636a8",
    "highlight": "#000000 on #b7d0f7",
    "note": "#0b5f77",
    "warning": "#7d5300",
    "error": "bold #b00f34",
    "request": "#20262e",
    "response": "#4b5563",
    "partner": "bold #0b5f77",
    "cursor": "on #cfe0fb",
    "cursor-off": "on #e6eaf0",
    "byte": "bold #ffffff on #b45309",
    "track": "on #eef0f4",
    "thumb": "#8f97a5 on #eef0f4",
    "bar": "#4b5563 on #e9ecf1",
    "bar-title": "bold #14181f on #e9ecf1",
    "bar-dim": "#5b6470 on #e9ecf1",
    "bar-key": "bold #1f5fbf on #e9ecf1",
    "bar-warning": "#7d5300 on #e9ecf1",
    "bar-error": "bold #c4143c on #e9ecf1",
    "head": "#5b6470 on #f1f3f6",
    "head-on": "bold #14181f on #d5e2f7",
    "tab": "#5b6470 on #f1f3f6",
    "tab-on": "bold #14181f on #bcd2f5",
}

CONTRAST: StyleWords = {
    "": "#ffffff on #000000",
    "title": "bold #ffffff",
    "name": "#9cc4ff",
    "value": "#ffffff",
    "text": "#8dff8d",
    "type": "#cfcfcf",
    "place": "#cfcfcf",
    "dim": "#cfcfcf",
    "masked": "#e3b8ff",
    "highlight": "bold #000000 on #ffe14d",
    "note": "#7ee8ff",
    "warning": "bold #ffe14d",
    "error": "bold #ffb0b0",
    "request": "#ffffff",
    "response": "#e0e0e0",
    "partner": "bold #7ee8ff",
    "cursor": "bold on #002f6a",
    "cursor-off": "underline on #202020",
    "byte": "bold #000000 on #ffe14d",
    "track": "on #303030",
    "thumb": "#ffffff on #303030",
    "bar": "#ffffff on #1c1c1c",
    "bar-title": "bold #ffffff on #1c1c1c",
    "bar-dim": "#d8d8d8 on #1c1c1c",
    "bar-key": "bold #9cc4ff on #1c1c1c",
    "bar-warning": "bold #ffe14d on #1c1c1c",
    "bar-error": "bold #ffb0b0 on #1c1c1c",
    "head": "underline #d8d8d8 on #000000",
    "head-on": "bold #ffffff on #003a80",
    "tab": "underline #d8d8d8 on #000000",
    "tab-on": "bold #000000 on #ffffff",
}

TERMINAL: StyleWords = {
    "": "default",
    "title": "bold",
    "name": "cyan",
    "value": "default",
    "text": "green",
    "type": "bright_black",
    "place": "bright_black",
    "dim": "bright_black",
    "masked": "magenta",
    "highlight": "reverse",
    "note": "cyan",
    "warning": "yellow",
    "error": "bold red",
    "request": "default",
    "response": "default",
    "partner": "bold cyan",
    "cursor": "reverse",
    "cursor-off": "underline",
    "byte": "bold reverse yellow",
    "track": "default",
    "thumb": "bright_black",
    "bar": "reverse",
    "bar-title": "bold reverse",
    "bar-dim": "reverse",
    "bar-key": "bold reverse",
    "bar-warning": "bold reverse",
    "bar-error": "bold reverse",
    "head": "bright_black underline",
    "head-on": "bold underline",
    "tab": "bright_black underline",
    "tab-on": "bold reverse",
}

ATTRIBUTES = ("bold", "reverse", "underline")
"""The attributes that replace colours."""


PLAIN: StyleWords = {
    name: " ".join(word for word in words.split() if word in ATTRIBUTES) for name, words in TERMINAL.items()
}

ANSI_COLOURS: Mapping[str, Sequence[str]] = {
    "dark": (
        *("#15171e", "#ff8a9e", "#9ece6a", "#e0af68", "#82a8f9", "#bb9af7", "#7dcfff", "#c8ccd4"),
        *("#949cab", "#ffa3b3", "#b9e58a", "#f2cf94", "#a4c0ff", "#d2bdff", "#a9e1ff", "#ffffff"),
    ),
    "light": (
        *("#14181f", "#b00f34", "#2f6616", "#7d5300", "#1a54ad", "#7636a8", "#0b5f77", "#e6eaf0"),
        *("#59606b", "#9c0d2e", "#2b5c14", "#6e4900", "#17489a", "#672f93", "#0a5267", "#fbfbfc"),
    ),
    "contrast": (
        *("#000000", "#ffb0b0", "#8dff8d", "#ffe14d", "#9cc4ff", "#e3b8ff", "#7ee8ff", "#ffffff"),
        *("#cfcfcf", "#ffc8c8", "#b5ffb5", "#fff09a", "#c0daff", "#eed3ff", "#b3f1ff", "#ffffff"),
    ),
}
"""The sixteen colours of palettes that have their own, in ANSI's order; other palettes use the terminal's."""

PALETTES: Mapping[str, StyleWords] = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "terminal": TERMINAL}
"""The palettes by name."""

WHITE = ("7", "15")


def detect_colour_system(environment: Mapping[str, str]) -> str:
    """Returns rich's name of the terminal's colours: TRUECOLOR, EIGHT_BIT or STANDARD (sixteen)."""
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "TRUECOLOR"
    return "EIGHT_BIT" if environment.get("TERM", "").endswith(("256color", "kitty")) else "STANDARD"


def guess_palette(environment: Mapping[str, str]) -> str:
    """Guesses a palette: `terminal` for sixteen colours; else by the background, at the end of COLORFGBG."""
    if "TERM" in environment and detect_colour_system(environment) == "STANDARD":
        return "terminal"
    return "light" if environment.get("COLORFGBG", "").rpartition(";")[2] in WHITE else "dark"


def resolve_palette(name: str, environment: Mapping[str, str]) -> str:
    """Resolves `auto` to the name of a palette."""
    return guess_palette(environment) if name == "auto" else name
