"""What a row says in the list: the same as `list` says, and long bodies only when somebody has time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.session import Session
from tests.analyzer.wire import ACK, CLIENT, RST, SERVER, SYN, Segment, capture
from tests.tui.driving import GOLDEN, KAFKA
from tui.model import row_cells as module
from tui.model.row_cells import BodyCells, CellReader, RowCells

KEYS = [
    "number",
    "time",
    "stream",
    "protocol",
    "role",
    "operation",
    "version",
    "length",
    "partner",
    "latency_ns",
    "state",
]


def test_the_same_as_the_rows_of_list() -> None:
    with Session([GOLDEN / "k4_errors.pcap.zst"]).load() as session:
        rows = list(range(len(session.rows)))
        found = CellReader(session).read_rows(rows)
        listed = list(RowReader(session).read_objects([*KEYS, "error", "info", "findings"], np.array(rows)))
        for cells, row in zip(found, listed, strict=True):
            if row["role"] == "request" and row["partner"] is not None:
                row["latency_ns"] = listed[row["partner"] - 1]["latency_ns"]  # the list shows it beside both
            assert [row[key] for key in KEYS] == [
                *(cells.number, cells.time, cells.stream, cells.protocol, cells.role, cells.operation, cells.version),
                *(cells.length, cells.partner, cells.latency, cells.state),
            ]
            assert cells.body is not None
            assert cells.body.error == (row["error"] and row["error"]["name"])
            assert cells.body.info == (row["info"] or "")
            assert [code for _, code in cells.body.findings] == [finding["code"] for finding in row["findings"]]
            bad = cells.body.error or any(severity == "error" for severity, _ in cells.body.findings)
            assert (cells.sign == "!") == bool(bad)


def test_long_bodies_wait_and_few_are_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", 500)
    monkeypatch.setattr(module, "MOST_BODIES", 10)
    with Session([KAFKA]).load() as session:
        cells = CellReader(session)
        shown = cells.read_rows([0, 1])
        assert [found.body is None for found in shown] == [False, True]
        assert cells.list_missing([0, 1]) == [1]
        cells.cache_bodies(cells.decode_bodies([0, 1]))
        assert cells.read_rows([1])[0].body == BodyCells(
            None, "77 APIs, group.version 1, kraft.version 1, share.version 2, 4 more", ()
        )
        cells.read_rows(list(range(20, 40)))
        assert len(cells._bodies) == 10
        assert cells.read_rows([]) == []


def test_what_is_looked_at_stays_while_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page back may show rows that are known beside rows that were let go of long since."""
    monkeypatch.setattr(module, "MOST_BODIES", 10)
    with Session([KAFKA]).load() as session:
        cells = CellReader(session)
        for first in (0, 5, 10):
            cells.read_rows(range(first, first + 5))
        assert cells.list_missing(range(15)) == [0, 1, 2, 3, 4]
        assert all(found.body is not None for found in cells.read_rows(range(3, 8)))
        assert cells.list_missing(range(15)) == [0, 1, 2, 8, 9]


@pytest.mark.parametrize(
    ("state", "role", "said", "sign"),
    [
        ("complete", "request", None, " "),
        ("complete", "response", BodyCells(None, "", ()), " "),
        ("complete", "response", BodyCells("BAD", "", ()), "!"),
        ("complete", "response", BodyCells(None, "", (("error", "bug"),)), "!"),
        ("partial", "response", BodyCells(None, "", (("warning", "gap"),)), "%"),
        ("complete", "response", BodyCells(None, "", (("warning", "crc-mismatch"),)), "*"),
        ("complete", "response", BodyCells(None, "", (("note", "trailing-bytes"),)), " "),
        ("guessed", "response", BodyCells(None, "", (("note", "orphan-response"),)), "?"),
        ("undecoded", "request", None, "?"),
        ("undecoded", "raw", None, " "),
    ],
)
def test_signs(state: str, role: str, said: BodyCells | None, sign: str) -> None:
    row = RowCells(1, "", 0, "kafka", role, "Fetch", 1, 10, None, None, state, said)
    assert row.sign == sign


@pytest.mark.parametrize(
    ("answer", "packets", "said"), [(RST | ACK, 2, "refused"), (SYN | ACK, 2, "unknown"), (RST, 3, "unknown")]
)
def test_a_connection_without_a_message(tmp_path: Path, answer: int, packets: int, said: str) -> None:
    sent = [Segment(CLIENT, -1, flags=SYN), Segment(SERVER, -1, flags=answer), Segment(CLIENT, 0, flags=ACK)]
    with Session([capture(tmp_path / "a.pcap", sent[:packets])]).load() as session:
        assert CellReader(session).read_stream(0, 0).protocol == said
