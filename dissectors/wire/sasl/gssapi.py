"""GSSAPI (RFC 4752): Kerberos tokens in a row, then two wrapped words about a security layer.

A first token is framed (RFC 2743, section 3.1): the tag 0x60, a DER length, the mechanism's object identifier. In
Kerberos (RFC 4121) two bytes with the token's type follow. Context tokens of the older form are framed in the same way;
those of the newer form begin with their two bytes, and a wrapped message has flags, lengths and a sequence number
behind them. Content that is wrapped without encryption can be read: a bit mask of security layers, the largest message
size, and, behind a client's choice, the authorization identity. Tickets, authenticators and checksums stay secret;
kerberos.py reads their clear parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from dissectors.field import FieldSpec
from dissectors.wire.parts import ValuePart, hide_part, show_part, struct, text_of
from dissectors.wire.sasl.kerberos import length_at, message_parts, message_words
from dissectors.wire.sasl.token import Token, user_words

GSSAPI = "GSSAPI"
FRAMED = 0x60
_OID_TAG = 0x06
KERBEROS = "1.2.840.113554.1.2.2"
_NAMES: Mapping[str, str] = {
    KERBEROS: "Kerberos 5",
    "1.2.840.48018.1.2.2": "Kerberos 5, as Microsoft wrote it",
    "1.3.6.1.5.5.2": "SPNEGO",
    "1.3.6.1.5.2.5": "IAKERB",
    "1.3.6.1.4.1.311.2.2.10": "NTLMSSP",
}
_KERBEROS = frozenset(list(_NAMES)[:2])
_TOKENS: Mapping[int, str] = {
    0x0100: "AP-REQ",
    0x0200: "AP-REP",
    0x0300: "KRB-ERROR",
    0x0101: "MIC",
    0x0201: "wrap",
    0x0404: "MIC",
    0x0504: "wrap",
}
_WRAP, _WRAP_HEADER = 0x0504, Struct(">HBBHHQ")
_FLAGS = ((1, "sentByAcceptor"), (2, "sealed"), (4, "acceptorSubkey"))
_SEALED = 2
_LAYERS = {0: "no layer", 1: "none", 2: "integrity", 4: "confidentiality"}


def gssapi_token(data: bytes, from_client: bool | None) -> Token | None:
    """Decodes a GSSAPI token, framed (RFC 2743) or of Kerberos' later form; None if it is none."""
    if data[:1] == bytes([FRAMED]):
        return _read_framed(data)
    if int.from_bytes(data[:2]) == _WRAP and len(data) >= _WRAP_HEADER.size:
        return _read_wrapped(data, from_client)
    return None


def _read_framed(data: bytes) -> Token | None:
    found = length_at(data, 1)
    if found is None or found[0] != len(data) - found[1]:
        return None
    at = found[1]
    oid = length_at(data, at + 1)
    if data[at : at + 1] != bytes([_OID_TAG]) or oid is None or oid[0] > min(len(data) - oid[1], 64):
        return None
    stop = oid[1] + oid[0]
    number = _format_dotted(data[oid[1] : stop])
    name = _NAMES.get(number, number)
    parts = [
        show_part("applicationTag", FRAMED, 0, 1, kind="der_tag"),
        show_part("length", found[0], 1, at, kind="der_length"),
        show_part("mechanism", number, at, stop, oid[1] - at, "oid", _NAMES.get),
    ]
    words: tuple[str, ...] = (name,)
    if number in _KERBEROS and len(data) - stop >= 2:
        kind = int.from_bytes(data[stop : stop + 2])
        parts.append(_kind(kind, stop))
        words = (name, _TOKENS.get(kind, f"token {kind:04x}"))
        stop += 2
        message = message_parts(data, stop)
        if message is not None:
            words += tuple(message_words(message))
            parts.append(struct("message", message))
            stop = len(data)
    if stop < len(data):
        parts.append(hide_part("token", data, stop, len(data), kind="bytes"))
    return Token(GSSAPI, words, tuple(parts))


def _read_wrapped(data: bytes, from_client: bool | None) -> Token:
    kind, flags, _, extra, rotation, number = _WRAP_HEADER.unpack_from(data)
    names = [name for bit, name in _FLAGS if flags & bit]
    at = _WRAP_HEADER.size
    parts = [
        _kind(kind, 0),
        ValuePart(FieldSpec("flags", "byte", lambda _: ", ".join(names) or None), flags, 2, 3),
        show_part("filler", data[3], 3, 4, kind="byte"),
        show_part("extraCount", extra, 4, 6, kind="uint16"),
        show_part("rightRotation", rotation, 6, 8, kind="uint16"),
        show_part("sequenceNumber", number, 8, at, kind="uint64"),
    ]
    # The checksum, `extra` bytes, stands behind the message; rotated by its own length it stands before it.
    begin = at if rotation == 0 else at + extra
    stop = begin + len(data) - at - extra
    if flags & _SEALED or rotation not in (0, extra) or stop - begin < 4:
        parts.append(hide_part("message", data, at, len(data), kind="bytes"))
        return Token(GSSAPI, ("wrap",), tuple(parts))
    if begin > at:
        parts.append(hide_part("checksum", data, at, begin, kind="bytes"))
    layer, words = _layer(data, begin, stop, from_client)
    parts.append(layer)
    if stop < len(data):
        parts.append(hide_part("checksum", data, stop, len(data), kind="bytes"))
    return Token(GSSAPI, words, tuple(parts))


def _layer(data: bytes, start: int, stop: int, from_client: bool | None) -> tuple[ValuePart, tuple[str, ...]]:
    """The security layers that a server offers, or the one that a client chooses, and for whom."""
    mask, most = data[start], int.from_bytes(data[start + 1 : start + 4])
    names = " or ".join(name for bit, name in _LAYERS.items() if bit & mask) or _LAYERS[0]
    inside = [
        ValuePart(FieldSpec("securityLayers", "byte", lambda _: names), mask, start, start + 1),
        show_part("largestMessage", most, start + 1, start + 4, kind="uint24"),
    ]
    identity = text_of(data[start + 4 : stop])
    if identity:
        inside.append(show_part("authzid", identity, start + 4, stop))
    what = {True: "security layer chosen", False: "security layers offered", None: "security layers"}[from_client]
    return struct("message", tuple(inside)), (f"{what}: {names}", *user_words("for", identity))


def _kind(kind: int, start: int) -> ValuePart:
    return show_part("tokenId", kind, start, start + 2, 0, "uint16", _TOKENS.get)


def _format_dotted(data: bytes) -> str:
    """An object identifier's numbers (X.690, section 8.19)."""
    numbers: list[int] = []
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            first = min(value // 40, 2)
            numbers += [value] if numbers else [first, value - 40 * first]
            value = 0
    return ".".join(map(str, numbers))
