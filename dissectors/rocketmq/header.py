"""What pairing and the list need of a command, from the first bytes of its frame.

Facts. Bit 0 of the flag says that a command is an answer, whoever sends it, bit 1 that a request wants none; brokers
ask their clients on the same connection. `opaque` is the asker's number, which the answer repeats. The code of an
answer is its result, so the operation is known from its request alone.

Java writes the members of a JSON header in the order of the alphabet, so extFields, with a message's properties of up
to 32,767 characters in it, come before flag and opaque: PREFIX is as much as such a header can take.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.rocketmq.codes import decode_binary_code, find_language, find_version_name, operations
from dissectors.rocketmq.command import BINARY, CODE, FIXED, HEAD, JSON, MARK, OPAQUE
from dissectors.rocketmq.json_values import decode_json
from dissectors.rocketmq.labels import ONEWAY, RESPONSE
from dissectors.wire.varint import Unfit

PREFIX = 128 * 1024
MAXIMUM = 128 * 1024 * 1024
"""Eight times what a broker or client takes by default (com.rocketmq.remoting.frameMaxLength)."""

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1
_BINARY = Struct(">hbhii")
_WORD = 32
"""Characters that a language's name may have."""


class HeaderBeginning(NamedTuple):
    """What a header says of itself, as far as it could be read; None for what could not."""

    code: int | None
    opaque: int | None
    flag: int | None
    language: str | int | None
    version: int | None
    binary: bool


def read_beginning(prefix: bytes) -> HeaderBeginning | None:
    """The members of a header that is whole in these bytes, or begins there; None where there is none."""
    if len(prefix) < HEAD:
        return None
    _, mark = MARK.unpack_from(prefix)
    kind, stop = mark >> 24, HEAD + (mark & 0xFF_FFFF)
    if kind == BINARY:
        if min(len(prefix), stop) < HEAD + FIXED.size - 4:
            return None
        code, number, version, opaque, flag = _BINARY.unpack_from(prefix, HEAD)
        return HeaderBeginning(code, opaque, flag, find_language(number), version, True)
    if kind != JSON:
        return None
    try:
        if stop > len(prefix):
            raise Unfit
        found = decode_json(prefix[HEAD:stop])
    except Unfit:
        return _read_leniently(prefix, min(stop, len(prefix)))
    if type(found) is not dict:
        return None
    get = found.get
    return _make_beginning(get(CODE), get(OPAQUE), get("flag"), get("language"), get("version"))


def _make_beginning(code: object, opaque: object, flag: object, language: object, version: object) -> HeaderBeginning:
    return HeaderBeginning(
        _check_int32(code),
        _check_int32(opaque),
        _check_int32(flag),
        language if type(language) is str and len(language) <= _WORD and language.isascii() else None,
        _check_int32(version),
        False,
    )


def _check_int32(value: object) -> int | None:
    return value if type(value) is int and _LOWEST <= value <= _HIGHEST else None


def _read_leniently(prefix: bytes, stop: int) -> HeaderBeginning | None:
    """The same of JSON that is no strict one, or not all there: by the reader that knows what that may be."""
    from dissectors.rocketmq.command_fields import read_header, read_mark  # hardly any header needs it
    from dissectors.wire.budget import Budget
    from dissectors.wire.primitive import UINT32
    from dissectors.wire.reader import Reader
    from dissectors.wire.specs import Wrapping

    reader = Reader.start(prefix, Budget())
    reader.take(Wrapping("length", "uint32"), UINT32)
    kind, _ = read_mark(reader)
    reader.guard(lambda inside: read_header(inside, kind, False, {}), stop)
    found = {node.spec.name: node.value for node in reader.tree.fields}
    if CODE not in found:
        return None
    return _make_beginning(found[CODE], *(found.get(name) for name in (OPAQUE, "flag", "language", "version")))


def read_header(prefix: bytes, from_client: bool) -> MessageHeader:
    """Role, operation, opaque and client; of bytes without a readable header nothing but whose they are.

    A header that ends before its flag is taken for a request of a client or an answer of a server: a guess.
    """
    if len(prefix) < HEAD:
        return HEADLESS
    found = read_beginning(prefix)
    if found is None:
        return MessageHeader(Role.REQUEST if from_client else Role.RESPONSE, state=State.UNDECODED)
    flag = found.flag if found.flag is not None else 0 if from_client else RESPONSE
    if flag & RESPONSE:
        return MessageHeader(Role.RESPONSE, correlation=found.opaque)
    role = Role.ONEWAY if flag & ONEWAY else Role.REQUEST
    code = decode_binary_code(found.code) if found.binary and found.code is not None else found.code
    operation = operations().get(code) if code is not None else None
    client = format_client(found.language, found.version)
    if operation is None:
        return MessageHeader(role, None, code, None, found.opaque, client, State.UNDECODED)
    state = State.GUESSED if found.flag is None else State.COMPLETE
    return MessageHeader(role, operation.name, code, None, found.opaque, client, state)


@lru_cache(maxsize=256)
def format_client(language: str | int | None, version: int | None) -> str | None:
    """`JAVA V5_5_0`; None where it does not say both."""
    name = None if version is None else find_version_name(version)
    return None if language is None or name is None else f"{language} {name}"
