"""Saving: what, as what, where; over what is there; stopped; errors said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_messages
from analyzer.export import forms
from analyzer.session import Session
from dissectors.field import Field
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tui.model import exports
from tui.screens.chooser import Chooser
from tui.screens.input_line import LineDialog
from tui.screens.progress import ProgressDialog

SASL = GOLDEN / "k24_sasl_v0.pcap.zst"


async def save(found: Drive, what: str, form: str, path: Path | str) -> None:
    """Goes through the dialogs up to the name."""
    await found.press("w")
    await found.until(lambda: isinstance(found.window.screen, Chooser))
    await found.press(*what, "enter")
    await found.press(*form, "enter")
    await name(found, path)


async def name(found: Drive, path: Path | str) -> None:
    assert isinstance(found.window.screen, LineDialog)
    line = found.window.screen.line
    line.value = str(path)
    await found.press("enter")


async def saved(found: Drive, words: str = "written to") -> None:
    await found.until(lambda: words in found.status())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["ndjson", "csv", "tsv", "raw", "pcapng", "objects", "parquet"])
def test_each_form_of_what_the_filter_keeps(form: str, tmp_path: Path) -> None:
    """What is written is what `wireanalyze export` writes, by the same code; here it is the right rows."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"out.{form}"

    async def test(found: Drive) -> None:
        await found.filter("kafka.Produce")
        remaining = found.rows()
        await save(found, "are shown", form, path)
        await saved(found)
        if form == "ndjson":
            assert [json.loads(line)["number"] - 1 for line in path.read_text().splitlines()] == remaining
        elif form in ("csv", "tsv"):
            assert len(path.read_text().splitlines()) == len(remaining) + 1
        elif form == "raw":
            assert path.read_bytes() == b"".join(read_messages(found.main.session, np.array(remaining)))
        elif form == "pcapng":
            with Session([path]).load() as again:
                assert {
                    again.engine.names.text(again.rows.cell("operation", row)) for row in range(len(again.rows))
                } == {"Produce"}
        else:
            assert any(path.iterdir())
        assert not list(tmp_path.glob(".wireanalyze-*"))

    drive(test, size=(160, 40))


@driven(size=(200, 40))
async def test_the_message_the_stream_and_the_marked(found: Drive, tmp_path: Path) -> None:
    for row in (3, 46, 100):
        found.main.view.select_row(row)
        await found.press("m")
    found.main.view.select_row(46)
    await found.settle()
    stream = found.main.session.rows.column("stream")
    for what, rows in (
        ("message 47", [46]),
        ("the marked", [3, 46, 100]),
        ("this stream", np.flatnonzero(stream == stream[46]).tolist()),
    ):
        path = tmp_path / f"{len(rows)}.ndjson"
        await save(found, what, "ndjson", path)
        await saved(found, str(path))
        assert [json.loads(line)["number"] - 1 for line in path.read_text().splitlines()] == rows


def test_what_is_ignored_is_left_out() -> None:
    shown, mine = np.arange(10), np.array([1, 2, 3])
    found = exports.list_choices(shown, {2, 4}, {3, 4}, 3, mine)
    assert [each.rows.tolist() for each in found] == [[0, 1, 2, 5, 6, 7, 8, 9], [2], [3], [1, 2]]
    assert exports.list_choices(shown[:0], (), (), None, mine[:0]) == []


def test_existing_files_are_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("mine")

    async def test(found: Drive) -> None:
        await save(found, "message 1", "csv", path)
        assert isinstance(found.window.screen, Chooser)
        await found.press("escape")
        assert path.read_text() == "mine"
        await save(found, "message 1", "csv", path)
        await found.press(*"another", "enter")
        await name(found, tmp_path / "other.csv")
        await saved(found)
        assert path.read_text() == "mine"
        await save(found, "message 1", "csv", path)
        await found.press(*"replace", "enter")
        await saved(found, "out.csv")
        assert path.read_text() == (tmp_path / "other.csv").read_text()

    drive(test, size=(160, 40))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/no/such/folder/x.csv", "there is no folder /no/such/folder"),
        ("/", "is a folder. Give a file."),
        ("", "The name of the output is empty"),
        ("-", "Give a file"),
    ],
)
@driven(size=(160, 40))
async def test_a_name_that_cannot_be_is_reported_and_can_be_mended(found: Drive, path: str, said: str) -> None:
    await save(found, "message 1", "csv", path)
    assert isinstance(found.window.screen, LineDialog)
    assert any(said in line for line in found.lines())
    await found.press("escape")
    assert found.window.screen is found.main


def test_escape_stops_it_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(exports, "LINES_AT_ONCE", 10)

    parts = forms._parts

    def slow(asked: exports.ExportRequest, rows: Ints) -> Iterator[Ints]:
        for part in parts(asked, rows):
            yield part
            begun.set()
            assert go_on.wait(60)

    monkeypatch.setattr(forms, "_parts", slow)

    async def test(found: Drive) -> None:
        await save(found, "are shown", "ndjson", tmp_path / "out.ndjson")
        await found.until(begun.is_set)
        screen = found.window.screen
        assert isinstance(screen, ProgressDialog)
        assert list(tmp_path.glob(".wireanalyze-*"))
        await found.press("escape")
        assert any("stopping" in line for line in found.lines())
        go_on.set()
        await saved(found, "cancelled: nothing was written")
        assert list(tmp_path.iterdir()) == []

    drive(test)


def test_quitting_meanwhile_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    parts = forms._parts

    def slow(asked: exports.ExportRequest, rows: Ints) -> Iterator[Ints]:
        for part in parts(asked, rows):
            yield part
            begun.set()
            go_on.wait(0.3)

    monkeypatch.setattr(exports, "LINES_AT_ONCE", 10)
    monkeypatch.setattr(forms, "_parts", slow)

    async def test(found: Drive) -> None:
        await save(found, "are shown", "ndjson", tmp_path / "out.ndjson")
        await found.until(begun.is_set)
        found.window.exit()

    drive(test)
    assert list(tmp_path.iterdir()) == []


def test_the_bytes_of_a_field(tmp_path: Path) -> None:
    path = tmp_path / "field.bin"

    async def test(found: Drive) -> None:
        await found.press("ctrl+g", *"47", "enter", "enter", "=")
        tree = found.main.tree_pane
        nodes = [entry.node for entry in tree.outline.lines]
        tree.move_cursor(
            next(at for at, node in enumerate(nodes) if isinstance(node, Field) and node.spec.name == "clientId")
        )
        await found.press("ctrl+p", *"bytes of this field", "enter")
        await name(found, path)
        await saved(found, "15 bytes written to")
        assert path.read_bytes() == b"RangeAssignor-0"

    drive(test, size=(160, 40))


@driven(SASL)
async def test_a_secret_is_not_saved_as_bytes(found: Drive) -> None:
    for row in range(len(found.main.session.rows)):
        found.main.view.select_row(row)
        await found.settle()
        if found.main.view.detail is not None and found.main.view.detail.masks:
            break
    await found.press("enter", "=", "G", "ctrl+p", *"bytes of this field", "enter")
    assert found.status() == "these bytes contain a secret: start with --show-secrets to save them"


def test_while_reading_only_what_needs_no_end() -> None:
    with Session([KAFKA]) as session:
        assert exports.list_forms(session, reading=True) == ["ndjson", "json", "csv", "tsv", "raw"]
        assert "pcapng" in exports.list_forms(session, reading=False)


def test_a_suggested_name_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    what = exports.ExportChoice("all", np.arange(3), "messages")
    assert exports.suggest_name(what, "csv") == "messages.csv"
    (tmp_path / "messages.csv").touch()
    assert exports.suggest_name(what, "csv") == "messages-2.csv"
    assert exports.suggest_name(what, "objects") == "messages"


@driven()
async def test_the_ending_of_the_name_says_the_form(found: Drive, tmp_path: Path) -> None:
    await save(found, "are shown", "as named", tmp_path / "rows.txt")
    await found.until(lambda: "The ending says the format" in "".join(found.lines()))
    await name(found, tmp_path / "rows.csv")
    await saved(found)
    assert (tmp_path / "rows.csv").read_text().startswith("number,")
    await save(found, "are shown", "csv", tmp_path / "rows.bin")
    assert isinstance(found.window.screen, Chooser)  # bytes cannot be masked
    await found.press(*"save it", "enter")
    await found.until((tmp_path / "rows.bin").exists)  # the words of the file before are still there
    assert (tmp_path / "rows.bin").stat().st_size > 1000
