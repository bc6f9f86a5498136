"""The headers of the client's protocol, read from the first bytes of a frame.

Facts (zookeeper.jute, package proto). Behind the int32 size a request has int xid and int opcode, a reply int xid,
long zxid and int err; it does not repeat the opcode. A ConnectRequest and a ConnectResponse have no header. They open a
session, usually with the first frame in each direction, but some clients send one on a connection that is in use. They
are recognised by their own lengths: each has a password at a fixed place, and behind it nothing, or one byte (readOnly,
from 3.4 on). A reply with xid 0, the first of some clients, looks like a ConnectResponse if its body is a path of three
bytes or a count of 0; _is_reply tells them apart. A request with xid 0 and a path of twelve bytes looks like a
ConnectRequest; _is_request tells these apart.

If a capture has only the beginning of a packet, the password may be missing. Then the length of the frame and the first
fields decide; if they leave a doubt, the frame's kind is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType

from dissectors.api import HEADLESS, Context, MessageHeader, Role, State
from dissectors.zookeeper import four_letter_commands
from dissectors.zookeeper.labels import load_names, session
from dissectors.zookeeper.schemas import begins_with_path, operations

MAXIMUM = 64 << 20
"""jute.maxbuffer is 1 MiB by default, and raised where nodes have many children."""

CONNECT = "connect"
EVENT, PING, AUTH, SET_WATCHES = -1, -2, -4, -8
"""The xids that are set aside (ClientCnxn)."""

REFUSED_XID = 0
REQUEST = Struct(">iii")
REPLY = Struct(">iiqi")
REPLY_SIZE = 16
_LEAST_ERROR = -1000
_CONNECT_REQUEST = Struct(">iiqiqi")
_CONNECT_RESPONSE = Struct(">iiiqi")
_REQUEST_WITH_PATH = Struct(">iiii")
PASSWORD = 16
PASSWORDS = frozenset({-1, 0, PASSWORD})
"""How long session passwords are; clients that have none yet send a null or an empty one."""

PASSWORD_AT = {True: _CONNECT_REQUEST.size - 4, False: _CONNECT_RESPONSE.size - 4}
"""Where the length of the password stands in a connect frame, by whether it is the request."""

CONNECT_SIZES = {
    request: frozenset(at + length + rest for length in (0, PASSWORD) for rest in (0, 1))
    for request, at in PASSWORD_AT.items()
}
"""What the length of a connect frame may say, by whether it is the request."""

CUT_CONNECT: Mapping[str, str] = MappingProxyType({"record": CONNECT})
"""Context.extra of a connect frame that was captured only up to a place before its password."""

PATH_AT = 16
"""Where a path stands in a request that begins with one."""


def is_cut_connect(context: Context) -> bool:
    """Returns whether a message came with CUT_CONNECT."""
    return context.extra is not None and context.extra.items() >= CUT_CONNECT.items()


def is_connect_request(prefix: bytes) -> bool:
    """Returns whether a frame is a ConnectRequest: it fits exactly, and its protocol version is 0."""
    return password_of(prefix, True) is not None


def is_connect_response(prefix: bytes) -> bool:
    """Returns whether the first bytes of a frame are those of a ConnectResponse."""
    return password_of(prefix, False) is not None


def opens_session(prefix: bytes) -> bool | None:
    """Returns whether a client's frame is a ConnectRequest; None where too little of it was captured to tell."""
    if not _is_cut(prefix, True):
        return is_connect_request(prefix)
    code = int.from_bytes(prefix[8:12], signed=True)
    if len(prefix) >= REQUEST.size and not code:
        return True  # no client sends opcode 0
    if len(prefix) <= PATH_AT:
        return None
    return not _is_request(prefix) if begins_with_path(code) else None


def answers_connect(prefix: bytes) -> bool | None:
    """Returns whether a server's frame is a ConnectResponse; None where too little of it was captured to tell."""
    return None if _is_cut(prefix, False) else is_connect_response(prefix)


def _is_cut(prefix: bytes, request: bool) -> bool:
    """Whether a frame may be a connect, and ends before the length of its password."""
    known = 8 <= len(prefix) < PASSWORD_AT[request] + 4
    return known and int.from_bytes(prefix[:4]) in CONNECT_SIZES[request] and prefix[4:8] == bytes(4)


def is_refusal(prefix: bytes) -> bool:
    """Whether a frame is the bare ReplyHeader by which a server that only reads, and has no sessions, refuses one."""
    if len(prefix) < REPLY.size:
        return False
    size, xid, err = int.from_bytes(prefix[:4]), int.from_bytes(prefix[4:8]), int.from_bytes(prefix[16:20])
    return size == REPLY_SIZE and xid == REFUSED_XID and err != 0


def password_of(prefix: bytes, request: bool) -> int | None:
    """Returns the length of a connect frame's password, -1 for a null one; None where the frame is none."""
    layout = _CONNECT_REQUEST if request else _CONNECT_RESPONSE
    if len(prefix) < layout.size or prefix[4:8] != bytes(4):
        return None
    size, _, *_, session, password = layout.unpack_from(prefix)
    rest = size - (layout.size - 4) - max(password, 0)
    if password < -1 or rest not in (0, 1):
        return None
    other = _is_request(prefix) if request else _is_reply(prefix, session, password)
    return None if other else password


def _is_request(prefix: bytes) -> bool:
    """Whether what may be a ConnectRequest is a request with xid 0.

    There an opcode and the length of a path take the place of the last zxid, and a path that of the timeout, which
    would be more than nine days.
    """
    size, _, code, length = _REQUEST_WITH_PATH.unpack_from(prefix)
    return 0 < length <= size and begins_with_path(code) and not lacks_path(prefix)


def lacks_path(prefix: bytes) -> bool:
    """Whether a request that should begin with a path has something else there, as a damaged ConnectRequest has."""
    code, length = int.from_bytes(prefix[8:12], signed=True), prefix[12:PATH_AT]
    return b"" < prefix[PATH_AT : PATH_AT + 1] < b" " and any(length) and begins_with_path(code)


def _is_reply(prefix: bytes, session: int, password: int) -> bool:
    """Whether what fits a ConnectResponse is a reply with xid 0.

    There half of a zxid and an error take the place of the session, and a count or a path that of the password. Servers
    give passwords of 16 bytes; and numbers of sessions begin with a time, so that the lower half is hardly ever 0.
    """
    if password not in PASSWORDS:
        return True
    without_error = session != 0 and session & 0xFFFF_FFFF == 0
    return without_error and (password != PASSWORD or prefix[PASSWORD_AT[False] + 4 :][:1] == b"/")


def session_of(prefix: bytes, request: bool) -> str | None:
    """Returns the session that a connect frame names; None for 0, and where it was not captured."""
    number = prefix[PASSWORD_AT[request] - 8 : PASSWORD_AT[request]]
    return session(int.from_bytes(number, signed=True)) if len(number) == 8 and any(number) else None


def client_header(prefix: bytes) -> MessageHeader:
    """Reads the header in a client's first bytes: a four-letter word, a connect, or a request."""
    header = four_letter_commands.request(prefix)
    if header is not None:
        return header
    if is_connect_request(prefix):
        return MessageHeader(Role.REQUEST, CONNECT, client=session_of(prefix, True))
    return request_header(prefix, None)


def request_header(prefix: bytes, client: str | None) -> MessageHeader:
    """Returns the header of a request; a frame too short for one is raw."""
    if len(prefix) < REQUEST.size:
        return HEADLESS
    size, xid, code = REQUEST.unpack_from(prefix)
    if size < REQUEST.size - 4:
        return HEADLESS
    operation = operations().get(code)
    if xid == REFUSED_XID and lacks_path(prefix):
        return MessageHeader(Role.REQUEST, client=client, state=State.UNDECODED)
    if operation is None:
        return MessageHeader(Role.REQUEST, None, code, None, xid, client, State.UNDECODED)
    return MessageHeader(Role.REQUEST, operation.name, code, None, xid, client)


def has_absurd_error(message: bytes) -> bool:
    """Whether what would be a reply has an error that no server sends: then it is something else, or damaged."""
    return len(message) >= REPLY.size and not _LEAST_ERROR < REPLY.unpack_from(message)[3] <= 0


def server_header(prefix: bytes) -> MessageHeader:
    """Reads the header in a server's first bytes: an answer to a word or connect, an event, or a reply."""
    if four_letter_commands.is_text(prefix):
        return four_letter_commands.answer(prefix, None)
    if is_connect_response(prefix):
        return MessageHeader(Role.RESPONSE, CONNECT, client=session_of(prefix, False))
    return reply_header(prefix, None)


def reply_header(prefix: bytes, client: str | None) -> MessageHeader:
    """Returns the header of an event, or of a reply whose request is not known; a frame too short for one is raw."""
    if len(prefix) < 8:
        return HEADLESS
    size, xid = int.from_bytes(prefix[:4]), int.from_bytes(prefix[4:8], signed=True)
    if size < REPLY_SIZE:
        return HEADLESS
    if xid == EVENT:
        return MessageHeader(Role.PUSH, load_names("xid")[EVENT], 0, None, xid, client)
    return MessageHeader(Role.RESPONSE, None, None, None, xid, client, State.GUESSED)
