"""How much bytes look like a command.

Theory. Nearly all of a header can be checked: its length lies within the frame's, JSON begins with one of eight names,
and the lengths in a binary one must sum up. So it is nearly proof of the protocol; but who of the two asks whom it
proves less, for servers ask too. A request that only servers make is weak evidence for a client, as is an answer.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import NamedTuple

from dissectors.finding import Finding, Severity
from dissectors.rocketmq.codes import decode_binary_code, operations
from dissectors.rocketmq.command import BINARY, FIXED, HEAD, JSON, MARK
from dissectors.rocketmq.header import MAXIMUM, HeaderBeginning, read_beginning
from dissectors.rocketmq.labels import RESPONSE

CERTAIN = 95
UNDECIDED = 60
WRONG_SIDE = 25
SHORT = 10

_MINIMUM = 4
_NAMES = (b"code", b"extFields", b"flag", b"language", b"opaque", b"remark", b"serializeTypeCurrentRPC", b"version")
_FIRST = re.compile(rb"""\{\s{0,8}["']?([A-Za-z]{0,23})["']?\s{0,8}(:)?""")
_JUDGED = 16
"""Bytes that must do to tell whether a message can begin so (analyzer.messages.framing asks no later)."""

_SIZE = Struct(">i")
_LANGUAGE = Struct(">bh")
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
    """What the first bytes of a frame say."""
    if len(prefix) < HEAD:
        return NOTHING
    size, mark = MARK.unpack_from(prefix)
    kind, length = mark >> 24, mark & 0xFF_FFFF
    if not _MINIMUM + length <= size <= MAXIMUM:
        return NOTHING
    if kind == JSON and length >= len(b'{"code":0}'):
        return _rate_json(prefix, HEAD + length)
    if kind == BINARY and length >= FIXED.size + _SIZE.size:
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
    language, version = _LANGUAGE.unpack_from(prefix, HEAD + 2)
    if not 0 <= language < _LANGUAGES or version < 0:
        return NOTHING
    found = read_beginning(prefix)
    if found is None or len(prefix) < HEAD + FIXED.size:
        return ProbeEvidence(UNDECIDED)
    flag, size = found.flag, _SIZE.unpack_from(prefix, HEAD + FIXED.size - _SIZE.size)[0]
    at = HEAD + FIXED.size + size
    if flag is None or flag & ~_FLAGS or size < 0 or at + _SIZE.size > stop:
        return NOTHING
    if len(prefix) >= at + _SIZE.size and at + _SIZE.size + _SIZE.unpack_from(prefix, at)[0] != stop:
        return NOTHING
    return ProbeEvidence(CERTAIN, _is_from_server(found))


def _is_from_server(found: HeaderBeginning) -> bool:
    """Whether a server sends this: an answer, or what only servers ask."""
    if found.flag is not None and found.flag & RESPONSE:
        return True
    code = decode_binary_code(found.code) if found.binary and found.code is not None else found.code
    operation = operations().get(code) if code is not None else None
    return operation is not None and operation.from_server


def rate_side(prefix: bytes, from_client: bool | None) -> int:
    """The evidence for bytes of one side, on the scale of Dissector.probe."""
    score, from_server = rate_evidence(prefix)
    if from_client is None or from_server is None or from_server is not from_client:
        return score
    return min(score, WRONG_SIDE)


def describe_too_large(prefix: bytes, from_client: bool) -> str | None:
    """What a frame is that says of itself that it is larger than any that is believed; None for anything else."""
    if len(prefix) <= HEAD or int.from_bytes(prefix[:_MINIMUM]) <= MAXIMUM:
        return None
    if rate_evidence(MAXIMUM.to_bytes(_MINIMUM) + prefix[_MINIMUM:]).score < UNDECIDED:
        return None
    return f"a frame of more than {MAXIMUM >> 20} MiB"


def report_oversized(size: int) -> tuple[Finding, ...]:
    """What there is to say of a frame whose length is `size`."""
    whole = size + _MINIMUM
    if whole <= TAKEN:
        return ()
    text = (
        f"the frame has {whole:,} bytes; more than {TAKEN:,} are refused, and the connection closed, unless both sides "
        "set com.rocketmq.remoting.frameMaxLength"
    )
    return (Finding(Severity.NOTE, "oversized-frame", text),)
