"""The bars of the main screen: title, heads of the panes, status, keys.

Theory. Functions make parts of bars from plain data; StatusBars owns the widgets and decides how long a message stays.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from dissectors.field import Field, Source
from tui.inputs import CaptureStatus
from tui.keys import KeyPlace, list_footer_keys
from tui.loader import Growth
from tui.model.detail import MessageDetail, TreeNote, find_range, join_path
from tui.model.row_sets import RowSorting
from tui.model.row_spans import SIGN_CELLS
from tui.theme import Palette
from tui.widgets.bars import BLANK, Bar, BarPart
from tui.widgets.detail_panes import HexPane, TreePane
from tui.widgets.pane import Pane
from tui.widgets.timeline import TimelinePane


@dataclass(frozen=True, slots=True)
class TitleCounts:
    """The numbers in the title, and the state of reading."""

    rows: int = 0
    streams: int = 0
    packets: int = 0
    findings: int = 0
    problems: int = 0
    state: str = "reading"
    percent: int | None = None
    memory: int | None = None

    @property
    def is_reading(self) -> bool:
        """Whether the capture is still being read, so that rows may be added."""
        return self.state == "reading"

    def with_growth(self, growth: Growth) -> TitleCounts:
        """Returns the counts with the announced numbers."""
        rows, streams, packets, findings, percent, *_ = growth
        return replace(
            self,
            rows=rows,
            streams=streams,
            packets=packets,
            findings=findings,
            problems=growth.problems,
            percent=percent,
            memory=measure_memory(),
        )

    def with_end(self, error: Exception | None) -> TitleCounts:
        """Returns the counts at the end of reading."""
        return replace(
            self, state="broken off" if error is not None else "complete", percent=None, memory=measure_memory()
        )


MESSAGE_SECONDS = 4.0
"""Seconds that a message stays while rows are selected as they come."""

GAUGE = 12
"""The cells of the progress bar."""

LONGEST_FILTER = 60
"""The characters of a filter in the title."""


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """The filter in force.

    matches: their number so far. percent: the share of examined rows, None when all were.
    """

    text: str
    matches: int
    percent: int | None


LEAST_LAG = 1.0
"""The lag in seconds from which on it is shown."""


def make_capture_parts(wire: CaptureStatus) -> list[BarPart]:
    """Makes the parts of a live capture: dropped packets, waiting packets, state."""
    parts = []
    if wire.dropped:
        parts.append(BarPart("bar-error", f" {wire.dropped:,} dropped "))
    if wire.lag > LEAST_LAG:
        parts.append(BarPart("bar-warning", f" {wire.lag:,.0f} s behind, {format_counted(wire.backlog, 'packet')} "))
    if wire.waiting:
        parts.append(BarPart("bar-warning", f" {wire.waiting:,} more wait "))
    styles = {"capturing": "bar-key", "stopped": "bar-dim"}
    return [*parts, BarPart(styles.get(wire.state, "bar-warning"), f" {wire.state} ")]


def make_title(
    title: str, counts: TitleCounts, filtered: ActiveFilter | None = None, wire: CaptureStatus | None = None
) -> tuple[list[BarPart], list[BarPart]]:
    """Makes the title: what is open, the filter, the numbers, whether more will come."""
    packets = max(counts.packets, wire.captured) if wire is not None else counts.packets
    many = [("message", counts.rows), ("stream", counts.streams), ("packet", packets)]
    right = [BarPart("bar-error" if counts.state == "broken off" else "bar-dim", f" {counts.state} ")]
    if wire is not None and counts.state != "broken off":
        right = make_capture_parts(wire)
    if counts.percent is not None:
        right += [BarPart("bar-key", draw_gauge(counts.percent)), BarPart("bar-dim", f" {counts.percent} % ")]
    if counts.problems:
        right.insert(0, BarPart("bar-error", f" {format_counted(counts.problems, 'problem')} "))
    if counts.findings:
        right.insert(0, BarPart("bar-warning", f" {format_counted(counts.findings, 'remark')} "))
    left = [BarPart("bar-title", f" {title}")]
    if filtered is not None:
        words = safe_text(filtered.text, LONGEST_FILTER)
        left += [
            BarPart("bar-dim", "   filter: "),
            BarPart("bar-key", words),
            BarPart("bar", f", {filtered.matches:,}"),
        ]
        left += [BarPart("bar-dim", " of "), BarPart("bar", f"{counts.rows:,}")]
        del many[0]
        if filtered.percent is not None:
            right.insert(0, BarPart("bar-warning", f" filtering {filtered.percent} % "))
    for noun, number in many:
        words, _, nouns = format_counted(number, noun).partition(" ")
        left += [BarPart("bar-dim", "   ", noun), BarPart("bar", words, noun), BarPart("bar-dim", f" {nouns}", noun)]
    if counts.memory is not None:
        left += [
            BarPart("bar-dim", "   ", "memory"),
            BarPart("bar", f"{counts.memory / 1e6:,.0f} MB", "memory"),
            BarPart("bar-dim", " of memory", "memory"),
        ]
    return left, right


def draw_gauge(percent: int) -> str:
    """Draws a progress bar of GAUGE cells."""
    full = percent * GAUGE // 100
    return "━" * full + "╌" * (GAUGE - full)


def make_head(words: str, *, focused: bool) -> list[BarPart]:
    """Makes the head of a pane; a mark, not only a colour, shows the focus."""
    base = "head-on" if focused else "head"
    return [BarPart(base, "▌" if focused else " "), BarPart(base, words)]


def make_list_head(
    titles: Sequence[tuple[str, str]], sorting: RowSorting | None, left: int, *, focused: bool
) -> list[BarPart]:
    """Makes the head of the list: a part for each title, which can be clicked; an arrow shows the order.

    titles: names and padded titles of columns. left: the cells that are scrolled out.
    """
    base = "head-on" if focused else "head"
    parts = [BarPart(base, "▌" if focused else " ")]
    for name, text in [("", " " * (SIGN_CELLS - 2)), *titles]:
        arrow = " "
        if sorting is not None and name == sorting.column:
            arrow = DESCENDING if sorting.descending else ASCENDING
        parts.append(BarPart(base, f"{text}{arrow}"[left:], name))
        left = max(left - len(text) - 1, 0)
    return parts


def make_tabs(sources: Sequence[Source], shown: int, *, focused: bool) -> list[BarPart]:
    """Makes the tabs above the bytes, one for each source."""
    base = "head-on" if focused else "head"
    parts = [BarPart(base, "▌" if focused else " ")]
    for place, source in enumerate(sources):
        name = f"[{source.name}]" if place == shown and len(sources) > 1 else f" {source.name} "
        parts.append(BarPart("tab-on" if place == shown else "tab", name, str(place)))
    if sources:
        parts.append(BarPart(base, f" {format_counted(sources[shown].length, 'byte')}"))
    return parts


def make_status(path: Sequence[Field | TreeNote], source: str | None, at: int | None) -> list[BarPart]:
    """Makes the status of the selected field: its path, type and bytes.

    at: the byte under the cursor.
    """
    if not path:
        return []
    what = path[-1]
    parts = [BLANK]
    if isinstance(what, Field):
        names = [node.spec.name for node in path if isinstance(node, Field)]
        parts += [BarPart("bar-title", join_path(names)), BLANK, BarPart("bar-dim", what.spec.type)]
    place = find_range(what)
    if place is not None:
        inside = f" of {source}" if source else ""
        parts.append(BarPart("bar", f"  {format_counted(place.length, 'byte')} at {place.offset:,}{inside}"))
    if at is not None:
        parts.append(BarPart("bar-dim", f"  byte {at:,} (0x{at:x})"))
    return parts


def make_keys(where: KeyPlace) -> list[BarPart]:
    """Makes the line of keys; each can be clicked."""
    parts = [BarPart("bar", " ")]
    for key in list_footer_keys(where):
        parts += [
            BarPart("bar-key", key.label.split(",")[0], key.action),
            BarPart("bar-dim", f" {key.footer}", key.action),
            BLANK,
        ]
    return parts


BARS = {"title": "bar", "list-head": "head", "tree-head": "head", "hex-head": "head", "status": "bar", "keys": "bar"}
"""The bars by name, and the style of their empty cells."""

ASCENDING, DESCENDING = "▲", "▼"
"""The signs behind the title of the column by which the list is sorted."""

ZOOMED = " zoomed, z: all panes "

SCROLLS = {True: " ▼ newest ", False: " G: newest ", None: ""}
"""The text at the right of the list's head: whether the list follows its end."""


class StatusBars:
    """The bars of the main screen in `widgets`, and its panes by the names of their keys.

    counts: the numbers of the title. Used by the thread that paints.
    """

    def __init__(self, palette: Palette, title: str, timeline: TimelinePane, tree: TreePane, hex_pane: HexPane) -> None:
        self.widgets = {
            name: Bar(palette, base, id=name, whole=name in ("title", "keys")) for name, base in BARS.items()
        }
        self.timeline, self.tree, self.hex = timeline, tree, hex_pane
        self.panes: dict[KeyPlace, Pane] = {"list": timeline, "tree": tree, "hex": hex_pane}
        self.counts = TitleCounts()
        self._title = title
        self._problem: str | None = None
        self._stays = 0.0

    @property
    def focused(self) -> Pane:
        """The pane that has the focus; the list while none has."""
        return next((pane for pane in self.panes.values() if pane.has_focus), self.timeline)

    @property
    def focused_name(self) -> KeyPlace:
        """The name of the focused pane."""
        pane = self.focused
        return next(name for name, each in self.panes.items() if each is pane)

    def show_message(self, text: str, style: str = "bar") -> None:
        """Shows a message until the selection changes; for a few seconds if rows are selected as they come."""
        self._show_status([BarPart("bar", " "), BarPart(style, text)])
        follows = self.timeline.following and self.counts.is_reading
        self._stays = time.monotonic() + MESSAGE_SECONDS if text and follows else 0.0

    def show_for_seconds(self, text: str, style: str = "bar-warning") -> None:
        """Shows a message for a few seconds, whatever is selected."""
        self.show_message(text, style)
        self._stays = time.monotonic() + MESSAGE_SECONDS

    def set_problem(self, problem: str | None) -> bool:
        """Sets the reason why a live capture ended, for the status line; returns whether it is new."""
        is_new = problem != self._problem
        if is_new:
            self._problem, self._stays = problem, 0.0
        return is_new

    def _show_status(self, parts: Sequence[BarPart]) -> None:
        """Shows parts, and at the right the number of marked rows."""
        words = self.timeline.row_lines.marks.summary
        self.widgets["status"].show(parts, [BarPart("bar-title", f"{words} ")] if words else ())

    def show_title(self, filtered: ActiveFilter | None, wire: CaptureStatus | None) -> None:
        """Shows the title bar with the current counts, the active filter and the capture's state."""
        self.widgets["title"].show(*make_title(self._title, self.counts, filtered, wire))

    def show_heads(
        self, detail: MessageDetail | None, shown: str, source: int, *, zoomed: bool, scrolls: bool | None = None
    ) -> None:
        """Updates the heads of the panes.

        shown: the title of the tree. source: of the bytes. zoomed: only the focused pane is shown. scrolls: whether the
        list follows its end, None if no rows are expected.
        """
        focused = {name: pane.has_focus for name, pane in self.panes.items()}
        sources = () if detail is None else detail.sources
        heads: dict[KeyPlace, list[BarPart]] = {
            "list": make_list_head(
                self.timeline.columns.make_titles(), self.timeline.sorting, self.timeline.left, focused=focused["list"]
            ),
            "tree": make_head(shown, focused=focused["tree"]),
            "hex": make_tabs(sources, source, focused=focused["hex"]),
        }
        for name, parts in heads.items():
            base = "head-on" if focused[name] else "head"
            hint = ZOOMED if zoomed and focused[name] else SCROLLS[scrolls] if name == "list" else ""
            self.widgets[f"{name}-head"].show(parts, [BarPart(base, hint)] if hint else (), base)

    def show_selection(self, detail: MessageDetail | None, source: int) -> None:
        """Shows the position of the selected field, unless the list has the focus."""
        if time.monotonic() < self._stays:
            return
        path = () if self.timeline.has_focus or detail is None else self.tree.get_path()
        name = detail.sources[source].name if detail is not None and source else None
        at = self.hex.offset_at_cursor if self.hex.has_focus and self.hex.count else None
        problem = [BarPart("bar-error", f" {safe_text(self._problem)}")] if self._problem else []
        self._show_status(problem or make_status(path, name, at))

    def show_keys(self, place: KeyPlace | None = None) -> None:
        """Shows the keys of a place; None: of the focused pane."""
        self.widgets["keys"].show(make_keys(place or self.focused_name))


STATM = Path("/proc/self/statm")


def measure_memory() -> int | None:
    """Returns the bytes of anonymous memory in use; None if the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        _, resident, shared = map(int, STATM.read_bytes().split()[:3])
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return None
