"""Reads dumps of xxd, hexdump, od, tcpdump, Wireshark and tshark back to bytes.

Theory. A line of a dump has an offset, groups of hex digits, and sometimes a text column, which may look like more hex.
Three signs show where the bytes of a line end, in this order: the next line's offset; the text column, which must match
the bytes; and the gap before it. Offsets are hexadecimal, but octal by default in od. So the base is the first one in
which the offsets match the bytes. `*` stands for repeated lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from analyzer.hexinput.forms import HexError

_LINE = re.compile(r"^(?P<indent>[ \t]*)(?:0x)?(?P<offset>[0-9A-Fa-f]{3,16})(?P<colon>:?)(?P<rest>[ \t]+.*)?$")
_BYTE_GROUPS = re.compile(r"[ \t]+[0-9A-Fa-f]{2}(?![^ \t])")
_WORD_GROUPS = re.compile(r"(?:[ \t]+[0-9A-Fa-f]{4})+[ \t]*$")
_CAPTION = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d\.\d+ |\d+\.\d{6} |#)|^\s+\S+ > \S+: |^[A-Z][\w /-]*\(.*\):?$"
)
_OTHER_SOURCE = re.compile(r"^(?!Frame|Packet)[A-Z][\w /-]*\(.*\):$")
_HEXDUMP_OFFSET = 7
_LARGEST = 64 << 20


def read_dumps(text: str) -> list[bytes] | None:
    """Returns one entry for each dump in `text`; None if its lines are not those of a dump."""
    sections = _split_sections(text)
    if sections is None:
        return None
    return [_assemble_lines(section) for section in sections]


def _split_sections(text: str) -> list[list[DumpLine]] | None:
    sections: list[list[DumpLine]] = []
    section: list[DumpLine] = []
    indent, skipping = "", False
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or _CAPTION.match(raw):
            skipping = bool(_OTHER_SOURCE.match(raw)) or (skipping and bool(raw.strip()))
            section = []
            continue
        if skipping:
            continue
        if raw.strip() == "*" and section:
            section[-1].starred = True
            continue
        match = _LINE.match(raw)
        if match is None or not (section or _is_dump_start(match)):
            if sections:
                position = len(raw) - len(raw.lstrip())
                raise HexError(
                    f"line {number}, column {position + 1}: {raw[position]!r} does not begin a line of a dump"
                )
            return None
        rest = match["rest"] or ""
        words = not match["colon"] and len(match["offset"]) == _HEXDUMP_OFFSET and bool(_WORD_GROUPS.match(rest))
        line = DumpLine(number, match["offset"], rest, len(raw) - len(rest), words)
        restarts = bool(section) and int(match["offset"], 16) == 0
        if not section or restarts or match["indent"] != indent:
            section = []
            sections.append(section)
        indent = match["indent"]
        section.append(line)
    return sections or None


def _is_dump_start(match: re.Match[str]) -> bool:
    rest = match["rest"] or ""
    if match["colon"]:
        return bool(GROUP.match(rest))
    if len(match["offset"]) == _HEXDUMP_OFFSET and _WORD_GROUPS.match(rest):
        return True
    return len(match["offset"]) >= 4 and int(match["offset"], 16) == 0 and bool(_BYTE_GROUPS.match(rest))


def _assemble_lines(lines: list[DumpLine]) -> bytes:
    problems: list[HexError] = []
    for base in (16, 8, 10):
        try:
            return _parse_in_base(lines, base)
        except HexError as problem:
            problems.append(problem)
    raise problems[0]


def _parse_in_base(lines: list[DumpLine], base: int) -> bytes:
    try:
        offsets = [int(line.offset, base) for line in lines]
    except ValueError:
        raise HexError(f"line {lines[0].number}, column 1: the offsets are not of base {base}") from None
    out = bytearray()
    width: int | None = None
    for index, (line, following) in enumerate(zip(lines, [*lines[1:], None], strict=True)):
        if following is None:
            if line.rest.strip():  # else it is the final offset of hexdump and od
                out += line.read_best(width)
            break
        distance = offsets[index + 1] - offsets[index]
        if line.starred:
            data = (line.read_first(width) if width else None) or line.read_best(width)
            if distance <= 0 or not data or distance % len(data) or distance > _LARGEST:
                raise following.make_error(
                    -following.column, f"the offset {following.offset} does not fit the repeated lines"
                )
            out += data * (distance // len(data))
        else:
            found = line.read_first(distance)
            if found is None:
                raise _explain_unfit(line, following, distance)
            data = found
            out += data
        width = width or len(data)
    return bytes(out)


def _explain_unfit(line: DumpLine, following: DumpLine, distance: int) -> HexError:
    count = sum(len(group) for group, _, _ in line.groups) // 2
    end = line.groups[-1][2] if line.groups else 0
    position = end + measure_gap(line.rest[end:])
    if 0 < distance <= 64 and count < distance and position < len(line.rest):
        return line.make_error(position, f"{line.rest[position]!r} is not part of a pair of hex digits")
    return following.make_error(
        -following.column, f"the offset {following.offset} does not follow the {count} bytes before it"
    )


GROUP = re.compile(r"[ \t]*([0-9A-Fa-f]+)(?=[ \t]|$)")
"""A group of hex digits, up to white space."""


@dataclass(slots=True)
class DumpLine:
    """A line of a dump after its offset. `words`: groups of two bytes in hexdump's order, second byte first."""

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
        """Reads exactly `count` bytes if the text column may begin after them."""
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
        """Reads the bytes of a line if no other line shows its length."""
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
    # A text that begins or ends with spaces cannot be told from padding; old versions of Wireshark split the column in
    # the middle.
    return any(
        column.endswith(shown) and not column[: len(column) - len(shown)].strip()
        for shown in (text.rstrip(), f"{text[:8]} {text[8:]}".rstrip())
        if shown.strip() or not stripped
    )
