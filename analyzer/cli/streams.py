"""One connection of captures, and one side of it, as users name them."""

from __future__ import annotations

from analyzer.decode.endpoints import name_stream
from analyzer.errors import UserError
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.session import Session

SIDES = {"client": FROM_CLIENT, "server": FROM_SERVER}


def is_stream(word: str) -> bool:
    """Whether a word may name a stream: a number, or an id with its two ends."""
    return word.isdecimal() or ">" in word


def find_stream(session: Session, wanted: str) -> int:
    """The number of a stream, given by it or by its id. Raises UserError if there is none."""
    count = len(session.engine.streams)
    if wanted.isdecimal():
        if len(wanted) <= len(str(count)) and int(wanted) < count:  # int() refuses thousands of digits
            return int(wanted)
    else:
        for stream in range(count):
            if name_stream(session, stream) == wanted:
                return stream
    known = f"the input has {count} streams, counted from 0" if count else "the input has no TCP streams"
    raise UserError(f"there is no stream {wanted}: {known}")
