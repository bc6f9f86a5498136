"""Explains why an argument is no file, and suggests what the user meant."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from analyzer.errors import UserError

MOST_NAMES = 10_000
"""Number of files in a folder that are searched for a misspelt name."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_OF_SCHEMES = {
    "file": "Give the path after file://.",
    **dict.fromkeys(("s3", "s3a", "gs", "hdfs", "abfs"), "Use wireanalyze pipeline, or download it first."),
}
_DASHES = "\u2013\u2014\u2212"
_IN_FILTERS = frozenset({"==", "!=", "=", "&&", "||", "and", "or", "not", "contains", "matches", "in", "eq", "ne", "~"})


def check_names(files: Sequence[str]) -> None:
    """Raises UserError for the first file that does not exist; - is standard input."""
    for name in files:
        if name != "-" and not os.path.lexists(name):
            raise UserError(_why_missing(name, files))


def _why_missing(name: str, files: Sequence[str]) -> str:
    if not name:
        return "The name of a file is empty. Check that the shell variable is set."
    if name[0] in _DASHES:
        return f"{name} begins with a long dash, as word processors write it. Type -{name.lstrip(_DASHES)} instead."
    if url := _URL.match(name):
        remedy = _OF_SCHEMES.get(url[1].lower(), "Download it first.")
        return f"Cannot open {name}: this command reads files, not URLs. {remedy}"
    if any(each in _IN_FILTERS and not os.path.lexists(each) for each in files):
        return f"Cannot open {name}. If it belongs to a filter, put the filter in quotes: -Y 'operation == Fetch'."
    if any(each in name for each in "*?["):
        return f"No file matches {name}. Check the folder and the pattern."
    if name.isdecimal():
        return (
            f"There is no file {name}. To stop after {name} messages, give -c {name};"
            f" to print message {name}, use wireanalyze show FILE {name}."
        )
    return f"Cannot open {name}: No such file or directory. {_alike(name)}"


def _alike(name: str) -> str:
    from difflib import get_close_matches  # only needed for a misspelt name

    folder, base = os.path.split(name)
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [entry.name for _, entry in zip(range(MOST_NAMES), entries, strict=False)]
    except OSError:
        return f"There is no folder {folder}." if folder else "Check the name."
    near = get_close_matches(base, names, 1, 0.8)
    return f"Did you mean {os.path.join(folder, near[0])}?" if near else "Check the name."
