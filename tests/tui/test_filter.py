"""The line for a display filter, and what the list shows then: in both views, as rows come in, beside the keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event

import pytest
from textual.events import Key, Paste
from textual.widgets import Input

from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.filter import Filter, compile_filter
from analyzer.session import Session
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.hostile import acts
from tests.tui.screens.test_ingest import pipe, rows_in
from tui import filter_worker
from tui.screens import ingest as screen
from tui.screens.bug import BugScreen
from tui.screens.input_line import LineDialog

MIXED = KAFKA.with_name("mixed.pcapng")
WHOLE = KAFKA.read_bytes()


@cache
def kept_by(text: str, capture: Path = KAFKA) -> list[int]:
    with Session([capture]) as session:
        reader = RowReader(session.load())
        return compile_filter(text).select_rows(reader, range(len(session.rows))).tolist()


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, filters: str) -> Iterator[Event]:
    """Filters of which this is a part are not asked before the event is set."""
    gate, ask = Event(), filter_worker._apply_filter

    def waiting(wanted: Filter, *rest: object) -> filter_worker.FilterResult:
        if filters in wanted.text:
            assert gate.wait(60)
        return ask(wanted, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(filter_worker, "_apply_filter", waiting)
        yield gate
    gate.set()


FILTERS = ("latency > 5ms", "error", 'text contains "jg"', "kafka.topic == jg", "not partner")


@pytest.mark.parametrize("text", FILTERS)
def test_both_views_show_what_list_would_print(text: str) -> None:
    rows = kept_by(text)

    async def test(found: Drive) -> None:
        await found.press("j", "j")
        await found.filter(text)
        listed = found.main.timeline
        assert found.rows() == rows
        output = f"filter: {text}, {len(rows)} of 648"
        assert output in found.text("title")
        await found.press("=")
        places = listed.timeline.list_places(0, 2000)
        assert sorted(place.row for place in places if place.row is not None) == rows
        streams = {int(stream) for stream in found.main.session.rows.column("stream")[rows]}
        assert [place.stream for place in places if place.row is None] == sorted(streams)
        after = [row for row in rows if row >= 2]
        assert found.row == (after[0] if after else rows[-1] if rows else None)
        row = found.row
        await found.press("v")
        assert [place.row for place in listed.timeline.list_places(0, 2000)] == rows
        assert found.row == row
        shown = [int(line[2:].split()[0]) for line in found.text("list").splitlines() if line[2:].split()]
        first = listed.top
        assert shown == [each + 1 for each in rows[first : first + len(shown)]]

    drive(test)


@driven(size=(200, 40))
async def test_a_stream_says_how_many_of_its_messages_are_left(found: Drive) -> None:
    await found.filter("role == response and stream == 6")
    (line,) = [line for line in found.text("list").splitlines() if line.startswith("▾")]
    listed = found.main.timeline.timeline
    assert f" {listed.count_rows(6)} of {listed.count_messages(6)} messages" in line
    assert 0 < listed.count_rows(6) < listed.count_messages(6)


def test_what_is_selected_stays_or_the_next_one_is() -> None:
    rows = kept_by("role == response")

    async def test(found: Drive) -> None:
        for view in range(2):
            await found.press("ctrl+g", "4", "8", "enter")
            await found.filter("role == response")
            assert 47 in rows
            assert found.row == 47
            await found.filter("role == request")
            assert found.row == 48
            await found.filter("stream == 9999")
            assert found.row is None
            assert found.status() == "no message matches the filter"
            assert "kafka" not in found.text("tree-head")
            await found.press("j", "k", "G", "space", "p", "tab", "j", "shift+tab", "n")
            await found.filter("")
            assert (found.row, found.rows()) == (48, list(range(648)))
            assert "filter:" not in found.text("title")
            await found.press("v")
            assert view < 2

    drive(test)


@driven()
async def test_a_stream_that_is_selected_stays_so(found: Drive) -> None:
    await found.press("-", "G")
    place = found.main.timeline.selected
    assert place is not None
    await found.filter("role == request")
    assert found.main.timeline.selected == place
    await found.filter(f"stream < {place.stream - 3}")
    assert found.main.timeline.selected == (place.stream - 4, None)


WRONG = [
    ("latency > ", "", "expected a value, found the end"),
    ("latency > 5ms and kafka.topik == x", "kafka.topik", "Did you mean kafka.topic"),
    ("length in {1, five}", "five", "Write a number"),
    ("$slw", "$slw", "Did you mean slow?"),
]


@driven(named={"slow": "latency > 50ms"})
async def test_a_wrong_filter_is_reported_at_its_place_and_can_be_mended(found: Drive) -> None:
    await found.filter("latency > 5ms")
    for text, place, why in WRONG:
        await found.ask("slash", text)
        bar = found.window.screen
        assert isinstance(bar, LineDialog)
        line = bar.query_one(Input)
        assert line.value == text
        assert why in found.lines()[-2]
        parts = bar._compositor.render_strips()[-1]
        underlined = [part.text for part in parts if part.style is not None and part.style.underline]
        assert "".join(underlined) == place
        assert line.cursor_position == (text.index(place) + len(place) if place else len(text))
        await found.press("end", " ")
        await found.until(lambda: "Enter applies it" in found.lines()[-2])
        await found.press("escape")
        assert "filter: latency > 5ms, " in found.text("title")
        assert found.rows() == kept_by("latency > 5ms")
    await found.ask("slash", "latency >")
    await found.press("end", *" 9ms", "enter")
    await found.filtered()
    assert found.rows() == kept_by("latency > 9ms")
    await found.press("slash")
    assert found.window.screen.query_one(Input).value == "latency > 9ms"


def test_filters_may_have_names() -> None:
    async def test(found: Drive) -> None:
        assert found.rows() == kept_by("latency > 50ms and operation == Fetch")
        await found.filter("not $slow")
        assert found.rows() == kept_by("not (latency > 50ms)")

    named = {"slow": "latency > 50ms"}
    drive(test, wanted=compile_filter("$slow and operation == Fetch", named), named=named)


@driven()
async def test_what_is_typed_at_once_is_not_lost(found: Drive) -> None:
    driver = found.window._driver
    assert driver is not None
    for character in "/role==push":
        event = Key("slash" if character == "/" else character, character)
        event.set_sender(found.window)
        driver.send_message(event)
    driver.send_message(Key("enter", "\r"))
    await found.until(lambda: found.main.filter.in_force is not None)
    await found.filtered()
    assert found.main.filter.in_force is not None
    assert found.main.filter.in_force.text == "role==push"


@driven()
async def test_what_was_pasted_does_not_act(found: Drive) -> None:
    await found.press("slash")
    found.window.post_message(Paste('client == "\x1b[31m\x1b]0;x\x07\u202e"\nand error'))
    await found.settle()
    seen = "".join(found.lines())
    await found.press("enter")
    await found.filtered()
    seen += "".join(found.lines())
    assert found.rows() == []
    assert not acts(seen)


@driven()
async def test_what_the_filter_hides_is_reported(found: Drive) -> None:
    await found.filter("role == request")
    row = found.row
    await found.press("ctrl+g", "4", "enter")
    assert found.status() == "the filter hides message 4: an empty filter (/) shows all"
    assert found.row == row


def test_keys_go_on_while_a_filter_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kept_by("latency > 1ms")

    async def test(found: Drive) -> None:
        with held(monkeypatch, "jg") as gate:
            await found.ask("slash", 'text contains "jg"')
            assert 'filter: text contains "jg", 0 of 648' in found.text("title")
            assert "filtering 0 %" in found.text("title")
            assert found.rows() == list(range(648))
            await found.press("j", "j", "tab", "shift+tab", "v", "v")
            assert found.row == 2
            await found.ask("slash", "latency > 1ms")
            gate.set()
            await found.filtered()
            assert found.rows() == rows
            assert f"filter: latency > 1ms, {len(rows)} of 648" in found.text("title")

    drive(test)


def test_escape_brings_back_the_filter_before(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kept_by("latency > 1ms")

    async def test(found: Drive) -> None:
        await found.press("escape")
        for before, remaining in (("", list(range(648))), ("latency > 1ms", rows)):
            await found.filter(before)
            with held(monkeypatch, "x") as gate:
                await found.ask("slash", 'text contains "x"')
                await found.ask("slash", 'text contains "xy"')
                assert "filtering" in found.text("title")
                await found.press("escape")
                assert found.status() == "the filter was cancelled"
                gate.set()
                await found.filtered()
            assert found.rows() == remaining
            assert ("filter: latency" in found.text("title")) is bool(before)
        await found.press("escape")
        await found.filtered()
        assert found.rows() == list(range(648))

    drive(test)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", FILTERS[2:5])
def test_from_the_beginning_while_the_file_is_read(text: str) -> None:
    async def test(found: Drive) -> None:
        assert found.rows() == kept_by(text, MIXED)
        assert found.row in found.rows()

    drive(test, MIXED, block=100, wanted=compile_filter(text))


def test_rows_that_come_in_are_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "PAUSE", 0.01)

    async def test(found: Drive) -> None:
        main, listed = found.main, found.main.timeline.timeline
        os.write(end, WHOLE[:60_000])
        await found.until(lambda: listed.rows == rows_in(60_000))
        await found.filter("operation == Fetch and latency > 1ms")
        some = found.rows()
        await found.press("v", "G")
        assert found.row == some[-1]
        assert main.timeline.following
        os.write(end, WHOLE[60_000:180_000])
        await found.until(lambda: listed.rows == rows_in(180_000))
        await found.filtered()
        assert len(found.rows()) > len(some)
        await found.until(lambda: found.row == found.rows()[-1])
        await found.press("k")
        row = found.row
        os.write(end, WHOLE[180_000:])
        os.dup2(os.open(os.devnull, os.O_WRONLY), end)  # the end of the pipe
        await found.loaded()
        assert found.row == row
        assert found.rows() == kept_by("operation == Fetch and latency > 1ms")
        assert re.search(r"filter: operation .*, \d+ of 648", found.text("title"))

    with pipe() as (name, end):
        drive(test, name, wait=False, size=(200, 40))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (20, 5), (1, 1)])
def test_any_size(size: tuple[int, int]) -> None:
    async def test(found: Drive) -> None:
        await found.ask("slash", "latency ~")
        await found.press("escape")
        await found.filter("latency > 5ms")
        assert found.rows() == kept_by("latency > 5ms")

    drive(test, size=size)


def test_a_defect_of_a_filter_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Exception):
        pass

    async def test(found: Drive) -> None:
        def broken(*_: object) -> None:
            raise Odd

        monkeypatch.setattr(filter_worker, "_find_unanswered", broken)
        monkeypatch.setattr(filter_worker.RowReaders, "get_reader", broken)
        found.expects_defects = True
        await found.ask("slash", "latency > 5ms")
        await found.until(lambda: isinstance(found.window.screen, BugScreen))
        assert isinstance(found.window.shown_defects[0], Odd)

    assert not issubclass(Odd, UserError)
    drive(test)
