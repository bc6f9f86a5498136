"""The line of a stream: who it is, its rate with errors marked, and addresses."""

from __future__ import annotations

import pytest

from analyzer.session import Session
from tests.tui.driving import GOLDEN
from tui.model.row_cells import CellReader, StreamCells
from tui.model.stream_activity import CELLS, ActivityReader, StreamActivity
from tui.model.stream_groups import make_stream_spans
from tui.model.timeline import Timeline

ADDRESSES = {
    ("127.0.0.1:33862", "127.0.0.1:29092"): ":33862 > :29092",
    ("[::1]:1", "[::1]:2"): ":1 > :2",
    ("10.0.0.1:1", "10.0.0.2:2"): "10.0.0.1:1 > 10.0.0.2:2",
    ("10.0.0.1:1", "10.0.0.1:2 (broker-1)"): ":1 > :2 (broker-1)",
}


@pytest.mark.parametrize("ends", ADDRESSES)
def test_equal_addresses_are_folded(ends: tuple[str, str]) -> None:
    assert StreamCells(0, *ends, "kafka", 1, 1, 0).addresses == ADDRESSES[ends]


@pytest.mark.parametrize("errors", [0, 3])
def test_a_line(errors: int) -> None:
    stream = StreamCells(7, "10.0.0.1:1", "10.0.0.1:2", "kafka", 4, 9, 499_000_000, matches=2, who="admin")
    activity = StreamActivity([0, 2, 4, *[0] * 9], [0, errors, *[0] * 10], 4, 4)
    spans = make_stream_spans(stream, 2, opened=False, activity=activity)
    line = "".join(text for _, text in spans)
    assert line.split() == [
        *("▸", "7", "admin", "▄█", "2", "of", "4", "messages"),
        *([f"!{errors}"] if errors else []),
        *("499ms", ":1", ">", ":2", "kafka"),
    ]
    assert (("error", "▄") in spans) is bool(errors)


def test_activity_counts_each_message_and_each_error_once() -> None:
    with Session([GOLDEN / "k4_errors.pcap.zst"]).load() as session:
        timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
        timeline.grow(len(session.rows), len(session.engine.streams))
        reader = ActivityReader(session, timeline.list_rows)
        streams = list(range(len(session.engine.streams)))
        while work := reader.prepare(streams, 0, timeline.rows):
            reader.add(reader.edition, work())
        found = [reader.get_activity(stream) for stream in streams]
        assert all(each is not None and len(each.counts) == CELLS for each in found)
        assert sum(sum(each.counts) for each in found if each) == timeline.rows
        said = [row.body is not None and row.body.error for row in CellReader(session).read_rows(range(timeline.rows))]
        assert 0 < sum(sum(each.errors) for each in found if each) <= sum(map(bool, said))
        assert reader.add(reader.edition - 1, {0: StreamActivity([], [], 0, 0)}) == []
