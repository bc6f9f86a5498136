"""Names of ids in list and tree: learned by another thread, shown as soon as they are known."""

from __future__ import annotations

import os

import pytest

from analyzer.render.lines import strip_styles
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.screens.test_ingest import rows_in
from tui.screens import ingest

CLASSIC = GOLDEN / "k4_java_classic.pcap.zst"

TOPIC = "nM4IBaneSOKPcY_ClnOBnw"
WHOLE = KAFKA.read_bytes()


def told(found: Drive) -> list[str]:
    detail = found.main.view.detail
    assert detail is not None
    return [strip_styles(note.line) for note in detail.notes[0].children]


@pytest.mark.parametrize("part", [1, 500])
def test_in_list_and_tree(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(ingest, "MOST_MESSAGES", part)

    async def test(found: Drive) -> None:
        await found.press("v", "ctrl+g", "5", "6", "enter")
        await found.until(lambda: any("session 268456014 holds" in line for line in told(found)))
        await found.settle()
        assert told(found)[-3:] == [
            f"topic {TOPIC} is jg (message 8)",
            "session 268456014 holds 3 partitions in epoch 2 (since message 47)",
            "  jg[1 at 11, 2 at 3, 3 at 2]",
        ]
        assert "jg[1 at 11" in found.text("list")
        assert TOPIC not in found.text("list")
        await found.press("ctrl+g", "4", "7", "enter", "enter")
        assert f'"{TOPIC}" (jg)' in found.text("tree")

    drive(test, CLASSIC, size=(200, 50))


@driven(CLASSIC)
async def test_nobody_is_thrown_off_his_place_in_the_tree(found: Drive) -> None:
    await found.press("v", "ctrl+g", "5", "6", "enter", "enter", "G")
    tree = found.main.tree_pane
    at, main = tree.cursor, found.main
    assert at > 0
    detail = main.view.detail
    assert detail is not None
    main.names._take_kinds({"topic", "broker"})
    main.view.reread(detail.row, None)
    await found.until(lambda: not main.background._tasks)
    await found.settle()
    assert tree.cursor == at


def test_while_rows_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was painted with an id gets its name when that is told."""
    monkeypatch.setattr(ingest, "PAUSE", 0.01)
    reading, writing = os.pipe()

    async def test(found: Drive) -> None:
        os.write(writing, WHOLE[:60_000])
        await found.until(lambda: found.main.timeline.timeline.rows == rows_in(60_000) and found.main.names.is_complete)
        await found.press("v", "G")
        await found.settle()
        shown = found.text("list")
        assert TOPIC not in shown
        assert "jg[" in shown
        os.write(writing, WHOLE[60_000:])
        os.close(writing)
        await found.loaded()
        assert TOPIC not in found.text("list")

    drive(test, f"/dev/fd/{reading}", size=(200, 50), wait=False)
    os.close(reading)
