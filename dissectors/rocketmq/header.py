"""The header facts of a command that pairing and the list need, from the first bytes of its frame.

Facts. Bit 0 of the flag marks an answer, from either side, and bit 1 a one-way request; brokers send requests to their
clients on the same connection. `opaque` is the request's number, which the answer repeats. The code of an answer is its
result, so only its request tells the operation.

Java writes the members of a JSON header in alphabetical order, so extFields, with a message's properties of up to
32,767 characters in it, come before flag and opaque: PREFIX is the maximum of such a header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.codes import find_version_name, operations
from dissectors.rocketmq.command import ANY_HEADER, BINARY, CODE, HEAD, JSON, MARK
from dissectors.rocketmq.labels import ONEWAY, RESPONSE
from dissectors.wire.json_strict import decode_json
from dissectors.wire.map_header import HIGHEST, LOWEST
from dissectors.wire.primitive import INT32
from dissectors.wire.varint import Unfit

PREFIX = 128 * 1024
MAXIMUM = 128 * 1024 * 1024
"""Eight times what a broker or client takes by default (com.rocketmq.remoting.frameMaxLength)."""

_NUMBERS = tuple(each.spec.name for each in ANY_HEADER.numbers)
_WORD = 32
"""Characters that a language's name may have."""


class HeaderBeginning(NamedTuple):
    """The numbers of a header, in the order of its layout; None for those that could not be read."""

    code: int | None
    language: str | int | None
    version: int | None
    opaque: int | None
    flag: int | None


def read_beginning(prefix: bytes) -> HeaderBeginning | None:
    """Returns the members of a header that is whole in these bytes, or begins there; None where there is none."""
    if len(prefix) < HEAD:
        return None
    _, mark = MARK.unpack_from(prefix)
    kind, stop = mark >> 24, HEAD + (mark & 0xFF_FFFF)
    if kind == BINARY:
        whole = min(len(prefix), stop) >= HEAD + ANY_HEADER.row.size
        return HeaderBeginning._make(ANY_HEADER.read_numbers(prefix, HEAD)) if whole else None
    if kind != JSON:
        return None
    try:
        if stop > len(prefix):
            raise Unfit
        found = decode_json(prefix[HEAD:stop])
    except Unfit:
        return _read_leniently(prefix, min(stop, len(prefix)))
    return _make_beginning(found) if type(found) is dict else None


def _make_beginning(found: Mapping[str, object]) -> HeaderBeginning:
    code, language, version, opaque, flag = map(found.get, _NUMBERS)
    return HeaderBeginning(
        _check_int32(code),
        language if type(language) is str and len(language) <= _WORD and language.isascii() else None,
        _check_int32(version),
        _check_int32(opaque),
        _check_int32(flag),
    )


def _check_int32(value: object) -> int | None:
    return value if type(value) is int and LOWEST <= value <= HIGHEST else None


def _read_leniently(prefix: bytes, stop: int) -> HeaderBeginning | None:
    """The same of JSON that is no strict one, or not all there: by the reader that knows what that may be."""
    from dissectors.wire.budget import Budget
    from dissectors.wire.map_header_fields import read_header  # hardly any header needs it
    from dissectors.wire.reader import Reader

    reader = Reader.start(prefix, Budget())
    reader.at = HEAD
    reader.guard(partial(read_header, layout=ANY_HEADER, is_json=True), stop)
    found = {node.spec.name: node.value for node in reader.tree.fields}
    return _make_beginning(found) if CODE in found else None


def read_header(prefix: bytes, from_client: bool) -> MessageHeader:
    """Returns role, operation, opaque and client; of bytes without a readable header nothing but whose they are.

    A header that ends before its flag is taken for a request of a client or an answer of a server: a guess.
    """
    if len(prefix) < HEAD:
        return HEADLESS
    found = read_beginning(prefix)
    if found is None:
        return MessageHeader(Role.REQUEST if from_client else Role.RESPONSE, state=State.UNDECODED)
    code, language, version, opaque, found_flag = found
    flag = found_flag if found_flag is not None else 0 if from_client else RESPONSE
    if flag & RESPONSE:
        return MessageHeader(Role.RESPONSE, correlation=opaque)
    role = Role.ONEWAY if flag & ONEWAY else Role.REQUEST
    operation = operations().get(code) if code is not None else None
    client = format_client(language, version)
    if operation is None:
        return MessageHeader(role, None, code, None, opaque, client, State.UNDECODED)
    state = State.GUESSED if found_flag is None else State.COMPLETE
    return MessageHeader(role, operation.name, code, None, opaque, client, state)


@lru_cache(maxsize=256)
def format_client(language: str | int | None, version: int | None) -> str | None:
    """Formats as `JAVA V5_5_0`; None where it does not say both."""
    name = None if version is None else find_version_name(version)
    return None if language is None or name is None else f"{language} {name}"


CERTAIN = 95
UNDECIDED = 60
WRONG_SIDE = 25
SHORT = 10

_MINIMUM = INT32.size
_NAMES = tuple(name.encode() for name in (*ANY_HEADER.names, "serializeTypeCurrentRPC"))
_FIRST = re.compile(rb"""\{\s{0,8}["']?([A-Za-z]{0,23})["']?\s{0,8}(:)?""")
_JUDGED = 16
"""Bytes that must do to tell whether a message can begin so (analyzer.messages.framing asks no later)."""

_SIZE = INT32.layout
_FLAGS = 3
_LANGUAGES = 32


TAKEN = 16 * 1024 * 1024
"""Bytes of a frame, its length among them, that Java takes by default (NettyDecoder, frameMaxLength)."""


class ProbeEvidence(NamedTuple):
    """How sure the bytes are, and whether they are an answer, or what only a server asks; None: they do not say."""

    score: int
    from_server: bool | None = None


NOTHING = ProbeEvidence(0)


def rate_evidence(prefix: bytes) -> ProbeEvidence:
    """Rates the first bytes of a frame as evidence for RocketMQ."""
    if len(prefix) < HEAD:
        return NOTHING
    size, mark = MARK.unpack_from(prefix)
    kind, length = mark >> 24, mark & 0xFF_FFFF
    if not _MINIMUM + length <= size <= MAXIMUM:
        return NOTHING
    if kind == JSON and length >= len(b'{"code":0}'):
        return _rate_json(prefix, HEAD + length)
    if kind == BINARY and length >= ANY_HEADER.row.size + 2 * _SIZE.size:
        return _rate_binary(prefix, HEAD + length)
    return NOTHING


def _rate_json(prefix: bytes, stop: int) -> ProbeEvidence:
    """The first name must be one of the header's, as far as it has come."""
    first = _FIRST.match(prefix, HEAD)
    if first is None:
        return ProbeEvidence(SHORT) if len(prefix) == HEAD else NOTHING
    named = first[1] in _NAMES if first[2] else first.end() == len(prefix) and _is_begun(first[1])
    if not named:
        return NOTHING
    if len(prefix) < _JUDGED:
        return ProbeEvidence(SHORT)
    found = read_beginning(prefix)
    if len(prefix) >= stop and (found is None or found.code is None or found.opaque is None):
        return ProbeEvidence(SHORT)
    if found is None or found.flag is None:
        return ProbeEvidence(UNDECIDED)
    return ProbeEvidence(CERTAIN, _is_from_server(found))


def _is_begun(word: bytes) -> bool:
    return any(name.startswith(word) for name in _NAMES)


def _rate_binary(prefix: bytes, stop: int) -> ProbeEvidence:
    """The lengths of remark and extFields must fill the header; flags and languages are small numbers."""
    if len(prefix) < _JUDGED:
        return ProbeEvidence(SHORT)
    language, version = (ANY_HEADER.read_number(prefix, HEAD, name) for name in ("language", "version"))
    if not 0 <= language < _LANGUAGES or version < 0:
        return NOTHING
    found = read_beginning(prefix)
    at = HEAD + ANY_HEADER.row.size
    if found is None or len(prefix) < at + _SIZE.size:
        return ProbeEvidence(UNDECIDED)
    flag, size = found.flag, _SIZE.unpack_from(prefix, at)[0]
    at += _SIZE.size + size
    if flag is None or flag & ~_FLAGS or size < 0 or at + _SIZE.size > stop:
        return NOTHING
    if len(prefix) >= at + _SIZE.size and at + _SIZE.size + _SIZE.unpack_from(prefix, at)[0] != stop:
        return NOTHING
    return ProbeEvidence(CERTAIN, _is_from_server(found))


def _is_from_server(found: HeaderBeginning) -> bool:
    """Whether a server sends this: an answer, or what only servers ask."""
    if found.flag is not None and found.flag & RESPONSE:
        return True
    operation = operations().get(found.code) if found.code is not None else None
    return operation is not None and operation.from_server


def rate_side(prefix: bytes, from_client: bool | None) -> int:
    """Returns the evidence for bytes of one side, on the scale of Dissector.probe."""
    score, from_server = rate_evidence(prefix)
    if from_client is None or from_server is None or from_server is not from_client:
        return score
    return min(score, WRONG_SIDE)


def describe_too_large(prefix: bytes, from_client: bool) -> str | None:
    """Describes a frame that claims to be larger than is plausible; None for any other."""
    if len(prefix) <= HEAD or int.from_bytes(prefix[:_MINIMUM]) <= MAXIMUM:
        return None
    if rate_evidence(MAXIMUM.to_bytes(_MINIMUM) + prefix[_MINIMUM:]).score < UNDECIDED:
        return None
    return f"a frame of more than {MAXIMUM >> 20} MiB"


def report_oversized(size: int) -> tuple[Finding, ...]:
    """Returns the finding for a frame whose length is `size`, if it is too large."""
    whole = size + _MINIMUM
    if whole <= TAKEN:
        return ()
    text = (
        f"the frame has {whole:,} bytes; more than {TAKEN:,} are refused, and the connection closed, unless both sides "
        "set com.rocketmq.remoting.frameMaxLength"
    )
    return (Finding(Severity.NOTE, "oversized-frame", text),)
