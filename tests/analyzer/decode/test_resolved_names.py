"""Names for ids in lines for people: on every road the same, in a file and in a stream, and never for programs."""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64encode
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.limits import Limits
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.rows import RowReader
from analyzer.render.forms import RowWriter
from analyzer.render.table import TABLE_KEYS, TableForm
from analyzer.session import Session
from tests.analyzer.roads import (
    FORMS,
    Taken,
    answer,
    framed,
    hold_equal,
    one_by_one,
    opened,
    request,
    string,
    taken,
    together,
)

__all__ = ["taken"]

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
NAMED = ["k4_java_kip848", "k4_java_produce", "k4_go_franz", "k4_java_txn", "k4_java_classic", "k4_java_share"]
Pairs = list[tuple[bytes, bytes]]


def topic_id(number: int) -> bytes:
    return b"\x40" + bytes(11) + number.to_bytes(4)


def id_text(number: int) -> str:
    return urlsafe_b64encode(topic_id(number)).decode()[:22]


def varlength(text: bytes) -> bytes:
    return bytes([len(text) + 1]) + text


def named(*topics: tuple[int, bytes]) -> tuple[bytes, bytes]:
    """Metadata 10: topics by their number, and what they are called."""
    rows = [
        struct.pack(">h", 0) + varlength(name) + topic_id(number) + b"\0" + b"\1" + struct.pack(">i", 0) + b"\0"
        for number, name in topics
    ]
    body = struct.pack(">i", 0) + b"\1" + b"\0" + struct.pack(">i", 0) + bytes([len(rows) + 1]) + b"".join(rows)
    return request(3, 10, b"\0\1\0\0\0\0"), answer(b"\0" + body + struct.pack(">i", 0) + b"\0")


def fetched(*topics: int, offset: int = 0) -> tuple[bytes, bytes]:
    """Fetch 13: one partition of each of these."""
    parts = [
        topic_id(number) + b"\2" + struct.pack(">iiqiqi", 0, 0, offset, 0, 0, 1 << 20) + b"\0\0" for number in topics
    ]
    body = struct.pack(">iiiibii", -1, 500, 1, 1 << 20, 0, 0, 0) + bytes([len(parts) + 1]) + b"".join(parts)
    requested = request(1, 13, b"\0" + body + b"\1\1\0")
    return requested, answer(b"\0" + struct.pack(">ihi", 0, 0, 0) + b"\1\0")


def shown(session: Session, *, streaming: bool = False, most: int = 98_304) -> list[list[str]]:
    """What the table calls the topics of each Fetch."""
    lines = together(session, FORMS["table"](), streaming=streaming, most=most).decode().splitlines()
    return [re.findall(r"([^ ]+)\[0 at", line) for line in lines if "> Fetch" in line]


# ---- real captures


@pytest.mark.parametrize("name", NAMED)
def test_no_id_is_left_where_somebody_named_it(name: str) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        table = together(session, FORMS["table"]()).decode()
        machine = together(session, FORMS["rows"]()).decode()
        ids = {topic for topic in _named_in(session) if topic in machine}
        assert ids
        assert not [topic for topic in ids if topic in table]


def _named_in(session: Session) -> set[str]:
    resolver = NameResolver(session, ["topic"])
    resolver.learn(len(session.rows))
    return {key for _, key in resolver._known}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("most", [1, 5, 61, 100_000])
def test_blocks_do_not_matter(name: str, most: int) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        hold_equal(session, ["table"], streaming=True, most=most)
        hold_equal(session, ["table"], most=most)


def test_a_file_says_no_less_than_a_stream() -> None:
    with Session([GOLDEN / "k4_java_internal.pcap.zst"]).load() as session:
        whole = one_by_one(session, FORMS["table"]()).splitlines()
        streamed = one_by_one(session, FORMS["table"](), streaming=True).splitlines()
        tails = [(a[100:], b[100:]) for a, b in zip(whole, streamed, strict=True) if a[100:] != b[100:]]
        assert all(b"__" in ours and b"__" not in theirs for ours, theirs in tails)


# ---- made ones


@pytest.mark.parametrize("count", [1, 60])
def test_before_and_after_it_is_bound(tmp_path: Path, count: int, taken: Taken) -> None:
    pairs: Pairs = [fetched(1, 2)] * count + [named((1, b"orders"))] + [fetched(1, 2)] * count
    with opened(tmp_path, pairs) as session:
        assert shown(session) == [["orders", id_text(2)]] * (2 * count)
        assert taken.rows or count == 1
        for most in (7, 98_304):
            found = shown(session, streaming=True, most=most)
            assert found == [[id_text(1), id_text(2)]] * count + [["orders", id_text(2)]] * count
            hold_equal(session, ["table"], streaming=True, most=most)


def test_templates_are_made_anew_when_a_name_is_bound(tmp_path: Path, taken: Taken) -> None:
    pairs: Pairs = [fetched(1)] * 90 + [named((1, b"orders"))] + [fetched(1)] * 90 + [named((2, b"pay"))]
    pairs += [fetched(2)] * 90
    with opened(tmp_path, pairs) as session:
        for most in (11, 30, 1000):
            hold_equal(session, ["table"], streaming=True, most=most)
        assert taken.rows
        found = shown(session, streaming=True, most=30)
        assert found == [[id_text(1)]] * 90 + [["orders"]] * 90 + [["pay"]] * 90


NAMES = [
    (b"\x1b[31mred\n", "\\x1b[31mred\\n"),
    ("\u202eabc".encode(), "\\u202eabc"),
    (id_text(2).encode(), id_text(2)),
    (b"x" * 120, "x" * 120),
    (b"a b]", "a b]"),
]


@pytest.mark.parametrize(("name", "printed"), NAMES, ids=lambda case: repr(case)[:20])
def test_a_name_is_only_a_text(tmp_path: Path, name: bytes, printed: str, taken: Taken) -> None:
    with opened(tmp_path, [named((1, name), (2, b"other"))] + [fetched(1)] * 40) as session:
        lines = together(session, FORMS["table"]()).decode().splitlines()
        fetches = [line for line in lines if "> Fetch" in line]
        assert len(fetches) == 40
        assert all(f" {printed}[0 at 0" in line for line in fetches)
        hold_equal(session, ["table"])


def test_a_text_that_only_looks_like_an_id_stays(tmp_path: Path) -> None:
    body = struct.pack(">ii", -1, 1) + string(id_text(1).encode()) + struct.pack(">iiq", 1, 0, -1)
    pairs: Pairs = [named((1, b"orders")), (request(2, 1, body), framed(bytes(4) + b"\0\0\0\0"))]
    with opened(tmp_path, pairs * 30) as session:
        lines = together(session, FORMS["table"]()).decode().splitlines()
        assert all(id_text(1) in line for line in lines if "> ListOffsets" in line)


@pytest.mark.parametrize("form", [name for name in FORMS if name != "table"])
def test_programs_get_ids(tmp_path: Path, form: str) -> None:
    with opened(tmp_path, [named((1, b"orders"))] + [fetched(1)] * 40) as session:
        plain = [line for line in one_by_one(session, FORMS[form]()).decode().splitlines() if '"Fetch"' in line]
        assert not [line for line in plain if "orders" in line]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("needed", [False, True])
def test_nothing_is_learned_without_need(tmp_path: Path, needed: bool, streaming: bool) -> None:
    unrelated = [(request(18, 0, b""), answer(b"\0\0" + bytes(4)))] * 40
    with opened(tmp_path, unrelated + ([named((1, b"orders"))] if needed else [])) as session:
        form = TableForm(TABLE_KEYS, Limits())
        lines = RowWriter(form, RowReader(session, streaming=streaming))
        assert b"".join(lines.write_rows(np.arange(len(session.rows))))
        assert form._names.bind_reader(lines.reader)._resolver.read == (len(session.rows) if needed else 0)
