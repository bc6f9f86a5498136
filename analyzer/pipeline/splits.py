"""How captures are dealt out to tasks: splits of files, which begin and end between two records.

Theory. Where a record begins, only the records before it tell. So a huge file is hopped over once, header by header and
without a look at any packet, and every so many bytes it is noted where the hopper stands and what it knows. From there
on another one reads the very same records, with the same numbers. What is small or compressed is one split, and is not
hopped over.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analyzer.capture.range_reader import LOOK, RangeReader
from analyzer.capture.records import CaptureRange, ScanState
from analyzer.errors import CaptureError
from analyzer.pipeline.sources import CaptureFile

ANEW: Mapping[int, ScanState] = {}
"""All files are read from their beginning."""

MOST_EARLIER = 4
"""Files before its own that a split may look back into, for the first pieces of datagrams."""


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file (its number) for one task; `earlier`: what may be looked back into, the nearest first."""

    file: int
    stretch: CaptureRange
    earlier: Sequence[tuple[int, CaptureRange]] = ()

    @property
    def first(self) -> bool:
        """Whether its file begins with it."""
        return self.stretch.begin is None

    def bytes_of(self, file: CaptureFile) -> int:
        """How much of its file it is."""
        begin, end = self.stretch
        return (file.size if end is None else end) - (0 if begin is None else begin.position)

    def text(self) -> str:
        """As it travels."""
        earlier = [(file, _listed(stretch)) for file, stretch in self.earlier]
        return json.dumps((self.file, _listed(self.stretch), earlier), separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> Split:
        """What text() gave."""
        file, stretch, earlier = json.loads(text)
        return cls(file, _stretch(stretch), tuple((number, _stretch(each)) for number, each in earlier))


def _listed(stretch: CaptureRange) -> list[object]:
    return [None if stretch.begin is None else list(stretch.begin), stretch.end]


def _stretch(listed: Sequence[object]) -> CaptureRange:
    begin, end = listed
    if not isinstance(begin, list):
        return CaptureRange(None, end)  # type: ignore[arg-type]
    position, records, place, told = begin
    return CaptureRange(ScanState(position, records, place, tuple(told)), end)  # type: ignore[arg-type]


def huge(files: Sequence[CaptureFile], split: int) -> list[int]:
    """The numbers of the files that are worth a hop: plain ones of more than `split` bytes."""
    return [number for number, file in enumerate(files) if file.plain and not file.remote and file.size > split]


def hop(file: CaptureFile, split: int) -> list[ScanState]:
    """Where a file may be cut, about every `split` bytes; nowhere, if it can't be read: its scan will say why."""
    found: list[ScanState] = []
    try:
        with RangeReader(file.path, CaptureRange(None, file.size)) as packets:
            hopper = packets.scanner
            while True:
                for _ in hopper.blocks_for(split):
                    pass
                standing = hopper.save_state()
                if hopper.is_damaged or standing.position + split // 2 > file.size:
                    break
                if found and standing.position == found[-1].position:
                    break
                found.append(standing)
    except (CaptureError, OSError):
        return []
    return found


def splits(
    files: Sequence[CaptureFile], cuts: Mapping[int, Sequence[ScanState]], begins: Mapping[int, ScanState] = ANEW
) -> list[Split]:
    """The splits of all files that this machine's tasks open, in order.

    cuts: what hop() gave, by file. begins: where to read on in files of which the beginning was read before.
    """
    found: list[Split] = []
    for number, file in enumerate(files):
        if file.remote and not file.too_large:
            continue
        end = file.size if file.plain else None
        ends = [*(each.position for each in cuts.get(number, ())), end]
        for begin, stop in zip([begins.get(number), *cuts.get(number, ())], ends, strict=True):
            found.append(Split(number, CaptureRange(begin, stop), _earlier(number, begin, files, cuts)))
    return found


def _earlier(
    number: int, begin: ScanState | None, files: Sequence[CaptureFile], cuts: Mapping[int, Sequence[ScanState]]
) -> tuple[tuple[int, CaptureRange], ...]:
    found: list[tuple[int, CaptureRange]] = []
    if begin is not None:
        back = _before(cuts.get(number, ()), begin.records)
        found.append((number, CaptureRange(back, begin.position)))
        if back is not None:
            return tuple(found)
    for before in range(number - 1, max(number - 1 - MOST_EARLIER, -1), -1):
        file = files[before]
        if file.capture != files[number].capture or file.remote:
            break
        known = cuts.get(before, ())
        back = _before(known, known[-1].records) if known else None
        found.append((before, CaptureRange(back, file.size if file.plain else None)))
        if back is not None:
            break
    return tuple(found)


def _before(cuts: Sequence[ScanState], records: int) -> ScanState | None:
    """The last place with enough records between it and those."""
    return next((each for each in reversed(cuts) if each.records <= records - LOOK), None)


Parcel = bytes
"""The splits of one task."""


def parcels(every: Sequence[Split], files: Sequence[CaptureFile], most: int) -> list[Parcel]:
    """Splits dealt out to at most `most` tasks in their order, each about as many bytes."""
    sizes = [_size(split, files[split.file]) for split in every]
    share, heavy, edges = sum(sizes) / max(most, 1), 0.0, [0]
    for place, size in enumerate(sizes):
        # A split goes where its middle lies.
        while heavy + size / 2 >= share * len(edges) and len(edges) < most:
            edges.append(place)
        heavy += size
    edges.append(len(every))
    dealt = [every[first:last] for first, last in pairwise(edges) if first < last]
    return [zlib.compress("\n".join(split.text() for split in part).encode()) for part in dealt]


def unpacked(parcel: Parcel) -> Iterator[Split]:
    """The splits in a parcel."""
    return map(Split.of, zlib.decompress(parcel).decode().splitlines())


def _size(split: Split, file: CaptureFile) -> int:
    begin, end = split.stretch
    return (file.size if end is None else end) - (0 if begin is None else begin.position) + 1


def whole(files: Iterable[CaptureFile]) -> list[Split]:
    """Each file as one split."""
    return splits(list(files), {})
