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
from dataclasses import replace

import pyarrow as pa

from analyzer.capture.range_reader import EarlierRange, RangeReader
from analyzer.capture.records import CaptureRange
from analyzer.errors import CaptureError
from analyzer.pipeline.looking import LARGEST_REMOTE, CaptureFile
from analyzer.pipeline.notes import SplitNote
from analyzer.pipeline.options import Options
from analyzer.pipeline.pointers import Connections, note, packed
from analyzer.pipeline.splits import Split
from analyzer.pipeline.worker import settle


def scan(splits: Iterable[Split], files: Sequence[CaptureFile], options: Options) -> Iterator[pa.RecordBatch]:
    """The pointers of splits, and a note about each."""
    settle()
    for split in splits:
        file = files[split.file]
        earlier = [EarlierRange(files[number].path, stretch) for number, stretch in split.earlier]

        def opened(
            file: CaptureFile = file, split: Split = split, earlier: list[EarlierRange] = earlier
        ) -> RangeReader:
            if file.too_large:
                raise CaptureError(
                    f"{file.path} has {file.size:,} bytes, and Spark gives no file of more than {LARGEST_REMOTE:,}: "
                    "copy it to where it can be opened, or cut it"
                )
            return RangeReader(file.path, split.stretch, earlier)

        yield from _scanned(split.file, file, opened, shuffled=options.shuffled)


def scan_contents(
    batches: Iterable[pa.RecordBatch], numbers: Mapping[str, int], files: Sequence[CaptureFile]
) -> Iterator[pa.RecordBatch]:
    """The same of whole files that come as rows of path and content; their payload travels with the pointers.

    numbers: of the files, by path.
    """
    for batch in batches:
        for path, content in zip(*(batch.column(place) for place in (0, 1)), strict=True):
            number = numbers[path.as_py()]

            def opened(content: pa.Scalar = content, file: CaptureFile = files[number]) -> RangeReader:
                with tempfile.NamedTemporaryFile(prefix="wireanalyze-") as spool:
                    spool.write(content.as_buffer())
                    spool.flush()
                    return RangeReader(spool.name, CaptureRange(), called=file.path)

            yield from _scanned(number, files[number], opened, shuffled=True)


def _scanned(
    number: int, file: CaptureFile, opened: Callable[[], RangeReader], *, shuffled: bool
) -> Iterator[pa.RecordBatch]:
    said = SplitNote(file.path, bytes=file.size)
    try:
        _compare(file)
        with opened() as packets:
            connections = Connections(file.capture, packets.flows)
            try:
                for place, block in packets.blocks():
                    yield from packed(block, place, number, connections, packets.store, shuffled=shuffled)
            finally:
                said = said.after(packets)
        _compare(file)
    except Changed as error:
        said = replace(said, error=str(error))
    except CaptureError as error:
        if file.found and not isinstance(error.__cause__, OSError) and not file.too_large:
            said = replace(said, passed_over=str(error))
        else:
            said = replace(said, error=str(error))
    except OSError as error:
        said = replace(said, error=f"cannot read {file.path}: {error.strerror or error}; it is read up to there")
    yield note(number, said.as_json())


class Changed(CaptureError):
    """A file is not what was found."""


def _compare(file: CaptureFile) -> None:
    """Raises CaptureError if a file is gone, or is another one; a remote one came as a whole."""
    if file.remote:
        return
    try:
        status = os.stat(file.path)
    except OSError as error:
        raise Changed(f"cannot open {file.path}: {error.strerror or error}; it was there when the run began") from error
    if (status.st_size, status.st_mtime_ns) != (file.size, file.changed):
        raise Changed(
            f"{file.path} has changed since the run began ({file.size:,} bytes then, {status.st_size:,} now): "
            "read it again when nobody writes to it"
        )
