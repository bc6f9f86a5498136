"""Styles: resolves the style names of lines (analyzer.render.lines.STYLES and some more) in a palette.

Theory. A pane never names a colour. There are five palettes (tui.palettes): dark, light and high contrast with their
own background; `terminal`, which takes the sixteen colours and the background of the terminal; and one without colours
for NO_COLOR, with bold, underline and reverse instead. `auto` is `terminal` for terminals with sixteen colours;
otherwise dark, or light if COLORFGBG says so.

All widgets share one table, `Palette.styles`, during the whole run: switching the palette changes its content
(`switch_to`), and widgets use it at their next paint. Colour rules add styles of their own (`add_style`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.color import Color, ColorType
from rich.style import Style
from textual.theme import Theme

from tui.palettes import ANSI_COLOURS, OVERLAYS, PALETTES, PLAIN, resolve_palette


class _PaletteChoice(NamedTuple):
    theme: Theme
    title: str


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


_CHOICES: Mapping[str, _PaletteChoice] = {
    "dark": _PaletteChoice(
        _theme("wire-dark", dark=True, foreground="#c8ccd4", background="#15171e", bar="#2b3040", accent="#7aa2f7"),
        "light on dark",
    ),
    "light": _PaletteChoice(
        _theme("wire-light", dark=False, foreground="#343b45", background="#fbfbfc", bar="#d9dde4", accent="#1f5fbf"),
        "dark on light",
    ),
    "contrast": _PaletteChoice(
        _theme("wire-contrast", dark=True, foreground="#ffffff", background="#000000", bar="#909090", accent="#ffe14d"),
        "high contrast",
    ),
    "terminal": _PaletteChoice(
        _theme(
            "wire-terminal",
            dark=True,
            foreground="ansi_default",
            background="ansi_default",
            bar="ansi_bright_black",
            accent="ansi_cyan",
        ),
        "the terminal's own sixteen colours",
    ),
}

CHOICES = ("auto", *_CHOICES)

TITLES = {name: choice.title for name, choice in _CHOICES.items()}
"""The names of palettes for people."""


class Palette:
    """Styles by name, and the Textual theme that goes with them.

    name: one of CHOICES. colourless: only attributes are painted, whatever the name.
    """

    def __init__(self, name: str, *, colourless: bool) -> None:
        self.styles: dict[str, Style] = {}
        self._added: dict[str, str] = {}
        self.colourless = colourless
        self.switch_to(name)

    def switch_to(self, name: str) -> None:
        """Switches to another palette; the table of styles stays the same object."""
        self.name = resolve_palette(name, os.environ)
        choice = _CHOICES["terminal" if self.colourless else self.name]
        self.theme = choice.theme
        words = PLAIN if self.colourless else PALETTES[self.name]
        base = Style.parse(words[""] or "none")  # Textual paints no background beneath lines that a widget makes itself
        styles = {name: Style.parse(words or "none") for name, words in words.items()}
        self.styles |= {name: style if name in OVERLAYS else base + style for name, style in styles.items()}
        for name, style in self._added.items():
            self.styles[name] = self._resolve_style(style)

    def add_style(self, name: str, words: str) -> None:
        """Adds a style in the configuration's notation. Raises rich's StyleSyntaxError if it is wrong."""
        self.styles[name] = self._resolve_style(words)
        self._added[name] = words

    def has_background(self, name: str) -> bool:
        """Returns whether an added style has a background of its own."""
        style = self.styles[name]
        return bool(style.reverse) or style.bgcolor != self.styles[""].bgcolor

    def _resolve_style(self, words: str) -> Style:
        """Resolves names of the sixteen colours in the palette; without colours keeps only attributes.

        Reverse belongs to the cursor if there are no colours, so a rule must not use it then.
        """
        style = Style.parse(words)
        sixteen = ANSI_COLOURS.get(self.name, ())
        front, back = (
            None if self.colourless else _map_colour(sixteen, color) for color in (style.color, style.bgcolor)
        )
        return self.styles[""] + Style(
            color=front,
            bgcolor=back,
            bold=style.bold,
            italic=style.italic,
            underline=style.underline,
            strike=style.strike,
            reverse=None if self.colourless else style.reverse,
        )


def _map_colour(sixteen: Sequence[str], color: Color | None) -> Color | None:
    """Maps one of the sixteen colours to the palette's."""
    if color is None or color.type is not ColorType.STANDARD or color.number is None or not sixteen:
        return color
    return Color.parse(sixteen[color.number])


def make_palette(choice: str) -> Palette:
    """Makes the palette of a name of CHOICES; NO_COLOR overrides it."""
    return Palette(choice, colourless=bool(os.environ.get("NO_COLOR")))
