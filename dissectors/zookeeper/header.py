"""The headers of the client's protocol, read from the first bytes of a frame.

Facts (zookeeper.jute, package proto). Behind the int32 size a request has int xid and int opcode, a reply int xid,
long zxid and int err; the opcode it does not repeat. The first frame each way is the exception: a ConnectRequest and a
ConnectResponse, with no header at all. They are told by their own lengths: each has a password at a fixed place, and
behind it nothing, or one byte (readOnly, from 3.4 on). A reply with xid 0, as some clients begin, looks like a
ConnectResponse where its body is a path of three bytes or a count of 0; _is_reply tells them apart.
"""

from __future__ import annotations

from struct import Struct

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.zookeeper import words
from dissectors.zookeeper.labels import names, session
from dissectors.zookeeper.schemas import operations

MAXIMUM = 64 << 20
"""jute.maxbuffer is 1 MiB by default, and raised where nodes have many children."""

CONNECT = "connect"
EVENT, PING, AUTH, SET_WATCHES = -1, -2, -4, -8
"""The xids that are set aside (ClientCnxn)."""

REFUSED_XID = 0
REQUEST = Struct(">iii")
REPLY = Struct(">iiqi")
REPLY_SIZE = 16
_CONNECT_REQUEST = Struct(">iiqiqi")
_CONNECT_RESPONSE = Struct(">iiiqi")
_PASSWORD = 16
PASSWORDS = frozenset({-1, 0, _PASSWORD})
"""How long session passwords are; clients that have none yet send a null or an empty one."""

PASSWORD_AT = {True: _CONNECT_REQUEST.size - 4, False: _CONNECT_RESPONSE.size - 4}
"""Where the length of the password stands in a connect frame, by whether it is the request."""


def is_connect_request(prefix: bytes) -> bool:
    """Whether a frame is a ConnectRequest: it fits exactly, and its protocol version is 0, the only one there is."""
    return password_of(prefix, True) is not None


def is_connect_response(prefix: bytes) -> bool:
    """The same of a ConnectResponse."""
    return password_of(prefix, False) is not None


def is_refusal(prefix: bytes) -> bool:
    """Whether a frame is the bare ReplyHeader by which a server that only reads, and has no sessions, refuses one."""
    if len(prefix) < REPLY.size:
        return False
    size, xid, err = int.from_bytes(prefix[:4]), int.from_bytes(prefix[4:8]), int.from_bytes(prefix[16:20])
    return size == REPLY_SIZE and xid == REFUSED_XID and err != 0


def password_of(prefix: bytes, request: bool) -> int | None:
    """The length of a connect frame's password, -1 for a null one; None where the frame is none."""
    layout = _CONNECT_REQUEST if request else _CONNECT_RESPONSE
    if len(prefix) < layout.size:
        return None
    size, version, *_, session, password = layout.unpack_from(prefix)
    rest = size - (layout.size - 4) - max(password, 0)
    if version != 0 or password < -1 or rest not in (0, 1):
        return None
    return None if not request and _is_reply(prefix, session, password) else password


def _is_reply(prefix: bytes, session: int, password: int) -> bool:
    """Whether what fits a ConnectResponse is a reply with xid 0.

    There half of a zxid and an error take the place of the session, and a count or a path that of the password. Servers
    give passwords of 16 bytes; and numbers of sessions begin with a time, so that the lower half is hardly ever 0.
    """
    if password not in PASSWORDS:
        return True
    without_error = session != 0 and session & 0xFFFF_FFFF == 0
    return without_error and (password != _PASSWORD or prefix[PASSWORD_AT[False] + 4 :][:1] == b"/")


def session_of(prefix: bytes, request: bool) -> str | None:
    """The session that a connect frame names; None for 0."""
    number: int = (_CONNECT_REQUEST if request else _CONNECT_RESPONSE).unpack_from(prefix)[-2]
    return session(number) if number else None


def client_header(prefix: bytes) -> MessageHeader:
    """What a client's first bytes tell: a word, a connect, or a request."""
    header = words.request(prefix)
    if header is not None:
        return header
    if is_connect_request(prefix):
        return MessageHeader(Role.REQUEST, CONNECT, client=session_of(prefix, True))
    return request_header(prefix, None)


def request_header(prefix: bytes, client: str | None) -> MessageHeader:
    """The header of a request; a frame too short for one is raw."""
    if len(prefix) < REQUEST.size:
        return HEADLESS
    size, xid, code = REQUEST.unpack_from(prefix)
    if size < REQUEST.size - 4:
        return HEADLESS
    operation = operations().get(code)
    if operation is None:
        return MessageHeader(Role.REQUEST, None, code, None, xid, client, State.UNDECODED)
    return MessageHeader(Role.REQUEST, operation.name, code, None, xid, client)


def server_header(prefix: bytes) -> MessageHeader:
    """What a server's first bytes tell: an answer to a word, to a connect, an event, or a reply to something."""
    if words.is_text(prefix):
        return words.answer(prefix, None)
    if is_connect_response(prefix):
        return MessageHeader(Role.RESPONSE, CONNECT, client=session_of(prefix, False))
    return reply_header(prefix, None)


def reply_header(prefix: bytes, client: str | None) -> MessageHeader:
    """The header of an event, or of a reply whose request is not known; a frame too short for one is raw."""
    if len(prefix) < 8:
        return HEADLESS
    size, xid = int.from_bytes(prefix[:4]), int.from_bytes(prefix[4:8], signed=True)
    if size < REPLY_SIZE:
        return HEADLESS
    if xid == EVENT:
        return MessageHeader(Role.PUSH, names("xid")[EVENT], 0, None, xid, client)
    return MessageHeader(Role.RESPONSE, None, None, None, xid, client, State.GUESSED)
