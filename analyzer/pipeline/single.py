"""The same tables from one process, without Spark: for exports, and what the Spark job is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from analyzer.capture.packets import Packets
from analyzer.pipeline.batches import Found, tables
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Counted
from analyzer.pipeline.sources import CaptureFile
from analyzer.session import Analysis
from dissectors.registry import Ports


def export(files: Sequence[CaptureFile], options: Options) -> Iterator[Found]:
    """The tables' rows of all captures, one capture after the other. Raises CaptureError."""
    for _, group in groupby(files, key=lambda file: file.capture):
        inputs = list(group)
        origins = Counted(inputs[0].folder, [file.name for file in inputs])
        packets = Packets([file.path for file in inputs], watch=origins.see)
        with Analysis(packets, Ports(dict(options.decode_as))) as session:
            yield from tables(session.load(), origins, options)
