"""`wireanalyze protocols`: the dissectors, a protocol's operations and layouts, and the codes of findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import click

from analyzer.cli.errors import sentence
from analyzer.cli.formats import format_options
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.errors import UserError
from analyzer.render.bug_report import PROGRAM
from dissectors import registry
from dissectors.api import Dissector
from dissectors.catalog import VersionRange
from dissectors.finding import ADVICE, CODES
from dissectors.guide import Guide

FINDINGS = "findings"


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*registry.names(), FINDINGS) if name.startswith(incomplete)]


def _complete_name(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    guide = _guide(context.params.get("topic"))
    if guide is None:
        return []
    return [name for name in guide.names() if name.lower().startswith(incomplete.lower())]


def _complete_version(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    guide, name = _guide(context.params.get("topic")), context.params.get("name")
    if guide is None or name is None:
        return []
    return [str(version) for version in guide.versions(name) if str(version).startswith(incomplete)]


def _guide(protocol: str | None) -> Guide | None:
    if protocol is None or protocol not in registry.names():
        return None
    return registry.by_name(protocol).guide


@click.command("protocols", cls=SectionedCommand)
@click.argument("topic", required=False, metavar="[PROTOCOL|findings]", shell_complete=_complete)
@click.argument("name", required=False, shell_complete=_complete_name)
@click.argument("version", required=False, type=Whole(min=0), shell_complete=_complete_version)
@format_options("text", "json", short="json")
def command(topic: str | None, name: str | None, version: int | None, form: str) -> None:
    """List protocols, their operations and their layouts.

    Examples:

    \b
      wireanalyze protocols
      wireanalyze protocols kafka
      wireanalyze protocols kafka Fetch 13
      wireanalyze protocols findings

    Without arguments, the command prints all protocols and their ports. With PROTOCOL, it prints the operations of the
    protocol and their versions. With NAME, it prints a layout, in all versions or in VERSION. NAME is an operation (by
    name or number), a structure, or a page such as types or errors. The shell completes names, and the documentation
    of each protocol lists its pages. `wireanalyze protocols findings` prints the codes of findings.

    Tabs separate the columns of lists.
    """
    as_json = form == "json"
    if topic is not None and name is not None:
        _page(_dissector(topic), name, version, as_json)
        return
    columns, rows, notes = _list(topic)
    if as_json:
        click.echo(_json([dict(zip(columns, row, strict=True)) for row in rows]))
    else:
        for row in rows:
            click.echo("\t".join(map(str, row)).rstrip())
    for note in notes:
        click.echo(sentence(note), err=True)


_Rows = Sequence[tuple[object, ...]]


def _list(topic: str | None) -> tuple[tuple[str, ...], _Rows, Sequence[str]]:
    """Returns the columns and rows of a list, and notes about it."""
    if topic is None:
        found = [
            (each.name, ",".join(map(str, each.ports)), (type(each).__doc__ or "").strip().partition("\n")[0])
            for each in registry.dissectors()
        ]
        return ("name", "ports", "what"), found, registry.problems()
    if topic == FINDINGS:
        return ("code", "what", "advice"), [(*each, ADVICE.get(each[0], "")) for each in CODES.items()], ()
    operations = _dissector(topic).operations()
    rows = [(code, each.name, _span(each.versions)) for code, each in sorted(operations.items())]
    return ("code", "name", "versions"), rows, () if rows else (_list_unnumbered(topic),)


def _list_unnumbered(topic: str) -> str:
    """Returns the note for an empty list."""
    guide = _guide(topic)
    pages = "" if guide is None else f" It has the pages {', '.join(guide.names())}."
    return f"{topic} does not number its operations.{pages}"


def _page(dissector: Dissector, name: str, version: int | None, as_json: bool) -> None:
    guide = dissector.guide
    if guide is None:
        raise UserError(f"{dissector.name} has only a list of operations. Leave out {name}.")
    try:
        page = guide.page(name, version)
    except KeyError as error:
        text = str(error.args[0])
        hint = "" if version is not None else f" {PROGRAM} protocols {dissector.name} lists the operations."
        raise UserError(text if text.endswith("?") else f"{text}.{hint}") from None
    if as_json:
        click.echo(_json(page.data))
    else:
        click.echo("\n".join(page.lines))


def _dissector(name: str) -> Dissector:
    """Returns the dissector of a protocol by its name."""
    try:
        return registry.by_name(name)
    except KeyError as error:
        raise UserError(f"{error.args[0]}, or {FINDINGS}.") from None


_json: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, indent=1).encode


def _span(versions: VersionRange | None) -> str:
    if versions is None:
        return ""
    if versions.low > versions.high:
        return "none"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
