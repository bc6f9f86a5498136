"""Finding a text in many messages by their bytes and templates: the same rows as by decoding each message."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields.bodies import BodyFieldReader
from analyzer.query.fields.catalog import find_field
from analyzer.query.fields.gathered import make_list
from analyzer.query.filter import compile_filter
from analyzer.query.filter.literals import quote
from analyzer.query.text_scan import _LOWERED, TextScan, plan_scan
from analyzer.session import Session

ROOT = Path(__file__).parents[3]
CAPTURES = {
    "kafka 4.4": ROOT / "captures" / "kafka-4.4.pcap.zst",
    "compressed records": ROOT / "tests" / "golden" / "kafka" / "k4_java_produce.pcap.zst",
    "pulsar": ROOT / "captures" / "pulsar.pcap.zst",
    "rocketmq": ROOT / "captures" / "rocketmq.pcap.zst",
    "zookeeper": ROOT / "captures" / "zookeeper-ensemble.pcap.zst",
}

NEEDLES = ("92", "-1", " of ", "records", "topic", "false", "k", "\u00fc", "e-", ", ", "gzip", "i\u0307", "\x00", "\n")
"""Numbers, names, parts of constants of summary lines, and what no text, or only a text beyond ASCII, has."""

DRAWN, TAKEN = 2, 2
"""Needles for each capture: parts of its own texts, and others."""

MOST_ROWS = 400
"""About so many rows of a capture are searched, taken evenly from all."""


def read_texts(reader: RowReader, rows: Ints) -> list[list[str]]:
    """All texts of each row in lower case, each message decoded for itself."""
    field = find_field("text")
    found = BodyFieldReader(reader, [field]).read_field(field, rows)
    texts: list[list[str]] = [[] for _ in rows]
    for place, text in zip(found.rows.tolist(), make_list(found.values), strict=True):
        texts[place].append(text.lower())
    return texts


def draw_needles(texts: Sequence[Sequence[str]], seed: str) -> set[str]:
    """Parts of texts that messages have, which begin and end anywhere."""
    draw = random.Random(seed)
    found = set(draw.sample(NEEDLES, k=TAKEN))
    for each in draw.choices([text for row in texts for text in row if text], k=DRAWN):
        begin = draw.randrange(len(each))
        found.add(each[begin : begin + draw.choice((1, 3, 6, 20))])
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CAPTURES)
def test_a_scan_loses_no_row_and_invents_none(name: str) -> None:
    with Session([CAPTURES[name]]) as session:
        reader = RowReader(session.load())
        rows = np.arange(0, len(session.rows), max(len(session.rows) // MOST_ROWS, 1))
        texts = read_texts(reader, rows)
        scanned = 0
        for needle in sorted(draw_needles(texts, name)):
            wanted = np.array([any(needle in text for text in row) for row in texts])
            plan = plan_scan(needle)
            if plan is not None:
                certain, possible = TextScan(plan, reader).find_matches(rows)
                assert not (certain & ~wanted).any(), needle
                assert not (wanted & ~certain & ~possible).any(), needle
                scanned += not possible.all()
        assert scanned
        matching = compile_filter(f"lower(text) contains {quote(needle)}").select_rows(reader, rows)
        assert matching.tolist() == rows[wanted].tolist(), needle


def test_lower_makes_ascii_only_of_these_characters() -> None:
    others = {
        each: char for char in map(chr, range(0x80, sys.maxunicode + 1)) for each in char.lower() if each < "\x80"
    }
    assert others == _LOWERED


def test_what_a_scan_looks_for() -> None:
    assert plan_scan("Topic") == ("topic", False)
    assert plan_scan("topic-1") == ("topic-1", True)
    assert plan_scan("gr\u00fcnkohl") == ("nkohl", False)
    assert plan_scan("\u00fc\x00") is None
