"""The one error family of hostile bytes.

Theory. When a reader deep inside a message fails, it knows three things: what it needed, what was there, and the offset
in its source. It raises an error with these. Only the code that finishes a tree catches it, turns it into a Finding
and keeps everything read before. Any other exception that leaves a dissector is a defect and is reported as one, never
as a malformed message.
"""

from __future__ import annotations


class DecodeError(Exception):
    """The bytes are not what the layout says. `offset` counts in the source that was being read."""

    code = "malformed-body"

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(text)
        self.text = text
        self.offset = offset


class TruncatedField(DecodeError):
    """A field runs past the end of its source: `needed` and `available` in bytes."""

    def __init__(self, what: str, offset: int, needed: int, available: int) -> None:
        left = "none is left" if available == 0 else f"{available} {'is' if available == 1 else 'are'} left"
        super().__init__(f"{what} needs {needed} bytes at offset {offset}, {left}", offset)
        self.needed = needed
        self.available = available


class MalformedField(DecodeError):
    """A value that its type does not allow: a length below -1, a varint of six bytes, a null where none may be."""

    def __init__(self, what: str, offset: int, why: str) -> None:
        super().__init__(f"{what} at offset {offset} {why}", offset)


class TooLarge(DecodeError):
    """A count, a depth or a decompressed size beyond what we agree to build."""

    code = "limit-exceeded"

    def __init__(self, what: str, offset: int, why: str) -> None:
        super().__init__(f"{what} at offset {offset} {why}", offset)
