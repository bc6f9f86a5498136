"""Captures that something went wrong with: whatever the bytes are, there are rows or one sentence, soon and in bounds.

A case is a seed: it picks a capture, breaks its file or its payloads, and reads it as `list --fields` and `show` would.
WIREANALYZE_MUTATIONS sets how many cases the long run tries.
"""

from __future__ import annotations

import gc
import os
import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

import analyzer.decode.template_decoder
from analyzer.decode.bodies import decode_tree
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.packets import list_packets
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.errors import CaptureError, UserError
from analyzer.render.forms import RowWriter
from analyzer.render.ndjson import NdjsonForm
from analyzer.render.table import TABLE_KEYS, TableForm
from analyzer.render.tree_json import make_node_object
from analyzer.session import Session
from dissectors.wire.budget import Budget
from tests.analyzer.capture.writers import T0, Frame, Ng, pcap
from tests.analyzer.wire import Talk, frames, in_parts, segments, talks
from tests.effort import within, within_steps

GOLDEN = Path(__file__).parents[1] / "golden"
KAFKA = ("k24_sasl_v0", "k4_sweep_rest", "k4_go_segment", "k4_errors", "k4_java_txn", "k4_java_share", "k010_py_old")
PULSAR = ("auth4_cpp", "cpp4_codecs", "go4_chunks", "go4_txn", "raw4_haproxy", "v5_queue")
ZOOKEEPER = ("raw_odd_requests", "flw_395", "en3414_clients", "en336_boot", "en395_quorum_sasl", "mtu_en395_snap")
ROCKETMQ = ("go_550_send", "m430_bin_send", "m494_register_compressed", "m550_json_bcq_lab_bcq", "haproxy_v1")
NAMES = (
    *(f"kafka/{name}" for name in KAFKA),
    *(f"pulsar/{name}" for name in PULSAR),
    *(f"zookeeper/{name}" for name in ZOOKEEPER),
    *(f"rocketmq/{name}" for name in ROCKETMQ),
)
MOST_WRITES = 24
"""Of one connection: a case should cost milliseconds."""

BATCH = 50
QUICK = 2_000
LONG = int(os.environ.get("WIREANALYZE_MUTATIONS", "20000"))
PER_PROCESS = 2_000
SECONDS = 10.0
"""Of CPU: a case takes 0.01, the longest 0.2."""
SUSPECT, MOST = 1.0, 20_000_000
"""What takes so many seconds, in the long run, may have met a busy machine: its steps are counted, usually 200,000."""

OFTEN = (700, 10, 10)
"""When Python looks for cycles by default, in objects made; commands look more rarely."""

FACTOR, CONSTANT = 64, Budget().left + (16 << 20)
"""What reading may need: so much of the file's size, and what one message may be decompressed to."""

TREES = 6
"""Rows of each case that are shown as a tree."""

CONTROLS = frozenset(range(32)) - {ord("\n")} | {127}


@cache
def conversations() -> tuple[Talk, ...]:
    return tuple(replace(talk, writes=talk.writes[:MOST_WRITES]) for name in NAMES for talk in talks(golden(name)))


def golden(name: str) -> Path:
    return GOLDEN / f"{name}.pcap.zst"


# ---- how bytes and packets break

INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def flipped(data: bytearray, random: Random) -> None:
    for _ in range(random.choice((1, 1, 2, 8, 32))):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwritten(data: bytearray, random: Random) -> None:
    """An extreme number somewhere, in either byte order."""
    width = random.choice((1, 2, 4))
    value = random.choice(INTERESTING) & (1 << 8 * width) - 1
    at = random.randrange(len(data))
    data[at : at + width] = value.to_bytes(width, random.choice(("big", "little")))


def cut_off(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


def deleted(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data))
    del data[at : at + random.choice((1, 2, 4, 16, 300))]


def repeated(data: bytearray, random: Random) -> None:
    at, length = random.randrange(len(data)), random.choice((1, 2, 4, 16, 300))
    data[at:at] = data[at : at + length] * random.choice((1, 1, 5))


def inserted(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data))
    data[at:at] = random.choice((random.randbytes, bytes))(random.choice((1, 4, 64)))


def exchanged(data: bytearray, random: Random) -> None:
    one, other = sorted(random.randrange(len(data)) for _ in range(2))
    length = min(random.choice((2, 16, 100)), other - one, len(data) - other)
    data[one : one + length], data[other : other + length] = data[other : other + length], data[one : one + length]


Break = Callable[[bytearray, Random], None]
BREAKS: tuple[Break, ...] = (
    flipped,
    flipped,
    overwritten,
    overwritten,
    cut_off,
    deleted,
    repeated,
    inserted,
    exchanged,
)


def broken(data: bytes, random: Random) -> bytes:
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        if found:
            random.choice(BREAKS)(found, random)
    return bytes(found)


def broken_talk(talk: Talk, random: Random) -> Talk:
    """One or several messages break; their neighbours do not know."""
    writes = list(talk.writes)
    for _ in range(random.choice((1, 1, 3))):
        index = random.randrange(len(writes))
        writes[index] = (writes[index][0], broken(writes[index][1], random))
    return replace(talk, writes=tuple(writes))


def shuffled(packets: list[Frame], random: Random) -> list[Frame]:
    """Packets vanish, come twice, change places; the clock jumps."""
    for _ in range(random.choice((0, 1, 2, 5))):
        index, other = random.randrange(len(packets)), random.randrange(len(packets))
        kind = random.randrange(4)
        if kind == 0 and len(packets) > 1:
            del packets[index]
        elif kind == 1:
            packets.insert(other, packets[index])
        elif kind == 2:
            packets[index], packets[other] = packets[other], packets[index]
        else:
            time = random.choice((0, T0 + 7200 * 10**9, 0xFFFFFFFF * 10**9))
            packets[index] = replace(packets[index], time=time)
    return packets


def as_pcapng(packets: list[Frame]) -> bytes:
    writer = Ng()
    blocks = [writer.enhanced(each.data, each.time // 1000, original=each.original) for each in packets]
    return b"".join((writer.section(), writer.interface(), *blocks))


def made(seed: int) -> bytes:
    """The capture file of a case."""
    random = Random(seed)
    talk = random.choice(conversations())
    kind = seed % 3
    if kind == 0:
        talk = broken_talk(talk, random)
    packets = frames(segments(talk, in_parts(random, random.choice((30, 300, 3000)))), talk)
    if kind != 2:
        packets = shuffled(packets, random)
    data = pcap(packets) if random.random() < 0.7 else as_pcapng(packets)
    return data if kind == 0 else broken(data, random)


# ---- what is read of it

KEYS = (*ROW_KEYS, "fields")


@pytest.fixture(autouse=True)
def _small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even two rows are printed together."""
    monkeypatch.setattr(analyzer.decode.template_decoder, "WORTH", 2)


def read(path: Path, random: Random) -> None:
    """Everything that a front end shows of a capture; nothing may escape, and nothing may act on a terminal."""
    with Session([path], use_fast_path=random.random() < 0.5, block=random.choice((1, 7, 32_768))).load() as session:
        numbers = np.arange(len(session.rows))
        for form in (NdjsonForm(KEYS, Limits()), TableForm(TABLE_KEYS, Limits())):
            printed = b"".join(form.format_rows(RowReader(session), numbers))
            assert not CONTROLS & set(printed)
            assert len(printed.splitlines()) == len(numbers)
            assert b"".join(RowWriter(form, RowReader(session)).write_rows(numbers)) == printed
        writer = JsonWriter(Limits())
        for number in random.sample(range(len(numbers)), min(TREES, len(numbers))):
            show(session, number, writer)
        for finding in session.findings:
            assert not CONTROLS & set(finding.text.encode())


def show(session: Session, number: int, writer: JsonWriter) -> None:
    tree = decode_tree(session, number)
    assert tree.sources[0].length == session.rows.cell("length", number)
    for node in tree.fields:
        writer.format_line(make_node_object(node))
    list_packets(session, number)


def attempt(path: Path, seed: int) -> None:
    path.write_bytes(made(seed))
    random = Random(seed)
    try:
        read(path, random)
    except (CaptureError, UserError) as error:
        if not str(error).isprintable():
            raise AssertionError(f"seed {seed}: {error!r}") from error
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", range(QUICK // BATCH))
def test_nothing_escapes(tmp_path: Path, batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        with within(SECONDS, f"seed {seed}"):
            attempt(tmp_path / "a", seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(-(-LONG // PER_PROCESS)))
def test_nothing_escapes_in_a_long_run(tmp_path: Path, batch: int) -> None:
    first = QUICK + batch * PER_PROCESS
    for seed in range(first, min(first + PER_PROCESS, QUICK + LONG)):
        begin = time.process_time()
        with within(SECONDS, f"seed {seed}"):
            attempt(tmp_path / "a", seed)
        if time.process_time() - begin > SUSPECT:
            with within_steps(MOST, f"seed {seed}"):
                attempt(tmp_path / "a", seed)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, QUICK, QUICK // 4))
def test_memory_stays_in_bounds(tmp_path: Path, first: int) -> None:
    """Python's own memory and NumPy's, of some cases: tracing makes them slow."""
    attempt(tmp_path / "warm", first)
    for seed in range(first, first + 10):
        tracemalloc.start()
        try:
            attempt(tmp_path / "a", seed)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        size = (tmp_path / "a").stat().st_size
        assert peak < FACTOR * size + CONSTANT, f"seed {seed}: {peak} bytes for {size}"


@pytest.fixture
def _as_python_begins() -> Iterator[None]:
    """Looks for cycles as often as Python does by itself, whatever commands have run in this process."""
    usual = gc.get_threshold()
    gc.set_threshold(*OFTEN)
    gc.collect()
    yield
    gc.set_threshold(*usual)


@pytest.mark.slow
@pytest.mark.usefixtures("_as_python_begins")
def test_resident_memory_does_not_grow(tmp_path: Path) -> None:
    for seed in range(150):
        attempt(tmp_path / "a", seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(150):
        attempt(tmp_path / "a", seed)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < CONSTANT
