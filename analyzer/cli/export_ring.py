"""`wireanalyze export --as parquet --state`: tables of a ring capture, batch by batch, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analyzer.cli.inputs import merge_decode_as
from analyzer.cli.ring_options import check_ring_options
from analyzer.errors import UserError
from analyzer.export.forms import ExportRequest
from analyzer.messages.decode_as import DecodeAsRules, StreamNumber
from analyzer.processes.jobs import choose_jobs
from analyzer.render import extras


class RingOptions(NamedTuple):
    """The options for ring captures, as in `pipeline`."""

    state: str | None
    close: bool
    settle: float | None


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
    from analyzer.pipeline.options import Options
    from analyzer.pipeline.sources import find_captures
    from analyzer.pipeline.views import write_views

    found = find_captures(files, needed=False)
    if found.remote:
        raise UserError(f"{found.remote[0]} is not a file. Give files and folders of a mounted file system.")
    size = sum(file.size for file in found.files)
    options = Options(
        decode_as=tuple(merge_decode_as(decode_as).items()),
        limits=request.limits,
        fields=request.fields is not False,
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
