"""Columns for people: where their cells stand, and that alike rows look as they do one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from analyzer.config.model import TimeFormat
from analyzer.decode.limits import Limits
from analyzer.decode.rows import RowReader
from analyzer.query.column_names import find_number_keys, resolve_keys
from analyzer.query.presets import load_presets
from analyzer.render.aligned import MOST, NUMBERS, AlignedForm
from analyzer.render.clock import TimeClock
from analyzer.render.extended_rows import ExtendedRowReader
from analyzer.render.forms import BodySlot, RowWriter
from analyzer.render.shapes import JoinedCell
from analyzer.session import Session
from tests.analyzer.roads import Taken, list_offsets, offsets_listed, opened, taken

__all__ = ["taken"]

CAPTURES = Path(__file__).parents[3] / "captures"
ERROR = 3
PAIRS = [
    (list_offsets(b"orders", 0, 1), offsets_listed(b"orders", 0, 0, 1, 42)),
    (list_offsets(b"\x1b[31m\n", 1, 1), offsets_listed(b"orders", 1, ERROR, 1, 42)),
    (list_offsets("é界".encode(), 1, 1, b"\x07" * 3), offsets_listed("é界".encode(), 1, 0, 1, 42)),
]
SETS: dict[str, Sequence[str]] = {
    **{name: keys for name, keys in load_presets().items() if name != "default"},
    "info first": ("info", "number", "error", "kafka.topic"),
    "no body": ("id", "partner_id", "from_client", "correlation", "time", "latency"),
    "a path last": ("number", "client", "kafka.topic"),
    "a number last": ("client", "length"),
    "numbers of bodies": ("kafka.ListOffsets.response.topics.partitions.offset", "source.port", "port", "info"),
    "fields": ("number", "fields"),
}


def form_of(keys: Sequence[str], time: TimeFormat | None = None) -> tuple[AlignedForm, JoinedCell, TimeClock | None]:
    requested = resolve_keys(keys, "-e")
    form = AlignedForm(requested.names, requested.titles, Limits(), NUMBERS | find_number_keys(requested), time)
    return form, JoinedCell(Limits(), labels=True), None if time in (None, "iso") else TimeClock(time)


def both(
    session: Session, keys: Sequence[str], *, streaming: bool = False, time: TimeFormat | None = None
) -> list[str]:
    """The lines below the head, which both roads must give."""
    form, shape, clock = form_of(keys, time)
    reader = ExtendedRowReader(
        RowReader(session, streaming=streaming), resolve_keys(keys, "-e").paths, shape, clock, with_names=True
    )
    rows = np.arange(len(session.rows))
    if clock is not None:
        clock.set_next_rows(reader, rows)
    form.fit(reader, rows)
    together = b"".join(RowWriter(form, reader).write_rows(rows))
    assert together == b"".join(form.format_rows(reader, rows))
    return [form.format_head().decode().rstrip("\n"), *together.decode().splitlines()]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_alike_rows_look_as_they_do_one_by_one(tmp_path: Path, taken: Taken, name: str, streaming: bool) -> None:
    with opened(tmp_path, PAIRS * 12) as session:
        lines = both(session, SETS[name], streaming=streaming)
        assert len(lines) == len(session.rows) + 1
        assert not any(set(line) & {"\x1b", "\x07", "\n"} for line in lines)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_the_same_of_a_real_capture(name: str) -> None:
    with Session([CAPTURES / "mixed.pcapng"]).load() as session:
        both(session, SETS[name])


@pytest.mark.parametrize("time", [None, "iso", "relative", "delta", "epoch"])
def test_times(tmp_path: Path, time: TimeFormat | None) -> None:
    with opened(tmp_path, PAIRS * 3) as session:
        head, *lines = both(session, ("time", "info"), time=time)
        width = len(lines[0]) - len(lines[0][lines[0].index(" orders") :])
        assert {len(line[:width].strip()) for line in lines} <= {11, 18, 20, 30}
        assert head.index("Info") == width + 1


def test_alike_rows_are_written_together(tmp_path: Path, taken: Taken) -> None:
    """Also with an error in the middle, for which a text is padded that all of them have."""
    with opened(tmp_path, PAIRS[:1] * 30) as session:
        both(session, ("number", "error", "findings", "info"))
        assert taken.rows == 60


def test_where_cells_stand(tmp_path: Path) -> None:
    with opened(tmp_path, PAIRS) as session:
        lines = both(session, ("number", "client", "latency", "error", "info"))
    cells = [
        ("No.", "Client", "Latency", "Error", "Info"),
        ("1", "me", "", "", "orders[0 1970-01-01T00:00:00.001Z]"),
        ("2", "me", "1ms", "", "orders[0 at 42]"),
        ("3", "me", "", "", "\\x1b[31m\\n[1 1970-01-01T00:00:00.001Z]"),
        ("4", "me", "1ms", "UNKNOWN_TOPIC_OR_PARTITION", "orders[1 UNKNOWN_TOPIC_OR_PARTITION at 42]"),
        ("5", "\\x07\\x07\\x07", "", "", "é界[1 1970-01-01T00:00:00.001Z]"),
        ("6", "\\x07\\x07\\x07", "1ms", "", "é界[1 at 42]"),
    ]
    assert lines == [f"{row[0]:>6} {row[1]:<12} {row[2]:>9} {row[3]:<26} {row[4]}" for row in cells]


def test_what_is_far_too_long_is_cut_unless_it_is_last(tmp_path: Path) -> None:
    name = b"n" * 200
    pairs = [(list_offsets(name, 0, 1, b"c" * 300), offsets_listed(name, 0, 0, 1, 1))] * 60
    with opened(tmp_path, pairs) as session:
        head, *lines = both(session, ("client", "kafka.topic", "info"))
        assert head == f"{'Client':<{MOST}} {'kafka.topic':<{MOST}} Info"
        assert lines[1] == f"{'c' * (MOST - 1)}… {'n' * (MOST - 1)}… {'n' * 200}[0 at 1]"
        _, *lines = both(session, ("kafka.topic", "client"))
        assert lines[1] == f"{'n' * (MOST - 1)}… {'c' * 300}"


def test_a_later_text_that_is_longer_pushes_its_line(tmp_path: Path) -> None:
    pairs = [(list_offsets(b"t", 0, 1, b"me"), offsets_listed(b"t", 0, 0, 1, 1))] * 30
    pairs += [(list_offsets(b"t", 0, 1, b"much longer"), offsets_listed(b"t", 0, 0, 1, 1))]
    with opened(tmp_path, pairs) as session:
        lines = both(session, ("client", "length"))
        assert lines[1].startswith("me     ")
        assert lines[-1].startswith("much longer ")


def test_a_latency_below_zero_is_written_one_by_one(tmp_path: Path) -> None:
    """Where a clock goes back there are negative ones."""
    with opened(tmp_path, PAIRS[:1] * 3) as session:
        session.rows.column("time")[1] -= 10**9
        lines = both(session, ("number", "latency"))
        assert lines[2].split() == ["2", "-999ms"]
        form, shape, _ = form_of(("latency",))
        assert form.make_frame(ExtendedRowReader(RowReader(session), {}, shape), np.arange(2)) is None


def test_no_slot_without_a_body(tmp_path: Path) -> None:
    with opened(tmp_path, PAIRS) as session:
        form, shape, _ = form_of(("number", "time", "client"))
        frame = form.make_frame(ExtendedRowReader(RowReader(session), {}, shape), np.arange(6))
        assert frame is not None
        assert not any(isinstance(part, BodySlot) for part in frame)
