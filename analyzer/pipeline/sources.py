"""What a run reads: files, folders and patterns, as captures.

Theory. The files of one folder are one capture: one timeline, in which connections go on from file to file. So a
capture is called by its folder, a file by its name in it, and neither depends on the order in which they were given.
A file that is named must be a capture; in a folder other things may lie, which are passed over and told.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analyzer.capture.errors import CaptureError
from analyzer.capture.packets import Packets
from analyzer.errors import UserError


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file. `capture` counts captures from 0; files of a capture follow one another."""

    path: str
    capture: int

    @property
    def name(self) -> str:
        """As the column `file` has it."""
        return os.path.basename(self.path)

    @property
    def folder(self) -> str:
        """As the column `capture` has it."""
        return os.path.dirname(self.path)


@dataclass(frozen=True, slots=True)
class Sources:
    """`files`: what is read, in order. `passed_over`: a sentence for each file of a folder that is not."""

    files: tuple[CaptureFile, ...]
    passed_over: tuple[str, ...]


def find(sources: Iterable[str]) -> Sources:
    """The captures that files, folders and patterns name. Raises UserError where a file can't be opened, or none is."""
    named, passed_over = _Named(), []
    for source in sources:
        for path, found in _expanded(source):
            problem = _problem(path)
            if problem is None:
                named.add(path)
            elif not found or isinstance(problem.__cause__, OSError):
                raise problem
            else:
                passed_over.append(f"{problem}; it was passed over")
    files = named.numbered()
    if not files:
        raise UserError("no capture was found: name pcap or pcapng files, or folders with them")
    return Sources(files, tuple(passed_over))


class _Named:
    """Files by folder, each once, by whatever name it was given."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, str]] = {}

    def add(self, path: str) -> None:
        path = os.path.abspath(path)
        self._folders.setdefault(os.path.dirname(path), {}).setdefault(os.path.realpath(path), path)

    def numbered(self) -> tuple[CaptureFile, ...]:
        return tuple(
            CaptureFile(path, capture)
            for capture, (_, files) in enumerate(sorted(self._folders.items()))
            for path in sorted(files.values(), key=_natural)
        )


def _natural(path: str) -> list[tuple[str, int, str]]:
    """`ring.pcap9` before `ring.pcap10`: where packets have the same time, the first file's come first."""
    parts = re.findall(r"(\D*)([0-9]*)", os.path.basename(path))
    return [(text, int(number or -1), number) for text, number in parts]


def _expanded(source: str) -> Iterator[tuple[str, bool]]:
    """Paths, and whether they were found in a folder rather than named."""
    if os.path.isdir(source):
        for folder, folders, names in os.walk(source):
            folders[:] = [name for name in folders if name[0] not in "._"]
            yield from ((os.path.join(folder, name), True) for name in names if name[0] not in "._")
    elif not os.path.lexists(source) and glob.has_magic(source):
        paths = glob.glob(source, recursive=True)
        if not paths:
            raise UserError(f"{source} matches no file: check the pattern")
        for path in paths:
            yield from [(path, False)] if not os.path.isdir(path) else _expanded(path)
    else:
        yield source, False


def _problem(path: str) -> CaptureError | None:
    """Why a file can't be read. It is opened as it will be, but not read."""
    if os.path.exists(path) and not os.path.isfile(path):
        return CaptureError(f"{path} is no file: save what comes through it as a capture first, for it is read twice")
    try:
        with Packets([path]):
            return None
    except CaptureError as error:
        return error
