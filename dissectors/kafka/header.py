"""Kafka's message headers, read from the first bytes of a frame.

Facts. Behind the int32 size a request has int16 API key, int16 version, int32 correlation id and, except for
ControlledShutdown v0, the client id: a nullable string with an int16 length in all versions, also where the rest of the
message is flexible. A flexible header ends in tagged fields. A response has the correlation id alone (and tagged
fields), so which operation it answers is known only from its request.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from struct import Struct

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.kafka.schemas import Api, apis, header_version
from dissectors.wire.varint import Unfit, uvarint

MAXIMUM = 104_857_600
"""The largest frame that a broker takes by default (socket.request.max.bytes)."""

NEWER = 16
"""Versions beyond the tables that may still be real ones: a guess. A number further away is no version of that API."""

_PREFIX = Struct(">ihh")
_RESPONSE = Struct(">ii")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_PRODUCE = 0
ENVELOPE = 58


def request_header(prefix: bytes) -> MessageHeader:
    """Reads the header of a request from the first bytes of a frame. A frame that is too short is raw.

    A header without client id has the empty one, as Kafka's own reader says.
    """
    if len(prefix) < 8:
        return HEADLESS
    size, key, version = _PREFIX.unpack_from(prefix)
    if size < 8:
        return HEADLESS
    correlation = _INT32.unpack_from(prefix, 8)[0] if len(prefix) >= 12 else None
    api = apis().get(key)
    if api is None:
        return MessageHeader(Role.REQUEST, None, key, version, correlation, client_id(prefix), State.UNDECODED)
    client = "" if header_version(key, version, False) == 0 else client_id(prefix)
    state = _state(api, version)
    silent = key == _PRODUCE and state is not State.UNDECODED and acks(prefix, version) == 0
    role = Role.ONEWAY if silent else Role.REQUEST
    return MessageHeader(role, api.name, key, version, correlation, client, state)


def response_header(prefix: bytes) -> MessageHeader:
    """Reads the correlation id of a response. Without its request, the response is a guess."""
    if len(prefix) < 8:
        return HEADLESS
    size, correlation = _RESPONSE.unpack_from(prefix)
    if size < 4:
        return HEADLESS
    return MessageHeader(Role.RESPONSE, correlation=correlation, state=State.GUESSED)


def _state(api: Api, version: int) -> State:
    if version in api.versions:
        return State.COMPLETE
    return State.GUESSED if api.versions.high < version <= api.versions.high + NEWER else State.UNDECODED


def client_id(prefix: bytes) -> str | None:
    """Returns the client id of a request; None when it is null or not whole in these bytes."""
    if len(prefix) < 14:
        return None
    length = _INT16.unpack_from(prefix, 12)[0]
    if length < 0 or 14 + length > len(prefix):
        return None
    return prefix[14 : 14 + length].decode("utf-8", "replace")


def has_client(message: bytes) -> bool:
    """Returns whether a request of an unknown kind may have a client id after the correlation id."""
    if len(message) < 14:
        return False
    length = _INT16.unpack_from(message, 12)[0]
    client = client_id(message)
    return length == -1 or (client is not None and client.isprintable())


def acks(prefix: bytes, version: int) -> int | None:
    """Reads the acks of a Produce request: 0 means no answer. None if the prefix ends before the field."""
    try:
        at = body_offset(prefix, _PRODUCE, version, False)
        if version >= 3:
            if header_version(_PRODUCE, version, False) == 2:
                length, at = uvarint(prefix, at)
                at += max(length - 1, 0)
            else:
                at += 2 + max(_INT16.unpack_from(prefix, at)[0], 0)
        value: int = _INT16.unpack_from(prefix, at)[0]
    except (IndexError, Unfit, struct.error):
        return None
    return value


def body_offset(message: bytes, key: int, version: int, response: bool) -> int:
    """Returns the offset of the body. Raises IndexError, struct.error or Unfit if the header does not end."""
    return BODY_START[response, header_version(key, version, response)](message)


def _behind_client(message: bytes) -> int:
    size: int = _INT16.unpack_from(message, 12)[0]
    if size < -1:
        raise Unfit
    return 14 + max(size, 0)


def _behind_tags(message: bytes, at: int) -> int:
    if message[at] == 0:
        return at + 1
    count, at = uvarint(message, at)
    for _ in range(count):
        _, at = uvarint(message, at)
        size, at = uvarint(message, at)
        at += size
    return at


BODY_START: Mapping[tuple[bool, int], Callable[[bytes], int]] = {
    (False, 0): lambda message: 12,
    (False, 1): _behind_client,
    (False, 2): lambda message: _behind_tags(message, _behind_client(message)),
    (True, 0): lambda message: 8,
    (True, 1): lambda message: _behind_tags(message, 8),
}
"""Where the body begins, as body_offset says, by direction (True: a response) and version of the header."""
