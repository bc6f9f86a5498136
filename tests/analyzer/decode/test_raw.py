"""Rows of unframed bytes: what is said of them, and by whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.session import Session
from dissectors import registry
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.raw import RawRun
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, rows_of, segments
from tests.dissectors.trees import assert_tiles

ASKED, ANSWERED = b"who is there?", b"nobody, as always"
TALK = Talk(((CLIENT, ASKED), (SERVER, ANSWERED)))


class Knows:
    """A reader that remembers what it was asked."""

    def __init__(self) -> None:
        self.runs: set[RawRun] = set()

    def line(self, run: RawRun) -> str | None:
        self.runs.add(run)
        return "a question" if run.from_client else None

    def tree(self, run: RawRun) -> Tree | None:
        leaf = Field(FieldSpec("said", "bytes"), run.data, 0, len(run.data))
        return Tree([leaf], [Source(0, "message", run.data)], []) if run.from_client else None


class Fails:
    """A reader with a defect."""

    def line(self, run: RawRun) -> str | None:
        raise ValueError

    def tree(self, run: RawRun) -> Tree | None:
        raise ValueError


KNOWS, FAILS = Knows(), Fails()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return capture(tmp_path / "raw.pcap", segments(TALK))


def test_nobody_knows(path: Path) -> None:
    with Session([path]).load() as session:
        assert [row["info"] for row in rows_of(session)] == [
            f"{len(data)} bytes, no protocol of ours" for data in (ASKED, ANSWERED)
        ]
        for row, data in enumerate((ASKED, ANSWERED)):
            tree = decode_tree(session, row)
            assert [(node.spec.name, node.value) for node in tree.fields] == [("data", data)]


@pytest.mark.parametrize("readers", [["KNOWS"], ["FAILS", "KNOWS"]])
def test_a_known_answer_is_used_and_rows_stay(readers: list[str], path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those with a defect the next one is asked."""
    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)
    monkeypatch.setattr(registry, "raw_readers", lambda: [globals()[name] for name in readers])
    KNOWS.runs.clear()
    with Session([path]).load() as session:
        rows = rows_of(session)
        assert [row["info"] for row in rows] == [
            f"{len(ASKED)} bytes, a question",
            f"{len(ANSWERED)} bytes, no protocol of ours",
        ]
        assert {(row["role"], row["protocol"], row["state"]) for row in rows} == {("raw", "unknown", "undecoded")}
        assert [decode_body(session, row).values for row in (0, 1)] == [{"data": ASKED}, {"data": ANSWERED}]
        trees = [decode_tree(session, row) for row in (0, 1)]
    assert [tree.fields[0].spec.name for tree in trees] == ["said", "data"]
    for tree in trees:
        assert_tiles(tree)
    assert KNOWS.runs == {RawRun(ASKED, (40_000, 9092), True), RawRun(ANSWERED, (9092, 40_000), False)}
