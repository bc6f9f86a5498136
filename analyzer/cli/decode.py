"""`wireanalyze decode`: decodes messages from hex or from a file of bytes, without a capture."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from analyzer.cli.decoding import read_input, text_lines
from analyzer.cli.errors import sentence
from analyzer.cli.formats import format_options
from analyzer.cli.options import color_option, limits_options
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.decode.limits import Limits
from analyzer.errors import UserError
from analyzer.hexinput import pasted
from analyzer.render.lines import print_lines
from analyzer.render.objects import write_objects
from analyzer.render.pasted_message import choose_dissector, decode_pasted
from analyzer.render.tree_json import make_tree_object
from dissectors import registry
from dissectors.api import Dissector, Role

NOTHING_FITS = 3


@click.command("decode", cls=SectionedCommand)
@click.argument("hex_", metavar="HEX... | @FILE | -", nargs=-1, required=True)
@click.option("-p", "--protocol", metavar="NAME", help="Decode as this protocol, instead of recognising it.")
@click.option("--request", "is_request", is_flag=True, help="Decode the messages as requests.")
@click.option(
    "--response",
    "is_response",
    is_flag=True,
    help="Decode the messages as responses: to --api, or each to the request before it.",
)
@click.option("--api", metavar="NAME|NUMBER", help="The operation of the request that a single response answers.")
@click.option("--version", "version", type=Whole(0), metavar="N", help="The version of that request.")
@format_options("text", "ndjson", "json")
@limits_options
@color_option
def command(
    hex_: tuple[str, ...],
    protocol: str | None,
    is_request: bool,
    is_response: bool,
    api: str | None,
    version: int | None,
    form: str,
    color: bool,
    limits: Limits,
) -> int:
    """Decode messages that are given as hex.

    Examples:

    \b
      wireanalyze decode 0000000e0012000000000001000461626364
      wireanalyze decode --response --api ApiVersions --version 0 0000000a00000001000000000000

    HEX is one message or several back to back: plain hex, or the output of xxd, hexdump -C, tcpdump -X or Wireshark.
    IP and TCP headers are removed. @FILE and - (standard input) contain hex or the bytes themselves.

    A response does not say which request it answers. Give --response with --api and --version, or give the request and
    its response, with --response alone.
    """
    if is_request and is_response:
        raise UserError("--request and --response exclude each other. Give one of them, or none.")
    if (api is not None or version is not None) and not (is_response and api is not None):
        alone, missing = ("--version", "--response --api NAME") if api is None else ("--api", "--response")
        raise UserError(f"{alone} describes the request that a response answers. Give {missing}, too.")
    data = read_input(hex_)
    dissector, doubt = choose_dissector(data, protocol, is_response=api is not None)
    for problem in () if protocol is not None else registry.problems():
        click.echo(sentence(problem), err=True)
    messages = pasted.cut_messages(data, dissector, True if is_request else False if is_response else None)
    if api is not None:
        code, operation = find_operation(dissector, api)
        _check_version(dissector, code, version)
        found = pasted.make_responses(dissector, messages, operation, code, version)
    elif is_response:
        found = pasted.pair_pasted(dissector, messages)
    else:
        found = pasted.decode_by_looks(dissector, messages, True if is_request else None)
    if form != "text":
        _print_json(dissector, found, limits, form, guess=doubt is not None)
    else:
        print_lines(text_lines(dissector, found, limits, guess=doubt is not None), sys.stdout, color)
    if doubt is None:
        return 0
    sys.stdout.flush()
    click.echo(sentence(doubt), err=True)
    return NOTHING_FITS


def find_operation(dissector: Dissector, api: str) -> tuple[int | None, str]:
    """Returns number and name of an operation by either one, ignoring case. None: it has no number."""
    operations = dissector.operations()
    if api.isdecimal():
        known = operations.get(int(api))
        return int(api), api if known is None else known.name
    for code, operation in operations.items():
        if operation.name.lower() == api.lower():
            return code, operation.name
    catalog = dissector.catalog
    for layout in () if catalog is None else catalog.layouts():
        if layout.role is Role.RESPONSE and layout.operation.lower() == api.lower():
            return None, layout.operation
    raise UserError(f"{dissector.name} has no operation {api!r}. wireanalyze protocols {dissector.name} lists them.")


def _check_version(dissector: Dissector, code: int | None, version: int | None) -> None:
    operation = None if code is None else dissector.operations().get(code)
    versioned = operation is not None and operation.versions is not None
    if versioned and version is None:
        raise UserError(f"The layouts of {dissector.name} depend on the version. Give --version N, too.")


def _print_json(
    dissector: Dissector, found: Iterator[pasted.PastedMessage], limits: Limits, form: str, guess: bool
) -> None:
    objects = (make_tree_object(*decode_pasted(dissector, piece, guess)) for piece in found)
    write_objects(sys.stdout.buffer, form, (), objects, limits)
