"""The options of `wireanalyze export`: which fit together, and which rows they select."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.streams import SIDES, find_stream
from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.export.forms import LINES, ExportRequest, check
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

MEANT_FOR = {
    "-e": ("chosen", LINES),
    "--columns": ("sets", LINES),
    "--time-format": ("time", LINES),
    "--fields": ("fields", (*LINES, "parquet")),
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
