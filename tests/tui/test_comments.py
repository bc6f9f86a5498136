"""Comments that the user writes: shown, found, and saved in a pcapng file."""

from __future__ import annotations

from pathlib import Path

from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.tui.driving import Drive, driven
from tests.tui.test_save import save, saved

MIXED = Path(__file__).parents[2] / "captures" / "mixed.pcapng"


@driven(MIXED)
async def test_a_comment_is_shown_found_and_saved(found: Drive, tmp_path: Path) -> None:
    session, path = found.main.session, tmp_path / "commented.pcapng"
    row = found.row
    assert row is not None
    assert not session.comments.mask(found.main.timeline.timeline.visible_rows).any()
    await found.ask("number_sign", "why \u00fc?")
    await found.until(lambda: "why \u00fc?" in found.text("tree").replace("\n", ""))
    await found.filter('comment contains "why"')
    assert row in found.rows()
    await found.press("q")
    assert "1 comment not saved" in "\n".join(found.lines())
    await found.press("down", "enter")
    assert "are shown" in "\n".join(found.lines())
    await found.press("escape")
    await save(found, "are shown", "pcapng", path)
    await saved(found)
    assert not found.window.list_unsaved()
    with Session([path]).load() as again:
        matching = compile_filter('comment == "why \u00fc?"').select_rows(RowReader(again), range(len(again.rows)))
        assert len(matching) == len(found.rows())
    with session.reopen_with_rules() as again:
        assert again.comments.written == session.comments.written
        assert not again.comments.unsaved
    await found.ask("number_sign", "")
    assert not session.comments.has_comments
