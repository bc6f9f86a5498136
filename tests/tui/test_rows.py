"""What the user puts on top of the list: columns, times, marks, ignored messages, colours; and where he has been."""

from __future__ import annotations

import os
import re
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from analyzer.config.model import ColorRule, Config
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.render.lines import strip_styles
from tests.analyzer.messages.test_host_names import written
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.hostile import acts
from tests.tui.screens.test_ingest import WHOLE, pipe, rows_in
from tui.commands import appearance, columns, navigation
from tui.saved_state import SavedState
from tui.screens.columns import ColumnsScreen

MIXED = KAFKA.with_name("mixed.pcapng")
ERRORS = GOLDEN / "k4_errors.pcap.zst"


def line_of(found: Drive, row: int) -> str:
    """The line of a row that is on the screen."""
    lines = found.text("list").splitlines()
    return next(line for line in lines if re.match(rf"...\s*{row + 1}\s", line))


async def go_to(found: Drive, row: int) -> None:
    await found.press("ctrl+g", *str(row + 1), "enter")
    assert found.row == row


# Marks.


@driven()
async def test_marks_are_visited_in_both_directions(found: Drive) -> None:
    await found.press("v", "apostrophe")
    assert found.status() == "no message is marked: press m to mark one"
    for row in (3, 40, 500):
        await go_to(found, row)
        await found.press("m")
        assert line_of(found, row)[1] == "●"
    assert "message 501 is marked" in found.status()
    assert found.status().endswith("3 marked")
    went = []
    for key in ("apostrophe", "apostrophe", "apostrophe", "quotation_mark", "quotation_mark"):
        await found.press(key)
        went.append(found.row)
    assert went == [3, 40, 500, 40, 3]
    await found.press("m", "apostrophe", "quotation_mark")
    assert found.row == 500
    assert found.status().endswith("2 marked")
    navigation.clear_marks(found.main)
    await found.settle()
    assert "●" not in found.text("list")
    assert found.status() == "2 marks taken away"


@driven()
async def test_marks_outlive_filters_and_views(found: Drive) -> None:
    for row in (2, 46):
        await go_to(found, row)
        await found.press("m")
    await found.filter("operation == Fetch")
    await found.press("apostrophe")
    assert found.row == 46
    await found.press("apostrophe")
    assert found.row == 46
    await found.filter("operation == Heartbeat")
    await found.press("apostrophe")
    assert "the filter hides all marked messages: 2 messages" in found.status()
    await found.filter("")
    await found.press("v", "apostrophe")
    assert found.row in (2, 46)
    assert line_of(found, 2)[1] == "●"


def test_marks_outlive_rows_that_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.screens.ingest.PAUSE", 0.01)

    async def test(found: Drive) -> None:
        listed = found.main.timeline
        os.write(end, WHOLE[:60_000])
        await found.until(lambda: listed.timeline.rows == rows_in(60_000))
        await found.press("v", "j", "m", "j", "d")
        os.write(end, WHOLE[60_000:120_000])
        await found.until(lambda: listed.timeline.rows == rows_in(120_000))
        await found.settle()
        assert line_of(found, 1)[1] == "●"
        assert "ignored" in line_of(found, 2)

    with pipe() as (name, end):
        drive(test, name, wait=False)


@driven()
async def test_the_partner_of_a_marked_message_is_distinguished(found: Drive) -> None:
    await found.press("v", "j", "m", "k")
    assert line_of(found, 1)[1] == "◆"
    await found.press("j", "m", "k")
    assert line_of(found, 1)[1] == "◂"


@driven()
async def test_a_stream_cannot_be_marked(found: Drive) -> None:
    for key in ("m", "d", "ctrl+t"):
        await found.press("escape", "g", "m", key)
        assert found.status() == "no message is selected"


# Ignored messages.


@driven()
async def test_what_is_ignored_is_neither_decoded_nor_found(found: Drive) -> None:
    await found.ask("ctrl+f", "jg")
    await found.until(lambda: "found in message" in found.status())
    row = found.row
    assert row is not None
    await found.press("d")
    assert found.main.timeline.ignored == {row}
    assert "ignored: it is not decoded" in found.status()
    assert line_of(found, row).rstrip(" █").endswith("ignored")
    assert found.text("tree").split("\n")[0].strip() == "ignored: press d to include it again"
    assert found.main.view.detail is None
    await found.press("j", "k")
    assert found.main.view.detail is None
    seen = []
    for _ in range(4):
        before = found.row
        await found.press("n")
        await found.until(lambda before=before: found.row != before)  # type: ignore[misc]
        seen.append(found.row)
    assert row not in seen
    await go_to(found, row)
    await found.press("d")
    assert found.main.timeline.ignored == set()
    assert found.main.view.detail is not None
    assert "ignored" not in line_of(found, row)


@driven()
async def test_none_is_ignored_any_more(found: Drive) -> None:
    await found.press("v", "d", "j", "d", "j", "d")
    assert found.status().endswith("3 ignored")
    await found.press("D")
    assert found.status() == "3 messages no longer ignored"
    await found.press("d", "D")
    assert found.status() == "1 message no longer ignored"
    assert found.main.view.detail is not None
    assert "ignored" not in found.text("list")
    await found.press("D")
    assert found.status() == "no message is ignored"


# Times.


def test_formats_of_time_go_round_and_are_remembered() -> None:
    saved_state = SavedState()

    async def test(found: Drive) -> None:
        await found.press("v")
        shown = []
        for _ in range(5):
            shown.append(line_of(found, 1)[3:].split()[1])
            await found.press("t")
        (time,) = RowReader(found.main.session).read_columns(["time"], np.array([1]))[0]
        assert shown[0] == time[11:26]
        assert shown[1] == time[:26]
        assert 0 < float(shown[3]) < float(shown[2]) < 1
        assert shown[4].startswith("1795270513.")
        assert line_of(found, 1)[3:].split()[1] == shown[0]
        assert found.status() == "times: clock"
        await found.press("t")

    drive(test, size=(320, 40), saved_state=saved_state)
    assert saved_state.get("time-format", "") == "iso"

    async def again(found: Drive) -> None:
        assert line_of(found, 1)[5:].split()[1].startswith("2026-11-21T")

    drive(again, size=(320, 40), saved_state=saved_state)

    async def configured(found: Drive) -> None:
        assert line_of(found, 1)[5:].split()[1].startswith("1795270513.")

    drive(configured, size=(320, 40), saved_state=saved_state, config=Config(time_format="epoch"))


def seconds(line: str) -> float:
    return float(line[3:].split()[1])


@driven(size=(320, 40))
async def test_delta_is_since_the_line_above(found: Drive) -> None:
    await found.filter("operation == Fetch")
    await found.press("v", "t", "t", "t")
    listed, times = found.main.timeline, found.main.session.rows.column("time")
    rows = found.rows()
    for before, row in islice(pairwise(rows), 20):
        assert abs(seconds(line_of(found, row)) - (int(times[row]) - int(times[before])) / 1e9) < 2e-6
    await found.press("v")
    assert listed.timeline.find_place(0).row is None  # type: ignore[union-attr]
    first = listed.timeline.find_place(1).row  # type: ignore[union-attr]
    assert first is None or seconds(line_of(found, first)) == 0


@driven(size=(320, 40))
async def test_relative_times_count_from_a_reference(found: Drive) -> None:
    await found.press("v", "t", "t")
    before = seconds(line_of(found, 10))
    await go_to(found, 5)
    await found.press("ctrl+t")
    assert "message 6 is a time reference" in found.status()
    assert line_of(found, 5)[3:].split()[1] == "*REF*"
    times = found.main.session.rows.column("time")
    assert abs(seconds(line_of(found, 10)) - int(times[10] - times[5]) / 1e9) < 2e-6
    assert seconds(line_of(found, 3)) < before
    await found.press("ctrl+t")
    assert "message 6 is no longer a time reference" in found.status()
    assert seconds(line_of(found, 10)) == before
    await found.press("ctrl+t", "j", "ctrl+t")
    appearance.clear_references(found.main)
    await found.settle()
    assert "*REF*" not in found.text("list")


@driven(size=(130, 30))
async def test_a_reference_is_seen_where_there_is_no_room_for_times(found: Drive) -> None:
    await found.press("ctrl+t")
    assert "*REF*" in found.text("list").splitlines()[1]


# Columns.


def test_columns_are_chosen_moved_and_remembered() -> None:
    saved_state = SavedState()

    async def test(found: Drive) -> None:
        main = found.main
        await found.press("v", "c")
        assert isinstance(found.window.screen, ColumnsScreen)
        chooser = found.window.screen
        await found.until(lambda: bool(chooser._fields))
        await found.press(*"kafka.topic")
        await found.settle()
        assert "[ ] kafka.topic " in "\n".join(found.lines())
        await found.press("enter")
        assert columns.get_columns(main) == [
            "number",
            "time",
            "operation",
            "version",
            "length",
            "latency",
            "kafka.topic",
            "info",
        ]
        assert "[x] kafka.topic " in "\n".join(found.lines())
        await found.press("ctrl+up", "ctrl+up", "shift+up", "ctrl+down")
        assert columns.get_columns(main) == [
            "number",
            "time",
            "operation",
            "version",
            "kafka.topic",
            "length",
            "latency",
            "info",
        ]
        await found.press("escape")
        await found.until(lambda: main.timeline.row_lines.custom_columns.list_missing([20]) == [])  # type: ignore[union-attr]
        await found.settle()
        assert "V kafka.topic Length Latency Info" in found.text("list-head")
        shown = {row: line_of(found, row) for row in range(30)}
        topics = compile_filter("kafka.topic").select_rows(RowReader(main.session), range(30)).tolist()
        assert [row for row, line in shown.items() if re.search(r" \d+ jg +\d+ ", line)] == topics
        assert topics

    drive(test, size=(320, 50), saved_state=saved_state)

    async def again(found: Drive) -> None:
        assert "kafka.topic" in found.text("list-head")
        await found.press("c", "enter", "escape")
        assert columns.get_columns(found.main) is None
        assert "kafka.topic" not in found.text("list-head")

    drive(again, size=(320, 50), saved_state=saved_state)
    assert saved_state.get("columns", ["x"]) == []


@driven(size=(200, 40), config=Config(columns={"mine": ("number", "client")}))
async def test_sets_of_the_configuration_come_first(found: Drive) -> None:
    await found.press("c", "down", "enter")
    assert columns.get_columns(found.main) == ["number", "client"]
    await found.press(*"set zookeeper-q", "enter", "escape")
    assert columns.get_columns(found.main)[-1] == "info"  # type: ignore[index]
    assert "Source" in found.text("list-head")


@driven()
async def test_a_column_goes_and_the_last_one_stays_what_fits(found: Drive) -> None:
    columns.show_columns(found.main, ["number", "client"])
    await found.press("c", "down", "enter")
    assert columns.get_columns(found.main) == ["client"]
    await found.press("enter", "escape")
    assert columns.get_columns(found.main) is None
    columns.add_column(found.main, "client")
    assert columns.get_columns(found.main)[-2:] == ["client", "info"]  # type: ignore[index]


@driven(size=(60, 12))
async def test_what_is_selected_is_seen_on_a_low_terminal(found: Drive) -> None:
    await found.press("c", *["down"] * 8)
    screen = found.window.screen
    assert isinstance(screen, ColumnsScreen)
    wanted = strip_styles(screen.pane.lines[8][0])
    assert any(wanted in line for line in found.lines())
    await found.pilot.resize_terminal(60, 6)
    await found.settle()
    assert any(wanted in line for line in found.lines())


def test_remembered_columns_that_mean_nothing_are_left_out() -> None:
    saved_state = SavedState()
    saved_state.set("columns", ["number", "no.such", "client"])

    async def test(found: Drive) -> None:
        assert columns.get_columns(found.main) == ["number", "client"]

    drive(test, saved_state=saved_state)


@driven(size=(320, 40))
async def test_columns_grow_with_what_stands_in_them(found: Drive) -> None:
    columns.show_columns(found.main, ["number", "client", "length"])
    await found.press("v")
    heads = set()
    for _ in range(19):
        heads.add(found.text("list-head").rstrip())
        lines = [line.rstrip(" █") for line in found.text("list").splitlines()]
        assert len({len(line) for line in lines if line.strip()}) == 1
        await found.press("pagedown")
    assert len(heads) > 1


# Colours.


def rules_of(found: Drive) -> dict[int, str]:
    """The style of the operation of each row on the screen."""
    listed = found.main.timeline
    shown: dict[int, str] = {}
    for line, place in enumerate(listed.timeline.list_places(listed.top, listed.inner.height), listed.top):
        if place.row is not None:
            spans = listed.get_spans(line)
            shown[place.row] = next((style for style, _ in spans if style.startswith("rule-")), "")
    return shown


async def coloured(found: Drive) -> None:
    """Until all rows on the screen have been asked."""
    listed = found.main.timeline
    rows = [
        place.row for place in listed.timeline.list_places(listed.top, listed.inner.height) if place.row is not None
    ]
    colours = listed.row_lines.colour_rules
    assert colours is not None
    await found.until(lambda: set(rows) <= set(colours._matches) and not colours.list_missing(rows))
    await found.settle()


@driven(ERRORS, size=(200, 60))
async def test_rules_colour_rows_and_have_signs(found: Drive) -> None:
    await found.press("v")
    await coloured(found)
    rules = {rule.style: rule for rule in found.main.timeline.row_lines.colour_rules.rules}  # type: ignore[union-attr]
    named = {row: rules[style].name for row, style in rules_of(found).items() if style in rules}
    session = found.main.session
    errors = compile_filter("error").select_rows(RowReader(session), range(len(session.rows))).tolist()
    assert [row for row, name in named.items() if name == "error"] == errors
    assert errors
    for row in errors:
        assert line_of(found, row)[0] == "!"


def test_protocols_are_distinguished_where_there_are_several() -> None:
    async def mixed(found: Drive) -> None:
        await found.press("v")
        await coloured(found)
        assert {line[2] for line in found.text("list").splitlines()} >= {"k"}
        reader = RowReader(found.main.session)
        row = compile_filter("protocol == zookeeper").select_rows(reader, range(1140)).tolist()[0]
        await go_to(found, row)
        await coloured(found)
        assert line_of(found, row)[2] == "z"

    async def alone(found: Drive) -> None:
        await found.press("v")
        await coloured(found)
        assert {line[2] for line in found.text("list").splitlines()} == {" "}

    drive(mixed, MIXED)
    drive(alone)


def test_own_rules_come_first_and_wrong_ones_are_reported_once() -> None:
    own = (
        ColorRule("bad filter", "latency >", "red"),
        ColorRule("bad style", "length > 0", "no such colour"),
        ColorRule("heart", "operation == Heartbeat", "black on yellow"),
    )

    async def test(found: Drive) -> None:
        await found.until(lambda: "The colour rule bad filter is left out. " in found.status())
        assert "(1 more are invalid)" in found.status()
        reader = RowReader(found.main.session)
        row = compile_filter("operation == Heartbeat").select_rows(reader, range(648)).tolist()[0]
        await go_to(found, row + 1)
        await found.press("v")
        await coloured(found)
        assert line_of(found, row)[2] == "h"
        listed = found.main.timeline
        at = listed.timeline.find_line(listed.find_place(row))
        assert len(listed.get_spans(at)) == 1
        assert len(listed.get_cursor_spans(at)) > 1
        found.main.bars._stays = 0.0  # its seconds are over
        await found.press("k", "j")
        assert "left out" not in found.status()

    drive(test, config=Config(own_colors=own), named={})


@driven(config=Config(own_colors=(ColorRule("group", "kafka.group", "bold green"),)))
async def test_a_rule_that_reads_messages_is_painted_when_it_is_known(found: Drive) -> None:
    await found.press("v")
    for _ in range(6):
        await found.press("pagedown")
    await coloured(found)
    session = found.main.session
    wanted = set(compile_filter("kafka.group").select_rows(RowReader(session), range(len(session.rows))).tolist())
    shown = rules_of(found)
    assert {row for row, style in shown.items() if style == "rule-0"} == wanted & set(shown)
    assert wanted & set(shown)


def test_without_colours_signs_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(found: Drive) -> None:
        await found.press("v", "m")
        await coloured(found)
        assert any(line[:3] == "!  " for line in found.text("list").splitlines())
        assert line_of(found, 0)[1] == "●"
        strips = found.window.screen._compositor.render_strips()
        styles = {segment.style for strip in strips for segment in strip if segment.style is not None}
        assert all(style.color is None or style.color.is_default for style in styles)

    drive(test, ERRORS)


def test_rules_are_read_next_to_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []
    whole = appearance._take
    monkeypatch.setattr(appearance, "_take", lambda *found: requested.append("taken") or whole(*found))

    async def test(found: Drive) -> None:
        assert requested == ["taken"]

    drive(test)


# Where one has been.


@driven()
async def test_back_and_forward_through_jumps(found: Drive) -> None:
    await found.press("backspace")
    assert found.status() == "there is nothing to go back to"
    await found.press("j", "j", "j")
    await go_to(found, 47)
    await go_to(found, 600)
    await found.press("j")
    at = found.row
    assert at not in (600, None)
    went = []
    for key in ("backspace", "alt+left", "backspace", "alt+right", "alt+right", "alt+right"):
        await found.press(key)
        went.append(found.row)
    assert went == [47, 3, 3, 47, at, at]
    assert found.status() == "there is nothing to go forward to"
    await found.press("v", "G", "backspace")
    assert found.row == at
    await found.filter("operation == Heartbeat")
    await found.press("backspace")
    assert found.row in found.rows()


@driven()
async def test_what_was_found_is_a_jump(found: Drive) -> None:
    await found.press("j")
    await found.ask("ctrl+f", "Heartbeat")
    await found.until(lambda: found.row not in (1, None))
    await found.press("backspace")
    assert found.row == 1


# Names of hosts.


def test_streams_say_the_names_that_the_capture_tells(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcapng", ("10.0.0.2", b"broker-1\x1b[31m"))

    async def test(found: Drive) -> None:
        assert "10.0.0.1:40000 > 10.0.0.2:9092 (broker-1" in found.text("list").splitlines()[0]
        await found.press("k")
        assert "server: 10.0.0.2:9092 (broker-1" in found.text("tree")
        assert not any(acts(line) for line in found.lines())

    drive(test, path, size=(300, 40))


# Messages that are shown with others.


@driven(GOLDEN.with_name("pulsar") / "go4_chunks.pcap.zst")
async def test_a_chunk_is_shown_when_what_it_completes_has_been_read(found: Drive) -> None:
    await go_to(found, 46)
    await found.until(lambda: "whole  struct" in found.text("tree"))
