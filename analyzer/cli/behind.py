"""The word behind the files of `show FILE... NUMBER` and `follow FILE... STREAM`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from analyzer.errors import UserError


def split_last(
    command: str, what: str, files: Sequence[str], is_one: Callable[[str], bool]
) -> tuple[Sequence[str], str]:
    """The files, and the word behind them. Raises UserError where one of the two is missing.

    command: `show`. what: the word as help has it, NUMBER. is_one: whether a word may be one.
    """
    usage = f"wireanalyze {command} FILE {what}"
    if not files:
        raise UserError(f"no capture and no {what} were named: {usage}")
    *names, last = files
    if is_one(last) and (names or not os.path.exists(last)):
        if not names:
            raise UserError(f"no capture was named: wireanalyze {command} FILE {last}")
        return names, last
    if names and is_one(names[0]) and not os.path.exists(names[0]):
        raise UserError(f"{what} stands behind the files: wireanalyze {command} {' '.join((*files[1:], names[0]))}")
    if names and not os.path.exists(last):
        raise UserError(f"{last} is not a {what} as list prints it, and not a file: {usage}")
    raise UserError(f"no {what} was named: wireanalyze {command} {' '.join(files)} {what}, as list prints it")
