"""Fields of the network below connections, of a real capture: the same by rows and columns, and as rows are printed."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldReader, find_field
from analyzer.query.fields.keys import FIELDS
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from analyzer.tcp.network import UNMEASURED
from tests.tui.driving import GOLDEN

ELECTION = GOLDEN / "k4_election.pcap.zst"
COUNTS = ("tcp.retransmissions", "tcp.retransmission_time", "tcp.zero_window", "tcp.zero_window_time")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session([ELECTION]).load()


def values(session: Session, name: str, *, streaming: bool = False) -> list[int]:
    """The values of all rows; 0 for none."""
    field, rows = find_field(name), np.arange(len(session.rows))
    found = FieldReader(RowReader(session, streaming=streaming), [field]).read_by_row(field, rows)
    return [each[0] if each else 0 for each in found]


def test_values_are_those_of_connections(session: Session) -> None:
    stream = session.rows.column("stream")
    metrics = session.engine.network.find_metrics(np.arange(len(session.engine.streams)))
    assert metrics.retransmissions.sum() > 0
    for name, column in (
        *(("tcp.rtt", metrics.rtt), ("tcp.client_rtt", metrics.client_rtt), ("tcp.server_rtt", metrics.server_rtt)),
        *(("tcp.ack_rtt", metrics.ack_rtt), ("tcp.retransmissions", metrics.retransmissions)),
        *(("tcp.retransmission_time", metrics.retransmission_time), ("tcp.zero_window", metrics.zero_windows)),
    ):
        known = np.where(column == UNMEASURED, 0, column)
        assert values(session, name) == known[stream].tolist()


@pytest.mark.parametrize("name", COUNTS)
def test_a_printed_row_counts_what_has_come_by_then(session: Session, name: str) -> None:
    whole, printed = values(session, name), values(session, name, streaming=True)
    last: dict[int, int] = {}
    for row, stream in enumerate(session.rows.column("stream").tolist()):
        assert last.get(stream, 0) <= printed[row] <= whole[row]
        last[stream] = printed[row]


def test_filters(session: Session) -> None:
    rows, reader = range(len(session.rows)), RowReader(session)
    again = values(session, "tcp.retransmissions")
    assert compile_filter("tcp.retransmissions").select_rows(reader, rows).tolist() == np.flatnonzero(again).tolist()
    assert len(compile_filter("tcp.rtt > 0ns and tcp.rtt < 1s").select_rows(reader, rows)) == np.count_nonzero(
        values(session, "tcp.rtt")
    )
    sides = values(session, "tcp.reset")
    assert compile_filter('tcp.reset == "client"').select_rows(reader, rows).tolist() == [
        row for row in rows if sides[row] == "client"
    ]


def test_durations_have_a_unit_in_their_names() -> None:
    for name, field in FIELDS.items():
        assert not name.startswith("tcp.") or (field.kind.name == "DURATION") == name.endswith("_ns")
