"""What lies under a name: paths out of folders, patterns and URIs, and a first look at each file.

Theory. Heaps have many files, so of those found in folders only the first bytes are looked at: they tell captures from
other things, and what is known of a file now (size, time of change) tells later whether it is still the same.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from analyzer.capture.feed import LONGEST_MAGIC, recognise_compression
from analyzer.capture.packets import PacketReader
from analyzer.capture.pcap import LAYOUTS
from analyzer.capture.pcapng_format import BYTE_ORDERS, MAGIC, SHORTEST_SECTION
from analyzer.errors import CaptureError, UserError
from analyzer.pipeline.commit import LOCK
from analyzer.pipeline.ledger import NAME, OPEN
from analyzer.pipeline.tables import EVERY

LARGEST_REMOTE = (1 << 31) - 1
"""Bytes of a file whose content Spark gives."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file. `capture` counts captures from 0; files of a capture follow one another.

    capture_name, name: as the columns `capture` and `file` have them. size, changed: bytes, and when it was written to
    last (ns), when it was found. plain: neither compressed nor remote. remote: `path` is a URI that only Spark reads.
    found: in a folder, nobody named it.
    """

    path: str
    capture: int
    capture_name: str
    name: str
    size: int
    changed: int
    plain: bool = True
    remote: bool = False
    found: bool = False

    @property
    def too_large(self) -> bool:
        """Whether it is remote and Spark can't give its content."""
        return self.remote and self.size > LARGEST_REMOTE


def path_of(source: str) -> str | None:
    """The path that a source is; None for a URI that only Spark can read."""
    if not _URI.match(source) or os.path.lexists(source):
        return source
    parts = urlsplit(source)
    return unquote(parts.path) if parts.scheme.lower() == "file" and parts.netloc in ("", "localhost") else None


def expanded(source: str) -> Iterator[tuple[str, bool]]:
    """Paths, and whether they were found in a folder rather than named. Raises UserError."""
    if os.path.isdir(source):
        for folder, folders, names in os.walk(source, onerror=_unread):
            if LOCK in names:
                _leave_ours(folders, names)
            folders[:] = [name for name in folders if name[0] not in "._"]
            yield from ((os.path.join(folder, name), True) for name in names if name[0] not in "._")
    elif not os.path.lexists(source) and glob.has_magic(source):
        paths = glob.glob(source, recursive=True)
        if not paths:
            raise UserError(f"{source} matches no file: check the pattern")
        for path in paths:
            yield from [(path, False)] if not os.path.isdir(path) else expanded(path)
    else:
        yield source, False


def _leave_ours(folders: list[str], names: list[str]) -> None:
    """Takes away what runs have written into a folder: tables and states may lie among captures."""
    state = NAME in names
    folders[:] = [name for name in folders if name not in EVERY and not (state and name.startswith(OPEN))]
    names[:] = [name for name in names if name != NAME]


def _unread(error: OSError) -> None:
    """A folder that has gone since it was listed belongs to a ring that turns on; others have files nobody sees."""
    if not isinstance(error, FileNotFoundError):
        raise UserError(f"cannot look into {error.filename}: {error.strerror or error}") from error


def looked_at(one: tuple[str, bool]) -> tuple[CaptureFile, CaptureError | None]:
    """A file without its capture, and why it can't be read, as far as its first bytes tell."""
    path, found = one
    file = CaptureFile(os.path.abspath(path), -1, "", "", 0, 0, found=found)
    try:
        status = os.stat(path)
        file = replace(file, size=status.st_size, changed=status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode):
            why = f"{path} is no file: save what comes through it as a capture first, for it is read twice"
            return file, CaptureError(why)
        with open(path, "rb", buffering=0) as opened:
            head = opened.read(max(LONGEST_MAGIC, 12))
    except (OSError, ValueError):
        head = b""
    compressed = recognise_compression(head) is not None
    likely = compressed or head[:4] in LAYOUTS or head[:4] == MAGIC
    sure = head[:4] in LAYOUTS or head[8:12] in BYTE_ORDERS
    sure &= likely and not compressed and file.size >= SHORTEST_SECTION
    # Opening it as it will be says what is wrong, at ten times the cost.
    return replace(file, plain=not compressed), None if sure or (likely and found) else _problem(path)


def _problem(path: str) -> CaptureError | None:
    """Why a file can't be read. It is opened as it will be, but not read."""
    try:
        with PacketReader([path]):
            return None
    except CaptureError as error:
        return error
