"""Dumps of xxd, hexdump, od, tcpdump, Wireshark and tshark, read back to bytes.

Theory. Every line of a dump is an offset, groups of hex digits and perhaps a column of text, and that column may
look like more hex. Three witnesses tell where the bytes of a line end, in this order: the next line's offset; the text
column itself, which must be what the bytes look like; and the gap before it. Offsets are hexadecimal but in od's
default, where they are octal, so the base is the one in which they follow each other. `*` stands for repeated lines.
"""

from __future__ import annotations

import re

from analyzer.hexinput.error import HexError
from analyzer.hexinput.lines import GROUP, DumpLine, measure_gap

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
            if line.rest.strip():  # else the end offset of hexdump and od
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
