"""Palettes: every style in each, readable in each, and another one while the program runs."""

from __future__ import annotations

from itertools import product

import pytest
from rich.style import Style

from analyzer.config.model import list_built_in_colors
from analyzer.render.lines import STYLES
from tests.tui.driving import Drive, drive
from tui import keys, palettes, theme
from tui.commands import appearance
from tui.keys import KEYS

OWN = [name for name in palettes.PALETTES if name != "terminal"]
"""Themes with colours of their own."""
NO_TEXT = frozenset({"track", "thumb"})
LEAST = {name: 7.0 if name == "contrast" else 4.5 for name in OWN}


def luminance(triplet: tuple[int, int, int]) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [value / 255 for value in triplet]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(style: Style) -> float:
    """WCAG 2.1, contrast ratio of a style's text."""
    assert style.color is not None
    assert style.bgcolor is not None
    low, high = sorted(luminance(color.get_truecolor()) for color in (style.color, style.bgcolor))
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(autouse=True)
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORFGBG", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize("choice", OWN)
def test_texts_can_be_read(choice: str) -> None:
    styles = theme.make_palette(choice).styles
    for name, style in styles.items():
        if name not in NO_TEXT and name not in palettes.OVERLAYS:
            assert contrast(style) >= LEAST[choice], name
    assert contrast(styles["byte"]) >= LEAST[choice]


@pytest.mark.parametrize("choice", OWN)
def test_texts_can_be_read_under_the_cursor(choice: str) -> None:
    palette = theme.make_palette(choice)
    for rule in list_built_in_colors():
        palette.add_style(f"rule {rule.name}", rule.style)
    names = [name for name in palette.styles if name not in NO_TEXT and not name.startswith(("bar", "head", "tab"))]
    for name, over in product(names, ("cursor", "cursor-off")):
        if name not in palettes.OVERLAYS and name != "highlight":
            assert contrast(palette.styles[name] + palette.styles[over]) >= LEAST[choice], (name, over)


@pytest.mark.parametrize("choice", OWN)
def test_the_sixteen_colours_can_be_read(choice: str) -> None:
    palette = theme.make_palette(choice)
    front = ["red", "green", "yellow", "blue", "magenta", "cyan", "bright_black"]
    front += [f"bright_{name}" for name in front[:-1]]
    for name in front:
        palette.add_style(name, name)
        assert contrast(palette.styles[name]) >= LEAST[choice], name
        assert not palette.has_background(name)
    palette.add_style("whole", "white on blue")
    assert palette.has_background("whole")


def test_every_palette_has_every_style() -> None:
    for words in (*palettes.PALETTES.values(), palettes.PLAIN):
        assert set(words) == set(palettes.DARK)
        assert set(STYLES) <= set(words)


def test_in_a_terminal_s_own_colours_the_cursor_is_seen() -> None:
    """A rule that is reversed looks like the cursor, so it does not count where the cursor is: it covers its line."""
    palette = theme.make_palette("terminal")
    for words, covers in (("red", False), ("reverse", True), ("bold on red", True), ("underline", False)):
        palette.add_style("rule", words)
        assert palette.has_background("rule") is covers, words
        if not covers:
            assert (palette.styles["rule"] + palette.styles["cursor"]).reverse
            assert palette.styles["rule"] + palette.styles["cursor"] != palette.styles["rule"]


def test_without_colours_attributes_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    palette = theme.make_palette("light")
    palette.add_style("rule", "bold red on #00ff00 reverse")
    assert all(style.color is None and style.bgcolor is None for style in palette.styles.values())
    assert palette.styles["rule"].bold
    assert not palette.styles["rule"].reverse
    assert palette.styles["cursor"].reverse
    assert palette.styles["cursor-off"] != palette.styles[""]
    assert palette.theme.ansi
    palette.switch_to("contrast")
    assert palette.styles["rule"].color is None


AUTO = [
    ({"TERM": "xterm-256color"}, "dark"),
    ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "light"),
    ({"TERM": "xterm-kitty"}, "dark"),
    ({"TERM": "xterm"}, "terminal"),
    ({"TERM": "linux", "COLORFGBG": "0;15"}, "terminal"),
    ({"TERM": "screen"}, "terminal"),
    ({"TERM": "screen", "COLORTERM": "truecolor"}, "dark"),
]


@pytest.mark.parametrize(("environment", "name"), AUTO)
def test_auto(environment: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert theme.make_palette("auto").name == name


def test_another_palette_while_it_runs() -> None:
    def colours(found: Drive) -> set[object]:
        strips = found.window.screen._compositor.render_strips()
        return {segment.style.bgcolor for strip in strips for segment in strip if segment.style is not None}

    async def test(found: Drive) -> None:
        main = found.main
        before, text = colours(found), found.lines()
        appearance.choose_palette(main)
        await found.settle()
        assert "high contrast" in "\n".join(found.lines())
        await found.press(*"high", "enter")
        assert (main.palette.name, found.window.theme) == ("contrast", "wire-contrast")
        assert not colours(found) & before
        assert found.lines() == text
        assert main.timeline._strips
        appearance.switch_palette(main, "terminal")
        await found.settle()
        assert found.window.native_ansi_color
        appearance.switch_palette(main, "dark")
        await found.settle()
        assert (colours(found), found.lines()) == (before, text)
        assert not found.window.native_ansi_color

    drive(test)


def test_without_colours_there_are_none_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(found: Drive) -> None:
        appearance.choose_palette(found.main)
        await found.settle()
        assert found.window.screen is found.main
        assert found.status() == "NO_COLOR is set: unset it to choose a theme"

    drive(test)


def test_the_palette_has_the_command() -> None:
    assert any(key.action == "do('appearance.choose_palette')" and not key.keys for key in KEYS)
    assert keys.list_bindings("screen")
