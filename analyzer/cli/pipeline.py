"""`wireanalyze pipeline`: turns many captures into tables, with Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.errors import sentence
from analyzer.cli.keys import find_password_file, keys_options, list_key_files, make_key_ring
from analyzer.cli.options import check_ring_options, decode_as_option, fields_of_option, limits_options, ring_options
from analyzer.cli.parameters import OneOf, SectionedCommand, Whole
from analyzer.cli.settings import settings
from analyzer.config.plugin_files import list_plugin_files
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsRules, StreamNumber, merge_rules
from analyzer.render import extras

if TYPE_CHECKING:
    from analyzer.pipeline.job import RunReport


MASTER = "local[*]"


class Setting(click.ParamType[tuple[str, str]]):
    """A parameter `NAME=VALUE` for Spark."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Parses the name and the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not key:
            self.fail(f"{value!r} is not NAME=VALUE. Give for example spark.driver.memory=4g.", param, ctx)
        return key, text


def _print_script(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(Path(__file__).with_name("submit.py"))
        ctx.exit()


@click.command("pipeline", cls=SectionedCommand)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="The folder for the tables.")
@click.option("--master", metavar="URL", help=f"The Spark cluster to run on.  [default: {MASTER}]")
@click.option("--remote", metavar="URL", help="Use a Spark Connect server instead: sc://HOST:PORT.")
@click.option("--conf", type=Setting(), multiple=True, help="Set a Spark property. Repeat it for more.")
@click.option(
    "--script",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_script,
    help="Print the path of the script for spark-submit and exit. It does not take --master, --remote and --conf.",
)
@click.option(
    "--capture",
    "pattern",
    metavar="REGEX",
    help="Name captures by the part of a file's path that REGEX finds, or that its first group finds, such as"
    " '([^/]+)/ring'.  [default: the folder]",
)
@click.option(
    "--shuffle-payload", is_flag=True, help="Send payload through Spark, for workers without a common file system."
)
@click.option("--partitions", type=Whole(1), metavar="N", help="Process the connections in N partitions.")
@click.option(
    "--window", type=Whole(1), metavar="SECONDS", help="Sum up windows of SECONDS in the summaries.  [default: 60]"
)
@click.option(
    "--state", metavar="DIR", help="Read only what is new since the last run; DIR remembers it. For ring captures."
)
@ring_options
@click.option("--overwrite", is_flag=True, help="Replace the tables in DIR.")
@click.option(
    "--format",
    "form",
    type=OneOf(("parquet", "delta")),
    default="parquet",
    show_default=True,
    help="delta: write tables of Delta Lake, with a log beside the Parquet files.",
)
@click.option(
    "--compact", is_flag=True, help="Join small files of the tables after the run. For --format delta with --state."
)
@click.option("--no-fields", is_flag=True, help="Leave out the decoded bodies, for smaller tables and a faster run.")
@fields_of_option
@decode_as_option
@keys_options
@limits_options
def command(
    sources: tuple[str, ...],
    folder: str,
    master: str | None,
    remote: str | None,
    conf: tuple[tuple[str, str], ...],
    pattern: str | None,
    shuffle_payload: bool,
    partitions: int | None,
    window: int | None,
    state: str | None,
    close: bool,
    settle: float | None,
    overwrite: bool,
    form: str,
    compact: bool,
    no_fields: bool,
    operations: tuple[str, ...],
    decode_as: DecodeAsRules,
    limits: Limits,
) -> None:
    """Turn many captures into Parquet tables with Spark.

    Examples:

    \b
      wireanalyze pipeline captures/ -o tables
      wireanalyze pipeline captures/*.pcap --no-fields -o tables
      wireanalyze pipeline /var/ring -o /data/tables --state /data/state

    SOURCE is a file, a folder, a pattern, or a URI that Spark reads. The files of one folder are one capture:
    connections continue from file to file. The command needs the extra wireanalyze[pipeline] (570 MB).

    For a ring capture, run the third example from cron, more often than the ring overwrites its oldest file, and with
    the same options each time. Each run adds the files that are finished. The folders of -o and --state must lie
    outside SOURCE. Use --close once, at the very end; later runs cannot add anything.
    """
    if list_plugin_files():
        raise UserError("--plugin is not for pipeline: workers do not have the file. Install the plug-in as a package.")
    if any(isinstance(where, StreamNumber) for where, _ in decode_as):
        raise UserError("Streams have no numbers in a pipeline. Give the ends of the stream: CLIENT>SERVER=PROTOCOL.")
    extras.require_extra("pipeline", "pipeline", whole=remote is not None)
    if form == "delta":
        extras.require_extra("delta", "--format delta")
    opened = _session(master, remote, dict(conf))
    from analyzer.pipeline import job, progress, ring_capture, spark_frames
    from analyzer.pipeline.ledger import SETTLE_SECONDS
    from analyzer.pipeline.sources import find_captures, require_local_folder
    from analyzer.tables.options import WINDOW, Options
    from analyzer.tables.typed_bodies import parse_bodies

    folder = require_local_folder(folder, "-o")
    state = None if state is None else require_local_folder(state, "--state")
    _check(state, close=close, settle=settle, overwrite=overwrite)
    if compact and (state is None or form != "delta"):
        raise UserError("--compact is for tables that grow with each run. Give --state and --format delta, too.")
    if state is None:
        job.check_folder(folder, overwrite=overwrite)
    found = find_captures(sources, pattern, needed=state is None)
    for text in found.passed_over:
        _say(f"note: {text}")
    keys, bodies = find_worker_keys(), parse_bodies(operations, False if no_fields else None)
    rules = tuple(merge_rules((*settings().ports.items(), *decode_as)).items())
    with opened as session, progress.show_progress(session, os.path.abspath(folder)) as counts:
        options = Options(
            decode_as=rules,
            limits=limits,
            fields=not no_fields,
            bodies=bodies,
            delta=form == "delta",
            shuffled=shuffle_payload,
            window=window or WINDOW,
            partitions=partitions,
            counts=counts,
            **keys,
        )
        found = spark_frames.list_remote_files(session, found)
        if state is None:
            report = job.run(session, found, folder, options, overwrite=overwrite)
        else:
            report = ring_capture.run(
                session,
                found,
                folder,
                options,
                ring_capture.RingCapture(state, close, SETTLE_SECONDS if settle is None else settle, compact),
            )
    tell(report)
    if state is None and not report.rows["messages"]:
        raise UserError("No message was found. `wireanalyze protocols` lists the protocols that are decoded.")


def find_worker_keys() -> dict[str, Any]:
    """Returns what Options say of keys. Raises UserError for wrong ones, before a worker fails."""
    logs, keys = (tuple(map(os.path.abspath, each)) for each in list_key_files())
    password = find_password_file()
    make_key_ring()
    where = None if password is None else os.path.abspath(password)
    return {"key_logs": logs, "private_keys": keys, "key_password": where}


def tell(report: RunReport) -> None:
    """Prints the results of a run, and what it left out."""
    from analyzer.pipeline.file_notes import PASSED_OVER, QUARANTINED, READ, describe_overlaps

    for note in report.files:
        for finding in note.findings:
            _say(f"{finding['severity']}: {finding['text']} ({finding['code']})")
        if note.state == PASSED_OVER:
            _say(f"note: {note.reason} The file was skipped.")
        elif note.state == QUARANTINED:
            _say(f"warning: {note.path} is not in the tables: {note.reason}")
        elif note.state != READ and not note.findings:
            _say(f"warning: {note.path}: {note.reason}")
    if report.waiting:
        waiting = ", ".join(report.waiting[:3])
        _say(f"note: {len(report.waiting):,} files may still grow and are left for the next run: {waiting}.")
    for text in describe_overlaps(report.files):
        _say(f"warning: {text}")
    rows = ", ".join(f"{count:,} {table}" for table, count in report.rows.items() if table != "files")
    read = sum(note.packets > 0 for note in report.files)
    click.echo(f"{report.packets:,} packets in {read:,} files: {rows or 'nothing new'}")


def _check(state: str | None, *, close: bool, settle: float | None, overwrite: bool) -> None:
    """Raises UserError for options that contradict each other."""
    check_ring_options(state, close=close, settle=settle)
    if state is not None and overwrite:
        raise UserError(
            "--overwrite would delete the tables that --state continues. Give another --state and another folder."
        )


def _session(master: str | None, remote: str | None, conf: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Returns the session of spark-submit, of a server, or our own; it starts when it is entered."""
    from analyzer.pipeline import spark_sessions

    if spark_sessions.is_submitted():
        if master or remote or conf:
            raise UserError("spark-submit itself takes --master, --remote and --conf. Give them before the script.")
        return spark_sessions.open_submitted_session()
    if master and remote:
        raise UserError("--master and --remote exclude each other. Leave out --master: the server has its own cluster.")
    return (
        spark_sessions.open_remote_session(remote, conf)
        if remote
        else spark_sessions.open_session(master or MASTER, conf)
    )


def _say(text: str) -> None:
    click.echo(sentence(text), err=True)
