"""Writing what `wireanalyze export` was asked for: what is possible, which rows, and each form.

Theory. What cannot be done is said before a capture is read, for that may take minutes. Each form is a function of a
session and rows; what it does is done by analyzer.export, analyzer.pipeline or the printer of `list`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import click
import numpy as np

from analyzer.capture.packets import Reader
from analyzer.cli.errors import sentence
from analyzer.cli.printing import Printer
from analyzer.cli.streams import SIDES, find_stream
from analyzer.columns import Ints
from analyzer.errors import UserError
from analyzer.export.output import STANDARD, check_file, check_folder, new_file
from analyzer.render.jsonable import Limits
from analyzer.render.time_formats import TimeFormat
from analyzer.rows import Rows
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.filter import Filter

LINES = ("ndjson", "csv", "tsv")
TABLES = ("messages", "exchanges", "streams", "findings", "records")
"""Those of analyzer.pipeline.tables, which would bring pyarrow along."""

MEANT_FOR = {
    "-e": ("chosen", LINES),
    "--columns": ("sets", LINES),
    "--time-format": ("time", LINES),
    "--fields": ("fields", (*LINES, "parquet")),
    "--table": ("tables", ("parquet",)),
    "--handshakes": ("handshakes", ("pcapng",)),
    "--split": ("split", ("raw",)),
}
"""Options that some forms alone have."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted besides captures and filter. fields: None where nobody said; tables: none for all."""

    out: str
    form: str
    force: bool
    chosen: tuple[str, ...]
    sets: tuple[str, ...]
    fields: bool | None
    tables: tuple[str, ...]
    handshakes: bool
    partners: bool
    split: bool
    stream: str | None
    only: str | None
    most_files: int | None
    limits: Limits
    time: TimeFormat | None = None


def check(asked: Asked, reader: Reader) -> None:
    """Raises UserError for what cannot be done, before a capture is read."""
    for option, (name, forms) in MEANT_FOR.items():
        if getattr(asked, name) and asked.form not in forms:
            raise UserError(f"{option} is for {', '.join(forms)}, and this is to be {asked.form}: leave it out")
    if asked.form == "stream" and asked.stream is None:
        raise UserError("name the stream with --stream: its number, as list prints it, or CLIENT>SERVER")
    if asked.form == "pcapng" and reader != "native":
        raise UserError("packets are copied by the native reader: leave out --reader")
    if asked.form == "parquet":
        if find_spec("pyarrow") is None:
            raise UserError("tables are Parquet files, which need pyarrow: pip install 'wireanalyze[pipeline]'")
        if asked.out == STANDARD:
            raise UserError("tables are folders, which standard output is not: name one with -o")
        from analyzer.pipeline import single

        single.check(asked.out, asked.tables or TABLES, force=asked.force)
    elif FORMS[asked.form].folder or asked.split:
        check_folder(asked.out, force=asked.force)
    else:
        check_file(asked.out, force=asked.force)
    if asked.form in LINES:
        _printer(asked)  # a key that does not exist is told now


def rows_of(session: Session, wanted: Filter | None, asked: Asked) -> Ints:
    """The rows that are chosen, rising."""
    rows = np.arange(len(session.rows))
    if asked.stream is not None:
        rows = np.flatnonzero(session.rows.column("stream") == find_stream(session, asked.stream))
    if asked.only is not None:
        rows = rows[session.rows.column("side")[rows] == SIDES[asked.only]]
    if wanted is not None:
        rows = wanted.rows(Rows(session), rows)
    if asked.partners:
        from analyzer.export.packets import with_partners

        rows = with_partners(session, rows)
    return rows


def _printer(asked: Asked) -> Printer:
    return Printer(asked.chosen, asked.form, bool(asked.fields), asked.limits, sets=asked.sets, time=asked.time)


def _lines(asked: Asked, session: Session, rows: Ints) -> str:
    printer = _printer(asked)
    with new_file(asked.out, force=asked.force) as output:
        printer.out = output
        printer.head()
        printer.rows(Rows(session), rows)
        printer.end()
    return f"{len(rows):,} messages"


def _tables(asked: Asked, session: Session, rows: Ints) -> str:
    from analyzer.pipeline import single
    from analyzer.pipeline.options import Options

    options = Options(limits=asked.limits, fields=asked.fields is not False)
    counts = single.write(session, asked.out, rows, options, asked.tables or TABLES, force=asked.force)
    return ", ".join(f"{count:,} {table}" for table, count in counts.items())


def _packets(asked: Asked, session: Session, rows: Ints) -> str:
    from analyzer.export import packets, pcapng

    _warn("packets")
    wanted = packets.packets_of(session, rows, handshakes=asked.handshakes)
    with new_file(asked.out, force=asked.force) as output:
        count = pcapng.write(session, wanted, output)
    return f"{count:,} packets of {len(rows):,} messages"


def _bytes(asked: Asked, session: Session, rows: Ints) -> str:
    from analyzer.export import raw
    from analyzer.export.folder import filled

    _warn("raw bytes")
    if asked.split:
        with filled(asked.out, force=asked.force, most=asked.most_files) as folder:
            raw.write_each(session, rows, folder)
    else:
        with new_file(asked.out, force=asked.force) as output:
            raw.write(session, rows, output)
    return f"{len(rows):,} messages"


def _objects(asked: Asked, session: Session, rows: Ints) -> str:
    from analyzer.export import objects
    from analyzer.export.folder import filled

    _warn("keys, values and bodies")
    with filled(asked.out, force=asked.force, most=asked.most_files) as folder:
        kept = objects.write(session, rows, folder, show_secrets=asked.limits.show_secrets)
    left_out = f" ({kept.secrets:,} secrets left out: --show-secrets)" if kept.secrets else ""
    return f"{folder.count:,} files of {len(rows):,} messages{left_out}"


def _warn(what: str) -> None:
    click.echo(sentence(f"{what} can't be masked: passwords and tokens are among them if they were sent"), err=True)


class Form(NamedTuple):
    """A form of export. write: writes rows and says what it has written. suffixes: ends of OUT that mean it.

    says: an option that means it, too. folder: OUT is one.
    """

    write: Callable[[Asked, Session, Ints], str]
    suffixes: tuple[str, ...] = ()
    says: str | None = None
    folder: bool = False


FORMS: Mapping[str, Form] = {
    "ndjson": Form(_lines, (".ndjson", ".jsonl")),
    "csv": Form(_lines, (".csv",)),
    "tsv": Form(_lines, (".tsv",)),
    "parquet": Form(_tables, (".parquet",), "tables", folder=True),
    "pcapng": Form(_packets, (".pcapng", ".ntar"), "handshakes"),
    "raw": Form(_bytes, (".bin", ".raw"), "split"),
    "objects": Form(_objects, folder=True),
    "stream": Form(_bytes),
}
