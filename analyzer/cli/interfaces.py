"""`wireanalyze interfaces`: where packets can be sniffed."""

from __future__ import annotations

import click

from analyzer.text import safe_text


@click.command("interfaces")
def command() -> None:
    """List the interfaces of this machine: name, state, link type, addresses, and whether we may capture there.

    Columns are separated by tabs.
    """
    from analyzer.capture.live.interfaces import interfaces, may_capture  # brings scapy

    allowed = "yes" if may_capture() else "no"
    click.echo("name\tstate\tlink\tmay capture\taddresses")
    for each in interfaces():
        state = "up" if each.up else "down"
        kind = "loopback" if each.loopback else f"linktype {each.link}" if each.link != 1 else "ethernet"
        name = safe_text(each.name)
        click.echo(f"{name}\t{state}\t{kind}\t{allowed if each.up else 'no'}\t{', '.join(each.addresses)}")
