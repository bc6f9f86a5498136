"""The header of a command: its layout, and its values, plain or symbolic (wire.frame).

Facts. A frame is an int32 length, an int32 whose highest byte is the header's format and whose rest is the header's
length, the header, and the body up to the frame's end. In the format JSON (0) the header is one object. In the format
ROCKETMQ (1) it is int16 code, int8 language, int16 version, int32 opaque, int32 flag, a remark behind an int32 length,
and behind another length the extFields: each a key behind an int16 length and a value behind an int32.

Theory. `code` and `opaque` are the row's, so they are not among the values. extFields are as on the wire; what the
operation's header class makes of them stands beside them.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from dissectors.field import FieldSpec
from dissectors.rocketmq.codes import (
    decode_binary_code,
    find_header_class,
    find_language,
    find_operation_name,
    find_response_name,
    find_version_name,
)
from dissectors.rocketmq.labels import format_command_flag
from dissectors.rocketmq.secrets import SECRETS, may_hide_secret, mentions_secret
from dissectors.rocketmq.tables import table
from dissectors.wire.frame import Frame
from dissectors.wire.map_header import HeaderNumber, HeaderValues, MapHeader, decode_header
from dissectors.wire.primitive import INT8, INT16, INT32, FixedWidth
from dissectors.wire.specs import Wrapping
from dissectors.wire.varint import Unfit

MARK = Struct(">II")
JSON, BINARY = 0, 1
CODE, OPAQUE, EXT = "code", "opaque", "extFields"
SERIALIZE = ("JSON", "ROCKETMQ")
HEAD = MARK.size
"""Bytes in front of the header."""

_RESPONSE_CODE = HeaderNumber(Wrapping(CODE, INT16.type, find_response_name), INT16)
_REQUEST_CODE = HeaderNumber(
    Wrapping(CODE, INT16.type, find_operation_name), FixedWidth(INT16.type, INT16.code, decode_binary_code)
)
_OTHERS = (
    HeaderNumber(FieldSpec("language", INT8.type), FixedWidth(INT8.type, INT8.code, find_language), is_named=True),
    HeaderNumber(FieldSpec("version", INT16.type, find_version_name), INT16),
    HeaderNumber(Wrapping(OPAQUE, INT32.type), INT32, is_open=True),
    HeaderNumber(FieldSpec("flag", INT32.type, format_command_flag), INT32),
)


@lru_cache(maxsize=1024)
def find_header(code: int | None, response: bool) -> MapHeader:
    """Returns the layout of an operation's request or answer, in which extFields have the types of its header class."""
    return MapHeader(
        (_RESPONSE_CODE if response else _REQUEST_CODE, *_OTHERS),
        FieldSpec("remark", "string"),
        EXT,
        find_header_class(code, response) or {},
        SECRETS,
        mentions_secret,
        may_hide_secret,
        lambda name: table("expert_info")[name],
    )


ANY_HEADER = find_header(None, False)
"""The layout of what all headers have."""


def decode_command(frame: Frame, layout: MapHeader) -> tuple[HeaderValues, int, int]:
    """Returns the header of a frame, its format and the offset behind it.

    Raises one of emit.FAILURES where it is not whole or in any way unusual.
    """
    begin = frame.begin
    total, mark = MARK.unpack_from(frame.data, begin)
    kind, at = mark >> 24, begin + HEAD
    stop = at + (mark & 0xFF_FFFF)
    if begin + INT32.size + total != frame.end or stop > frame.end or kind not in (JSON, BINARY):
        raise Unfit
    frame.declare_size(begin, begin + INT32.size, frame.end)
    frame.declare_size(begin + INT32.size, at, stop, kind << 24)
    return decode_header(frame, layout, at, stop, kind == JSON), kind, stop
