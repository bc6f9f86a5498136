"""Works of ours beside tshark's: the same answer, first compared, then timed in alternation."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.library import Library
from benchmarks.measure import Failed, alternated, output, told
from benchmarks.table import Line
from benchmarks.works import DECODE_GOAL, GROUPS, STATS, Group, counted, decode, decode_theirs

A_MILLION = 1_662_000
"""Packets of small messages that have a million messages."""


class Bench:
    """How much is measured, and on what. packets: of Kafka's captures; those of others have a quarter.

    listed: packets of the capture that is looked at; keys, and seconds of them, that are pressed then; terminals: their
    columns and lines. minutes: how long the capture lasts whose memory is watched.
    """

    minutes = 3.0

    def __init__(self, folder: Path, scratch: Path, packets: int, times: int, *, quick: bool) -> None:
        self.library, self.scratch, self.packets, self.times = Library(folder), scratch, packets, times
        self.quick = quick
        self.sizes = (4, 16, 64) if quick else (16, 64, 256, 1024)
        self.fetches = (1, 16) if quick else (1, 16, 64)
        self.snapshot = 20 if quick else 200
        self.beside = 32 if quick else 123
        self.opened = (16, self.beside) if quick else (16, self.beside, 1024)
        self.listed, self.keys, self.seconds = (A_MILLION // 3, 20, 3.0) if quick else (A_MILLION, 200, 20.0)
        self.terminals = ((200, 40),) if quick else ((200, 40), (200, 60))
        self.batched = 16 if quick else 100
        self.decrypted = 10 if quick else 100
        self.few_times = min(3, times)

    def capture(self, kind: str) -> Path:
        """The capture of a kind of Kafka's."""
        return self.library.of_packets(kind, self.packets)


def works(bench: Bench) -> Iterator[Line]:
    """Our commands beside tshark's. What they say is counted before it is timed."""
    for group in GROUPS:
        for kind in group.kinds:
            yield from _compare(bench, group, kind)


def _compare(bench: Bench, group: Group, kind: str) -> Iterator[Line]:
    capture = bench.capture(kind)
    _compare_counts(group, capture)
    pipelines = [work.ours(capture) for work in group.works]
    if beside := installed("tshark"):
        pipelines.append(group.tshark(capture))
    runs = alternated(pipelines, bench.times)
    for work, run in zip(group.works, runs, strict=False):
        if not beside:
            yield Line(work.name, kind, f"{run.cpu:.2f} s", goal=f"{work.goal:g}")
            continue
        ratio, their_name = runs[-1].cpu / run.cpu, f"tshark, {group.said}"
        yield Line(work.name, kind, run.text(), their_name, runs[-1].text(), ratio, f"{work.goal:g}")


def _compare_counts(group: Group, capture: Path) -> None:
    """Raises Failed unless all outputs tell of the same messages; tshark's nearly, for it counts some repeats, too."""
    messages = told(STATS.ours(capture), counted)
    checks = [(work.name, work.ours(capture), work.check) for work in group.works]
    if installed("tshark"):
        checks.append(("tshark", group.tshark(capture), group.check))
    for name, pipeline, check in checks:
        if check is None:
            continue
        found = told(pipeline, check)
        if abs(found - messages) > (messages // 100 if name == "tshark" else 0):
            raise Failed(f"{name} tells of {found:,} messages, stats of {messages:,}")


def decoding(bench: Bench) -> Iterator[Line]:
    """A message given as hex."""
    name, pipelines = "`decode HEX`, cold", [decode()]
    if not installed("tshark") or not installed("text2pcap"):
        yield Line(name, "", f"{alternated(pipelines, bench.times)[0].cpu:.2f} s", goal=f"{DECODE_GOAL:g}")
        return
    pipelines.append(decode_theirs(bench.scratch / "dump.txt"))
    _same_message(*map(output, pipelines))
    ours, theirs = (run.cpu for run in alternated(pipelines, bench.times))
    beside = "text2pcap and tshark"
    yield Line(name, "", f"{ours:.3f} s", beside, f"{theirs:.3f} s", theirs / ours, f"{DECODE_GOAL:g}")


def _same_message(ours: bytes, theirs: bytes) -> None:
    for name, said in (("decode", ours), ("tshark", theirs)):
        if b"payments" not in said or b"producer-orders-eu-01" not in said:
            raise Failed(f"{name} does not show the message: {said[-300:]!r}")


def installed(program: str) -> bool:
    """Whether there is such a program."""
    return shutil.which(program) is not None
