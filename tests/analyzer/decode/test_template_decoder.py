"""Alike rows printed together are the same bytes as each of them printed for itself."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest

import analyzer.decode.template_decoder
from analyzer.decode.content import read_message
from analyzer.decode.template_decoder import TemplateDecoder
from analyzer.decode.templates import LONGEST_TEXT
from analyzer.session import Session
from tests.analyzer.roads import (
    FORMS,
    METADATA,
    NO_METADATA,
    WITH_BODIES,
    Taken,
    batch,
    fetch,
    fetched,
    framed,
    hold_equal,
    list_offsets,
    numbered,
    offsets_listed,
    one_by_one,
    opened,
    produce,
    produced,
    record,
    request,
    string,
    taken,
    together,
)
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Talk, capture, frames, in_parts, segments, whole, write
from tests.effort import steps, within_steps

__all__ = ["taken"]

GOLDEN = Path(__file__).parents[2] / "golden"
KAFKA = sorted(GOLDEN.glob("kafka/*.pcap.zst"))
OTHERS = [
    *(path for path in sorted(GOLDEN.glob("*/*.pcap.zst")) if path not in KAFKA),
    *sorted((Path(__file__).parents[3] / "captures").glob("*.pcap*")),
]
PLAIN = {"k4_sweep_rest"}
"""Captures in which each message is the only one of its kind."""

Pairs = list[tuple[bytes, bytes]]


# ---- real captures


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", KAFKA, ids=lambda path: path.name)
def test_of_real_captures(path: Path, taken: Taken) -> None:
    forms = sorted(WITH_BODIES)
    turn = KAFKA.index(path)
    with Session([path]).load() as session:
        hold_equal(session, {"fields", forms[turn % len(forms)]})
        assert (taken.rows > 0) == (path.name.removesuffix(".pcap.zst") not in PLAIN)
        hold_equal(session, {"table", forms[(turn + 3) % len(forms)]}, streaming=True, most=61)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_of_captures_with_little_that_is_alike(path: Path, taken: Taken) -> None:
    with Session([path]).load() as session:
        for streaming in (False, True):
            hold_equal(
                session, ("rows", "table") if streaming else ("tsv", "csv", "table"), streaming=streaming, most=97
            )


# ---- one thing changed

NAMES = (
    *(b"orders", b"o", b"", b"orders-2", b"payments", b"x" * 63, b"y" * 300, b"z" * LONGEST_TEXT, b"w" * 513),
    *(
        b" ",
        b"end ",
        b"end  ",
        b" begin",
        b"a b",
        b'"',
        b'say "x"',
        b"\\",
        b"a\\b",
        b"a\nb",
        b"\r",
        b"\t",
        b"\0",
        b"a\0",
    ),
    *(
        b"\x01",
        b"\x1b[31m",
        b"\x7f",
        "größe".encode(),
        "\u202e".encode(),
        "\ue0000\ue001".encode(),
        b"\xff\xfe",
        b"\xc3",
    ),
    *(b"null", b"-1", b"1 topic", b"UNKNOWN_SERVER_ERROR", b"__consumer_offsets", b"__transaction_state", b"/"),
)
NUMBERS = (
    0,
    1,
    -1,
    9,
    10,
    99,
    12_345_678,
    1 << 31,
    -(1 << 31),
    (1 << 53) + 1,
    (1 << 62) - 1,
    (1 << 63) - 1,
    -(1 << 63),
)
ONE = record(b"k", b"v")
BATCHES: dict[str, bytes | None] = {
    "two": batch([ONE, record(b"k", b"w", 1, 5)]),
    "one": batch([ONE]),
    "null key": batch([record(None, b"v")]),
    "long": batch([record(b"k", b"v" * 2000)]),
    "bad checksum": batch([ONE], crc=1),
    "compressed": batch(gzip.compress(ONE), attributes=1, count=1),
    "compressed, broken": batch(b"no gzip", attributes=1, count=1),
    "unknown codec": batch([ONE], attributes=7),
    "control": batch([record(b"\0\0\0\1", bytes(6))], attributes=0x30),
    "append time": batch([ONE], attributes=8),
    "transactional": batch([ONE], attributes=0x10),
    "too many": batch([ONE], count=2),
    "too few": batch([ONE, ONE], count=1),
    "negative": batch([ONE], count=-1),
    "none": batch([]),
    "none but bytes": batch([ONE], count=0),
    "broken varint": batch([b"\xff" * 12]),
    "length short": batch([ONE], length=-1),
    "length long": batch([ONE], length=1),
    "far offset": batch([ONE], base=1 << 62),
    "far time": batch([ONE], time=-(1 << 63)),
    "last time": batch([ONE], last_time=-(1 << 63)),
    "two batches": batch([ONE]) + batch([record(b"k", b"w")], base=1),
    "nine batches": batch([ONE]) * 9,
    "cut": batch([ONE]) + batch([ONE])[:40],
    "coordinator's": batch([record(b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\1" + bytes(26))]),
    "many": batch([record(b"k", b"v", offset) for offset in range(100)]),
    "null": None,
    "empty": b"",
}


def of_names() -> Pairs:
    return [(list_offsets(name, 0, -1), offsets_listed(name, 0, 0, 5, 7)) for name in NAMES * 3]


def of_numbers() -> Pairs:
    return [
        (list_offsets(b"t", number & 0x7F, number), offsets_listed(b"t", 1, 0, other, number))
        for number in NUMBERS * 2
        for other in (5, number)
    ]


def of_errors() -> Pairs:
    codes = (0, 0, 0, 3, 3, 3, 6, -1, -1, 999, 999, 35, 32767, -32768)
    return [(list_offsets(b"t", 0, 1), offsets_listed(b"t", 0, code, 1, 1)) for code in codes * 3]


def of_clients() -> Pairs:
    return [(list_offsets(b"t", 0, 1, name), offsets_listed(b"t", 0, 0, 1, 1)) for name in (*NAMES, None) * 2]


def of_counts() -> Pairs:
    bodies = [struct.pack(">i", count) + string(b"t") * max(count, 0) for count in (0, 1, 2, 3, 4, -1, -2, 5)]
    return [(request(3, 1, body), NO_METADATA) for body in bodies * 4]


def of_produced_batches() -> Pairs:
    return [(produce(b"t", each), produced(b"t", place)) for place, each in enumerate([*BATCHES.values()] * 3)]


def of_fetched_batches() -> Pairs:
    return [(fetch(place), fetched(b"t", each)) for place, each in enumerate([*BATCHES.values()] * 3)]


def of_nulls() -> Pairs:
    """Strings of negative lengths, with as many bytes behind them as fit otherwise."""
    hosts = (string(b"host"), b"\xff\xff", b"\xff\xfe", b"\x80\0")
    racks = (string(b"rack"), b"\xff\xff", b"\xff\xfd")
    return [
        (METADATA, framed(bytes(4) + b"\0\0\0\1" + struct.pack(">i", 1) + host + bytes(4) + rack + bytes(8)))
        for host in hosts
        for rack in racks
        for _ in range(6)
    ]


def of_leftovers() -> Pairs:
    rests = (b"", b"", b"\0", b"rest", b"\xff" * 20)
    return [(list_offsets(b"t", 0, 1), framed(offsets_listed(b"t", 0, 0, 1, 1)[4:] + rest)) for rest in rests * 6]


CHANGES: tuple[Callable[[], Pairs], ...] = (
    *(of_names, of_numbers, of_errors, of_clients, of_counts, of_produced_batches, of_fetched_batches),
    *(of_nulls, of_leftovers),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cut", [whole, in_parts(Random(1), 50)], ids=["whole", "in parts"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_one_thing_changed(
    tmp_path: Path, change: Callable[[], Pairs], cut: Callable[..., object], taken: Taken
) -> None:
    pairs = change()
    Random(7).shuffle(pairs)
    with opened(tmp_path, pairs, cut) as session:  # type: ignore[arg-type]
        assert len(session.rows) == 2 * len(pairs)
        hold_equal(session)
        assert taken.rows > len(pairs)
        hold_equal(session, ("table", "fields"), streaming=True)


def test_each_batch_next_to_a_plain_one(tmp_path: Path, taken: Taken) -> None:
    """None is ever read with the shape of another."""
    for odd in BATCHES.values():
        pairs = [(fetch(1), fetched(b"t", each)) for each in (BATCHES["two"], odd, BATCHES["one"], odd)]
        with opened(tmp_path, pairs) as session:
            hold_equal(session, ("fields", "table"))


def test_latencies_of_any_length(tmp_path: Path, taken: Taken) -> None:
    """None at all, backwards, and a quarter of an hour and more; the last makes the table go row by row."""
    for waits in ((1, 0, 999, 1000, 999_499, 999_500, 10**9, 999 * 10**9), (1, -5 * 10**9), (1, 10**12, 10**15)):
        waits = tuple(wait // 1000 * 1000 for wait in waits * 4)
        pairs = [(list_offsets(b"t", 0, 1), offsets_listed(b"t", 0, 0, 1, 1))] * len(waits)
        talk = Talk(tuple(written(pairs)))
        packets = [*frames(segments(talk), talk)]
        for place, wait in enumerate(waits):
            requested = packets[3 + 2 * place]
            packets[4 + 2 * place] = type(requested)(packets[4 + 2 * place].data, requested.time + wait)
        with Session([write(tmp_path / "a.pcap", packets)]).load() as session:
            before = taken.rows
            hold_equal(session, ("rows", "table", "csv"))
            assert taken.rows > before


def written(pairs: Pairs) -> list[tuple[int, bytes]]:
    found = []
    for number, (requested, answered) in enumerate(pairs):
        found += [(CLIENT, numbered(requested, number, CLIENT)), (SERVER, numbered(answered, number, SERVER))]
    return found


def test_versions_of_any_width_share_a_column(tmp_path: Path, taken: Taken) -> None:
    """Some have no version, some a negative one, some one of five digits."""
    odd = [request(3, version, bytes(4)) for version in (-1, 300, 32767, -32768, 1, 99)]
    writes = [(CLIENT, numbered(METADATA, 1, CLIENT)), (SERVER, numbered(NO_METADATA, 1, SERVER))]
    writes += [(CLIENT, numbered(message, 10 + place, CLIENT)) for place, message in enumerate(odd)]
    writes += [(SERVER, b"\xff" * 90)]
    talk = Talk(tuple(writes))
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)]).load() as session:
        hold_equal(session)


def test_few_orphans_are_guessed_each(tmp_path: Path) -> None:
    """The time decides whether an answer with offsets is told apart from others; a template would not look at it."""
    times = (5, 0, 1, -1) * 12
    writes = [
        (SERVER, framed(struct.pack(">iiih4siihqq", 77 + place, 0, 1, 4, b"abcd", 1, 0, 0, time, 55)))
        for place, time in enumerate(times)
    ]
    talk = Talk(tuple(writes))
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)]).load() as session:
        assert len(session.rows) == len(times)
        hold_equal(session, {"fields", "table"}, most=12)


# ---- real messages, broken at random


@cache
def real_exchanges() -> tuple[tuple[bytes, bytes], ...]:
    """One exchange of each API and version of some captures."""
    found: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    for name in ("k28_sweep", "k4_java_share", "k4_java_txn", "k010_py_old", "k4_java_kip848"):
        with Session([GOLDEN / "kafka" / f"{name}.pcap.zst"]).load() as session:
            rows = session.rows
            for row in range(len(rows)):
                partner = rows.cell("partner", row)
                if rows.cell("role", row) == 0 and partner >= 0 and rows.cell("state", row) == 0:
                    pair = read_message(session, row), read_message(session, partner)
                    if max(map(len, pair)) < 1500:
                        found.setdefault((rows.cell("code", row), rows.cell("version", row)), pair)
    return tuple(found.values())


EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)


def mutated(message: bytes, random: Random, first: int) -> bytes:
    """One thing or two changed behind the header; the length fits."""
    data = bytearray(message)
    for _ in range(random.choice((0, 1, 1, 2)) if len(data) > first else 0):
        at, kind = random.randrange(first, len(data)), random.randrange(4)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at] = random.choice((*b'\0\1 "\\\n\x7f\x80\xff', random.randrange(256)))
        elif kind == 2:
            width = random.choice((2, 4, 8))
            number = random.choice(EXTREMES) & (1 << 8 * width) - 1
            data[at : at + width] = number.to_bytes(width)[: len(data) - at]
        else:
            data[at:at] = random.randbytes(random.choice((1, 3)))
    return framed(bytes(data[4:]))


SEEDS = 120
FORMS_OF_A_SEED = 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch_of", range(8))
def test_messages_broken_at_random(tmp_path: Path, batch_of: int, taken: Taken) -> None:
    """Some break in a way of their own, some many in the same way, so that a broken one becomes a shape."""
    for seed in range(batch_of * SEEDS // 8, (batch_of + 1) * SEEDS // 8):
        random = Random(seed)
        pair = random.choice(real_exchanges())
        side = random.randrange(2)
        kinds = [mutated(pair[side], random, 8 if side else 12) for _ in range(random.choice((2, 8, 30)))]
        pairs = []
        for _ in range(30):
            changed = list(pair)
            changed[side] = random.choice(kinds)
            pairs.append((changed[0], changed[1]))
        cut = whole if random.random() < 0.7 else in_parts(random, 400)
        with opened(tmp_path, pairs, cut) as session:
            hold_equal(session, random.sample(WITH_BODIES, FORMS_OF_A_SEED), streaming=random.random() < 0.3)
    assert taken.rows > SEEDS // 8 * FORMS_OF_A_SEED * 15


# ---- bounds


def grown(act: Callable[[], object]) -> int:
    """Bytes that it takes at its worst."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_long_text_does_not_widen_all_rows(tmp_path: Path) -> None:
    pairs = [(list_offsets(b"t", 0, 1), offsets_listed(b"t", 0, 0, 1, 1))] * 4000
    pairs[7] = (list_offsets(b"x" * 30_000, 0, 1), pairs[0][1])
    pairs[9] = (list_offsets(b"x" * 500, 0, 1), pairs[0][1])
    with opened(tmp_path, pairs) as session:
        together(session, FORMS["everything"]())
        assert grown(lambda: together(session, FORMS["everything"]())) < 40 << 20


def test_long_bytes_do_not_widen_all_rows(tmp_path: Path) -> None:
    """A tag that nobody knows holds 50 KB in one message of 4,000, and all of it is to be shown."""

    def tagged(data: bytes) -> bytes:
        size = bytes([len(data) & 0x7F | 0x80, len(data) >> 7 & 0x7F | 0x80, len(data) >> 14])
        return framed(struct.pack(">hhi", 18, 3, 0) + string(b"me") + b"\0" + b"\2a\2b" + b"\1\x63" + size + data)

    versions = framed(bytes(4) + bytes(2) + b"\1" + bytes(4) + b"\0")
    pairs = [(tagged(b"12345"), versions)] * 4000
    pairs[11] = (tagged(b"x" * 50_000), versions)
    with opened(tmp_path, pairs) as session:
        hold_equal(session, ("everything",))
        assert grown(lambda: together(session, FORMS["everything"]())) < 64 << 20


def test_small_bombs_are_not_all_open_at_once(tmp_path: Path) -> None:
    """Forty answers of 4 KB hold 3 MB each; what of them is open together is bounded, and so is the text."""
    bomb = batch(gzip.compress(record(b"k", bytes(3 << 20))), attributes=1, count=1)
    pairs = [(fetch(number), fetched(b"t", bomb)) for number in range(40)]
    with opened(tmp_path, pairs) as session:
        assert grown(lambda: together(session, FORMS["fields"]())) < 100 << 20
        hold_equal(session, ("fields",))


def test_many_bombs_in_one_message_count_together(tmp_path: Path, taken: Taken) -> None:
    """Twenty partitions of 3.9 MB each are more than one message may hold, though none is by itself."""
    bomb = batch(gzip.compress(record(b"k", bytes(3_900_000))), attributes=1, count=1)
    part = struct.pack(">ihqqi", 0, 0, 9, 9, 0) + len(bomb).to_bytes(4) + bomb
    message = framed(bytes(4) + struct.pack(">ii", 0, 1) + string(b"t") + struct.pack(">i", 20) + part * 20)
    with opened(tmp_path, [(fetch(1), message)] * 2) as session:
        hold_equal(session, ("rows",))


def shapes(count: int, each: int) -> Pairs:
    """`count` kinds of answers, all of one API: as many topics as bits say have an error."""
    found = []
    for number in range(count):
        parts = b"".join(struct.pack(">ih", place, 3 * (number >> place & 1)) for place in range(14))
        body = b"\0\0\0\1" + string(b"t") + struct.pack(">i", 14) + parts
        found += [(request(8, 2, string(b"g") + bytes(4) + string(b"m") + bytes(12)), framed(bytes(4) + body))] * each
    return found


@pytest.mark.slow
def test_thousands_of_shapes_cost_less_than_one_by_one(tmp_path: Path) -> None:
    """A template for each shape would be written and compiled for more than its row is worth."""
    for count, each in ((3000, 1), (450, 7)):
        with opened(tmp_path, shapes(count, each)) as session:
            expected = one_by_one(session, FORMS["fields"]())
            plainly = steps(partial(one_by_one, session, FORMS["fields"]()))
            with within_steps(plainly // 4):  # a twentieth
                assert together(session, FORMS["fields"]()) == expected


def test_what_is_retained_is_bounded(tmp_path: Path, taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.decode.template_decoder, "MOST_TEMPLATES", 20)
    monkeypatch.setattr(analyzer.decode.template_decoder, "MOST_OF_A_KIND", 8)
    made: list[TemplateDecoder] = []
    groups = TemplateDecoder.find_groups
    monkeypatch.setattr(TemplateDecoder, "find_groups", lambda self, rows: (made.append(self), groups(self, rows))[1])
    with opened(tmp_path, shapes(60, 3)) as session:
        hold_equal(session, ("rows",), most=40)
    remaining = [template for kind in made[-1]._templates.kinds.values() for template in kind.templates]
    assert taken.rows > 200
    assert sum(template.cost for template in remaining) == made[-1]._templates.count <= 20


def test_a_field_of_a_thousand_batches(tmp_path: Path, taken: Taken) -> None:
    pairs = [(fetch(number), fetched(b"t", batch([record(b"k", b"v")], base=number) * 1000)) for number in range(4)]
    with opened(tmp_path, pairs) as session:
        hold_equal(session, ("fields", "two items", "table"))
        assert taken.rows > 0


def test_huge_arrays_are_nobody_s_shape(tmp_path: Path, taken: Taken) -> None:
    body = struct.pack(">i", 5000) + string(b"topic") * 5000
    with opened(tmp_path, [(request(3, 1, body), NO_METADATA)] * 4) as session:
        hold_equal(session, ("fields", "table"))
        answers = 4
        assert taken.rows == 2 * answers


def test_the_clock_of_these_captures() -> None:
    assert STEP_NS % 1000 == 0  # latencies are written in microseconds
