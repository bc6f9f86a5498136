"""`wireanalyze decode`: messages given as hex or as a file of bytes, without a capture."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from analyzer import defects, pasted
from analyzer.cli.errors import sentence
from analyzer.cli.options import color_option, limits_options
from analyzer.errors import UserError
from analyzer.hexinput import HexError, parse_dumps, strip_ip
from analyzer.render.jsonable import JsonWriter, Limits
from analyzer.render.lines import print_lines
from analyzer.render.message_text import EMPTY, message_lines
from analyzer.render.tree_json import Message, tree_object
from dissectors import registry
from dissectors.api import Dissector, State
from dissectors.field import Tree
from dissectors.foreign import foreign

NOTHING_FITS = 3


@click.command("decode")
@click.argument("hex_", metavar="HEX... | @FILE | -", nargs=-1, required=True)
@click.option("-p", "--protocol", metavar="NAME", help="The protocol, instead of finding it by the bytes.")
@click.option("--request", "is_request", is_flag=True, help="Take the messages for requests.")
@click.option("--response", "is_response", is_flag=True, help="Take them for responses: to --api, or to each other.")
@click.option("--api", metavar="NAME|NUMBER", help="The operation that a lone response answers.")
@click.option("--version", "version", type=click.IntRange(0), metavar="N", help="The version of its request.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line for each message.")
@limits_options
@color_option
def command(
    hex_: tuple[str, ...],
    protocol: str | None,
    is_request: bool,
    is_response: bool,
    api: str | None,
    version: int | None,
    as_json: bool,
    color: bool,
    limits: Limits,
) -> int:
    """Decode one message, or several back to back, from hex in any usual form.

    HEX may be bare or a dump of xxd, hexdump -C, tcpdump -X or Wireshark; IP and TCP headers are taken off. @FILE and -
    (stdin) hold hex or the bytes themselves. A response tells nothing of its request: give --response with --api and
    --version, or --response alone for a request followed by its response.
    """
    if is_request and is_response:
        raise click.UsageError("--request and --response exclude each other")
    if (api is not None or version is not None) and not (is_response and api is not None):
        raise click.UsageError("--api and --version are for --response; --version goes with --api")
    data = read_input(hex_)
    dissector, doubt = _dissector(data, protocol, response_told=api is not None)
    messages = pasted.cut(data, dissector, True if is_request else False if is_response else None)
    if api is not None:
        code, operation = find_operation(dissector, api)
        _check_version(dissector, code, version)
        found = pasted.responses_to(dissector, messages, operation, code, version)
    elif is_response:
        found = pasted.conversation(dissector, messages)
    else:
        found = pasted.by_looks(dissector, messages, True if is_request else None)
    _print(dissector, found, guess=doubt is not None, as_json=as_json, color=color, limits=limits)
    if doubt is None:
        return 0
    sys.stdout.flush()
    click.echo(sentence(doubt), err=True)
    return NOTHING_FITS


def read_input(arguments: tuple[str, ...]) -> bytes:
    """The bytes that the arguments give: hex, @FILE or - for stdin."""
    name = "the input"
    text = " ".join(arguments)
    if text == "-" or (len(arguments) == 1 and text.startswith("@")):
        name = "stdin" if text == "-" else text[1:]
        content = sys.stdin.buffer.read() if text == "-" else Path(name).read_bytes()
        if not content:
            raise UserError(f"{name} is empty: give it hex, or the bytes of a message")
        if not _is_text(content):
            return content
        text = content.decode("ascii")
    try:
        return b"".join(map(strip_ip, parse_dumps(text)))
    except HexError as error:
        raise UserError(f"{name} is not hex: {error}") from None


def _is_text(content: bytes) -> bool:
    return not content.translate(None, bytes(range(0x20, 0x7F)) + b"\t\r\n\f")


def _dissector(data: bytes, protocol: str | None, response_told: bool) -> tuple[Dissector, str | None]:
    """The dissector to use, and why it may be the wrong one."""
    if protocol is not None:
        try:
            return registry.by_name(protocol), None
        except KeyError as error:
            raise UserError(error.args[0]) from None
    found = pasted.recognise(data, registry.dissectors(), response_told)
    for problem in registry.problems():
        click.echo(sentence(problem), err=True)
    other = foreign(data)
    if other is not None:
        return found.dissector, f"no protocol fits: {other.text}"
    if found.fits:
        return found.dissector, None
    name = found.dissector.name
    return found.dissector, f"no protocol fits; shown is the best guess, {name}: if it is right, say -p {name}"


def find_operation(dissector: Dissector, api: str) -> tuple[int, str]:
    """Number and name of an operation given by either; names without regard to case."""
    operations = registry.operations(dissector)
    if api.isdecimal():
        known = operations.get(int(api))
        return int(api), api if known is None else known.name
    for code, operation in operations.items():
        if operation.name.lower() == api.lower():
            return code, operation.name
    raise UserError(f"{dissector.name} has no operation {api!r}; wireanalyze protocols {dissector.name} lists them")


def _check_version(dissector: Dissector, code: int, version: int | None) -> None:
    operation = registry.operations(dissector).get(code)
    versioned = operation is not None and operation.versions is not None
    if versioned and version is None:
        raise UserError(f"the layouts of {dissector.name} depend on the version: say --version N too")


def _print(
    dissector: Dissector, found: Iterator[pasted.Pasted], *, guess: bool, as_json: bool, color: bool, limits: Limits
) -> None:
    writer = JsonWriter(limits)
    for number, piece in enumerate(found):
        message, tree = _decoded(dissector, piece, guess)
        if as_json:
            sys.stdout.buffer.write(writer.line(tree_object(message, tree)))
        else:
            lines = message_lines(message, tree, limits)
            print_lines([EMPTY, *lines] if number else lines, sys.stdout, color)


def _decoded(dissector: Dissector, piece: pasted.Pasted, guess: bool) -> tuple[Message, Tree]:
    body = defects.values(dissector, piece.data, piece.context)
    tree = defects.tree(dissector, piece.data, piece.context)
    header = piece.header
    if guess and header.state is not State.UNDECODED:
        header = replace(header, state=State.GUESSED)
    said = {(finding.code, finding.text) for finding in tree.findings}
    more = tuple(finding for finding in body.findings if (finding.code, finding.text) not in said)
    info = defects.info(dissector, body, piece.context)
    return Message(dissector.name, header, body.error, info, more), tree
