"""What messages are about is what `-e kafka.topic` says of them, or of the other half of their exchange."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.pipeline import finish
from analyzer.tables import topic_columns, topic_names

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldReader, find_field
from analyzer.query.fields.session_values import SessionReach
from analyzer.query.fields.sessions import SessionFollower
from analyzer.session import Analysis, Session
from analyzer.tables.arrow_columns import build_batch
from analyzer.tables.options import Options
from analyzer.tables.topic_columns import ALIASES, TopicColumns
from dissectors.wire.fast_path import NULL
from tests.analyzer.pipeline.house import GOLDEN, ROOT

ASKED = {
    "topics": ("kafka.topic", "pulsar.topic", "rocketmq.topic"),
    "groups": ("kafka.group", "pulsar.subscription", "rocketmq.group"),
    "paths": ("zookeeper.path", "zookeeper-quorum.path"),
}
CAPTURES = [
    *(GOLDEN / f"{name}.pcap.zst" for name in ("k4_java_internal", "k4_java_share", "k4_java_kip848", "k28_sweep")),
    *(GOLDEN.parent / "pulsar" / f"{name}.pcap.zst" for name in ("java4_errors", "go4_txn", "v5_queue")),
    *(GOLDEN.parent / "rocketmq" / f"{name}.pcap.zst" for name in ("m550_json_errors", "m430_bin_send")),
    *(GOLDEN.parent / "zookeeper" / f"{name}.pcap.zst" for name in ("cl_java395_watch", "en395_txns_follower")),
    ROOT / "captures" / "mixed.pcapng",
]

Lists = dict[str, list[list[str]]]


def asked(session: Analysis, rows: Ints) -> Lists:
    """The same, asked for as a filter would ask for it."""
    fields = {column: [find_field(name) for name in found] for column, found in ASKED.items()}
    reading = FieldReader(RowReader(session), [field for found in fields.values() for field in found])
    own: Lists = {column: [[] for _ in rows] for column in fields}
    for column, found in fields.items():
        for field in found:
            for mine, values in zip(own[column], reading.read_by_row(field, rows), strict=True):
                mine += values
    partner = session.rows.column("partner")[rows].tolist()
    return {
        column: [mine or (lists[other] if other != NULL else []) for mine, other in zip(lists, partner, strict=True)]
        for column, lists in own.items()
    }


def told(session: Analysis, rows: Ints, part: int) -> Lists:
    """With names, some rows at a time."""
    reader = TopicColumns(session)
    parts = [reader.columns(rows[first : first + part]) for first in range(0, len(rows), part)]
    found = {column: pa.concat_arrays([each[column] for each in parts]) for column in ALIASES}
    known = topic_names.build_name_columns(session)
    if known is not None:
        batch = pa.record_batch({"capture": pa.repeat(pa.scalar("c"), len(rows)), "topics": found["topics"]})
        by_id = topic_names.index_names([build_batch("names", {"capture": "c", **known}, Options())])
        found["topics"] = finish.replace_ids("messages", batch, by_id).column("topics")
    return {column: lists.to_pylist() for column, lists in found.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_it_is_what_fields_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        expected = asked(session, rows)
        assert any(map(any, expected.values()))
        assert told(session, rows, len(rows)) == expected
        # Windows that end anywhere, and memory that is always full.
        monkeypatch.setattr(topic_columns, "MOST_CACHED", 10)
        assert told(session, rows, 7) == expected


def test_rows_may_be_requested_in_any_order() -> None:
    with Session([GOLDEN / "k4_java_share.pcap.zst"]).load() as session:
        rows = np.arange(len(session.rows))
        every = TopicColumns(session).columns(rows)["topics"].to_pylist()
        some = np.array([20, 3, 3, 101, 0])
        assert TopicColumns(session).columns(some)["topics"].to_pylist() == [every[row] for row in some]


def test_values_of_one_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_columns, "MOST_NAMES", 2)
    with Session([GOLDEN / "k28_sweep.pcap.zst"]).load() as session:
        rows = np.arange(len(session.rows))
        expected = [each[:2] for each in asked(session, rows)["groups"]]
        assert max(map(len, expected)) == 2
        assert TopicColumns(session).columns(rows)["groups"].to_pylist() == expected


def test_a_name_in_a_session_that_is_no_text_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_reach(self: object, part: str, rows: Ints, until: int) -> SessionReach:
        return SessionReach(np.ones(len(rows), np.int64), [(), (b"\xff", "t")])

    monkeypatch.setattr(SessionFollower, "find_reach", find_reach)
    with Session([GOLDEN / "k4_java_share.pcap.zst"]).load() as session:
        topics = TopicColumns(session).columns(np.arange(len(session.rows)))["topics"].to_pylist()
    assert {"t"} < {name for each in topics for name in each}
