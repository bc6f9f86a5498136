"""Keys that have much to do: a tree of many fields unfolded, a long message scrolled, a million rows filtered."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from benchmarks import panes
from benchmarks.answers import Painted, changed, said
from benchmarks.captures import write
from benchmarks.comparison import Bench
from benchmarks.kafka import one_fetch
from benchmarks.keys import DOWN, END, HOME, LONG, PAGE, complete, opened, played, to_view
from benchmarks.measure import Failed, ours, told
from benchmarks.screen import Screen
from benchmarks.table import Line, load
from benchmarks.terminal import COLUMNS, LINES, QUIET, Terminal
from benchmarks.works import lines
from dissectors.field import Field

SIZE = COLUMNS, LINES
TAB, UP, UNFOLD, FOLD, ENTER, FILTER = b"\t", b"\x1b[A", b"=", b"-", b"\r", b"/"
LIST, TREE, BYTES = range(3)

RECORDS = 174_000
"""Bytes of records that are some twenty thousand fields."""

TEXTS = ("latency > 5ms", "length > 100")
TREE_GOAL, BYTES_GOAL, FILTER_GOAL = "p95 30 ms", "p95 16 ms", "0.2 s"
CALM = 0.5
"""Seconds without output after which nothing is under way any more."""


def deep(bench: Bench) -> Iterator[Line]:
    """All three."""
    few = bench.keys // 5
    yield from fields(bench.scratch, few)
    size = bench.fetches[-1]
    where = f"a message of {size} MiB"
    yield from long_message(bench.library.of_one_fetch(size), where, bench.scratch / "deep", bench.keys)
    yield from filtering(bench.library.of_packets("small", bench.listed), bench.scratch / "deep", bench.times)


def fields(scratch: Path, count: int) -> Iterator[Line]:
    """A message of many fields: selected, unfolded, walked through."""
    capture = scratch / "fields.pcap"
    write(capture, one_fetch(RECORDS))
    where = f"a message of {_fields(capture):,} fields"
    with opened(capture, scratch / "deep", SIZE) as terminal:
        screen = _ready(terminal)
        to_view(terminal, screen, flat=True)
        busy = load()
        selecting = _pressed(terminal, screen, (DOWN, UP), count, TREE, CALM)[::2]
        _pressed(terminal, screen, (DOWN,), 1, TREE, CALM)
        _pressed(terminal, screen, (TAB,), 1, TREE)
        unfolding = _pressed(terminal, screen, (UNFOLD, FOLD), count, TREE)
        _pressed(terminal, screen, (UNFOLD,), 1, TREE)
        walking = _pressed(terminal, screen, (PAGE, END, HOME), count, TREE)
    for name, found in (("decoded and shown", selecting), ("= and -", unfolding), ("PgDn, End, Home", walking)):
        goal = "" if found is selecting else TREE_GOAL
        yield Line(f"tree, {name}", f"{where}, {busy}", said(each.pane for each in found), goal=goal)


def _fields(capture: Path) -> int:
    """How many its second message has."""
    with Session([capture]) as session:
        session.load()
        return sum(1 + _inside(field) for field in decode_tree(session, 1).fields)


def _inside(field: Field) -> int:
    return sum(1 + _inside(child) for child in field.children)


def long_message(capture: Path, where: str, home: Path, count: int) -> Iterator[Line]:
    """The bytes of a long message."""
    with opened(capture, home, SIZE) as terminal:
        screen = _ready(terminal)
        to_view(terminal, screen, flat=True)
        first = len(terminal.output)
        terminal.pressed(DOWN)
        while panes.DECODING in "".join(panes.pane(played(terminal, screen, first), TREE)):
            first = len(terminal.output)
            terminal.settle(CALM, LONG)
        _pressed(terminal, screen, (TAB,), 1, TREE)
        _pressed(terminal, screen, (TAB,), 1, BYTES)
        busy = load()
        paging = _pressed(terminal, screen, (PAGE,), count, BYTES)
        leaping = _pressed(terminal, screen, (END, HOME), count // 5, BYTES)
    for name, found in (("PgDn", paging), ("End, Home", leaping)):
        yield Line(f"bytes, {name}", f"{where}, {busy}", said(each.pane for each in found), goal=BYTES_GOAL)


def filtering(capture: Path, home: Path, times: int) -> Iterator[Line]:
    """Filters on numbers, from Enter until the title tells how many rows are kept of all."""
    wanted = {
        text: told(ours("list", "-e", "number", "--format", "tsv", "-Y", text, str(capture)), lines(1))
        for text in TEXTS
    }
    with opened(capture, home, SIZE) as terminal:
        screen = _ready(terminal)
        for flat in (False, True):
            to_view(terminal, screen, flat=flat)
            busy = load()
            where = f"{panes.messages(screen):,} messages, {'timeline' if flat else 'streams'}"
            found: dict[str, list[float]] = {text: [] for text in TEXTS}
            for _ in range(times):
                for text, kept in wanted.items():
                    found[text].append(_filtered(terminal, screen, text, kept))
            for text, seconds in found.items():
                shown = f"{statistics.median(seconds):.2f} s, max {max(seconds):.2f} s"
                yield Line(f"filter, Enter to painted: {text}", f"{where}, {busy}", shown, goal=FILTER_GOAL)
            _filtered(terminal, screen, "", None)


def _filtered(terminal: Terminal, screen: Screen, text: str, kept: int | None) -> float:
    """Seconds from Enter until so many rows are told to be kept. Raises Failed."""
    first = len(terminal.output)
    for typed in (FILTER, text.encode() or b"\x7f"):
        terminal.pressed(typed)
    terminal.press(ENTER)
    terminal.settle(CALM, LONG)
    pressed, shown = terminal.keys[-1].time, None
    for moment, data in terminal.frames(first):
        screen.feed(data)
        if shown is None and moment > pressed and panes.kept(screen) == kept and text in panes.title(screen):
            shown = moment
    if shown is not None:
        return shown - pressed
    raise Failed(f"{text}: {kept} rows were not shown:\n{screen.shown()}")


def _ready(terminal: Terminal) -> Screen:
    """The screen, as soon as all has been read."""
    terminal.until(complete, LONG)
    terminal.settle(CALM, LONG)
    return played(terminal, Screen(*SIZE))


def _pressed(
    terminal: Terminal, screen: Screen, keys: Sequence[bytes], count: int, pane: int, quiet: float = QUIET
) -> list[Painted]:
    """What so many keys took, in turn, until a pane had changed and was as it remained; `quiet`: see Terminal."""
    began, first = len(terminal.keys), len(terminal.output)
    terminal.settle(CALM, LONG)
    for number in range(count):
        terminal.pressed(keys[number % len(keys)], quiet=quiet)
    return changed(terminal.frames(first), terminal.keys[began:], screen, pane)
