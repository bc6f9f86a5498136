"""What a message is in its conversation, and what decoding it needs: the words that all of dissectors share.

This module stands below dissectors.api, which gives its names on, so that what the interface mentions (names of ids,
reports, checks) can be written without importing the interface itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from dissectors.slotted import slotted


class Role(IntEnum):
    """What a message is in its conversation; printed in lower case.

    A REQUEST expects an answer, a ONEWAY message none, whoever sends it. A RESPONSE answers a request, a PUSH is what a
    server sends unasked. RAW is what has no header: a token between messages, or bytes too few for one.
    """

    REQUEST = 0
    RESPONSE = 1
    ONEWAY = 2
    PUSH = 3
    RAW = 4


class State(IntEnum):
    """How far a message can be trusted, known from framing, header and pairing alone.

    A dissector says COMPLETE, GUESSED where the layout is not certain (an answer without its request, a version newer
    than its tables), UNDECODED where there is none. PARTIAL is the engine's: bytes are missing.
    """

    COMPLETE = 0
    PARTIAL = 1
    GUESSED = 2
    UNDECODED = 3


@slotted
class Context:
    """What decoding one message needs from earlier in its connection: small, picklable, kept with the row.

    `code` and `version` are the operation's (a response carries neither); `extra` is the protocol's own.
    """

    role: Role
    code: int | None = None
    version: int | None = None
    extra: Mapping[str, str] | None = None
