"""The work of the `decode` command without its options: decodes bytes and formats the messages.

Theory. Decoding one message takes a few milliseconds, and starting the program takes twenty times as long. So nothing
here needs click, and rare cases import what they need. `plain_text` does all the work of `decode HEX` if there are no
problems. Otherwise it returns None, and the program (program.py) repeats the work and reports the problem.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from analyzer.decode.limits import Limits
from analyzer.errors import UserError
from analyzer.hexinput import pasted
from analyzer.hexinput.forms import HexError, parse_dumps, strip_ip
from analyzer.render.lines import Line, strip_styles
from analyzer.render.message_text import EMPTY, format_message
from analyzer.render.pasted_message import choose_dissector, decode_pasted
from dissectors import registry
from dissectors.api import Dissector


def plain_text(arguments: Sequence[str], environment: Mapping[str, str], colours: bool) -> str | None:
    """Returns the output of `decode HEX`, without loading click.

    Returns None if there is an option, a file, a colour or anything to print on stderr, or if no protocol fits.
    colours: stdout is a terminal.
    """
    command, *words = arguments
    if command != "decode" or not words or colours or any(name in environment for name in _NEEDS_CLICK):
        return None
    if any(word.startswith(("-", "@")) for word in words):
        return None
    try:
        data = read_input(tuple(words))
        dissector, doubt = choose_dissector(data, None, is_response=False)
        if doubt is not None or registry.problems():
            return None
        found = pasted.decode_by_looks(dissector, pasted.cut_messages(data, dissector), None)
        lines = text_lines(dissector, found, Limits(), guess=False)
        return "".join(strip_styles(line) + "\n" for line in lines)
    except Exception:  # the program repeats the work and reports the error
        return None


_CAPTURES = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a")
"""How pcap and pcapng begin."""

_NEEDS_CLICK = ("WIREANALYZE_DEBUG", "_WIREANALYZE_COMPLETE")
"""Variables that ask for something else than the output."""


def read_input(arguments: tuple[str, ...]) -> bytes:
    """Returns the bytes that the arguments give: hex, @FILE or - for stdin."""
    name = "the input"
    text = " ".join(arguments)
    if text == "-" or (len(arguments) == 1 and text.startswith("@")):
        name = "stdin" if text == "-" else text[1:]
        content = sys.stdin.buffer.read() if text == "-" else _content(name)
        if not content:
            raise UserError(f"{name} is empty. It must contain hex, or the bytes of a message.")
        if content[:4] in _CAPTURES:
            raise UserError(f"{name} is a capture, but decode reads messages. Use wireanalyze list {name}.")
        if not _is_text(content):
            return content
        text = content.decode("ascii")
    try:
        return b"".join(map(strip_ip, parse_dumps(text)))
    except HexError as error:
        if os.path.isfile(text):
            raise UserError(
                f"{text} is a file. Use wireanalyze decode @{text} for hex or bytes, or wireanalyze list for a capture."
            ) from None
        raise UserError(f"{name} is not hex: {error}.") from None


def _content(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise UserError(f"Cannot read {name}: {error.strerror}. Give a file after @.") from None


def _is_text(content: bytes) -> bool:
    return not content.translate(None, bytes(range(0x20, 0x7F)) + b"\t\r\n\f")


def text_lines(
    dissector: Dissector, found: Iterator[pasted.PastedMessage], limits: Limits, guess: bool
) -> Iterator[Line]:
    """Yields the lines of all messages for people, with an empty line between messages."""
    for number, piece in enumerate(found):
        if number:
            yield EMPTY
        message, tree = decode_pasted(dissector, piece, guess)
        yield from format_message(message, tree, limits)
