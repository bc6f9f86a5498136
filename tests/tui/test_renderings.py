"""What is painted of hostile texts, in every pane and bar: each line as wide as it must be, and nothing acts."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from analyzer.decode.jsonable import Limits
from analyzer.render.tree_text import format_node
from analyzer.session import Session
from dissectors.field import Field
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.tui.driving import Drive, drive
from tests.tui.hostile import TEXTS, acts, random_texts, string, write
from tui.model.detail import read_detail
from tui.model.drawing import Spans
from tui.model.outline import FoldChoices, Outline
from tui.model.row_cells import CellReader
from tui.model.row_lines import RowLines
from tui.model.timeline import ListPlace
from tui.screens.status_bars import make_status
from tui.theme import Palette
from tui.widgets.painted import make_strip

WIDTHS = (37, 118, 200)
LONG, HUGE, PACKET = 4096, 1 << 20, 60_000
STYLES = Palette("dark", colourless=False).styles


def said(session: Session, rows: Sequence[int], width: int) -> Iterator[Spans]:
    """All that the main screen says of rows, as the panes and bars ask for it."""
    listed = RowLines(session, CellReader(session), lambda _: False)
    columns = listed.fit_columns(width, len(session.rows), 1)
    stream = session.rows.cell("stream", rows[0])
    places = [ListPlace(-1), *(ListPlace(stream, row) for row in rows)]
    yield from (line.spans for line in listed.make_lines(places, columns).values())
    for row in rows[::2]:  # an answer says the same texts as its request
        detail = read_detail(session, row, Limits())
        yield detail.title
        outline = Outline(detail.notes, detail.tree.fields, FoldChoices())
        outline.fold_all(opened=True)
        for at, (what, _, hidden) in enumerate(outline.lines):
            yield format_node(what, Limits(), hidden) if isinstance(what, Field) else what.line
            parts = make_status(outline.get_path(at), None, 0)
            yield [(part.style, part.text) for part in parts]


def check(lines: Iterable[Spans], width: int) -> int:
    """Paints lines; how many."""
    count = 0
    for spans in lines:
        painted = make_strip(spans, width, STYLES)
        assert not acts(painted.text), painted.text
        assert cell_len(painted.text) == painted.cell_length == width
        count += 1
    return count


def check_all(path: Path, texts: Sequence[str]) -> None:
    with Session([write(path, texts)]) as session:
        rows = range(len(session.load().rows))
        assert len(rows) == 2 * len(texts)
        for first in range(0, len(rows), 40):
            width = WIDTHS[first // 40 % len(WIDTHS)]
            assert check(said(session, rows[first : first + 40], width), width) > 40


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(40))
def test_two_thousand_texts(part: int, tmp_path: Path) -> None:
    check_all(tmp_path / "evil.pcap", random_texts(2_000, LONG)[part::40])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_twenty_thousand_texts(part: int, tmp_path: Path) -> None:
    check_all(tmp_path / "evil.pcap", random_texts(5_000, LONG, seed=part))


def compact(text: str) -> bytes:
    """A compact string: its length and one more as a varint before it."""
    data = text.encode()
    length, head = len(data) + 1, b""
    while length > 0x7F:
        head += bytes([length & 0x7F | 0x80])
        length >>= 7
    return head + bytes([length]) + data


def metadata(number: int, topic: str) -> bytes:
    """A request Metadata v12 with one topic, whose name may be of any length."""
    body = struct.pack(">hhi", 3, 12, number) + string("client") + b"\0"
    body += b"\2" + bytes(16) + compact(topic) + b"\0" + b"\0\0\0"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_texts_of_a_megabyte(count: int, tmp_path: Path) -> None:
    pool = random_texts(count, 600, seed=2)
    texts = [(text * (HUGE // len(text.encode()) + 1))[:HUGE] for text in pool]
    whole = b"".join(metadata(number, text) for number, text in enumerate(texts))
    writes = tuple((CLIENT, whole[at : at + PACKET]) for at in range(0, len(whole), PACKET))
    path = capture(tmp_path / "huge.pcap", segments(Talk(writes)))

    async def test(found: Drive) -> None:
        main = found.main
        assert main.timeline.timeline.rows == len(texts)
        await found.press("v")
        for row in range(len(texts)):
            main.timeline.select_row(row)
            await found.until(lambda row=row: main.view.detail is not None and main.view.detail.row == row)  # type: ignore[misc]
            await found.press("tab", "=", "G", "greater_than_sign", "tab", "G", "tab")
            lines = found.lines()
            assert not acts("".join(lines))
            assert {cell_len(line) for line in lines} == {120}

    drive(test, path, size=(120, 40))


# ---- captures that want to act on the terminal, in every pane and bar


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
