"""The reading thread: its first rows are waited for, the rest waits for the screen, and it ends in any case."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

import zstandard

from analyzer.session import Session
from tests.tui.driving import KAFKA
from tui.loader import Growth, Loader, ReadingEnd
from tui.screens.status_bars import TitleCounts, make_title

BLOCK = 100


def test_the_first_rows_are_given_and_the_others_counted() -> None:
    reported: list[Growth | ReadingEnd] = []
    with Session([KAFKA], block=BLOCK) as session:
        loader = Loader(session)
        first = loader.begin(60)
        assert first is not None
        assert first.rows == len(session.rows) > 0
        assert first.packets == BLOCK
        loader.join(0.1)
        assert loader.is_alive()
        assert reported == []
        loader.resume(reported.append)
        loader.join(60)
        *grown, ended = reported
        assert isinstance(ended, ReadingEnd)
        assert ended.error is None
        rows = [message.rows for message in grown if isinstance(message, Growth)]
        assert rows == sorted(rows)
        assert rows[-1] == len(session.rows) > first.rows
        read = [message.percent for message in (first, *grown) if isinstance(message, Growth)]
        assert None not in read
        assert read == sorted(read)  # type: ignore[type-var]
        assert first.percent is not None
        assert first.percent < 20
        assert read[-1] == 100


def test_how_much_of_a_pipe_was_read_nobody_knows() -> None:
    with KAFKA.open("rb") as whole, Session([f"/dev/fd/{whole.fileno()}"], follow=True, block=BLOCK) as session:
        loader = Loader(session)
        first = loader.begin(60)
        loader.stop(60)
    assert first is not None
    assert first.percent is None


def test_problems_of_a_live_capture_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "ensemble.pcap"
    packed = KAFKA.with_name("zookeeper-ensemble.pcap.zst").read_bytes()
    path.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    found = Event()

    def look(event: Growth | ReadingEnd) -> None:
        if isinstance(event, Growth) and event.problems:
            parts = make_title("", TitleCounts().with_growth(event))[1]
            assert f" {event.problems} problem" in "".join(part.text for part in parts)
            found.set()

    with Session([path], follow=True, block=BLOCK) as session:
        loader = Loader(session)
        loader.begin(60)
        loader.resume(look)
        assert found.wait(60)
        loader.stop(60)


def test_nobody_waits_for_ever() -> None:
    reported: list[Growth | ReadingEnd] = []
    reading, writing = os.pipe()
    try:
        os.write(writing, KAFKA.read_bytes()[:50_000])  # more than its file header: opening waits for that
        with Session([f"/dev/fd/{reading}"], block=BLOCK) as session:
            loader = Loader(session)
            assert loader.begin(60) is not None
            loader.stop(60)  # it waits for the screen
            assert not loader.is_alive()
    finally:
        os.close(reading)
        os.close(writing)
    assert reported == []


def test_what_can_not_be_read_is_reported_at_once() -> None:
    reported: list[Growth | ReadingEnd] = []
    with Session([KAFKA], block=BLOCK) as session:
        loader = Loader(session)

        def broken() -> object:
            raise OSError("gone")

        session.grow = broken  # type: ignore[assignment,method-assign]
        assert loader.begin(60) is None
        loader.resume(reported.append)
        loader.join(60)
    (ended,) = reported
    assert isinstance(ended, ReadingEnd)
    assert str(ended.error) == "gone"
