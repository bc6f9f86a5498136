"""The line for a filter while it is typed into: signs, colours, ways to go on, earlier ones, the mouse, any paste."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from textual.events import Key, MouseScrollDown, Paste
from textual.keys import _character_to_key

from analyzer.query.filter import compile_filter
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, write
from tests.tui.test_filter import held, kept_by
from tui.model import input_advice
from tui.model.completion_sources import read_field_names
from tui.saved_state import SavedState
from tui.screens import input_line
from tui.screens.chooser import Chooser
from tui.screens.filter_bar import FilterBar

read_field_names()  # read once, not while a test waits


def bar(found: Drive) -> FilterBar[object]:
    screen = found.window.screen
    assert isinstance(screen, FilterBar)
    return screen


async def looked(found: Drive) -> None:
    """Until the line has been looked at with all that it wants to know."""
    screen = bar(found)

    def is_done() -> bool:
        look, line = screen.advice, screen.line
        return look is not None and look[:2] == (line.value, line.cursor_position) and not screen.is_reading

    while True:
        for worker in (screen._reader, screen._looker):  # what they were asked before is answered then
            answered = Event()
            worker.submit("last", bool, lambda _, answered=answered: answered.set())  # type: ignore[misc]
            await found.until(answered.is_set)
        await found.settle()
        if is_done():
            return


async def opened(found: Drive, text: str = "", key: str = "slash") -> None:
    await found.press(key, "ctrl+u", *text)
    await looked(found)


def offered(found: Drive) -> list[str]:
    """The offers on the screen, without what is said of them."""
    screen = bar(found)
    if not screen.pane.display:
        return []
    return [line[2:].split("  ")[0].rstrip(" █") for line in found.lines(screen.pane)]


def sign(found: Drive) -> str:
    return found.lines()[-1][0]


def said(found: Drive) -> str:
    return found.lines()[-2]


def underlined(found: Drive) -> str:
    parts = found.window.screen._compositor.render_strips()[-1]
    return "".join(part.text for part in parts if part.style is not None and part.style.underline)


TYPED = [
    ("", "✓", "", ""),
    ("lat", "…", "Did you mean latency", ""),
    ("latency", "✓", "", ""),
    ("latency >", "…", "expected a value", ""),
    ("latency > 5ms", "✓", "", ""),
    ("latensy > 5ms", "✗", "Did you mean latency", "latensy"),
    ("error and latency > 5q", "✗", "q is not a unit", "5q"),
    ("$slow", "✓", "", ""),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_each_letter_is_answered(size: tuple[int, int]) -> None:
    async def test(found: Drive) -> None:
        for text, expected, why, wrong in TYPED:
            await opened(found, text)
            assert sign(found) == expected, text
            assert why in said(found)
            assert why or "Enter applies it" in said(found)
            assert underlined(found) == wrong
            await found.press("escape")
        assert found.rows() == list(range(648))

    drive(test, size=size, named={"slow": "latency > 50ms"})


def test_what_is_right_has_another_colour() -> None:
    def colour(found: Drive, text: str) -> object:
        parts = found.window.screen._compositor.render_strips()[-1]
        (part,) = [part for part in parts if part.text.startswith(text)]
        assert part.style is not None
        return part.style.color

    async def test(found: Drive) -> None:
        styles = found.main.palette.styles
        await opened(found, "error")
        assert colour(found, "error") == colour(found, "✓") == styles["text"].color
        await found.press("home", *"x ")
        await looked(found)
        assert colour(found, "✗") == styles["error"].color
        assert underlined(found) == "error"
        assert colour(found, "x") != styles["text"].color

    drive(test)


@driven()
async def test_tab_goes_round(found: Drive) -> None:
    await opened(found, "err")
    assert offered(found)[:3] == ["error", "error.code", "error.name"]
    line = bar(found).line
    for key, text in (("tab", "error"), ("tab", "error.code"), ("tab", "error.name"), ("shift+tab", "error.code")):
        await found.press(key)
        await looked(found)
        assert line.value == text
        (marked,) = [line for line in found.lines(bar(found).pane) if line.startswith("▸")]
        assert marked.split()[1] == text
    await found.press(" ")
    await looked(found)
    assert offered(found)[:2] == ["==", "!="]
    await found.press("escape", "slash", "ctrl+u")
    await looked(found)
    assert offered(found) == []
    await found.press("tab")
    assert "number" in offered(found)
    await found.press("tab")
    assert bar(found).line.value == "number"


@driven()
async def test_a_whole_filter_by_tab_and_enter_takes_what_is_typed(found: Drive) -> None:
    await opened(found, "op")
    await found.press("tab", *" ")
    await looked(found)
    await found.press("tab", *" ")
    await looked(found)
    assert {"Fetch", "Metadata"} & set(offered(found))
    await found.press(*"OffsetC")
    await looked(found)
    assert offered(found) == ["OffsetCommit"]
    await found.press("tab", *" and kafka.group")
    await looked(found)
    assert bar(found).line.value == "operation == OffsetCommit and kafka.group"
    assert bar(found).pane.display
    await found.press("enter")
    await found.filtered()
    assert found.rows() == kept_by("operation == OffsetCommit and kafka.group")


@driven()
async def test_offers_stand_where_the_cursor_is(found: Drive) -> None:
    await opened(found, "erro and latency > 5ms")
    await found.press("home", "right", "right")
    await looked(found)
    await found.press("tab")
    assert bar(found).line.value == "error and latency > 5ms"
    await found.press("shift+left")
    assert offered(found) == []
    await found.press("ctrl+shift+a", "tab")
    assert bar(found).line.value == "error and latency > 5ms"


@driven()
async def test_a_click_takes_an_offer(found: Drive) -> None:
    await opened(found, "not err")
    pane = bar(found).pane
    await found.pilot.click(pane, offset=(4, 1))
    await looked(found)
    assert bar(found).line.value == "not error.code"
    assert offered(found) == []
    await found.press(*" ")
    await looked(found)
    await found.pilot._post_mouse_events([MouseScrollDown], pane, (3, 3))
    await found.settle()
    assert pane.top > 0


def test_names_that_are_still_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Event()

    def waiting() -> object:
        gate.wait(60)
        return read_field_names()

    monkeypatch.setattr(input_advice, "read_field_names", waiting)

    async def test(found: Drive) -> None:
        await found.press("slash", *"late")
        await found.until(lambda: sign(found) == "…")
        await found.press("tab")
        assert bar(found).line.value == "late"
        gate.set()
        await looked(found)
        assert bar(found).line.value == "latency"
        await found.press("escape")

    drive(test)


def burst(found: Drive, *keys: str) -> None:
    """All keys at once, as a terminal sends what was typed while the program was busy."""
    driver = found.window._driver
    assert driver is not None
    for key in keys:
        event = Key(
            _character_to_key(key) if len(key) == 1 and not key.isalnum() else key, key if len(key) == 1 else None
        )
        event.set_sender(found.window)
        driver.send_message(event)


@driven()
async def test_keys_act_in_their_order_however_fast_they_come(found: Drive) -> None:
    await opened(found)
    burst(found, *"latex", "backspace", "tab", *" > 6", "left", "delete", *"1m", "end", *"s", "enter")
    await found.until(lambda: found.main.filter.in_force is not None)
    await found.filtered()
    assert found.main.filter.in_force is not None
    assert found.main.filter.in_force.text == "latency > 1ms"


@pytest.mark.slow
def test_earlier_filters(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"

    async def first(found: Drive) -> None:
        for text in ("error", "latency > 5ms", "error"):
            await found.filter(text)
        await found.ask("slash", "latensy")
        await found.press("escape")
        await opened(found, "typed")
        line = bar(found).line
        for key, text in (("up", "error"), ("up", "latency > 5ms"), ("up", "latency > 5ms")):
            await found.press(key)
            assert line.value == text
        for text in ("error", "typed", "typed"):
            await found.press("down")
            assert line.value == text
        await found.press("escape")
        await found.ask("ctrl+f", "needle")
        found.main.saved_state.save()

    drive(first, saved_state=SavedState(path))
    remaining = json.loads(path.read_text())
    assert remaining["filters"] == ["error", "latency > 5ms"]
    assert remaining["sought"] == ["needle"]

    async def second(found: Drive) -> None:
        await opened(found)
        await found.press("up", "up")
        assert bar(found).line.value == "latency > 5ms"
        await found.press("ctrl+r")
        assert isinstance(found.window.screen, Chooser)
        await found.press(*"err", "enter")
        assert bar(found).line.value == "error"
        await found.press("ctrl+r", "escape")
        assert bar(found).line.value == "error"
        await found.press("enter")
        await found.filtered()
        assert found.rows() == kept_by("error")
        await found.press("ctrl+f", "up")
        assert bar(found).line.value == "needle"

    drive(second, saved_state=SavedState(path))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ['{"filters": 5}', '{"filters": [1, "ok", null, "\\u001b]0;x\\u0007"]}', "[", ""])
def test_any_file_of_earlier_filters(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tui.json"
    path.write_text(text)

    async def test(found: Drive) -> None:
        await opened(found)
        await found.press("up", "up", "up", "ctrl+r")
        assert not acts("".join(found.lines()))
        await found.press("escape")
        assert bar(found).line.value in ("", "\x1b]0;x\x07")

    drive(test, saved_state=SavedState(path))


@driven(wanted=compile_filter("kafka.topic == jg"))
async def test_the_filter_of_the_command_line_stands_there(found: Drive) -> None:
    await found.press("slash")
    assert bar(found).line.value == "kafka.topic == jg"
    assert bar(found).line.selected_text == "kafka.topic == jg"
    await looked(found)
    assert sign(found) == "✓"
    assert offered(found) == []


@driven()
async def test_find_goes_on_behind_its_sign(found: Drive) -> None:
    await opened(found, "err", "ctrl+f")
    assert (offered(found), sign(found)) == ([], "✓")
    await found.press("home", "=", "end")
    await looked(found)
    assert offered(found)[0] == "error"
    await found.press("tab", *" and kafka.topik == x")
    await looked(found)
    assert (sign(found), underlined(found)) == ("✗", "kafka.topik")
    await found.press("ctrl+u", *"=operation == OffsetC")
    await looked(found)
    await found.press("tab", "enter")
    await found.until(lambda: "found in message" in found.status())
    assert found.row == kept_by("operation == OffsetCommit")[0]
    await opened(found, "0x00f", "ctrl+f")
    assert sign(found) == "…"


PASTED = [
    *TEXTS,
    "latency > 5ms\nand error\r\n",
    "\n",
    "",
    "x" * 20_000,
    "latency > 5ms or " * 600,
    "(" * 10_000,
    "\ud800",
    "'\\",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", range(len(PASTED)))
@driven(size=(80, 24))
async def test_what_is_pasted_is_text(found: Drive, place: int) -> None:
    await found.press("slash", "ctrl+u")
    found.window.post_message(Paste(PASTED[place]))
    await found.settle()
    await looked(found)
    line = bar(found).line
    assert len(line.value) <= input_line.LONGEST_LINE
    assert not set(line.value) & set("\r\n\t")
    for key in ("tab", "tab", "shift+tab", "home", "a", "end", "left", "backspace", "up", "down"):
        await found.press(key)
        assert not acts("".join(found.lines()))
    await found.press("enter", "escape")
    assert found.main.query_one("#list") is not None


@driven()
async def test_line_breaks_become_blanks(found: Drive) -> None:
    await found.press("slash", "ctrl+u")
    found.window.post_message(Paste("latency > 5ms\nand\terror\r\n"))
    await looked(found)
    assert (bar(found).line.value, sign(found)) == ("latency > 5ms and error", "✓")


def test_hostile_values_are_safe_on_the_screen_and_exact_in_the_filter(tmp_path: Path) -> None:
    path = write(tmp_path / "hostile.pcap", TEXTS)

    async def test(found: Drive) -> None:
        await opened(found, "client == ")
        taken = set()
        for _ in range(len(TEXTS)):
            await found.press("tab")
            assert not acts("".join(found.lines()))
            taken.add(bar(found).line.value)
        assert len(taken) >= len(TEXTS) - 1
        for text in sorted(taken)[::3]:
            assert kept_by(text, path), text
        await found.press("enter")
        await found.filtered()
        assert found.rows()

    drive(test, path)


@driven()
async def test_keys_go_on_while_a_filter_is_at_work(found: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch, "jg") as gate:
        await found.ask("slash", 'text contains "jg"')
        await opened(found, "latency > 5ms or erro")
        assert sign(found) == "…"
        await found.press("tab")
        await looked(found)
        assert (bar(found).line.value, sign(found)) == ("latency > 5ms or error", "✓")
        gate.set()
        await found.press("enter")
        await found.filtered()
    assert found.rows() == kept_by("latency > 5ms or error")


@pytest.mark.parametrize("size", [(20, 5), (30, 4), (5, 3), (1, 1)])
def test_any_size(size: tuple[int, int]) -> None:
    async def test(found: Drive) -> None:
        await opened(found, "e")
        await found.press("tab", "tab", "escape")

    drive(test, size=size)


LATE = (
    *(f"tui.model.{name}" for name in ("completion", "names", "seen", "input_advice", "verdict", "earlier")),
    *(f"tui.screens.{name}" for name in ("ask", "text_line", "bar_offers", "filter_bar")),
    *("analyzer.query.filter", "analyzer.query.fields.catalog"),
)


def test_the_start_needs_none_of_it() -> None:
    code = f"import sys, tui.app; print(sorted(set(sys.modules) & set({LATE!r})))"
    root = KAFKA.parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"
