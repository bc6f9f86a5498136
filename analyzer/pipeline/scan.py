"""One split to pointers, and a note about its file: the first stage of a run.

Theory. The place of a packet in its capture's timeline is the highest time that its file has had so far, of all
packets, TCP or not (analyzer.capture.timeline); so it is known within the file, and any number of files are merged
by sorting. A file may be gone, cut short or written anew at any moment: it is read, not mapped, so that it can't end
the worker, and is compared with what was found, before and afterwards. Whatever is wrong is in the note; a scan never
raises for a file.

Who makes the rows does map files, and a mapped file that shrinks at that very moment kills its process. Spark tries
again, and then the change is seen; only where payload travels (Options.shuffled) nothing is mapped at all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from analyzer.capture.range_reader import LOOK, EarlierRange, RangeReader
from analyzer.capture.records import CaptureRange, ScanState
from analyzer.capture.store import POSITION
from analyzer.errors import CaptureError
from analyzer.pipeline.file_notes import FileNote
from analyzer.pipeline.pointers import ConnectionKeys, SecretsPlace, build_note, build_secrets_note, pack_block
from analyzer.pipeline.sources import LARGEST_REMOTE, CaptureFile
from analyzer.pipeline.worker_setup import set_up_process
from analyzer.tables.options import Options


def scan_splits(
    splits: Iterable[FileSplit], files: Sequence[CaptureFile], options: Options
) -> Iterator[pa.RecordBatch]:
    """Yields the pointers of splits, a note about each, and a note where key logs are if they have any."""
    set_up_process()
    for split in splits:
        file = files[split.file]
        earlier = [EarlierRange(files[number].path, stretch) for number, stretch in split.earlier]

        def open_range(
            file: CaptureFile = file, split: FileSplit = split, earlier: list[EarlierRange] = earlier
        ) -> RangeReader:
            if file.too_large:
                raise CaptureError(
                    f"{file.path} has {file.size:,} bytes, but Spark reads remote files of up to {LARGEST_REMOTE:,}. "
                    "Copy it to a mounted file system, or split it."
                )
            return RangeReader(file.path, split.stretch, earlier)

        yield from _scan_file(split.file, file, open_range, shuffled=options.shuffled)
        if split.is_resumed:
            yield from _find_earlier_secrets(split, file)


def scan_contents(
    batches: Iterable[pa.RecordBatch], numbers: Mapping[str, int], files: Sequence[CaptureFile]
) -> Iterator[pa.RecordBatch]:
    """Yields the same of whole files that come as rows of path and content; their payload travels with the pointers.

    numbers: of the files, by path.
    """
    for batch in batches:
        for path, content in zip(*(batch.column(place) for place in (0, 1)), strict=True):
            number = numbers[path.as_py()]

            def open_range(content: pa.Scalar = content, file: CaptureFile = files[number]) -> RangeReader:
                with tempfile.NamedTemporaryFile(prefix="wireanalyze-") as spool:
                    spool.write(content.as_buffer())
                    spool.flush()
                    return RangeReader(spool.name, CaptureRange(), called=file.path)

            yield from _scan_file(number, files[number], open_range, shuffled=True)


def _scan_file(
    number: int, file: CaptureFile, opened: Callable[[], RangeReader], *, shuffled: bool
) -> Iterator[pa.RecordBatch]:
    note, secrets = FileNote.from_file(file), []
    try:
        _check_unchanged(file)
        with opened() as packets:
            connections = ConnectionKeys(file.capture, packets.flows)
            try:
                for place, block in packets.blocks():
                    yield from pack_block(block, place, number, connections, packets.store, shuffled=shuffled)
            finally:
                note, secrets = note.complete(packets), packets.info.secrets
        _check_unchanged(file)
    except ChangedFileError as error:
        note = replace(note, error=str(error))
    except CaptureError as error:
        if file.found and not isinstance(error.__cause__, OSError) and not file.too_large:
            note = replace(note, passed_over=str(error))
        else:
            note = replace(note, error=str(error))
    except OSError as error:
        note = replace(note, error=f"Cannot read the rest of {file.path}: {error.strerror or error}.")
    yield build_note(number, asdict(note))
    yield from _note_secrets(number, file, secrets)


def _find_earlier_secrets(split: FileSplit, file: CaptureFile) -> Iterator[pa.RecordBatch]:
    """Notes the key logs in the part of a file that an earlier run has read; that run tells what is wrong with it."""
    assert split.stretch.begin is not None
    try:
        with RangeReader(file.path, CaptureRange(None, split.stretch.begin.position)) as packets:
            for _ in packets.scanner.blocks_for(split.stretch.begin.position):
                pass
            yield from _note_secrets(split.file, file, packets.info.secrets)
    except (CaptureError, OSError):
        return


def _note_secrets(number: int, file: CaptureFile, found: Sequence[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
    """The note where the key logs of a file are; who makes rows cannot open a remote one."""
    if found and not file.remote:
        yield build_secrets_note([SecretsPlace(number, at & POSITION, length) for at, length in found])


class ChangedFileError(CaptureError):
    """A file is not what was found."""


def _check_unchanged(file: CaptureFile) -> None:
    """Raises CaptureError if a file is gone, or is another one; a remote one came as a whole."""
    if file.remote:
        return
    try:
        status = os.stat(file.path)
    except OSError as error:
        raise ChangedFileError(
            f"Cannot open {file.path}: {error.strerror or error}. It existed when the run began."
        ) from error
    if (status.st_size, status.st_mtime_ns) != (file.size, file.changed):
        raise ChangedFileError(
            f"{file.path} has changed since the run began ({file.size:,} bytes then, {status.st_size:,} now). "
            "Read it again when nothing writes to it."
        )


NO_BEGINS: Mapping[int, ScanState] = MappingProxyType({})
"""All files are read from their beginning."""

MOST_EARLIER = 4
"""Files before its own that a split may look back into, for the first pieces of datagrams."""


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A part of a file (its number) for one task; `earlier`: what may be looked back into, the nearest first.

    is_resumed: what comes before it in its file was read by an earlier run.
    """

    file: int
    stretch: CaptureRange
    earlier: Sequence[tuple[int, CaptureRange]] = ()
    is_resumed: bool = False

    @property
    def first(self) -> bool:
        """Whether its file begins with it."""
        return self.stretch.begin is None

    def count_bytes(self, file: CaptureFile) -> int:
        """Returns the number of bytes of the file that belong to the split."""
        begin, end = self.stretch
        return (file.size if end is None else end) - (0 if begin is None else begin.position)


def find_huge_files(files: Sequence[CaptureFile], split: int) -> list[int]:
    """Returns the numbers of the files that are worth a hop: plain ones of more than `split` bytes."""
    return [number for number, file in enumerate(files) if file.plain and not file.remote and file.size > split]


def find_cuts(file: CaptureFile, split: int) -> list[ScanState]:
    """Returns where a file may be split, about every `split` bytes; nowhere if it cannot be read."""
    found: list[ScanState] = []
    try:
        with RangeReader(file.path, CaptureRange(None, file.size)) as packets:
            hopper = packets.scanner
            while True:
                for _ in hopper.blocks_for(split):
                    pass
                state = hopper.save_state()
                if hopper.is_damaged or state.position + split // 2 > file.size:
                    break
                if found and state.position == found[-1].position:
                    break
                found.append(state)
    except (CaptureError, OSError):
        return []
    return found


def build_splits(
    files: Sequence[CaptureFile],
    begins: Mapping[int, ScanState] = NO_BEGINS,
    cuts: Mapping[int, Sequence[ScanState]] = MappingProxyType({}),
) -> list[FileSplit]:
    """Returns the splits of all files that this machine's tasks open, in order; of a file without cuts one.

    begins: where to read on in files of which the beginning was read before. cuts: what find_cuts() gave, by file.
    """
    found: list[FileSplit] = []
    for number, file in enumerate(files):
        if file.remote and not file.too_large:
            continue
        end = file.size if file.plain else None
        ends = [*(each.position for each in cuts.get(number, ())), end]
        for begin, stop in zip([begins.get(number), *cuts.get(number, ())], ends, strict=True):
            earlier = _list_earlier_ranges(number, begin, files, cuts)
            found.append(FileSplit(number, CaptureRange(begin, stop), earlier, begin is not None and number in begins))
    return found


def _list_earlier_ranges(
    number: int, begin: ScanState | None, files: Sequence[CaptureFile], cuts: Mapping[int, Sequence[ScanState]]
) -> tuple[tuple[int, CaptureRange], ...]:
    found: list[tuple[int, CaptureRange]] = []
    if begin is not None:
        back = _find_earlier_cut(cuts.get(number, ()), begin.records)
        found.append((number, CaptureRange(back, begin.position)))
        if back is not None:
            return tuple(found)
    for before in range(number - 1, max(number - 1 - MOST_EARLIER, -1), -1):
        file = files[before]
        if file.capture != files[number].capture or file.remote:
            break
        known = cuts.get(before, ())
        back = _find_earlier_cut(known, known[-1].records) if known else None
        found.append((before, CaptureRange(back, file.size if file.plain else None)))
        if back is not None:
            break
    return tuple(found)


def _find_earlier_cut(cuts: Sequence[ScanState], records: int) -> ScanState | None:
    """The last place with enough records between it and those."""
    return next((each for each in reversed(cuts) if each.records <= records - LOOK), None)
