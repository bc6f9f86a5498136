"""Parses hex in any form that users paste: bare, with separators, as source code, or as a dump.

Theory. Bare hex digits, the most frequent input, need no patterns. Otherwise dumps.py checks whether the lines are a
dump, which their offsets show. If not, source_hex.py reads them word by word.
"""

from __future__ import annotations

__all__ = ["HexError", "parse_dumps", "parse_hex", "strip_ip"]


def parse_hex(text: str) -> bytes:
    """Parses hex to bytes; several dumps are joined. Raises HexError at the first bad character."""
    return b"".join(parse_dumps(text))


def parse_dumps(text: str) -> list[bytes]:
    """Parses hex as parse_hex() does, but returns each dump separately, for example each packet of `tcpdump -X`."""
    bare = _parse_bare(text)
    if bare:
        return [bare]
    from analyzer.hexinput.dumps import read_dumps  # compiles a dozen patterns
    from analyzer.hexinput.source_hex import parse_hex_words

    text = text.removeprefix("\ufeff")
    dumps = read_dumps(text)
    if dumps is None:
        dumps = [parse_hex_words(text)]
    if not any(dumps):
        raise HexError("there are no hex digits in the input")
    return dumps


def _parse_bare(text: str) -> bytes | None:
    """Returns the bytes of a single word of hex digits; None for anything else."""
    if not text.isalnum():
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


_ETHERNET = 14
_IPV4_TYPE, _IPV6_TYPE = b"\x08\x00", b"\x86\xdd"
_TCP = 6


def strip_ip(data: bytes) -> bytes:
    """Returns the TCP payload if `data` is exactly one IP packet with TCP; otherwise `data`.

    Also removes an Ethernet header before it (`tcpdump -XX`, `tshark -x`). Lengths must match exactly, except for the
    padding of short Ethernet frames. So a message of another protocol is not taken for a packet.
    """
    if data[12:14] in (_IPV4_TYPE, _IPV6_TYPE):
        payload = _find_tcp_payload(data[_ETHERNET:], padded=len(data) <= 60)
        if payload is not None:
            return payload
    payload = _find_tcp_payload(data, padded=False)
    return data if payload is None else payload


def _find_tcp_payload(packet: bytes, padded: bool) -> bytes | None:
    if len(packet) < 40:
        return None
    if packet[0] >> 4 == 4:
        header, total, protocol = (packet[0] & 15) * 4, int.from_bytes(packet[2:4]), packet[9]
    elif packet[0] >> 4 == 6:
        header, total, protocol = 40, 40 + int.from_bytes(packet[4:6]), packet[6]
    else:
        return None
    if protocol != _TCP or header < 20 or total < header + 20 or len(packet) < total:
        return None
    if len(packet) > total and not padded:
        return None
    data_offset = (packet[header + 12] >> 4) * 4
    if data_offset < 20 or header + data_offset > total:
        return None
    return packet[header + data_offset : total]


class HexError(ValueError):
    """Raised for input that is not hex; the text has the line and column of the first bad character."""


def make_error(text: str, position: int, why: str) -> HexError:
    """Makes the error for the character at `position`."""
    line = text.count("\n", 0, position) + 1
    return HexError(f"line {line}, column {position - text.rfind(chr(10), 0, position)}: {why}")
