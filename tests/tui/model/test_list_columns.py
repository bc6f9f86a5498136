"""Columns that the user chose: what they say is what `list -e` says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analyzer.config.model import Config
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.fields import resolve_fields
from analyzer.query.fields.reading import FieldReader
from analyzer.query.presets import load_presets
from analyzer.render.shapes import JoinedCell
from analyzer.session import Session
from tests.tui.driving import GOLDEN, KAFKA
from tui.model.list_columns import (
    AUTOMATIC,
    CELL_KEYS,
    WIDEST_COLUMN,
    CustomColumns,
    ListColumns,
    collect_sets,
    insert_column,
    list_set_keys,
)
from tui.model.times import TimeWidth

NAMES = ("number", "source", "client", "ip", "kafka.topic", "kafka.Fetch.request.maxWaitMs", "retransmissions", "info")
ROWS = list(range(0, 600, 11))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session([KAFKA]) as found:
        yield found.load()


def test_what_they_say(session: Session) -> None:
    chosen = ListColumns(session, NAMES, Limits())
    first = chosen.read_texts(ROWS)
    assert all("kafka.topic" not in texts for texts in first)
    assert chosen.list_missing(ROWS) == ROWS
    assert chosen.add_fields(chosen.edition, chosen.read_fields(ROWS)) == ROWS
    assert chosen.list_missing(ROWS) == []
    found = chosen.read_texts(ROWS)
    reader = RowReader(session)
    assert [texts["client"] for texts in found] == [
        client or "" for client in reader.read_columns(["client"], reader.select_range(0, 600)[::11])[0]
    ]
    for name in ("kafka.topic", "kafka.Fetch.request.maxWaitMs", "ip"):
        (path,) = resolve_fields([name])
        values = FieldReader(reader, [path]).read_by_row(path, reader.select_range(0, 600)[::11])
        shape = JoinedCell(Limits(), labels=True)
        assert [texts[name] for texts in found] == [shape(path, each) or "" for each in values]
        assert any(texts[name] for texts in found)
    chosen.clear()
    assert chosen.list_missing(ROWS) == ROWS
    assert chosen.add_fields(chosen.edition - 1, {0: ("late", "late")}) == []
    assert chosen.list_missing([0]) == [0]


def test_all_sets_are_columns(session: Session) -> None:
    for keys in collect_sets(Config().columns).values():
        chosen = ListColumns(session, list_set_keys(keys), Limits())
        assert chosen.names == tuple(dict.fromkeys(list_set_keys(keys)))
        texts = chosen.read_texts(ROWS)
        for column in chosen.columns:
            assert (
                column.key in CELL_KEYS or column.key in chosen._body_keys or all(column.key in each for each in texts)
            )
    assert "state" not in list_set_keys(load_presets()["default"])
    assert "state" in list_set_keys(load_presets()["wide"])
    own = collect_sets({"mine": ("number",), "kafka": ("time",)})
    assert list(own)[:2] == ["mine", "kafka"]
    assert own["kafka"] == ("time",)


@pytest.mark.parametrize("names", [["no.such"], ["kafka"], ["fields"], [], ["number", "numbr"]])
def test_what_means_nothing(session: Session, names: list[str]) -> None:
    with pytest.raises(UserError):
        ListColumns(session, names, Limits())


def test_secrets_stay_masked() -> None:
    with Session([GOLDEN / "k24_sasl_v0.pcap.zst"]).load() as session:
        name = "kafka.SaslAuthenticate.request.authBytes"
        rows = list(range(len(session.rows)))
        masked, shown = (
            {text for (text,) in chosen.read_fields(rows).values() if text}
            for chosen in (ListColumns(session, [name], Limits(show_secrets=each)) for each in (False, True))
        )
        assert masked == {"***"} or not masked & shown


def test_one_more() -> None:
    assert insert_column(AUTOMATIC, "kafka.topic") == [*AUTOMATIC[:-1], "kafka.topic", "info"]
    assert insert_column(["number"], "time") == ["number", "time"]
    assert insert_column(["number"], "number") == ["number"]
    assert insert_column([], "info") == ["info"]


def test_columns_never_shrink(session: Session) -> None:
    chosen = ListColumns(session, ["number", "client"], Limits())
    assert chosen.widths == [3, 6]
    assert chosen.widen([2, 30])
    assert not chosen.widen([3, 12])
    assert chosen.widths == [3, 30]
    assert chosen.widen([3, 500])
    assert chosen.widths == [3, WIDEST_COLUMN]


TITLES = {
    ("client", "kafka.topic"): ["Client", "kafka.topic"],
    ("kafka.Fetch.request.topics.topic", "tcp.rtt"): ["topic", "tcp.rtt"],
    ("kafka.Produce.request.topicData.name", "kafka.Metadata.request.topics.name"): ["topicData.name", "topics.name"],
    ("kafka.FetchSnapshot.request.topics.partitions.partition", "kafka.Heartbeat.request.groupId"): [
        "partition", "groupId",
    ],
}  # fmt: skip


@pytest.mark.parametrize("names", TITLES)
def test_titles_tell_columns_apart(session: Session, names: tuple[str, ...]) -> None:
    assert ListColumns(session, names, Limits()).titles == TITLES[names]


@pytest.mark.parametrize("width", [80, 119, 160])
def test_an_added_column_is_on_the_screen(session: Session, width: int) -> None:
    names = ["number", "time", "operation", "version", "latency", "kafka.topic", "info"]
    chosen = ListColumns(session, names, Limits())
    chosen.widen([4, 15, 24, 3, 7, 40, 0])
    columns = CustomColumns(chosen, TimeWidth(12, 3), 648, width)
    assert columns.find_cells("kafka.topic")[1] < columns.find_cells("info")[0] <= width - 12
    head = columns.make_head()
    assert all(title in head for title in ("No.", "Time", "Operation", "V", "Latency", "kafka.topic", "Info"))
