"""Finding what a message says: text, bytes, what a filter says; on and back, round the ends, among what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.processes import jobs
from analyzer.query import search as find
from analyzer.query.filter import Filter
from analyzer.render.lines import strip_styles
from dissectors.field import Field
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.tui.driving import Drive, drive, driven
from tests.tui.hostile import acts, metadata
from tests.tui.test_filter import kept_by
from tui.model import row_cells
from tui.screens import detail_view
from tui.screens.bug import BugScreen


async def sought(found: Drive) -> None:
    """Until the search has ended and the row that it found is shown."""
    seeker = found.main.search._worker
    await found.until(lambda: seeker._search is None)
    row = None if seeker.result is None else seeker.result.row
    await found.until(lambda: row is None or (found.main.view.detail is not None and found.main.view.detail.row == row))
    await found.settle()


def selected(found: Drive) -> Field:
    what = found.main.tree_pane.get_path()[-1]
    assert isinstance(what, Field), strip_styles(what.line)
    return what


def marked(found: Drive) -> bytes:
    """The bytes that are highlighted, of the source that is shown."""
    pane = found.main.hex_pane
    assert pane._marked is not None
    return bytes(pane._data[slice(*pane._marked)])


@driven()
async def test_a_text_its_field_and_its_bytes(found: Drive) -> None:
    await found.ask("ctrl+f", "Jg")
    await sought(found)
    first = found.row
    assert first is not None
    assert "jg" in str(selected(found).value)
    assert b"jg" in marked(found)
    assert f"found in message {first + 1}: body." in found.status()
    await found.press("n")
    await sought(found)
    second = found.row
    assert second is not None
    assert second > first
    await found.press("N")
    await sought(found)
    assert found.row == first


@pytest.mark.slow
def test_round_the_ends_every_row_once() -> None:
    rows = kept_by("error")

    async def test(found: Drive) -> None:
        seen = []
        await found.ask("ctrl+f", "=error")
        for turn in range(len(rows)):
            await sought(found)
            seen.append(found.row)
            await found.press("n", *("v" if turn == 2 else ""))
        await sought(found)
        assert seen == rows
        assert found.row == rows[0]
        assert found.status() == f"wrapped around, found in message {rows[0] + 1} (1 of {len(rows)})"
        await found.press("N")
        await sought(found)
        assert found.row == rows[-1]
        assert found.status().startswith("wrapped around")

    drive(test)


def test_what_the_list_shows_is_found_too() -> None:
    rows = kept_by("operation == OffsetCommit or client contains OffsetCommit")

    async def test(found: Drive) -> None:
        await found.ask("ctrl+f", "offsetcommit")
        await sought(found)
        assert found.row == rows[0]
        assert selected(found).spec.name == "requestApiKey"
        await found.press("n")
        await sought(found)
        assert found.row == rows[1]

    drive(test)


@driven()
async def test_bytes_are_marked_where_they_are(found: Drive) -> None:
    for words, data in (("0x636f6e73756d6572", b"consumer"), ('"java"', b"java"), ("'java'", b"java")):
        await found.ask("ctrl+f", words)
        await sought(found)
        assert marked(found) == data
        field = selected(found)
        pane = found.main.hex_pane
        assert field.offset <= pane.offset_at_cursor < field.offset + field.length
        assert pane.offset_at_cursor == pane._data.index(data)


def test_only_among_what_is_shown() -> None:
    among = kept_by("number > 200 and error")

    async def test(found: Drive) -> None:
        await found.filter("number > 200")
        await found.ask("ctrl+f", "=error")
        seen = []
        for _ in among:
            await sought(found)
            seen.append(found.row)
            await found.press("n")
        assert seen == among
        assert len(kept_by("error")) > len(among) > 0
        await found.ask("ctrl+f", "no message says this")
        await sought(found)
        assert found.status() == "no message that matches the filter has no message says this"

    drive(test)


@driven()
async def test_the_only_one_is_found_again(found: Drive) -> None:
    await found.ask("ctrl+f", "=number == 48")
    await sought(found)
    await found.press("n")
    await sought(found)
    assert found.row == 47
    assert found.status() == "wrapped around, found in message 48 (1 of 1)"


@driven()
async def test_the_first_message_of_a_stream_lies_behind_its_line(found: Drive) -> None:
    await found.press("up", "n")
    assert found.status() == "there is no search yet: press Ctrl+F to start one"
    await found.ask("ctrl+f", "=number == 1")
    await sought(found)
    assert (found.row, found.status()) == (0, "found in message 1 (1 of 1)")


WRONG = [
    ("", "The search text is empty"),
    ("0xabc", "is not hex"),
    ("'open", "is not hex"),
    ("=latency >", "expected a value"),
]


@driven()
async def test_what_can_not_be_sought_is_reported(found: Drive) -> None:
    for words, why in WRONG:
        await found.ask("ctrl+f", words)
        assert why in found.lines()[-2], words
        await found.press("escape")
        assert found.row == 0


@driven()
async def test_the_place_of_a_wrong_filter_is_that_in_the_line(found: Drive) -> None:
    await found.ask("ctrl+f", "=latensy > 5")
    parts = found.window.screen._compositor.render_strips()[-1]
    assert "".join(part.text for part in parts if part.style is not None and part.style.underline) == "latensy"


def test_a_search_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, search = Event(), find.iterate_matches

    def waiting(*arguments: object, **rest: object) -> Iterator[find.SearchStep]:
        gate.wait(60)
        return search(*arguments, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(find, "iterate_matches", waiting)

    async def test(found: Drive) -> None:
        await found.ask("ctrl+f", "jg")
        await found.press("j", "n", "escape")
        assert found.status() == "the search was stopped"
        gate.set()
        await found.until(lambda: not found.main._asker._tasks)
        await found.settle()
        assert found.row == 1
        await found.press("n")
        await sought(found)
        assert "found in message" in found.status()

    drive(test)


def test_processes_that_fail_or_hang_do_not_keep_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_STEP", "LARGEST_STEP"):
        monkeypatch.setattr(find, name, 50)
    monkeypatch.setattr(jobs, "choose_jobs", lambda size: 2)
    monkeypatch.setattr("tui.search_worker.PROGRESS_INTERVAL", 0.0)  # or a fast machine hangs before it has reported
    select, act = Filter.select_rows, fail

    def select_rows(self: Filter, reader: RowReader, rows: Ints) -> Ints:
        if rows[0] >= 300:
            act()
        return select(self, reader, rows)

    monkeypatch.setattr(Filter, "select_rows", select_rows)

    async def test(found: Drive) -> None:
        nonlocal act
        await found.ask("ctrl+f", "nobody says this")
        found.expects_defects = True
        await found.until(lambda: isinstance(found.window.screen, BugScreen))
        assert [type(error) for error in found.window.shown_defects] == [KeyError]
        await found.press("c")
        assert found.main.search._worker._search is None
        assert found.status() == "the search was stopped"

        act = hang
        await found.press("n")
        await found.until(lambda: "searching for" in found.status())
        await found.press("escape")
        assert found.status() == "the search was stopped"

        act = int
        await found.press("n")
        await sought(found)
        assert found.status() == "no message has nobody says this"

    drive(test)


def fail() -> None:
    raise KeyError("a defect")


def hang() -> None:
    """Never ends in a forked process."""
    while jobs._Worker.running:
        sleep(1)


def test_how_far_it_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "FIRST_STEP", 1)
    monkeypatch.setattr(find, "LARGEST_STEP", 1)
    monkeypatch.setattr("tui.search_worker.PROGRESS_INTERVAL", 0.0)
    output: list[str] = []

    async def test(found: Drive) -> None:
        say = found.main.bars.show_message
        monkeypatch.setattr(
            found.main.bars, "show_message", lambda text, style="bar": (output.append(text), say(text, style))
        )
        await found.ask("ctrl+f", "nobody says this\x1b[31m")
        await sought(found)
        assert not acts("".join(found.lines()))

    drive(test)
    percents = [int(text.split("%")[0].split()[-1]) for text in output if "searching for" in text]
    assert len(percents) > 100
    assert percents == sorted(percents)
    assert percents[-1] == 99


def test_a_long_message_is_pointed_into_when_it_has_been_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_cells, "LONG", 10_000)
    monkeypatch.setattr(detail_view, "LONG", 10_000)
    long = metadata(1, "client", ["topic" * 6000, "needle"])
    writes = [(CLIENT, metadata(0, "client", ["a"])), (CLIENT, long), (CLIENT, metadata(2, "client", ["b"]))]
    path = capture(tmp_path / "long.pcap", segments(Talk(tuple(writes)), lambda data: [data[:60_000]]))

    async def test(found: Drive) -> None:
        await found.ask("ctrl+f", "NEEDLE")
        await sought(found)
        assert found.row == 1
        assert selected(found).value == "needle"
        assert b"needle" in marked(found)
        await found.press("j", "k")
        await found.until(lambda: found.main.view.detail is not None and found.main.view.detail.row == 1)
        await found.settle()
        assert found.main.tree_pane.cursor == 0

    drive(test, path)
