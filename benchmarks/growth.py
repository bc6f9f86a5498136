"""How cost grows with size, and how many messages a second each protocol does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.library import Library
from benchmarks.measure import alternated, output, slope, told
from benchmarks.works import ROWS, STATS, Work, counted

FEW = 100
"""Packets of a capture that costs nothing but the start."""


class Growth(NamedTuple):
    """CPU seconds for each size (MiB), the start subtracted, and the exponent of their growth."""

    sizes: Sequence[int]
    costs: Sequence[float]
    exponent: float


def growth(library: Library, work: Work, sizes: Sequence[int], times: int) -> Growth:
    """Runs a work on captures of these sizes."""
    captures = [library.of_packets("small", FEW), *(library.of_size(size) for size in sizes)]
    start, *runs = alternated([work.ours(capture) for capture in captures], times)
    costs = [each.cpu - start.cpu for each in runs]
    return Growth(sizes, costs, slope(sizes, costs))


def rates(library: Library, packets: Mapping[str, int], times: int) -> dict[str, float]:
    """Messages a CPU second in `list -e`, the start subtracted, for each kind of capture."""
    captures = {kind: library.of_packets(kind, count) for kind, count in packets.items()}
    start = library.of_packets("small", FEW)
    first, *runs = alternated([ROWS.ours(path) for path in (start, *captures.values())], times)
    messages = {kind: told(STATS.ours(path), counted) for kind, path in captures.items()}
    return {kind: messages[kind] / (each.cpu - first.cpu) for kind, each in zip(captures, runs, strict=True)}


def fetches(library: Library, sizes: Sequence[int]) -> tuple[list[Path], list[int]]:
    """Captures of one long answer each, and the bytes of the longest message in them."""
    captures = [library.of_one_fetch(size) for size in sizes]
    lengths = [output(_LENGTHS.ours(capture)).split()[1:] for capture in captures]
    return captures, [max(map(int, found)) for found in lengths]


_LENGTHS = Work("lengths", ["list", "--format", "tsv", "-e", "length"], 0)
