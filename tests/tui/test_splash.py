"""What stands on the terminal before Textual is loaded: the same rows, at the same place, and nothing that acts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.session import Session
from tests.tui.driving import KAFKA, Drive, drive
from tests.tui.hostile import TEXTS, acts, write
from tui.inputs import StartOptions
from tui.loader import Loader
from tui.saved_state import SavedState
from tui.splash import paint_splash

PLACED = re.compile(r"\x1b\[(\d+);(\d+)H")
STREAM = re.compile(r".*? > \S{0,8}")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def splash_of(capture: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch, **told: object) -> dict[int, str]:
    """The splash's lines by their number, each with blanks before it."""
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    saved_state = SavedState()
    for name, value in told.items():
        saved_state.set(name, value)  # type: ignore[arg-type]
    with Session([capture]) as session:
        loader = Loader(session)
        growth = loader.begin(60)
        assert growth is not None
        text = paint_splash(session, growth, StartOptions("test", colours="dark"), saved_state)
        loader.stop(5)
    parts = PLACED.split(COLOUR.sub("", text))[1:]
    assert not any(acts(line) for line in parts[2::3])
    return {
        int(y) - 1: " " * (int(x) - 1) + line for y, x, line in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("flat", [False, True])
def test_rows_stand_where_they_will_stand(size: tuple[int, int], flat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = splash_of(KAFKA, size, monkeypatch, flat=flat)
    assert sorted(shown) == list(range(size[1]))

    async def test(found: Drive) -> None:
        if flat:
            await found.press("v", "g")
        listed = found.main.timeline
        until = found.text("list-head").index("Info")  # names that are learned later are not in it yet
        painted_rows = 0
        for y, line in enumerate(found.lines(listed)):
            at = listed.region.y + y
            reported = shown[at][listed.region.x : listed.region.x + listed.inner.width]
            if reported.startswith(("▸", "▾")):
                assert reported[: STREAM.match(reported).end()] == line[: STREAM.match(reported).end()]  # type: ignore[union-attr]
            elif re.search(r"\d.* [<>] [A-Z]", reported):
                painted_rows += 1
                assert reported[3:until] == line[3:until]
        assert painted_rows > 3
        head = found.text("list-head").rstrip()
        assert shown[listed.region.y - 1][: listed.region.right].rstrip() == head

    drive(test, KAFKA, size=size)


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 5), (30, 8), (500, 200)])
def test_any_size(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(splash_of(KAFKA, size, monkeypatch)) == list(range(size[1]))


def test_nothing_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = splash_of(write(tmp_path / "evil.pcap", TEXTS), (300, 50), monkeypatch, flat=True)
    assert "[/red][bold]markup" in "\n".join(lines.values())


def test_it_needs_no_textual() -> None:
    reported = "import sys, tui; sys.exit(any(name.partition('.')[0] == 'textual' for name in sys.modules))"
    subprocess.run([sys.executable, "-c", reported], check=True, cwd=KAFKA.parent.parent)
