"""Completes paths of files, for the line that asks for a capture."""

from __future__ import annotations

import glob
import os
from itertools import islice
from typing import NamedTuple

from analyzer.errors import UserError

MOST_NAMES = 500
"""Names of a folder that are examined."""


class PathCompletion(NamedTuple):
    """A text with as much added as is certain, and the names that it may become."""

    text: str
    names: list[str]


def complete_path(text: str) -> PathCompletion:
    """Completes a path by the names in its folder, hidden ones only if they were begun; folders end in a slash."""
    folder, begun = os.path.split(os.path.expanduser(text))
    try:
        with os.scandir(folder or ".") as entries:
            names = [
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in islice(entries, MOST_NAMES)
                if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
            ]
    except (OSError, ValueError):
        return PathCompletion(text, [])
    names.sort()
    common = os.path.commonprefix(names)  # noqa: RUF071 # characters are compared, and there is one part of a path
    base = text[: len(text) - len(begun)] if begun and text.endswith(begun) else text
    return PathCompletion(f"{base}{common}" if common else text, names)


def list_files(text: str) -> list[str]:
    """Returns the absolute paths that a text means; `*`, `?` and `[...]` match names. Raises UserError for none."""
    path = os.path.expanduser(text.strip())
    if not path:
        raise UserError("give the name of a file: Tab completes it, Up and Down bring recent ones")
    found = [path] if os.path.exists(path) else sorted(glob.glob(path))
    if not found:
        raise UserError(f"there is no file {path}")
    if any(os.path.isdir(each) for each in found):
        raise UserError(f"{path} is a folder: Tab completes names in it")
    if not all(map(os.path.isfile, found)):
        raise UserError(f"{path} is no regular file: a pipe or device would keep the program waiting")
    return [os.path.abspath(each) for each in found]
