"""One line of a dump: where its bytes end and its column of text begins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from analyzer.hexinput.error import HexError

GROUP = re.compile(r"[ \t]*([0-9A-Fa-f]+)(?=[ \t]|$)")
"""A group of hex digits up to white space."""


@dataclass(slots=True)
class DumpLine:
    """A line of a dump behind its offset. `words`: groups of two bytes as hexdump prints them, second byte first."""

    number: int
    offset: str
    rest: str
    column: int
    words: bool
    starred: bool = False
    groups: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        at = 0
        while (group := GROUP.match(self.rest, at)) and len(group[1]) % 2 == 0:
            digits = group[1][2:] + group[1][:2] if self.words else group[1]
            self.groups.append((digits, group.start(1), group.end(1)))
            at = group.end(1)

    def make_error(self, position: int, why: str) -> HexError:
        """Makes the error for the character at `position` of the line."""
        return HexError(f"line {self.number}, column {self.column + position + 1}: {why}")

    def read_first(self, count: int) -> bytes | None:
        """Reads exactly `count` bytes, if they end where the column of text may begin."""
        digits, end = "", 0
        for group, _, group_end in self.groups:
            digits, end = digits + group, group_end
            if len(digits) >= 2 * count:
                break
        if len(digits) != 2 * count and not (self.words and len(digits) == 2 * count + 2):
            return None
        data, after = bytes.fromhex(digits[: 2 * count]), self.rest[end:]
        return data if measure_gap(after) >= 2 or not after.strip() or _is_text_of(after, data) else None

    def read_best(self, width: int | None) -> bytes:
        """Reads the bytes of a line whose length no other line shows."""
        found = self._read_before_text(least=2)
        if found is not None:
            return found
        end = self.groups[-1][2] if self.groups else 0
        whole = bytes.fromhex("".join(group for group, _, _ in self.groups))
        if not self.rest[end:].strip():
            return whole if width is None else whole[:width]
        found = self._read_before_text(least=1)
        if found is not None:
            return found
        return self._read_before_gap(whole, width)

    def _read_before_text(self, least: int) -> bytes | None:
        digits = ""
        for group, _, end in self.groups:
            digits += group
            after = self.rest[end:]
            if measure_gap(after) >= least and _is_text_of(after, bytes.fromhex(digits)):
                return bytes.fromhex(digits)
        return None

    def _read_before_gap(self, whole: bytes, width: int | None) -> bytes:
        count = 0
        for (group, _, end), (_, start, _) in pairwise([*self.groups, ("", len(self.rest), 0)]):
            count += len(group) // 2
            space = measure_gap(self.rest[end:])
            if count == width or space > 2 or (space == 2 and (count != 8 or start == len(self.rest))):
                return whole[:count]
        end = self.groups[-1][2] if self.groups else 0
        position = end + measure_gap(self.rest[end:])
        raise self.make_error(position, f"{self.rest[position]!r} is not a hex digit")


def measure_gap(text: str) -> int:
    """Returns the width of the white space at the beginning of a text."""
    return len(text.expandtabs()) - len(text.expandtabs().lstrip())


def _is_text_of(column: str, data: bytes) -> bool:
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
    column = column.rstrip()
    stripped = column.lstrip()
    if stripped[:1] in ("|", ">") and stripped[1:-1] == text:
        return True
    # A text that begins or ends with spaces melts into the padding; Wireshark of old splits the column in the middle.
    return any(
        column.endswith(shown) and not column[: len(column) - len(shown)].strip()
        for shown in (text.rstrip(), f"{text[:8]} {text[8:]}".rstrip())
        if shown.strip() or not stripped
    )
