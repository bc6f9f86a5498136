"""`wireanalyze protocols`: the dissectors there are, a protocol's operations, and the codes of findings."""

from __future__ import annotations

import click

from analyzer.cli.errors import sentence
from analyzer.errors import UserError
from dissectors import registry
from dissectors.finding import CODES

FINDINGS = "findings"


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*registry.names(), FINDINGS) if name.startswith(incomplete)]


@click.command("protocols")
@click.argument("topic", required=False, metavar="[PROTOCOL|findings]", shell_complete=_complete)
def command(topic: str | None) -> None:
    """List the protocols with their ports, the operations of a PROTOCOL with their versions, or the codes of findings.

    Columns are separated by tabs.
    """
    if topic is None:
        _protocols()
    elif topic == FINDINGS:
        for code, text in CODES.items():
            click.echo(f"{code}\t{text}")
    else:
        _operations(topic)


def _protocols() -> None:
    for dissector in registry.dissectors():
        click.echo(f"{dissector.name}\t{','.join(map(str, dissector.ports))}\t{_summary(dissector)}")
    for problem in registry.problems():
        click.echo(sentence(problem), err=True)


def _summary(dissector: object) -> str:
    return (type(dissector).__doc__ or "").strip().partition("\n")[0]


def _operations(name: str) -> None:
    try:
        found = registry.operations(registry.by_name(name))
    except KeyError as error:
        raise UserError(f"{error.args[0]}, or {FINDINGS}") from None
    if not found:
        click.echo(sentence(f"{name} does not number its operations"), err=True)
    for code, operation in sorted(found.items()):
        click.echo(f"{code}\t{operation.name}\t{_span(operation.versions)}".rstrip())


def _span(versions: registry.VersionRange | None) -> str:
    if versions is None:
        return ""
    if versions.low > versions.high:
        return "none"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
