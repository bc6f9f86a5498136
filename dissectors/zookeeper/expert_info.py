"""Expert info of one message: lost sessions, packets that are too large, refused four-letter words.

Facts. jute.maxbuffer is 0xfffff bytes by default. A server that reads a larger length closes the connection
(NIOServerCnxn.readLength), and so does a client (ClientCnxnSocket.readLength), which then asks the next server again: a
node with many children can block a client for ever. A ConnectResponse without a session or without a timeout means that
the session has expired or that the password was wrong; the two cannot be told apart. tables/expert_info.json has
conditions and sentences.
"""

from __future__ import annotations

from functools import cache

from dissectors.api import Context, Role
from dissectors.finding import Finding
from dissectors.wire.expert_info import ExpertInfoTable, compile_expert_info
from dissectors.wire.summary import Summaries
from dissectors.zookeeper.header import MAXIMUM, REQUEST
from dissectors.zookeeper.schemas import begins_with_path
from dissectors.zookeeper.tables import table

MAXBUFFER = 0xFFFFF
NEAR = MAXBUFFER * 9 // 10
"""From here on a packet is said to be large: a few more children, or a little more data, and it is too large."""

_LONGEST_PATH = 200
"""Bytes of a path that are said."""

_REFUSED = b" is not executed because it is not in the whitelist."


@cache
def find_expert_info(kind: str) -> ExpertInfoTable:
    """The expert info about a frame's length, a ConnectResponse or an answer to a word: few kinds, so few are kept."""
    return ExpertInfoTable([compile_expert_info(Summaries(), row) for row in table("expert_info")[kind]])


def of_size(message: bytes, context: Context) -> tuple[Finding, ...]:
    """Yields findings about the length of a frame."""
    size = int.from_bytes(message[:4], signed=True)
    if not NEAR < size <= MAXIMUM or len(message) < REQUEST.size or context.role is Role.RAW:
        return ()
    is_request = context.role is Role.REQUEST
    path = _path(message) if is_request and begins_with_path(context.code) else ""
    about = path and f" for {path}"
    return find_expert_info("size")(
        {"size": size, "share": 100 * size // MAXBUFFER, "asks": is_request, "about": about}
    )


def of_word(text: bytes) -> tuple[Finding, ...]:
    """Returns findings about an answer to a four-letter command."""
    return find_expert_info("word")({"refused": text.find(_REFUSED, 0, 64) > 0})


def _path(message: bytes) -> str:
    """The path behind a request's header, or its beginning."""
    at = REQUEST.size + 4
    size = int.from_bytes(message[REQUEST.size : at], signed=True)
    return message[at : at + min(max(size, 0), _LONGEST_PATH)].decode(errors="replace")
