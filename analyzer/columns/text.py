r"""Makes text from the network safe for terminals and readers.

Theory. A terminal acts on control characters, and characters that hide, reorder or pile up mislead readers. This module
replaces all of them with visible escapes (`\x1b`, `\u202e`, `\U000e0041`, `\n`, `\r`, `\t`) and changes nothing else.
Markup such as `[/red]` is ordinary text and stays. Callers therefore build `rich.text.Text` (or Textual's Content) from
the result and never pass it to a markup parser.

A backslash is not doubled. So an escaped ESC and the four characters `\x1b` look alike. This is harmless, keeps paths
and patterns readable, and makes escaping idempotent.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"

_LINE_CONTROLS = dict.fromkeys(map(ord, "\t\n\r"))

MARKS_IN_A_ROW = 4
"""Maximum number of combining marks per letter: enough for every living script, too few to paint over other lines."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r"})

# isprintable() rejects controls, formats, surrogates, private use, unassigned characters and all separators except the
# space. It accepts these characters, which are invisible, or whose effect on the neighbour's width depends on the
# terminal:
_UNSEEN = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x180B, 0x180C, 0x180D, 0x180F}
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0100, 0xE01F0))
)


def safe_text(text: str | bytes, limit: int | None = None) -> str:
    r"""Returns `text` with each character that could act on a terminal as a visible escape.

    Bytes are decoded as UTF-8; invalid bytes become `\xff`. With `limit` the result has at most that many characters;
    the last one is an ellipsis if it was cut. The cost does not depend on the length of the text after the limit.
    """
    cut = False
    if isinstance(text, bytes):
        if limit is not None and len(text) > 4 * limit:
            text, cut = text[: 4 * limit], True
        text = text.decode("utf-8", "backslashreplace")
    if limit is not None and len(text) > limit:
        text, cut = text[:limit], True
    if not (text.isprintable() and (text.isascii() or text.replace(ELLIPSIS, "").isascii())):
        text = _escape_all(text)
    if limit is not None and (cut or len(text) > limit):
        return text[: limit - 1] + ELLIPSIS if limit > 0 else ""
    return text


def read_text(data: bytes, *, cut: bool = False) -> str | None:
    """Decodes bytes as readable text: UTF-8 without control characters except tabs and line breaks; else returns None.

    cut: more bytes follow, so the last character may be incomplete; then it is omitted.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if not cut or error.reason != "unexpected end of data" or not error.start:
            return None
        text = data[: error.start].decode()
    plain = text.translate(_LINE_CONTROLS)
    return text if text and (plain.isprintable() or not any(map(_is_control, plain))) else None


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cn", "Co")


def escape_line_breaks(text: str) -> str:
    """Returns `text` with only its line breaks escaped, for readers other than a terminal."""
    return text.translate(_BREAKS) if "\n" in text or "\r" in text else text


def escape_json(line: bytes) -> bytes:
    r"""Returns equivalent JSON, in which `\u` escapes replace all characters that could act on a terminal."""
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
    marks = MARKS_IN_A_ROW  # a mark at the front would combine with the text before
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
