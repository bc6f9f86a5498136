"""Parses hex with separators, prefixes and comments, as in source code and mails.

Theory. Every character must be a hex digit, a separator, or part of a usual prefix of bytes. Otherwise it is the first
bad character.
"""

from __future__ import annotations

import re

from analyzer.hexinput.forms import make_error

_TOKEN = re.compile(r"(?P<prefix>0[xX]|\\x)?(?P<digits>[0-9A-Fa-f]+)")
_SEPARATORS = re.compile(r"(?:[\s,;:{}()\[\]\"'\-]|\\\r?\n)+")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_BYTES_LITERAL = re.compile(r"\bb(?=[\"'])")


def parse_hex_words(text: str) -> bytes:
    """Parses hex in source code to bytes. Raises HexError at the first character that is not a part of it."""
    lines = text.split()
    if all(len(line) % 2 == 0 for line in lines) or "\n" in text.strip():
        try:
            return bytes.fromhex("".join(lines) if _has_one_token_a_line(text) else text)
        except ValueError:
            pass  # not bare hex: parse it with all other forms
    code = _BYTES_LITERAL.sub(" ", _COMMENT.sub(_blank_comment, text))
    start, end = 0, len(code)
    if "{" in code:
        start = code.index("{")
        end = code.find("}", start) if "}" in code[start:] else end
    return _parse_tokens(code, start, end, escaped="\\x" in code)


def _has_one_token_a_line(text: str) -> bool:
    """Returns whether no line has several words, so that a line break inside a byte can only be a wrapped line."""
    return all(len(line.split()) <= 1 for line in text.splitlines())


def _blank_comment(match: re.Match[str]) -> str:
    """Returns spaces in place of a comment, so that positions in the input stay valid."""
    return re.sub(r"[^\n]", " ", match.group())


def _parse_tokens(text: str, at: int, end: int, escaped: bool) -> bytes:
    out = bytearray()
    while at < end:
        if separators := _SEPARATORS.match(text, at, end):
            at = separators.end()
            continue
        token = _TOKEN.match(text, at, end)
        if token is None or (escaped and token["prefix"] != "\\x"):
            raise make_error(text, at, f"{text[at]!r} is neither a hex digit nor a separator")
        digits = token["digits"]
        if escaped and len(digits) > 2:
            raise make_error(text, token.start("digits") + 2, f"{digits[2]!r} is not part of a \\x escape")
        if len(digits) == 1 and token["prefix"]:
            digits = "0" + digits
        if len(digits) % 2:
            if token.end() < end and not _SEPARATORS.match(text, token.end()):
                raise make_error(text, token.end(), f"{text[token.end()]!r} is neither a hex digit nor a separator")
            raise make_error(text, token.end() - 1, f"{digits[-1]!r} is half a byte, hex digits come in pairs")
        out += bytes.fromhex(digits)
        at = token.end()
    return bytes(out)
