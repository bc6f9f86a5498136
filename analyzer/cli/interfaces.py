"""`wireanalyze interfaces`: the interfaces for capturing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.parameters import SectionedCommand
from analyzer.columns.text import safe_text

if TYPE_CHECKING:
    from analyzer.live.interfaces import CapturePermission, NetworkInterface

COLUMNS = ("number", "name", "state", "link", "may capture", "mac", "mtu", "addresses")
WIDE = 120
"""Width of a terminal that shows all columns."""


@click.command("interfaces", cls=SectionedCommand)
@format_options(*ROWS)
def command(form: str) -> None:
    """List the network interfaces of this machine.

    Examples:

    \b
      wireanalyze interfaces
      wireanalyze interfaces --json

    Option -i of sniff takes a name or a number of this list. The column `may capture` says how you can capture there.
    In a pipe, tabs separate the columns.
    """
    from analyzer.live.interfaces import check_permission, list_interfaces, may_capture  # brings scapy
    from analyzer.live.launcher import can_use_dumpcap

    dumpcap = not may_capture() and can_use_dumpcap()
    found = [(each, check_permission(each, dumpcap)) for each in list_interfaces()]
    if form != "table":
        _print_objects(found, form)
    elif sys.stdout.isatty():
        _print_table(found)
    else:
        click.echo("\t".join(COLUMNS))
        for number, (interface, may) in enumerate(found, 1):
            click.echo("\t".join(_cells(number, interface, may)))


def _cells(number: int, interface: NetworkInterface, may: CapturePermission) -> list[str]:
    allowed = may.how if may.reason is None else f"{may.how}: {may.reason}"
    mtu = "" if interface.mtu is None else str(interface.mtu)
    cells = (str(number), interface.name, interface.state, interface.link_name, allowed, interface.mac, mtu)
    return [safe_text(each) for each in (*cells, ", ".join(interface.addresses))]


def _print_table(found: Sequence[tuple[NetworkInterface, CapturePermission]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = [place for place, name in enumerate(COLUMNS) if console.width >= WIDE or name not in ("mac", "mtu")]
    table = Table(box=None, pad_edge=False)
    for place in shown:
        table.add_column(COLUMNS[place], no_wrap=COLUMNS[place] != "addresses", overflow="fold")
    for number, (interface, may) in enumerate(found, 1):
        cells = _cells(number, interface, may)
        table.add_row(*(Text(cells[place], style="" if interface.up else "dim") for place in shown))
    console.print(table)


def _print_objects(found: Sequence[tuple[NetworkInterface, CapturePermission]], form: str) -> None:
    from analyzer.render.objects import write_objects

    objects: list[dict[str, object]] = [
        {
            "number": number,
            "name": interface.name,
            "state": interface.state,
            "link": interface.link_name,
            "linktype": interface.link,
            "capture": may.how,
            "reason": may.reason,
            "mac": interface.mac or None,
            "mtu": interface.mtu,
            "addresses": list(interface.addresses),
        }
        for number, (interface, may) in enumerate(found, 1)
    ]
    write_objects(sys.stdout.buffer, form, list(objects[0]) if objects else [], objects)
