"""Figures of keys: which frame answered which key, and that a key which leads elsewhere is no figure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from benchmarks import panes
from benchmarks.answers import Painted, changed, listed, spread
from benchmarks.keys import WORKS, Order, Work, complete, opened, played, pressed, to_view
from benchmarks.measure import Failed
from benchmarks.screen import Screen
from benchmarks.terminal import Output, Pressed, Terminal
from tests.tui.driving import KAFKA

SIZE = 40, 8
CURSOR = f"\x1b[48;{panes.cursor_look()}m"
MESSAGES = 648


def painted(row: int | None = None, tree: str = "", title: str = "") -> bytes:
    """A frame: the list's cursor on a row, the tree's first line, the title."""
    text = "".join(f"\x1b[{y};{x}H│" for y in (3, 4) for x in (14, 28))
    if row is not None:
        text += f"\x1b[5;1H{CURSOR}  {row:>5} > Fetch\x1b[m"
    return (text + f"\x1b[4;15H{tree}\x1b[1;1H{title}").encode()


def frames(*given: tuple[float, bytes]) -> list[Output]:
    return [Output(*each) for each in given]


def keys(*times: float) -> list[Pressed]:
    return [Pressed(each, b"j", 0) for each in times]


def fresh() -> Screen:
    screen = Screen(*SIZE)
    screen.feed(painted(1))
    return screen


CASES = {
    "list, then tree": (keys(0, 10), frames((1, painted(2)), (2, painted(2, "a")), (12, painted(3))), [(1, 2), (2, 2)]),
    "two in one frame": (keys(0, 1), frames((3, painted(3, "c"))), [(3, 3), (2, 2)]),
    "the list comes late": (keys(0, 5), frames((6, painted(2)), (8, painted(3))), [(6, 6), (3, 3)]),
    "the title does not count": (keys(0), frames((1, painted(2)), (4, painted(2, title="more"))), [(1, 1)]),
    "what comes before the first key": (
        keys(5),
        frames((1, painted(2)), (6, painted(2)), (7, painted(2, "b"))),
        [(1, 2)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_key_is_answered_by_the_frame_that_shows_where_it_leads(name: str) -> None:
    pressed_at, given, found = CASES[name]
    assert listed(given, pressed_at, range(2, 9), fresh()) == [Painted(*each) for each in found]


@pytest.mark.parametrize("row", [1, 3, 7])
def test_a_key_that_leads_elsewhere_is_a_failure(row: int) -> None:
    with pytest.raises(Failed, match=f"not lead to 2 but to {row}:(.|\n)*{row} > Fetch"):
        listed(frames((1, painted(row))), keys(0), [2], fresh())


def test_a_pane_has_changed_when_it_looks_as_it_remains() -> None:
    soon, done = painted(1, "decoding"), painted(1, "field x ")
    given = frames((1, soon), (2, done), (3, painted(4)), (11, painted(4, "y       ")))
    assert changed(given, keys(0, 10), fresh(), 1) == [Painted(2, 3), Painted(1, 1)]
    with pytest.raises(Failed, match="changed nothing"):
        changed(given[2:3], keys(0), fresh(), 1)


@pytest.mark.parametrize(
    ("line", "selected"),
    [
        (" ◂     17 11:06:40.007 > Fetch            v11         orders[0 at", 17),
        ("    431709 11:07:17.770 > Fetch            v11         orders[0 at", 431_709),
        ("!  1,002,032 < Fetch", 1_002_032),
        ("▾  0 10.0.0.0:40000 > 10.1.0.1:9092  kafka, 25,070 messages", -1),
        ("▸ 39 10.0.0.39:40039 > 10.1.0.1:9092  kafka", -40),
        ("  nothing here", None),
    ],
)
def test_what_is_selected(line: str, selected: int | None) -> None:
    screen = Screen(120, 8)
    bars = "".join(f"\x1b[{y};{x}H▏" for y in (3, 4) for x in (90, 100))
    screen.feed(f"{bars}\x1b[4;1H{CURSOR}{line}\x1b[m".encode())
    assert panes.selected(screen) == selected


def test_the_middle_and_the_one_of_twenty() -> None:
    assert spread(each / 1000 for each in range(1, 101)) == pytest.approx((51, 96, 100))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, Screen]]:
    """Our program, and its screen."""
    with opened(KAFKA, tmp_path_factory.mktemp("home"), (200, 40)) as terminal:
        terminal.until(complete)
        terminal.settle(0.3)
        yield terminal, played(terminal, Screen(200, 40))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("work", "flat"), [*zip(WORKS, (False, True, False), strict=True)], ids=[work.name for work in WORKS]
)
def test_keys_lead_where_list_says(work: Work, flat: bool, running: tuple[Terminal, Screen]) -> None:
    terminal, screen = running
    to_view(terminal, screen, flat=flat)
    order = Order(KAFKA, flat=flat)
    found = pressed(terminal, screen, order, work, 2)
    assert all(0 < each.pane <= each.whole < 30 for each in found)
    assert panes.messages(screen) == MESSAGES
    last = work.leads(1, order.lines, panes.height(screen) - 1)
    assert panes.selected(screen) == order.at(min(last, order.lines - 1))
    if flat:
        assert re.match(r" ?[0-9a-f]{4}  ", panes.pane(screen, 2)[1])
    assert 0 < terminal.cpu < 60
