"""Why a word of a command line names no file, and what was meant by it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from analyzer.errors import UserError

MOST_NAMES = 10_000
"""Files of a folder among which a misspelt one is looked for."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_OF_SCHEMES = {
    "file": "name the path behind file://",
    **dict.fromkeys(("s3", "s3a", "gs", "hdfs", "abfs"), "wireanalyze pipeline reads it, or download it first"),
}
_DASHES = "\u2013\u2014\u2212"
_IN_FILTERS = frozenset({"==", "!=", "=", "&&", "||", "and", "or", "not", "contains", "matches", "in", "eq", "ne", "~"})


def check_names(files: Sequence[str]) -> None:
    """Raises UserError for the first name under which there is nothing; - is standard input."""
    for name in files:
        if name != "-" and not os.path.lexists(name):
            raise UserError(_why_missing(name, files))


def _why_missing(name: str, files: Sequence[str]) -> str:
    if not name:
        return "the name of a file is empty: check whether a variable of the shell is set"
    if name[0] in _DASHES:
        return f"{name} begins with a long dash, as word processors write it: type -{name.lstrip(_DASHES)}"
    if url := _URL.match(name):
        remedy = _OF_SCHEMES.get(url[1].lower(), "download it first")
        return f"cannot open {name}: it is a URL, and this command reads files: {remedy}"
    if any(each in _IN_FILTERS and not os.path.lexists(each) for each in files):
        return f"cannot open {name}: a filter of several words stands in quotes, such as -Y 'operation == Fetch'"
    if any(each in name for each in "*?["):
        return f"no file matches {name}: check the folder and the pattern"
    if name.isdecimal():
        return (
            f"there is no file {name}: a number of messages stands behind an option, such as -c {name},"
            f" and wireanalyze show FILE {name} prints message {name}"
        )
    return f"cannot open {name}: No such file or directory{_alike(name)}"


def _alike(name: str) -> str:
    from difflib import get_close_matches  # only a slip of the pen pays for it

    folder, base = os.path.split(name)
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [entry.name for _, entry in zip(range(MOST_NAMES), entries, strict=False)]
    except OSError:
        return f"; there is no folder {folder}" if folder else "; check the name"
    near = get_close_matches(base, names, 1, 0.8)
    return f"; did you mean {os.path.join(folder, near[0])}?" if near else "; check the name"
