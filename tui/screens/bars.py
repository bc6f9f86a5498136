"""What the bars say: title, heads of the panes, status, keys. Plain functions from what is known to parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analyzer.columns.text import safe_text
from analyzer.render.amounts import counted
from dissectors.field import Field, Source
from tui.keys import Where, footer
from tui.live import Wire
from tui.loader import Growth
from tui.model.detail import Note, field_path, place_of
from tui.model.memory import own_bytes
from tui.widgets.bar import BLANK, Part


@dataclass(frozen=True, slots=True)
class Counts:
    """What the title counts, and how reading stands."""

    rows: int = 0
    streams: int = 0
    packets: int = 0
    findings: int = 0
    state: str = "reading"
    percent: int | None = None
    memory: int | None = None

    def grown(self, growth: Growth) -> Counts:
        """As announced."""
        rows, streams, packets, findings, percent, *_ = growth
        return replace(
            self,
            rows=rows,
            streams=streams,
            packets=packets,
            findings=findings,
            percent=percent,
            memory=own_bytes(),
        )

    def ended(self, error: Exception | None) -> Counts:
        """Reading has ended."""
        return replace(self, state="broken off" if error is not None else "complete", percent=None, memory=own_bytes())


GAUGE = 12
"""Cells of the progress bar."""

LONGEST_FILTER = 60
"""Characters of a filter that the title shows."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The filter in force: how many messages it keeps so far; how far it has come, None where it has asked all."""

    text: str
    kept: int
    percent: int | None


BEHIND = 1.0
"""Seconds from which on it is said that reading is behind a live capture."""


def wire_parts(wire: Wire) -> list[Part]:
    """How a live capture stands: what was lost, what waits, whether more comes."""
    parts = []
    if wire.dropped:
        parts.append(Part("bar-error", f" {wire.dropped:,} dropped "))
    if wire.lag > BEHIND:
        parts.append(Part("bar-warning", f" {wire.lag:,.0f} s behind, {counted(wire.backlog, 'packet')} "))
    if wire.waiting:
        parts.append(Part("bar-warning", f" {wire.waiting:,} more wait "))
    styles = {"capturing": "bar-key", "stopped": "bar-dim"}
    return [*parts, Part(styles.get(wire.state, "bar-warning"), f" {wire.state} ")]


def title_parts(
    title: str, counts: Counts, filtered: Filtered | None = None, wire: Wire | None = None
) -> tuple[list[Part], list[Part]]:
    """The first line: what is open, the filter, how much there is, whether more is to come."""
    packets = max(counts.packets, wire.captured) if wire is not None else counts.packets
    many = [("message", counts.rows), ("stream", counts.streams), ("packet", packets)]
    right = [Part("bar-error" if counts.state == "broken off" else "bar-dim", f" {counts.state} ")]
    if wire is not None and counts.state != "broken off":
        right = wire_parts(wire)
    if counts.percent is not None:
        right += [Part("bar-key", gauge(counts.percent)), Part("bar-dim", f" {counts.percent} % ")]
    if counts.findings:
        right.insert(0, Part("bar-warning", f" {counted(counts.findings, 'remark')} "))
    left = [Part("bar-title", f" {title}")]
    if filtered is not None:
        said = safe_text(filtered.text, LONGEST_FILTER)
        left += [Part("bar-dim", "   filter: "), Part("bar-key", said), Part("bar", f", {filtered.kept:,}")]
        left += [Part("bar-dim", " of "), Part("bar", f"{counts.rows:,}")]
        del many[0]
        if filtered.percent is not None:
            right.insert(0, Part("bar-warning", f" filtering {filtered.percent} % "))
    for noun, number in many:
        said, _, nouns = counted(number, noun).partition(" ")
        left += [Part("bar-dim", "   "), Part("bar", said), Part("bar-dim", f" {nouns}")]
    if counts.memory is not None:
        left += [Part("bar-dim", "   "), Part("bar", f"{counts.memory / 1e6:,.0f} MB"), Part("bar-dim", " of memory")]
    return left, right


def gauge(percent: int) -> str:
    """How far something has come, in GAUGE cells."""
    full = percent * GAUGE // 100
    return "━" * full + "╌" * (GAUGE - full)


def head_parts(said: str, *, focused: bool) -> list[Part]:
    """The line above a pane; a mark, not only a colour, says which one has the focus."""
    base = "head-on" if focused else "head"
    return [Part(base, "▌" if focused else " "), Part(base, said)]


def tab_parts(sources: Sequence[Source], shown: int, *, focused: bool) -> list[Part]:
    """The tabs above the bytes: one for each source."""
    base = "head-on" if focused else "head"
    parts = [Part(base, "▌" if focused else " ")]
    for place, source in enumerate(sources):
        name = f"[{source.name}]" if place == shown and len(sources) > 1 else f" {source.name} "
        parts.append(Part("tab-on" if place == shown else "tab", name, str(place)))
    if sources:
        parts.append(Part(base, f" {counted(sources[shown].length, 'byte')}"))
    return parts


def status_parts(path: Sequence[Field | Note], source: str | None, at: int | None) -> list[Part]:
    """The selected field: where it stands in the tree and in the bytes. `at`: the byte under the cursor."""
    if not path:
        return []
    what = path[-1]
    parts = [BLANK]
    if isinstance(what, Field):
        names = [node.spec.name for node in path if isinstance(node, Field)]
        parts += [Part("bar-title", field_path(names)), BLANK, Part("bar-dim", what.spec.type)]
    place = place_of(what)
    if place is not None:
        inside = f" of {source}" if source else ""
        parts.append(Part("bar", f"  {counted(place.length, 'byte')} at {place.offset:,}{inside}"))
    if at is not None:
        parts.append(Part("bar-dim", f"  byte {at:,} (0x{at:x})"))
    return parts


def keys_parts(where: Where) -> list[Part]:
    """The keys that matter now; each can be clicked."""
    parts = [Part("bar", " ")]
    for key in footer(where):
        parts += [
            Part("bar-key", key.shown.split(",")[0], key.action),
            Part("bar-dim", f" {key.short}", key.action),
            BLANK,
        ]
    return parts
