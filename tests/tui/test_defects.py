"""Defects of dissectors cost a line; our own end the program, and are raised to whoever reports them."""

from __future__ import annotations

import asyncio

import pytest

from analyzer.session import Session
from dissectors.field import FieldSpec
from dissectors.kafka.dissector import Kafka
from tests.tui.driving import KAFKA, Drive, drive
from tui import app
from tui.widgets.hexview import HexPane


def test_a_dissector_that_fails_is_shown_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("topic")

    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)

    async def test(found: Drive) -> None:
        monkeypatch.setattr(Kafka, "tree", broken)  # not before: recognising a protocol reads values too
        monkeypatch.setattr(Kafka, "values", broken)
        await found.press("v", "G")
        assert "error bug: the dissector kafka failed" in found.text("tree")
        line = next(line for line in found.text("list").splitlines() if " 648 " in line)
        assert line.startswith("!")
        await found.press("k", "tab", "G", "tab", "G")
        assert found.text("hex").startswith("0")

    drive(test)


def test_a_label_that_fails_costs_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)

    async def test(found: Drive) -> None:
        pane = found.main.tree_pane
        field = found.main.detail.tree.fields[0]  # type: ignore[union-attr]
        field.spec = FieldSpec("size", "int32", broken)
        pane.anew()
        await found.settle()
        assert "size: bug: its label failed" in found.text("tree")

    drive(test)


def test_a_defect_of_ours_is_kept_for_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        password = "hunter2"
        raise LookupError(len(password))

    async def crash(window: app.Window) -> None:
        async with window.run_test() as pilot:
            while window.main.reading:
                await pilot.pause(0.01)
            monkeypatch.setattr(HexPane, "to_byte", broken)
            await pilot.press("tab", "tab", "l")

    with Session([KAFKA]) as session:
        window = app.Window(session, "test")
        with pytest.raises(LookupError):
            asyncio.run(crash(window))
        window.main.stop(5)
    assert isinstance(window.defect, LookupError)
    assert window.return_code == 1
    assert "hunter2" not in "".join(capsys.readouterr())
