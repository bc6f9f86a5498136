"""The options of `wireanalyze export`: which fit together, which rows they select, and tables of a ring capture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer import cli
from analyzer.capture.packets import ReaderName
from analyzer.cli.inputs import merge_decode_as
from analyzer.cli.options import check_ring_options
from analyzer.cli.streams import SIDES, find_stream
from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.export.forms import LINES, ExportRequest, check, find_bodies
from analyzer.messages.decode_as import DecodeAsRules, StreamNumber
from analyzer.processes.jobs import choose_jobs
from analyzer.render import extras
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


MEANT_FOR = {
    "-e": ("chosen", LINES),
    "--columns": ("sets", LINES),
    "--time-format": ("time", LINES),
    "--fields": ("fields", (*LINES, "parquet")),
    "--fields-of": ("operations", ("parquet",)),
    "--table": ("tables", ("parquet",)),
    "--handshakes": ("handshakes", ("pcapng",)),
    "--embed-keys": ("embed_keys", ("pcapng",)),
    "--split": ("split", ("raw",)),
}
"""Options that only some formats have."""


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def require_path(out: str) -> None:
    """Raises UserError for a URI: an export writes to files and folders only."""
    if _URI.match(out):
        raise UserError(
            f"export does not write to {out.partition(':')[0]}://. Give a file or folder of a mounted file system."
        )


def check_options(request: ExportRequest, reader: ReaderName, stream: str | None) -> None:
    """Raises UserError for impossible options before a capture is read, because reading may take minutes."""
    for option, (name, forms) in MEANT_FOR.items():
        if getattr(request, name) and request.form not in forms:
            raise UserError(f"{option} is for {', '.join(forms)}, but the format is {request.form}. Leave it out.")
    if request.form == "stream" and stream is None:
        raise UserError("--as stream needs --stream: the number that list prints, or CLIENT>SERVER.")
    if request.form == "pcapng" and reader != "native":
        raise UserError("Only the native reader can copy packets. Leave out --reader.")
    check(request)


def rows_of(session: Session, wanted: Filter | None, stream: str | None, only: str | None, *, partners: bool) -> Ints:
    """Returns the chosen rows, ascending."""
    rows = np.arange(len(session.rows))
    if stream is not None:
        rows = np.flatnonzero(session.rows.column("stream") == find_stream(session, stream))
    if only is not None:
        rows = rows[session.rows.column("side")[rows] == SIDES[only]]
    if wanted is not None:
        rows = wanted.select_rows(RowReader(session), rows)
    if partners:
        from analyzer.export.packets import with_partners

        rows = with_partners(session, rows)
    return rows


class RingOptions(NamedTuple):
    """The options for ring captures, as in `pipeline`."""

    state: str | None
    close: bool
    settle: float | None


def set_up_arrow() -> None:
    """Keeps Arrow from importing pandas, if this process is the program; an export has no use for both."""
    if cli.is_program:
        from analyzer.pipeline.worker_setup import leave_out_pandas

        leave_out_pandas()


def export_ring(
    request: ExportRequest,
    files: Sequence[str],
    decode_as: DecodeAsRules,
    jobs: int | None,
    ring: RingOptions,
    narrowed: Mapping[str, object],
) -> None:
    """Adds new messages to the tables in request.out, and prints what was added. Raises UserError.

    narrowed: options that select messages, by name; none of them may be given.
    """
    check_ring_options(ring.state, close=ring.close, settle=ring.settle)
    assert ring.state is not None
    _check(request, decode_as, narrowed)
    extras.require_extra("parquet", "export --as parquet")
    from analyzer.cli.pipeline import find_worker_keys, tell
    from analyzer.pipeline import ring_capture
    from analyzer.pipeline.ledger import SETTLE_SECONDS
    from analyzer.pipeline.sources import find_captures
    from analyzer.tables.options import Options
    from analyzer.tables.views import write_views

    set_up_arrow()
    found = find_captures(files, needed=False)
    if found.remote:
        raise UserError(f"{found.remote[0]} is not a file. Give files and folders of a mounted file system.")
    size = sum(file.size for file in found.files)
    options = Options(
        decode_as=tuple(merge_decode_as(decode_as).items()),
        limits=request.limits,
        fields=request.fields is not False,
        bodies=find_bodies(request),
        partitions=choose_jobs(size) if jobs is None else jobs,
        **find_worker_keys(),
    )
    settle = SETTLE_SECONDS if ring.settle is None else ring.settle
    report = ring_capture.run(
        None, found, request.out, options, ring_capture.RingCapture(ring.state, ring.close, settle)
    )
    write_views(request.out)
    tell(report)


def _check(request: ExportRequest, decode_as: DecodeAsRules, narrowed: Mapping[str, object]) -> None:
    if request.form != "parquet":
        raise UserError(f"--state is for parquet, but the format is {request.form}. Leave it out.")
    given = [name for name, value in {**narrowed, "--table": request.tables}.items() if value]
    if given:
        raise UserError(f"--state writes all messages to all tables. Leave out {given[0]}.")
    if request.force:
        raise UserError("--force would delete the tables that --state continues. Leave it out.")
    if any(isinstance(where, StreamNumber) for where, _ in decode_as):
        raise UserError("Streams have no numbers with --state. Give the ends of the stream: CLIENT>SERVER=PROTOCOL.")
