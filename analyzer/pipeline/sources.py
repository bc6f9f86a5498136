"""What a run reads: files, folders, patterns and URIs, as captures.

Theory. The files of one folder are one capture: one timeline, in which connections go on from file to file. So a
capture is called by its folder, a file by its name in it, and neither depends on the order in which they were given;
a pattern on paths may say otherwise. A file that is named must be a capture; in a folder other things may lie, which
are passed over and told, and what looks like a capture and is none comes out when it is scanned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from analyzer.errors import CaptureError, UserError
from analyzer.pipeline.looking import CaptureFile, expanded, looked_at, path_of

__all__ = ["CaptureFile", "Named", "Sources", "find"]

LOOKERS = 32
"""Files that are looked at together: on a network mount each look is a wait."""


@dataclass(frozen=True, slots=True)
class Sources:
    """`files`: what is read, in order. `passed_over`: a sentence for each file of a folder that is not.

    remote: URIs that Spark has yet to list (remote.py). pattern: what names captures, if not their folders do.
    """

    files: tuple[CaptureFile, ...]
    passed_over: tuple[str, ...]
    remote: tuple[str, ...] = ()
    pattern: str | None = None


def find(sources: Iterable[str], pattern: str | None = None, *, needed: bool = True) -> Sources:
    """The captures that files, folders and patterns name.

    pattern: a regular expression; what its first group, or else all of it, finds in a path names the file's capture,
    and the whole path names the file. Raises UserError where a file can't be opened, or none is there but one is
    needed.
    """
    named, passed_over, remote = Named(pattern), list[str](), list[str]()
    local = list[tuple[str, bool]]()
    for source in sources:
        path = path_of(source)
        if path is None:
            remote.append(source)
        else:
            local += expanded(path)
    with ThreadPoolExecutor(LOOKERS) as pool:
        for file, problem in pool.map(looked_at, local):
            if problem is None:
                problem = named.add(file)
            if problem is None:
                continue
            # What has gone since its folder was listed belongs to a ring that turns on.
            reason = problem.__cause__
            if not file.found or (isinstance(reason, OSError) and not isinstance(reason, FileNotFoundError)):
                raise problem
            passed_over.append(f"{problem}; it was passed over")
    files = named.numbered()
    if needed and not files and not remote:
        raise UserError("no capture was found: name pcap or pcapng files, or folders with them")
    return Sources(files, tuple(passed_over), tuple(remote), pattern)


class Named:
    """Files by capture, each once, by whatever name it was given."""

    def __init__(self, pattern: str | None) -> None:
        try:
            self._pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise UserError(f"{pattern!r} is no regular expression: {error}") from error
        self._captures: dict[str, dict[str, CaptureFile]] = {}
        self._real: dict[str, str] = {}

    def add(self, file: CaptureFile) -> CaptureError | None:
        """Takes a file whose path is whole; says why it belongs to no capture."""
        folder, name = os.path.split(file.path)
        capture = folder
        if self._pattern is not None:
            match = self._pattern.search(file.path)
            if match is None:
                return CaptureError(f"{file.path} does not match {self._pattern.pattern}, so it belongs to no capture")
            capture, name = next(iter(match.groups()), None) or match[0], file.path
        files = self._captures.setdefault(capture, {})
        real, mine = self._known_as(file), replace(file, capture_name=capture, name=name)
        # A link (`latest.pcap`) may lead elsewhere tomorrow: what a ring's state remembers is a file by its own name.
        if real not in files or file.path == real:
            files[real] = mine
        return None

    def _known_as(self, file: CaptureFile) -> str:
        """What a file is called without links."""
        if file.remote:
            return file.path
        if os.path.islink(file.path):
            return os.path.realpath(file.path)
        folder, name = os.path.split(file.path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return os.path.join(self._real[folder], name)

    def numbered(self) -> tuple[CaptureFile, ...]:
        """All of them, captures by name and their files in natural order."""
        return tuple(
            replace(file, capture=capture)
            for capture, (_, files) in enumerate(sorted(self._captures.items()))
            for file in sorted(files.values(), key=lambda file: (_natural(file.path), file.path))
        )


def _natural(path: str) -> list[tuple[str, int, str]]:
    """`ring.pcap9` before `ring.pcap10`: where packets have the same time, the first file's come first."""
    parts = re.findall(r"(\D*)([0-9]*)", os.path.basename(path))
    return [(text, int(number or -1), number) for text, number in parts]
