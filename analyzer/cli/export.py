"""`wireanalyze export`: exports chosen messages for other programs."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from analyzer.capture.output import STANDARD
from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.export_forms import RingOptions, check_options, export_ring, require_path, rows_of, set_up_arrow
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import (
    Count,
    decode_as_option,
    fields_of_option,
    filter_option,
    jobs_option,
    limits_options,
    ring_options,
)
from analyzer.cli.parameters import OneOf, SectionedCommand
from analyzer.cli.printing import time_format_option
from analyzer.cli.settings import settings
from analyzer.cli.streams import SIDES
from analyzer.config.model import TimeFormat
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.export.folder import MOST_FILES
from analyzer.export.forms import FORMS, MORE_TABLES, TABLES, ExportRequest, warning
from analyzer.messages.decode_as import DecodeAsRules

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


ALL = "all"
"""The word for all tables."""


@click.command("export", cls=SectionedCommand)
@files_options
@click.option(
    "-o", "--output", "out", required=True, metavar="OUT", help="The file or folder to write; - is standard output."
)
@click.option(
    "--as", "--format", "form", type=OneOf(list(FORMS)), help="Output format, if the name of OUT does not show it."
)
@filter_option
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option(
    "-e", "chosen", multiple=True, metavar="KEY", help="For ndjson, csv and tsv: write this key or field, as in list."
)
@click.option(
    "--columns", "sets", multiple=True, metavar="NAME", help="For ndjson, csv and tsv: write this set of columns."
)
@click.option("--fields/--no-fields", default=None, help="Write decoded bodies.  [default: in tables only]")
@fields_of_option
@time_format_option
@click.option(
    "--table",
    "tables",
    type=OneOf((*TABLES, *MORE_TABLES, ALL)),
    multiple=True,
    help="For parquet: write this table, or all. Repeat it for more.  [default: all but reports]",
)
@click.option(
    "--handshakes", is_flag=True, help="For pcapng: also write the packets that open and close the connections."
)
@click.option(
    "--embed-keys",
    is_flag=True,
    help="For pcapng: write the whole connections, and the TLS secrets that decrypt them.",
)
@click.option("--partners", is_flag=True, help="Also write the request or response that belongs to each message.")
@click.option("--split", is_flag=True, help="For raw: write a file for each message, in a folder.")
@click.option("--stream", metavar="STREAM", help="Select one connection by its number, or as CLIENT>SERVER.")
@click.option("--only", type=OneOf(list(SIDES)), help="Select the messages of one side.")
@click.option(
    "--max-files", type=Count(), default=MOST_FILES, show_default=True, help="Write at most N files into a folder."
)
@click.option(
    "--state",
    metavar="DIR",
    help="For parquet: add only what is new since the last run; DIR remembers it. For ring captures.",
)
@ring_options
@decode_as_option
@limits_options
@jobs_option()
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    wanted: Filter | None,
    out: str,
    form: str | None,
    force: bool,
    chosen: tuple[str, ...],
    sets: tuple[str, ...],
    fields: bool | None,
    operations: tuple[str, ...],
    time: TimeFormat | None,
    tables: tuple[str, ...],
    handshakes: bool,
    embed_keys: bool,
    partners: bool,
    split: bool,
    stream: str | None,
    only: str | None,
    max_files: int | None,
    state: str | None,
    close: bool,
    settle: float | None,
    limits: Limits,
    jobs: int | None,
) -> None:
    """Export messages as lines, tables, packets, bytes or files.

    Examples:

    \b
      wireanalyze export captures/kafka.pcap -Y 'latency > 400ms' -e time,client,latency -o slow.csv
      wireanalyze export captures/kafka.pcap -Y 'operation == Fetch' --partners -o fetches.pcapng
      wireanalyze export captures/mixed.pcapng --as objects -o payloads
      wireanalyze export captures/ --as parquet -o tables --state state

    These are the formats:

    \b
    ndjson, json, csv, tsv  rows, as list prints them
    parquet                 a folder of tables; needs wireanalyze[parquet] (55 MB)
    pcapng                  the packets that contain the messages
    pdus                    the messages as packets of their own, decrypted, for Wireshark
    raw                     the bytes of the messages, in one file or a file each (--split)
    objects                 a folder with a file for each payload, such as keys and values of records
    stream                  the bytes of one connection (--stream)

    The command writes OUT completely or not at all. It replaces an existing OUT only with --force.

    With --state, FILE may also be a folder. Run the fourth example from cron, more often than the ring overwrites its
    oldest file, and with the same options each time. It does what pipeline --state does, without Spark.
    """
    require_path(out)
    what = ExportRequest(
        out=out,
        form=_form(form, {"tables": tables, "handshakes": handshakes or embed_keys, "split": split}, out),
        force=force,
        chosen=chosen,
        sets=sets,
        fields=fields,
        operations=operations,
        tables=(*TABLES, *MORE_TABLES) if ALL in tables else tables,
        handshakes=handshakes,
        embed_keys=embed_keys,
        split=split,
        most_files=max_files,
        limits=limits,
        time=time,
        config=settings,
    )
    narrowed = {"-Y": wanted, "--stream": stream, "--only": only, "--partners": partners}
    if state is not None or close or settle is not None:
        export_ring(what, files, decode_as, jobs, RingOptions(state, close, settle), narrowed)
        return
    check_options(what, reader, stream)
    if what.form == "parquet":
        set_up_arrow()
    gc.freeze()  # see list
    with load_session(files, decode_as, reader, jobs) as session:
        rows = rows_of(session, wanted, stream, only, partners=partners)
        if wanted is not None:
            tell_nothing_passes(len(rows), len(session.rows))
        if (text := warning(FORMS[what.form])) is not None:
            click.echo(sentence(text), err=True)
        text = FORMS[what.form].write(what, session, rows)
    click.echo(sentence(f"{text} written to {'standard output' if out == STANDARD else out}"), err=True)


def _form(form: str | None, what_else: Mapping[str, object], out: str) -> str:
    """Returns the format from --as, the name of OUT, or another option. Raises UserError."""
    if form is not None:
        return form
    suffix = os.path.splitext(out.rstrip("/"))[1].lower()
    by_suffix = [name for name, each in FORMS.items() if suffix in each.suffixes]
    by_option = [name for name, each in FORMS.items() if each.says is not None and what_else.get(each.says)]
    for found in (*by_suffix, *by_option):
        return found
    *names, last = FORMS
    raise UserError(f"The name {out} does not show the format of the export. Add --as {', '.join(names)} or {last}.")
