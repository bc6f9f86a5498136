"""What a run reads: files, folders, patterns and URIs, as captures.

Theory. The files of one folder are one capture: one timeline, in which connections go on from file to file. So a
capture is called by its folder, a file by its name in it, and neither depends on the order in which they were given;
a pattern on paths may say otherwise. A file that is named must be a capture; in a folder other things may lie, which
are passed over and told, and what looks like a capture and is none comes out when it is scanned.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from analyzer.capture.feed import LONGEST_MAGIC, recognise_compression
from analyzer.capture.packets import PacketReader
from analyzer.capture.pcap import LAYOUTS
from analyzer.capture.pcapng_format import BYTE_ORDERS, MAGIC, SHORTEST_SECTION
from analyzer.errors import CaptureError, UserError
from analyzer.pipeline.commit import LOCK
from analyzer.pipeline.ledger import LEDGER_NAME, OPEN_PREFIX
from analyzer.tables.table_schemas import EVERY_TABLE

__all__ = ["CaptureFile", "CaptureGroups", "CaptureSources", "find_captures"]

INSPECTION_THREADS = 32
"""Files that are looked at together: on a network mount each look is a wait."""


@dataclass(frozen=True, slots=True)
class CaptureSources:
    """`files`: what is read, in order. `passed_over`: a sentence for each file of a folder that is not.

    remote: URIs that Spark has yet to list (spark_frames.py). pattern: what names captures, if not their folders do.
    """

    files: tuple[CaptureFile, ...]
    passed_over: tuple[str, ...]
    remote: tuple[str, ...] = ()
    pattern: str | None = None


def find_captures(sources: Iterable[str], pattern: str | None = None, *, needed: bool = True) -> CaptureSources:
    """Returns the captures that files, folders and patterns name.

    pattern: a regular expression; what its first group, or else all of it, finds in a path names the file's capture,
    and the whole path names the file. Raises UserError where a file can't be opened, or none is there but one is
    needed.
    """
    named, passed_over, remote = CaptureGroups(pattern), list[str](), list[str]()
    local = list[tuple[str, bool]]()
    for source in sources:
        path = get_local_path(source)
        if path is None:
            remote.append(source)
        else:
            local += list_paths(path)
    with ThreadPoolExecutor(INSPECTION_THREADS) as pool:
        for file, problem in pool.map(inspect_file, local):
            if problem is None:
                problem = named.add(file)
            if problem is None:
                continue
            # What has gone since its folder was listed belongs to a ring that turns on.
            reason = problem.__cause__
            if not file.found or (isinstance(reason, OSError) and not isinstance(reason, FileNotFoundError)):
                raise problem
            passed_over.append(f"{problem} The file was skipped.")
    files = named.list_files()
    if needed and not files and not remote:
        raise UserError("No capture was found. Give pcap or pcapng files, or folders with them.")
    return CaptureSources(files, tuple(passed_over), tuple(remote), pattern)


class CaptureGroups:
    """Groups files by capture. A file that was given by several names counts once."""

    def __init__(self, pattern: str | None) -> None:
        try:
            self._pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise UserError(f"{pattern!r} is not a regular expression: {error}.") from error
        self._captures: dict[str, dict[str, CaptureFile]] = {}
        self._real: dict[str, str] = {}

    def add(self, file: CaptureFile) -> CaptureError | None:
        """Takes a file whose path is whole; says why it belongs to no capture."""
        folder, name = os.path.split(file.path)
        capture = folder
        if self._pattern is not None:
            match = self._pattern.search(file.path)
            if match is None:
                return CaptureError(f"{file.path} does not match {self._pattern.pattern}, so it belongs to no capture.")
            capture, name = next(iter(match.groups()), None) or match[0], file.path
        files = self._captures.setdefault(capture, {})
        real, mine = self._resolve_links(file), replace(file, capture_name=capture, name=name)
        # A link (`latest.pcap`) may lead elsewhere tomorrow: what a ring's state remembers is a file by its own name.
        if real not in files or file.path == real:
            files[real] = mine
        return None

    def _resolve_links(self, file: CaptureFile) -> str:
        """What a file is called without links."""
        if file.remote:
            return file.path
        if os.path.islink(file.path):
            return os.path.realpath(file.path)
        folder, name = os.path.split(file.path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return os.path.join(self._real[folder], name)

    def list_files(self) -> tuple[CaptureFile, ...]:
        """Returns all files: captures by name, and their files in natural order."""
        return tuple(
            replace(file, capture=capture)
            for capture, (_, files) in enumerate(sorted(self._captures.items()), 1)
            for file in sorted(files.values(), key=lambda file: (_build_natural_key(file.path), file.path))
        )


def _build_natural_key(path: str) -> list[tuple[str, int, str]]:
    """`ring.pcap9` before `ring.pcap10`: where packets have the same time, the first file's come first."""
    parts = re.findall(r"(\D*)([0-9]*)", os.path.basename(path))
    return [(text, int(number or -1), number) for text, number in parts]


LARGEST_REMOTE = (1 << 31) - 1
"""Bytes of a file whose content Spark gives."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file. `capture` counts captures from 1; files of a capture follow one another.

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


def get_local_path(source: str) -> str | None:
    """Returns the path that a source is; None for a URI that only Spark can read."""
    if not _URI.match(source) or os.path.lexists(source):
        return source
    parts = urlsplit(source)
    return unquote(parts.path) if parts.scheme.lower() == "file" and parts.netloc in ("", "localhost") else None


def require_local_folder(folder: str, option: str) -> str:
    """Returns the path of a folder that `option` names. Raises UserError for a URI of another file system."""
    path = get_local_path(folder)
    if path is None or (path == folder and _URI.match(folder)):
        raise UserError(
            f"{option} {folder}: pipeline does not write to {urlsplit(folder).scheme}://. Give a folder of a "
            "mounted file system, or write with Spark: spark.read.format('wireanalyze') has the same rows."
        )
    return path


def list_paths(source: str) -> Iterator[tuple[str, bool]]:
    """Paths, and whether they were found in a folder rather than named. Raises UserError."""
    if os.path.isdir(source):
        for folder, folders, names in os.walk(source, onerror=_handle_walk_error):
            if LOCK in names:
                _skip_own_files(folders, names)
            folders[:] = [name for name in folders if name[0] not in "._"]
            yield from ((os.path.join(folder, name), True) for name in names if name[0] not in "._")
    elif not os.path.lexists(source) and glob.has_magic(source):
        paths = glob.glob(source, recursive=True)
        if not paths:
            raise UserError(f"{source} matches no file. Check the pattern.")
        for path in paths:
            yield from [(path, False)] if not os.path.isdir(path) else list_paths(path)
    else:
        yield source, False


def _skip_own_files(folders: list[str], names: list[str]) -> None:
    """Takes away what runs have written into a folder: tables and states may lie among captures."""
    state = LEDGER_NAME in names
    folders[:] = [name for name in folders if name not in EVERY_TABLE and not (state and name.startswith(OPEN_PREFIX))]
    names[:] = [name for name in names if name != LEDGER_NAME]


def _handle_walk_error(error: OSError) -> None:
    """A folder that has gone since it was listed belongs to a ring that turns on; others have files nobody sees."""
    if not isinstance(error, FileNotFoundError):
        raise UserError(f"Cannot list {error.filename}: {error.strerror or error}.") from error


def inspect_file(one: tuple[str, bool]) -> tuple[CaptureFile, CaptureError | None]:
    """Looks at the first bytes of a file; returns it without a capture, and why it cannot be read."""
    path, found = one
    file = CaptureFile(os.path.abspath(path), -1, "", "", 0, 0, found=found)
    try:
        status = os.stat(path)
        file = replace(file, size=status.st_size, changed=status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode):
            why = f"{path} is not a regular file. Save the capture to a file first, because it is read twice."
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
    return replace(file, plain=not compressed), None if sure or (likely and found) else _find_problem(path)


def _find_problem(path: str) -> CaptureError | None:
    """Why a file can't be read. It is opened as it will be, but not read."""
    try:
        with PacketReader([path]):
            return None
    except CaptureError as error:
        return error
