"""The one border between bytes from the network and anything that acts on text.

Theory. A terminal acts on control characters; a person is fooled by characters that hide, reorder or pile up. All of
them leave here as visible escapes (`\\x1b`, `\\u202e`, `\\U000e0041`, and `\\n`, `\\r`, `\\t`), all else as it is.
Markup is a third reader: `[/red]` is ordinary text and stays, therefore callers build `rich.text.Text` (or Textual's
Content) from what they get and never hand it to a markup parser.

A backslash stays single. So the escape of ESC and the four characters `\\x1b` look alike; that is harmless to every
reader, paths and patterns stay readable, and escaping twice changes nothing.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"

MARKS_IN_A_ROW = 4
"""Combining marks left on one letter: enough for every living script, too few to paint over the neighbouring lines."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r"})

# isprintable() refuses controls, formats, surrogates, private use, unassigned and all separators but the space. What
# it lets through and still can't be seen, or changes its neighbour's width from terminal to terminal:
_UNSEEN = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x180B, 0x180C, 0x180D, 0x180F}
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0100, 0xE01F0))
)


def safe_text(text: str | bytes, limit: int | None = None) -> str:
    """`text` with everything that could act on a terminal shown as a visible escape.

    Bytes are read as UTF-8, with what is not UTF-8 as `\\xff`. With `limit` the result is at most that many characters
    long, the last one an ellipsis if anything was cut; what lies behind the limit is not even looked at.
    """
    cut = False
    if isinstance(text, bytes):
        if limit is not None and len(text) > 4 * limit:
            text, cut = text[: 4 * limit], True
        text = text.decode("utf-8", "backslashreplace")
    if limit is not None and len(text) > limit:
        text, cut = text[:limit], True
    if not (text.isascii() and text.isprintable()):
        text = _escape_all(text)
    if limit is not None and (cut or len(text) > limit):
        return text[: limit - 1] + ELLIPSIS if limit > 0 else ""
    return text


def escape_line_breaks(text: str) -> str:
    """`text` with its line breaks as escapes; otherwise as it is, for readers that are no terminal."""
    return text.translate(_BREAKS) if "\n" in text or "\r" in text else text


def escape_json(line: bytes) -> bytes:
    """JSON that means the same, in which no character can act on a terminal: those become JSON's own `\\u` escapes."""
    if line.isascii() and b"\x7f" not in line:
        return line
    text = line.decode()
    acting = {
        ord(character): "".join(f"\\u{unit:04x}" for unit in _utf16(character))
        for character in set(text)
        if character != "\n" and (not character.isprintable() or ord(character) in _UNSEEN)
    }
    return text.translate(acting).encode() if acting else line


def _utf16(character: str) -> tuple[int, ...]:
    data = character.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))


def _escape_all(text: str) -> str:
    out: list[str] = []
    marks = MARKS_IN_A_ROW  # a mark at the very beginning would sit on whatever is printed before this text
    for character in text:
        if not character.isprintable() or ord(character) in _UNSEEN:
            out.append(_escape(character))
            marks = MARKS_IN_A_ROW
        elif not character.isascii() and unicodedata.category(character) in ("Mn", "Me"):
            out.append(character if marks < MARKS_IN_A_ROW else _escape(character))
            marks += 1
        else:
            out.append(character)
            marks = 0
    return "".join(out)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
