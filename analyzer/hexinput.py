"""Hex as people paste it: bare, with separators, as source code, or as the dump of another tool.

Theory. First it is asked whether the lines are a dump, which shows in their offsets (analyzer/hexdumps.py). If not,
everything but hex digits must be a separator or a prefix that people put before bytes, or it is the first bad
character.
"""

from __future__ import annotations

import re

from analyzer.hexdumps import read_dumps
from analyzer.hexlines import HexError, error_at

__all__ = ["HexError", "parse_dumps", "parse_hex", "strip_ip"]

_TOKEN = re.compile(r"(?P<prefix>0[xX]|\\x)?(?P<digits>[0-9A-Fa-f]+)")
_SEPARATORS = re.compile(r"(?:[\s,;:{}()\[\]\"'\-]|\\\r?\n)+")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_BYTES_LITERAL = re.compile(r"\bb(?=[\"'])")


def parse_hex(text: str) -> bytes:
    """The bytes that `text` writes down; several dumps are joined. Raises HexError at the first bad character."""
    return b"".join(parse_dumps(text))


def parse_dumps(text: str) -> list[bytes]:
    """As parse_hex, with each dump (a packet of `tcpdump -X`, a frame of `tshark -x`) by itself."""
    text = text.removeprefix("\ufeff")
    dumps = read_dumps(text)
    if dumps is None:
        dumps = [_plain(text)]
    if not any(dumps):
        raise HexError("there are no hex digits in the input")
    return dumps


def _plain(text: str) -> bytes:
    lines = text.split()
    if all(len(line) % 2 == 0 for line in lines) or "\n" in text.strip():
        try:
            return bytes.fromhex("".join(lines) if _one_token_a_line(text) else text)
        except ValueError:
            pass  # not bare hex: read with care for what else there may be
    code = _BYTES_LITERAL.sub(" ", _COMMENT.sub(_blank, text))
    start, end = 0, len(code)
    if "{" in code:
        start = code.index("{")
        end = code.find("}", start) if "}" in code[start:] else end
    return _tokens(code, start, end, escaped="\\x" in code)


def _one_token_a_line(text: str) -> bool:
    """Whether lines hold digits alone, so that a line break in the middle of a byte can only be a wrapped line."""
    return all(len(line.split()) <= 1 for line in text.splitlines())


def _blank(match: re.Match[str]) -> str:
    """Spaces in place of a comment, so that positions stay what they are in the input."""
    return re.sub(r"[^\n]", " ", match.group())


def _tokens(text: str, at: int, end: int, escaped: bool) -> bytes:
    out = bytearray()
    while at < end:
        if separators := _SEPARATORS.match(text, at, end):
            at = separators.end()
            continue
        token = _TOKEN.match(text, at, end)
        if token is None or (escaped and token["prefix"] != "\\x"):
            raise error_at(text, at, f"{text[at]!r} is neither a hex digit nor a separator")
        digits = token["digits"]
        if escaped and len(digits) > 2:
            raise error_at(text, token.start("digits") + 2, f"{digits[2]!r} is not part of a \\x escape")
        if len(digits) == 1 and token["prefix"]:
            digits = "0" + digits
        if len(digits) % 2:
            if token.end() < end and not _SEPARATORS.match(text, token.end()):
                raise error_at(text, token.end(), f"{text[token.end()]!r} is neither a hex digit nor a separator")
            raise error_at(text, token.end() - 1, f"{digits[-1]!r} is half a byte, hex digits come in pairs")
        out += bytes.fromhex(digits)
        at = token.end()
    return bytes(out)


_ETHERNET = 14
_IPV4_TYPE, _IPV6_TYPE = b"\x08\x00", b"\x86\xdd"
_TCP = 6


def strip_ip(data: bytes) -> bytes:
    """The TCP payload, when `data` is exactly one IPv4 or IPv6 packet with TCP in it; otherwise `data` itself.

    An Ethernet header before it (`tcpdump -XX`, `tshark -x`) goes too. Lengths must fit exactly, but for the padding of
    short Ethernet frames, so that no message of another protocol is taken for a packet.
    """
    if data[12:14] in (_IPV4_TYPE, _IPV6_TYPE):
        payload = _tcp_payload(data[_ETHERNET:], padded=len(data) <= 60)
        if payload is not None:
            return payload
    payload = _tcp_payload(data, padded=False)
    return data if payload is None else payload


def _tcp_payload(packet: bytes, padded: bool) -> bytes | None:
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
