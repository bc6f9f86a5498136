"""The clear parts of Kerberos 5 tokens (RFC 4120): the service of a ticket, and error codes.

An AP-REQ, AP-REP or KRB-ERROR is DER: a sequence of members, each behind a tag with its number. Members that are
`plain` here are shown. Encrypted parts, which hold everything that matters for security, and members of other forms
stay secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias, Union

from dissectors.field import FieldSpec
from dissectors.wire.parts import ValuePart, hide_part, show_part, struct, text_of
from dissectors.wire.specs import LayoutSpec, Many

_INTEGER, _SEQUENCE, _TEXT, _TIME = 0x02, 0x30, 0x1B, 0x18
_TAGS = LayoutSpec("tags", "der_tags")
_ELEMENTS = 32
"""Members of one sequence; the longest has thirteen, and a principal's name two or three parts."""

Members: TypeAlias = Mapping[int, tuple[str, Union["Members", str, None]]]
"""By number the name of a member, and what it is: a sequence of members, `plain` or `names`; None for a secret."""

_PRINCIPAL: Members = {0: ("nameType", "plain"), 1: ("nameString", "names")}
_TICKET: Members = {
    0: ("ticketVersion", "plain"),
    1: ("realm", "plain"),
    2: ("service", _PRINCIPAL),
    3: ("encryptedPart", None),
}
_HEAD: Members = {0: ("version", "plain"), 1: ("messageType", "plain")}
_MESSAGES: Mapping[int, Members] = {
    0x6E: {**_HEAD, 2: ("options", None), 3: ("ticket", _TICKET), 4: ("authenticator", None)},
    0x6F: {**_HEAD, 2: ("encryptedPart", None)},
    0x7E: {
        **_HEAD,
        2: ("clientTime", "plain"),
        3: ("clientMicroseconds", "plain"),
        4: ("serverTime", "plain"),
        5: ("serverMicroseconds", "plain"),
        6: ("errorCode", "plain"),
        7: ("clientRealm", "plain"),
        8: ("client", _PRINCIPAL),
        9: ("realm", "plain"),
        10: ("service", _PRINCIPAL),
        11: ("errorText", "plain"),
        12: ("errorData", None),
    },
}
"""By the application's tag: AP-REQ, AP-REP, KRB-ERROR."""

ERRORS: Mapping[int, str] = {
    6: "KDC_ERR_C_PRINCIPAL_UNKNOWN",
    7: "KDC_ERR_S_PRINCIPAL_UNKNOWN",
    14: "KDC_ERR_ETYPE_NOSUPP",
    18: "KDC_ERR_CLIENT_REVOKED",
    24: "KDC_ERR_PREAUTH_FAILED",
    25: "KDC_ERR_PREAUTH_REQUIRED",
    31: "KRB_AP_ERR_BAD_INTEGRITY",
    32: "KRB_AP_ERR_TKT_EXPIRED",
    33: "KRB_AP_ERR_TKT_NYV",
    34: "KRB_AP_ERR_REPEAT",
    35: "KRB_AP_ERR_NOT_US",
    36: "KRB_AP_ERR_BADMATCH",
    37: "KRB_AP_ERR_SKEW",
    40: "KRB_AP_ERR_MSG_TYPE",
    41: "KRB_AP_ERR_MODIFIED",
    44: "KRB_AP_ERR_BADKEYVER",
    45: "KRB_AP_ERR_NOKEY",
    46: "KRB_AP_ERR_MUT_FAIL",
    60: "KRB_ERR_GENERIC",
}


class _Unfit(Exception):
    """The bytes are not of the form that their tags promise."""


class _Element(NamedTuple):
    """A tag, and where it stands, its content begins and ends."""

    tag: int
    start: int
    content: int
    stop: int


def message_parts(data: bytes, start: int) -> tuple[ValuePart, ...] | None:
    """Returns the message that takes all bytes from `start` on; None where it is in another form."""
    try:
        whole = _read_only_element(data, start, len(data))
        members = _MESSAGES.get(whole.tag)
        if members is None:
            return None
        return tuple(_sequence(data, whole.start, whole.content, whole.stop, members))
    except _Unfit:
        return None


def message_words(parts: tuple[ValuePart, ...]) -> Iterator[str]:
    """Yields the service, as people write a principal, and the error."""
    found = {part.spec.name: part for part in _walk_parts(parts)}
    service = found.get("service")
    names = [part.value for part in _walk_parts(service.inside) if part.spec.name.startswith("[")] if service else []
    realm = found["realm"].value if "realm" in found else None
    if names and all(isinstance(name, str) for name in names):
        yield f"service {'/'.join(map(str, names))}" + (f"@{realm}" if isinstance(realm, str) else "")
    code = found["errorCode"].value if "errorCode" in found else None
    if isinstance(code, int):
        yield ERRORS.get(code, f"error {code}")


def length_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Reads a DER length of at most four bytes; returns it and the offset after it."""
    if at >= len(data):
        return None
    first = data[at]
    if first < 0x80:
        return first, at + 1
    size = first - 0x80
    if not 1 <= size <= 4 or at + 1 + size > len(data):
        return None
    return int.from_bytes(data[at + 1 : at + 1 + size]), at + 1 + size


def _element(data: bytes, at: int, end: int, tag: int | None = None) -> _Element:
    found = length_at(data, at + 1)
    if at >= end or found is None or found[1] + found[0] > end or (tag is not None and data[at] != tag):
        raise _Unfit
    return _Element(data[at], at, found[1], found[1] + found[0])


def _read_only_element(data: bytes, at: int, end: int, tag: int | None = None) -> _Element:
    """The element that takes all bytes up to `end`."""
    found = _element(data, at, end, tag)
    if found.stop != end:
        raise _Unfit
    return found


def _elements(data: bytes, at: int, end: int) -> Iterator[_Element]:
    for _ in range(_ELEMENTS):
        if at == end:
            return
        found = _element(data, at, end)
        yield found
        at = found.stop
    raise _Unfit


def _sequence(data: bytes, start: int, at: int, end: int, members: Members) -> Iterator[ValuePart]:
    """The members of the sequence at `at`, behind a mark from `start` on for the tags around it."""
    around = _read_only_element(data, at, end, _SEQUENCE)
    yield ValuePart(_TAGS, data[start : around.content], start, around.content)
    for each in _elements(data, around.content, end):
        name, kind = members.get(each.tag - 0xA0, (f"[{each.tag:#04x}]", None))
        if kind is None:
            yield hide_part(name, data, each.start, each.stop, each.content - each.start, "bytes")
        elif kind == "names":
            yield ValuePart(Many(name, "struct"), None, each.start, each.stop, inside=tuple(_names(data, each)))
        elif isinstance(kind, str):
            yield _plain(data, name, each.start, _read_only_element(data, each.content, each.stop))
        else:
            inner = _read_only_element(data, each.content, each.stop)
            at = each.content if inner.tag == _SEQUENCE else inner.content
            yield struct(name, tuple(_sequence(data, each.start, at, each.stop, kind)))


def _names(data: bytes, holder: _Element) -> Iterator[ValuePart]:
    around = _read_only_element(data, holder.content, holder.stop, _SEQUENCE)
    yield ValuePart(_TAGS, data[holder.start : around.content], holder.start, around.content)
    for index, each in enumerate(_elements(data, around.content, around.stop)):
        yield _plain(data, f"[{index}]", each.start, each)


def _plain(data: bytes, name: str, start: int, inner: _Element) -> ValuePart:
    """A number, a word or a time, with all tags from `start` on in front of it."""
    content, head = data[inner.content : inner.stop], inner.content - start
    if inner.tag == _INTEGER and 0 < len(content) <= 8:
        label = ERRORS.get if name == "errorCode" else None
        spec = FieldSpec(name, "der_integer", label)
        return ValuePart(spec, int.from_bytes(content, signed=True), start, inner.stop, head)
    if inner.tag in (_TEXT, _TIME):
        return show_part(name, text_of(content), start, inner.stop, head, "der_text")
    raise _Unfit


def _walk_parts(parts: tuple[ValuePart, ...]) -> Iterator[ValuePart]:
    for part in parts:
        yield part
        yield from _walk_parts(part.inside)
