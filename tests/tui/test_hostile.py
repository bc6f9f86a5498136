"""Captures that want to act on the terminal, in every pane and bar."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.tui.driving import Drive, drive
from tests.tui.hostile import TEXTS, acts, random_texts, write


@pytest.mark.slow
def test_nothing_that_is_painted_acts(tmp_path: Path) -> None:
    texts = [*TEXTS, *random_texts(60, 200)]
    path = write(tmp_path / "evil\x1b[31m.pcap", texts)

    async def test(found: Drive) -> None:
        main = found.main
        assert main.timeline.timeline.rows == 2 * len(texts)
        await found.press("v", "tab", "=")
        seen = ""
        for row in range(2 * len(TEXTS)):
            main.timeline.select_row(row)
            await found.settle()
            assert found.row == row
            main.tree_pane.move_cursor(main.tree_pane.count - 1)
            seen += "".join(found.lines())
            for pane in (main.timeline, main.tree_pane, main.hex_pane):
                seen += "".join(pane.get_strip(line).text for line in range(min(pane.count, 200)))
        assert not acts(seen)
        for text in ("\\x1b[31mred", "[/red][bold]markup", "\\u202e", "漢字テスト", "[link=http://"):
            assert text in seen, text
        assert {cell_len(line) for line in found.lines()} == {140}

    drive(test, path, size=(140, 24))
