"""Colours: the names that lines use (analyzer.render.lines.STYLES and some of our own) as styles of a palette.

Theory. A pane never names a colour. There are four palettes: dark and light with their own background, `terminal`,
which takes the sixteen colours and the background that the terminal has, and one without any colour for NO_COLOR, where
bold, underline and reverse tell what colours tell elsewhere. The first is chosen unless COLORFGBG says that the
terminal is light.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.style import Style
from textual.theme import Theme

DARK = {
    "": "#c8ccd4 on #15171e",
    "title": "bold #e6e9ef",
    "name": "#7aa2f7",
    "value": "#d5d9e0",
    "text": "#9ece6a",
    "type": "#5c6370",
    "place": "#5c6370",
    "dim": "#6b7280",
    "masked": "#bb9af7",
    "highlight": "#ffffff on #3d59a1",
    "note": "#7dcfff",
    "warning": "#e0af68",
    "error": "bold #f7768e",
    "request": "#d5d9e0",
    "response": "#aab1bf",
    "partner": "bold #7dcfff",
    "cursor": "on #2e3c64",
    "cursor-off": "on #252a3a",
    "byte": "bold #1a1b26 on #e0af68",
    "track": "on #1c1f2a",
    "thumb": "#3b4261 on #1c1f2a",
    "bar": "#aab1bf on #1f2330",
    "bar-title": "bold #e6e9ef on #1f2330",
    "bar-dim": "#6b7280 on #1f2330",
    "bar-key": "bold #7aa2f7 on #1f2330",
    "bar-warning": "#e0af68 on #1f2330",
    "bar-error": "bold #f7768e on #1f2330",
    "head": "#8b93a3 on #1a1d27",
    "head-on": "bold #e6e9ef on #2b3350",
    "tab": "#6b7280 on #1a1d27",
    "tab-on": "bold #e6e9ef on #3a4466",
}

LIGHT = {
    "": "#343b45 on #fbfbfc",
    "title": "bold #14181f",
    "name": "#1f5fbf",
    "value": "#20262e",
    "text": "#3d7a1f",
    "type": "#8a919c",
    "place": "#8a919c",
    "dim": "#7c8490",
    "masked": "#8440b8",
    "highlight": "#000000 on #b7d0f7",
    "note": "#0e7490",
    "warning": "#9a6700",
    "error": "bold #c4143c",
    "request": "#20262e",
    "response": "#4b5563",
    "partner": "bold #0e7490",
    "cursor": "on #cfe0fb",
    "cursor-off": "on #e6eaf0",
    "byte": "bold #ffffff on #b45309",
    "track": "on #eef0f4",
    "thumb": "#b9c0cc on #eef0f4",
    "bar": "#4b5563 on #e9ecf1",
    "bar-title": "bold #14181f on #e9ecf1",
    "bar-dim": "#7c8490 on #e9ecf1",
    "bar-key": "bold #1f5fbf on #e9ecf1",
    "bar-warning": "#9a6700 on #e9ecf1",
    "bar-error": "bold #c4143c on #e9ecf1",
    "head": "#5b6470 on #f1f3f6",
    "head-on": "bold #14181f on #d5e2f7",
    "tab": "#7c8490 on #f1f3f6",
    "tab-on": "bold #14181f on #bcd2f5",
}

TERMINAL = {
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

_ATTRIBUTES = ("bold", "reverse", "underline")


def _colourless(words: str) -> str:
    return " ".join(word for word in words.split() if word in _ATTRIBUTES)


OVER = ("cursor", "cursor-off", "byte")
"""Styles that are laid over others, whose colours stay where these have none."""

PLAIN = {name: _colourless(words) for name, words in TERMINAL.items()}


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles by name, and the Textual theme that goes with them."""

    styles: Mapping[str, Style]
    theme: Theme


def _theme(name: str, *, dark: bool, foreground: str, background: str, bar: str, accent: str) -> Theme:
    return Theme(
        name=name,
        dark=dark,
        primary=accent,
        accent=accent,
        foreground=foreground,
        background=background,
        surface=background,
        panel=bar,
        ansi=foreground.startswith("ansi"),
        variables={
            **dict.fromkeys(
                ("ansi-background", "ansi-foreground"), "ansi_default"
            ),  # Textual's own sheets ask for them
            **dict.fromkeys(("scrollbar", "border-blurred"), bar),
            **dict.fromkeys((f"scrollbar-background{state}" for state in ("", "-hover", "-active")), background),
            "scrollbar-corner-color": background,
            "border": accent,
        },
    )


_CHOICES: Mapping[str, tuple[Mapping[str, str], Theme]] = {
    "dark": (
        DARK,
        _theme("wire-dark", dark=True, foreground="#c8ccd4", background="#15171e", bar="#2b3040", accent="#7aa2f7"),
    ),
    "light": (
        LIGHT,
        _theme("wire-light", dark=False, foreground="#343b45", background="#fbfbfc", bar="#d9dde4", accent="#1f5fbf"),
    ),
    "terminal": (
        TERMINAL,
        _theme(
            "wire-terminal",
            dark=True,
            foreground="ansi_default",
            background="ansi_default",
            bar="ansi_bright_black",
            accent="ansi_cyan",
        ),
    ),
}

CHOICES = ("auto", *_CHOICES)


def palette(choice: str) -> Palette:
    """The palette of a name of CHOICES; NO_COLOR overrides it."""
    words, theme = _CHOICES[_guessed() if choice == "auto" else choice]
    if os.environ.get("NO_COLOR"):
        words, theme = PLAIN, _CHOICES["terminal"][1]
    styles = {name: Style.parse(style or "none") for name, style in words.items()}
    base = styles[""]  # Textual paints no background beneath lines that a widget makes itself
    return Palette({name: style if name in OVER else base + style for name, style in styles.items()}, theme)


def _guessed() -> str:
    """COLORFGBG ends in the background's number: 7 and 15 are white."""
    return "light" if os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else "dark"
