"""The page of a message's packets, driven by keys."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_message
from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import find_secret_spans
from tests.analyzer.wire import CLIENT, SERVER, Segment, Talk, capture, opening, segments
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, metadata, write
from tests.tui.screens.test_ingest import PART, WHOLE, rows_in
from tui.model import packets as model
from tui.screens.fold_pages import PacketsPage

REQUEST = metadata(1, "me", ["topic"])
ANSWER = bytes.fromhex("00000010 00000001 00000000 ffffffff 00000000".replace(" ", ""))


async def opened(found: Drive) -> PacketsPage:
    await found.press("P")
    there = found.window.screen
    assert isinstance(there, PacketsPage)
    await found.until(lambda: there.pane.contents is not None)
    await found.settle()
    return there


async def unfolded(found: Drive, there: PacketsPage) -> None:
    await found.until(lambda: not there._worker._tasks)
    await found.until(lambda: there._lines is not None and not there._lines._wished)
    await found.settle()


def broken(path: Path) -> Path:
    """A message in two packets, of which the first came twice; one of which four bytes are missing."""
    half = len(REQUEST)
    rest = [
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 10, REQUEST[10:]),
        Segment(SERVER, 0, ANSWER, acked=half),
        Segment(CLIENT, half, REQUEST[:9], acked=len(ANSWER)),
        Segment(CLIENT, half + 13, REQUEST[13:], acked=len(ANSWER)),
        *(Segment(SERVER, 20, acked=2 * half, time=10**10 + at * 10**9) for at in range(70)),
    ]
    return capture(path / "broken.pcap", [*opening(), *rest])


def test_numbers_times_retransmissions_and_gaps(tmp_path: Path) -> None:
    async def test(found: Drive) -> None:
        await opened(found)
        title, _, *lines = found.lines()
        assert "Packets of message 1  2 packets" not in title
        assert re.search(r"Packets of message 1  3 packets  1 retransmitted", title)
        assert re.match(r"▸ +4 22:13:20\.003000 +64 PSH ACK +> 10 bytes at 0  seq 1001  ack 5000001", lines[0])
        assert re.match(r"▸ +5 22:13:20\.004000 +1ms +64 PSH ACK +> 10 bytes at 0  retransmission  seq 1001 ", lines[1])
        assert re.match(r"▸ +6 22:13:20\.005000 +1ms .*> \d+ bytes at 10  seq 1011 ", lines[2])
        await found.press("escape", "v", "G")
        assert found.row == 2
        await opened(found)
        title, _, *lines = found.lines()
        assert "2 packets  4 bytes missing" in title
        assert "4 bytes at 9 are missing: no packet in the capture has them" in lines[2]

    drive(test, broken(tmp_path), size=(120, 20))


@driven()
async def test_bytes_unfold_beneath_their_packet(found: Drive) -> None:
    there = await opened(found)
    assert there.pane.count == 2
    await found.press("enter")
    await unfolded(found, there)
    dump = [line for line in found.lines() if re.match(r"  [0-9a-f]{4}  ", line)]
    hexes = "".join(line[8:57].replace(" ", "") for line in dump)
    session = found.main.session
    assert hexes.endswith(read_message(session, 0).hex())
    assert there.pane.cursor == 1
    await found.press("space")
    assert there.pane.count == 2
    await found.press("=")
    await unfolded(found, there)
    assert there.pane.count == 2 + len(dump)
    await found.press("r")
    await found.until(lambda: there.pane.count == 2)


def test_all_unfold_as_they_come_into_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_FRAMES", 3)
    long = metadata(1, "me", ["x" * 900])
    cut = [long[at : at + 60] for at in range(0, len(long), 60)]
    talk = Talk(((CLIENT, long),))
    path = capture(tmp_path / "long.pcap", segments(talk, lambda data: cut))

    async def test(found: Drive) -> None:
        there = await opened(found)
        assert there.pane.count == 1 + len(cut)
        await found.press("=")
        await unfolded(found, there)
        assert there._lines is not None
        few = len(there._lines.fold_list.unfolded)
        assert 0 < few < len(cut)
        for _ in range(60):
            await found.press("pagedown")
            await unfolded(found, there)
        assert len(there._lines.fold_list.unfolded) == len(cut)
        assert len(there._lines._bytes) <= 3
        await found.press("g")
        await unfolded(found, there)
        assert any(re.match(r"  0000  ", line) for line in found.lines())

    drive(test, path, size=(100, 16))


@pytest.mark.parametrize("show", [False, True])
def test_secrets_are_masked(show: bool) -> None:
    async def test(found: Drive) -> None:
        session = found.main.session
        row, secret = next(
            (row, tree.sources[0].data[first:end])
            for row in range(len(session.rows))
            for tree in [decode_tree(session, row)]
            for first, end in find_secret_spans(tree).get(0, ())
        )
        found.main.view.select_row(row)
        await found.settle()
        there = await opened(found)
        await found.press("enter")
        await unfolded(found, there)
        shown = "".join(line[8:57].replace(" ", "") for line in found.lines() if re.match(r"  [0-9a-f]{4}  ", line))
        assert (secret.hex() in shown) is show
        assert ("**" in shown) is not show

    drive(test, GOLDEN / "k24_sasl_v0.pcap.zst", size=(120, 60), limits=Limits(show_secrets=show))


def test_while_packets_come_in() -> None:
    async def test(found: Drive) -> None:
        os.write(end, WHOLE[:PART])
        await found.until(lambda: found.main.timeline.timeline.rows == rows_in(PART))
        await found.press("v", "ctrl+g", "9", "9", "enter")
        there = await opened(found)
        assert "1 packet   (so far)" in found.lines()[0]
        await found.press("enter")
        await unfolded(found, there)
        assert there.pane.count > 2
        os.close(end)

    reading, end = os.pipe()
    try:
        drive(test, f"/dev/fd/{reading}", wait=False)
    finally:
        os.close(reading)


@driven()
async def test_without_a_message_it_says_so(found: Drive) -> None:
    await found.press("up", "P")
    assert found.window.screen is found.main
    assert found.status() == "no message is selected"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_nothing_that_is_painted_acts(size: tuple[int, int], tmp_path: Path) -> None:
    async def test(found: Drive) -> None:
        there = await opened(found)
        await found.press("enter")
        await unfolded(found, there)
        seen = "".join(found.lines())
        assert not acts(seen)
        assert {cell_len(line) for line in found.lines()} == {size[0]}

    drive(test, write(tmp_path / "evil\x1b[31m.pcap", TEXTS), size=size)
    drive(test, KAFKA, size=size)
