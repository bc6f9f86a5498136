"""`wireanalyze pipeline`: many captures to tables, on Spark."""

from __future__ import annotations

from typing import Any

import click

from analyzer.cli.errors import sentence
from analyzer.cli.options import decode_as_option, limits_options
from analyzer.cli.settings import settings
from analyzer.decode_as import StreamNumber, Told, together
from analyzer.errors import UserError
from analyzer.render.jsonable import Limits


class Setting(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The two."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not key:
            self.fail(f"{value!r} is not NAME=VALUE, for example spark.driver.memory=4g", param, ctx)
        return key, text


@click.command("pipeline")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="Where the tables go.")
@click.option("--master", default="local[*]", show_default=True, metavar="URL", help="The Spark cluster.")
@click.option("--conf", type=Setting(), multiple=True, help="A setting of Spark's; repeat it for more.")
@click.option("--partitions", type=click.IntRange(1), metavar="N", help="Parts in which connections are worked off.")
@click.option("--overwrite", is_flag=True, help="Replace the tables that are in DIR.")
@click.option("--no-fields", is_flag=True, help="Leave out the decoded bodies: smaller tables, sooner.")
@decode_as_option
@limits_options
def command(
    sources: tuple[str, ...],
    folder: str,
    master: str,
    conf: tuple[tuple[str, str], ...],
    partitions: int | None,
    overwrite: bool,
    no_fields: bool,
    decode_as: Told,
    limits: Limits,
) -> None:
    """Turn captures into Parquet tables: DIR/messages and DIR/exchanges.

    A SOURCE is a file, a folder or a pattern. The files of one folder are one capture: connections go on from file to
    file. Needs the extra wireanalyze[pipeline].
    """
    from analyzer.pipeline import spark

    if any(isinstance(where, StreamNumber) for where, _ in decode_as):
        raise UserError("streams have no numbers in a pipeline: name the stream by its id, CLIENT>SERVER=PROTOCOL")
    spark.check()
    from analyzer.pipeline import job, progress
    from analyzer.pipeline.options import Options
    from analyzer.pipeline.sources import find

    job.check(folder, overwrite=overwrite)
    found = find(sources)
    for text in found.passed_over:
        _say(f"note: {text}")
    said = tuple(together((*settings().ports.items(), *decode_as)).items())
    with spark.spark_session(master, dict(conf)) as session, progress.bar(session):
        report = job.run(session, found.files, folder, Options(said, limits, not no_fields), partitions)
    for finding in report.findings:
        _say(f"{finding['severity']}: {finding['text']} ({finding['code']})")
    rows = ", ".join(f"{count:,} {table}" for table, count in report.rows.items()) or "no messages"
    click.echo(f"{report.packets:,} packets in {len(found.files):,} files: {rows}")
    if not report.rows:
        raise UserError("no message was found, so there are no tables: is the traffic one of `wireanalyze protocols`?")


def _say(text: str) -> None:
    click.echo(sentence(text), err=True)
