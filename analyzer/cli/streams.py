"""Finds one connection and one side of it by the user's argument; splits the last argument from the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from analyzer.decode.endpoints import name_stream
from analyzer.errors import UserError
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.session import Session

SIDES = {"client": FROM_CLIENT, "server": FROM_SERVER}


def is_stream(word: str) -> bool:
    """Returns whether a word may name a stream: a number, or an id with two endpoints."""
    return word.isdecimal() or ">" in word


def find_stream(session: Session, wanted: str) -> int:
    """Returns the number of a stream, from its number or id. Raises UserError if there is none."""
    count = len(session.engine.streams)
    if wanted.isdecimal():
        if len(wanted) <= len(str(count)) and int(wanted) < count:  # int() rejects thousands of digits
            return int(wanted)
    else:
        for stream in range(count):
            if name_stream(session, stream) == wanted:
                return stream
    known = f"The input has {count} streams, counted from 0." if count else "The input has no TCP streams."
    raise UserError(f"There is no stream {wanted}. {known}")


def split_last(
    command: str, what: str, files: Sequence[str], is_one: Callable[[str], bool]
) -> tuple[Sequence[str], str]:
    """Returns the files, and the word after them. Raises UserError if one of them is missing.

    command: such as `show`. what: the name of the word in the help, such as NUMBER. is_one: whether a word may be one.
    """
    usage = f"wireanalyze {command} FILE {what}"
    if not files:
        raise UserError(f"No capture and no {what} were given. Use {usage}.")
    *names, last = files
    if is_one(last) and (names or not os.path.exists(last)):
        if not names:
            raise UserError(f"No capture was given. Use wireanalyze {command} FILE {last}.")
        return names, last
    if names and is_one(names[0]) and not os.path.exists(names[0]):
        raise UserError(f"{what} comes after the files. Use wireanalyze {command} {' '.join((*files[1:], names[0]))}.")
    if names and not os.path.exists(last):
        raise UserError(f"{last} is neither a {what} that list prints nor a file. Use {usage}.")
    raise UserError(f"No {what} was given. Use wireanalyze {command} {' '.join(files)} {what}; list prints the {what}.")
