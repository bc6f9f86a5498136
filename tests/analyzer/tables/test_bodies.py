"""Columns of the tables hold what rows one by one say: the fast way against the plain one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.tables import message_tables

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import BODY_KEYS_IN_ORDER, RowReader
from analyzer.decode.template_decoder import TemplateDecoder
from analyzer.session import Session
from analyzer.tables import table_builder as portions
from analyzer.tables.arrow_columns import build_array
from analyzer.tables.bodies import BodyReader, DecoderMemory
from analyzer.tables.options import Options
from analyzer.tables.origins import PacketOrigins, RowSelection
from analyzer.tables.table_builder import RowPortions, build_tables
from tests.analyzer.pipeline.house import EFFECTS, ROOT, cut, golden_frames

GOLDEN = ROOT / "tests" / "golden"
CAPTURES = [
    *("captures/kafka-4.4.pcap.zst", "captures/mixed.pcapng", "tests/golden/kafka/k010_py_old.pcap.zst"),
    *("tests/golden/kafka/k4_errors.pcap.zst", "tests/golden/rocketmq/m550_json_bcq_lab_bcq.pcap.zst"),
]


def plain(session: Session, rows: Ints, *, hindsight: bool = False) -> list[dict[str, object]]:
    """The same by `Rows.objects`, which is the definition."""
    writer = JsonWriter(Limits())
    keys = (*message_tables.MESSAGE_COLUMNS, *BODY_KEYS_IN_ORDER)
    found = []
    for row in RowReader(session, hindsight=hindsight).read_objects(keys, rows):
        correlation = row["correlation"]
        text = None if correlation is None else str(correlation)
        found.append({**row, "correlation": text, "fields": writer.dumps(row["fields"]).decode()})
    return found


def fast(session: Session, rows: Ints, learned: DecoderMemory | None = None) -> list[dict[str, object]]:
    """The columns of tables, row by row, in the order in which they were asked for."""
    reader = RowReader(session)
    learned = DecoderMemory(tuple(BODY_KEYS_IN_ORDER), Limits()) if learned is None else learned
    bodies = BodyReader(reader, learned)
    found: dict[int, dict[str, object]] = {}
    for part in RowPortions(session, rows, learned.grows):
        reported = bodies.read_bodies(part)
        columns = {
            key: build_array(reader.read_column(key, reported.rows)).to_pylist()
            for key in message_tables.MESSAGE_COLUMNS
        }
        columns["correlation"] = [None if each is None else str(each) for each in columns["correlation"]]
        columns |= {slot: texts.to_pylist() for slot, texts in reported.texts.items()}
        errors, findings = reported.errors.values, reported.findings.values
        for place, row in enumerate(reported.rows.tolist()):
            error = errors[reported.numbers["error"][place]]
            text = findings[reported.numbers["findings"][place]]
            found[row] = {key: values[place] for key, values in columns.items()}
            found[row]["error"] = None if error is None else {"code": error[0], "name": error[1]}
            found[row]["findings"] = [dict(zip(("severity", "code", "text"), each, strict=True)) for each in text]
    return [found[row] for row in rows.tolist()]


@pytest.mark.parametrize("path", CAPTURES)
def test_the_fast_way_says_what_the_plain_one_says(path: str) -> None:
    with Session([ROOT / path]) as session:
        rows = np.arange(len(session.load().rows))
        expected = plain(session, rows)
        assert fast(session, rows) == expected
        assert len({row["operation"] for row in expected}) > 2


def test_what_one_capture_has_bound_is_right_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    template = TemplateDecoder._make_template
    monkeypatch.setattr(TemplateDecoder, "_make_template", lambda *asked: (made.append(asked[1]), template(*asked))[1])
    learned, seen = DecoderMemory(tuple(BODY_KEYS_IN_ORDER), Limits()), []
    for path in (*CAPTURES[:3], *CAPTURES[:3]):
        with Session([ROOT / path]) as session:
            rows = np.arange(len(session.load().rows))
            before = len(made)
            assert fast(session, rows, learned) == plain(session, rows)
            seen.append(len(made) - before)
    assert seen[2] > 0
    assert seen[0] > seen[3]  # what has matched none is counted on, and is worth a template later


@pytest.mark.parametrize("effect", ["lost", "snapped", "late"])
def test_damaged_captures(effect: str, tmp_path: Path) -> None:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS[effect]), ["1.pcap"])
    with Session([tmp_path / "captures" / "1.pcap"]) as session:
        rows = np.arange(len(session.load().rows))
        expected = plain(session, rows)
        assert fast(session, rows) == expected
        assert any(row["findings"] for row in expected) is (effect != "late")


def test_findings_know_what_came_later(tmp_path: Path) -> None:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS["lost"]), ["1.pcap"])
    with Session([tmp_path / "captures" / "1.pcap"]) as session:
        rows = np.arange(len(session.load().rows))
        expected = [
            (row["id"], *each.values())
            for row in plain(session, rows, hindsight=True)
            for each in row["findings"]  # type: ignore[attr-defined]
        ]
        at_sight = [each for row in plain(session, rows) for each in row["findings"]]  # type: ignore[attr-defined]
        chosen = RowSelection.select_all(session)
        batches = build_tables(session, PacketOrigins("", ["1.pcap"]), Options(), chosen, ["findings"])
        found = [row for each in batches for row in each.batch.to_pylist() if row["id"] is not None]
    assert sorted((row["id"], row["severity"], row["code"], row["text"]) for row in found) == sorted(expected)
    assert len(at_sight) < len(expected)


def by_one(rows: Ints, random: Random) -> Ints:
    return rows[random.randrange(len(rows)) :][:1]


def by_chance(rows: Ints, random: Random) -> Ints:
    return rows[[random.random() < 0.3 for _ in rows]]


@pytest.mark.parametrize("choose", [by_one, by_chance, lambda rows, _: rows[:0]])
def test_parts_have_each_row_once(choose: Callable[[Ints, Random], Ints], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "WINDOW", 300)
    monkeypatch.setattr(portions, "OUTPUT_BYTES", 20_000)
    with Session([ROOT / "captures" / "mixed.pcapng"]) as session:
        every = np.arange(len(session.load().rows))
        length = session.rows.column("length")
        for rows in (every, choose(every, Random(1))):
            given = RowPortions(session, rows, {})
            for reported in (False, True):
                parts = []
                for part in given:
                    given.record_sizes(part, 30 * length[part])
                    parts.append(part)
                assert sorted(np.concatenate([*parts, rows[:0]]).tolist()) == rows.tolist()
                made = [int((30 * length[part] + portions.ROW_BYTES).sum()) for part in parts if len(part) > 1]
                assert not reported or max(made, default=0) <= 20_000
