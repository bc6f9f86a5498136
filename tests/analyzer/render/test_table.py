"""The table for people: its columns, and that nothing in it acts on a terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.cells import flatten_cells, join_cells
from analyzer.decode.limits import Limits
from analyzer.decode.rows import RowReader
from analyzer.render.forms import BodySlot
from analyzer.render.table import TABLE_KEYS, TableForm
from analyzer.session import Session
from tests.analyzer.roads import (
    FORMS,
    Taken,
    exchanges,
    list_offsets,
    numbered,
    offsets_listed,
    one_by_one,
    opened,
    request,
    taken,
    together,
)
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Talk, capture, segments

__all__ = ["taken"]

ERROR = 3
PAIRS = [
    (list_offsets(b"orders", 0, 1), offsets_listed(b"orders", 0, 0, 1, 42)),
    (list_offsets(b"orders", 1, 1), offsets_listed(b"orders", 1, ERROR, 1, 42)),
    (list_offsets(b"\x1b[31m\n", 1, 1), offsets_listed(b"\x1b[31m\n", 1, ERROR, 1, 42)),
]


def test_what_a_line_says(tmp_path: Path, taken: Taken) -> None:
    with opened(tmp_path, PAIRS * 2) as session:
        printed = together(session, FORMS["table"]()).decode().splitlines()
        assert taken.rows == 8
    assert STEP_NS == 10**6
    sizes = [len(message) for message in PAIRS[0]]
    time = "22:13:20.00{}000000   0"
    assert printed[:2] == [
        (
            f"     1 {time.format(3)} 10.0.0.1:40000        10.0.0.2:9092         kafka     "
            f"> ListOffsets                    1 {sizes[0]:7}           orders[0 1970-01-01T00:00:00.001Z]"
        ),
        (
            f"     2 {time.format(4)} 10.0.0.2:9092         10.0.0.1:40000        kafka     "
            f"< ListOffsets                    1 {sizes[1]:7}       1ms orders[0 at 42]"
        ),
    ]
    assert printed[3].endswith("1ms orders[1 UNKNOWN_TOPIC_OR_PARTITION at 42]")
    assert printed[4].endswith(" \\x1b[31m\\n[1 1970-01-01T00:00:00.001Z]")


def test_no_text_acts_on_a_terminal(tmp_path: Path) -> None:
    with opened(tmp_path, PAIRS * 20) as session:
        for found in (together(session, FORMS["table"]()), one_by_one(session, FORMS["table"]())):
            assert not (set(range(32)) - {ord("\n")} | {127}) & set(found)
            assert len(found.splitlines()) == len(session.rows)


def test_the_body_behind_the_line(tmp_path: Path, taken: Taken) -> None:
    """With fields each line is written for itself."""
    form = TableForm([*TABLE_KEYS, "fields"], Limits())
    with opened(tmp_path, PAIRS) as session:
        lines = together(session, form).decode().splitlines()
        assert taken.rows == 0
    assert lines[0].endswith(
        'orders[0 1970-01-01T00:00:00.001Z] {"replicaId":-1,"topics":'
        '[{"name":"orders","partitions":[{"partitionIndex":0,"timestamp":1}]}]}'
    )
    assert form.format_head().decode().split()[:3] == ["No.", "Time", "Str"]


def test_columns_of_all_rows(tmp_path: Path) -> None:
    """Also of those that are written one by one now: without a version, with a negative one, with five digits."""
    odd = [request(3, version, bytes(4)) for version in (-1, 300, 32_767, -32_768, 1)]
    writes = [*exchanges([PAIRS[0]]), *((CLIENT, numbered(each, 9 + at, CLIENT)) for at, each in enumerate(odd))]
    talk = Talk((*writes, (SERVER, b"\xff" * 90)))
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)]).load() as session:
        rows = np.arange(len(session.rows))
        frame = TableForm(TABLE_KEYS, Limits()).make_frame(RowReader(session), rows)
        assert frame is not None
        parts = [b"" if isinstance(part, BodySlot) else part for part in frame]
        cells = flatten_cells(join_cells([*parts, b"\n"], len(rows))).splitlines()
        lines = one_by_one(session, FORMS["table"]()).splitlines()
    assert len(cells) == len(lines) == len(writes) + 1
    for cell, line in zip(cells, lines, strict=True):
        assert (line + b" ").startswith(cell.rstrip() + b" ")


@pytest.mark.parametrize("name", [b"", b"a", b"a ", b" a", b"complete", b"[UNKNOWN_TOPIC_OR_PARTITION]"])
def test_no_line_ends_in_a_space(tmp_path: Path, name: bytes) -> None:
    with opened(tmp_path, [(list_offsets(name, 0, 1), offsets_listed(name, 0, ERROR, 1, 1))] * 30) as session:
        lines = together(session, FORMS["table"]()).decode().splitlines()
        assert lines == [line.rstrip() for line in lines]
        assert lines == one_by_one(session, FORMS["table"]()).decode().splitlines()
