"""Probes bytes for a ZooKeeper client's connection: at its start, and behind a gap.

Theory. Nearly every byte of a ConnectRequest can be checked: a version that is always 0, and a password whose length
must agree with the frame's. Later requests begin with one of thirty-odd opcodes, and nearly all continue with a path,
which begins with a slash and must fit. Those that are whole in the prefix are read as a body and must fit exactly. A
reply has an xid, a zxid and one of few errors, which is weak evidence without an error. So it is good enough in a
stream that is known to be ZooKeeper's, and weak for a new connection.
"""

from __future__ import annotations

from struct import Struct

from dissectors.api import Context, Role
from dissectors.zookeeper import four_letter_commands
from dissectors.zookeeper.body import decode_values, is_request
from dissectors.zookeeper.header import (
    AUTH,
    EVENT,
    MAXIMUM,
    PASSWORD_AT,
    PASSWORDS,
    PING,
    REPLY,
    REPLY_SIZE,
    REQUEST,
    SET_WATCHES,
    password_of,
)
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.schemas import begins_with_path, operations

CONNECT, ODD_CONNECT, CONNECT_BEGUN = 96, 60, 30
WHOLE = 97
"""More than what other protocols say of a header alone: the body was read and fits."""

ALONE = 85
WITH_MORE = 15
BEGUN = 70
UNPATHED, UNPATHED_BEGUN = 60, 25
NO_BODY = 90
EVENT_OR_PING = 85
ERROR = 70
REPLY_EVIDENCE = 30
ODD_REPLY = 10
TEXT = 10
SHORT = 10

_HIDDEN = frozenset({-10, -1, 0})
"""Opcodes that no client sends: between servers alone, or in answers."""

_REST_OF_CONNECT = frozenset({0, 1, 16, 17})
"""What may stand behind the length of a password: one of 16 bytes, and a byte."""

_JUDGED = 16
"""From here on a message must be told, for behind a gap nobody waits longer."""

_SMALL = 0x10_0000
_SET_ASIDE = frozenset({PING, AUTH, SET_WATCHES})
_PATH_AT = 16
_EVENT_HEAD = Struct(">20xiii")
_PATHED = frozenset({"path", "prefixPath"})


def request_evidence(prefix: bytes) -> int:
    """Returns how sure the first bytes of a client make us."""
    if four_letter_commands.word_of(prefix) is not None:
        return ALONE if four_letter_commands.is_alone(prefix) else WITH_MORE
    connect = _connect_evidence(prefix, True)
    if connect:
        return connect
    if len(prefix) < REQUEST.size:
        return SHORT if len(prefix) >= 4 and REQUEST.size - 4 <= int.from_bytes(prefix[:4]) < _SMALL else 0
    size, xid, code = REQUEST.unpack_from(prefix)
    operation = operations().get(code)
    if operation is None or code in _HIDDEN or not REQUEST.size - 4 <= size <= MAXIMUM:
        return 0
    if xid < 0 and xid not in _SET_ASIDE:
        return 0
    if operation.request is None:
        return NO_BODY if size == REQUEST.size - 4 else 0
    if len(prefix) >= size + 4:
        return _judge_whole_request(prefix[: size + 4], code)
    return _judge_partial_request(prefix, size)


def _connect_evidence(prefix: bytes, request: bool) -> int:
    """The same of a connect frame, also of one of which the password is not there yet."""
    password = password_of(prefix, request)
    if password is not None:
        return CONNECT if password in PASSWORDS else ODD_CONNECT
    before = PASSWORD_AT[request]
    size = int.from_bytes(prefix[:4])
    begun = 8 <= len(prefix) < before + 4 and prefix[4:8] == bytes(4)
    return CONNECT_BEGUN if begun and size - before in _REST_OF_CONNECT else 0


def _judge_whole_request(message: bytes, code: int) -> int:
    """A request with all its bytes: it fits, and its paths look like some."""
    if not is_request(message, code):
        return 0  # sooner told than what is wrong with it
    body = decode_values(message, Context(Role.REQUEST, code))
    if body.findings:
        return 0
    paths = [body.values[name] for name in _PATHED & body.values.keys()]
    if not paths:
        return UNPATHED
    return WHOLE if all(isinstance(path, str) and path.startswith("/") for path in paths) else 0


def _judge_partial_request(prefix: bytes, size: int) -> int:
    """A request that goes on behind the prefix: a path fits, or a small one of those that have none."""
    if len(prefix) <= _PATH_AT and begins_with_path(int.from_bytes(prefix[8:12], signed=True)):
        return SHORT
    length = int.from_bytes(prefix[12:_PATH_AT], signed=True)
    if prefix[_PATH_AT : _PATH_AT + 1] == b"/" and 0 < length <= size - 12:
        return BEGUN
    if begins_with_path(int.from_bytes(prefix[8:12], signed=True)):
        return 0
    return UNPATHED_BEGUN if size < _SMALL else 0


def reply_evidence(prefix: bytes) -> int:
    """Returns how sure the first bytes of a server make us; never much, but for what no other protocol would say so."""
    if four_letter_commands.is_text(prefix):
        return TEXT
    connect = _connect_evidence(prefix, False)
    if connect:
        return connect
    if len(prefix) < _JUDGED:
        return 0
    size, xid, zxid, err = REPLY.unpack_from(prefix[: len(prefix) // 4 * 4].ljust(REPLY.size, b"\0"))
    if not REPLY_SIZE <= size <= MAXIMUM or zxid < -1 or (err and err not in load_names("error")):
        return 0
    if xid == EVENT:
        return _event_evidence(prefix, size) if err == 0 else 0
    if xid < 0:
        return EVENT_OR_PING if xid in _SET_ASIDE and size == REPLY_SIZE else 0
    if err:
        return ERROR if size in (REPLY_SIZE, REPLY_SIZE + 4) else 0
    return REPLY_EVIDENCE if size < _SMALL else ODD_REPLY


def _event_evidence(prefix: bytes, size: int) -> int:
    if len(prefix) < _EVENT_HEAD.size:
        return REPLY_EVIDENCE
    kind, state, path = _EVENT_HEAD.unpack_from(prefix)
    known = kind in load_names("watchEventType") and state in load_names("keeperState")
    return EVENT_OR_PING if known and size == _EVENT_HEAD.size - 4 + max(path, 0) else 0
