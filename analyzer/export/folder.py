"""Writes a folder of files with readable names, and an index.

Theory. File names are for people and must be safe, so they may be cut or numbered. A line of the index says which row
and field a file came from. Millions of records may have a file each, so the number of files is bounded.

A name in a capture may contain anything. A file name keeps ASCII letters, digits, dot, dash and underscore; all other
characters become an underscore. So no name is a path, is hidden, moves a terminal's cursor or stands for a device. A
name that was used before gets a number, also if only upper and lower case differ, because some file systems ignore
case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from analyzer.capture.output import INDEX, create_folder, make_write_error
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.errors import UserError

LONGEST = 120
"""Characters before the suffix; file systems allow 255 bytes."""

_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_name(text: str) -> str:
    """Makes a file name that resembles `text`: never empty, never with a dot or dash in front."""
    name = _OTHER.sub("_", text[: LONGEST * 4])[:LONGEST].rstrip(".")
    if not name or name[0] in ".-" or _DEVICES.fullmatch(name):
        name = f"_{name[: LONGEST - 1]}"
    return name


class FileNames:
    """Returns unique names in one folder, before their suffixes."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def new(self, text: str) -> str:
        """Returns `safe_name(text)`; a name that was used before gets a number, as `name~2`."""
        stem = safe_name(text)
        key = stem.casefold()
        count = self._used[key] = self._used.get(key, 0) + 1
        # Safe names have no tilde, so numbered names are unique.
        return stem if count == 1 else f"{stem}~{count}"


MOST_FILES = 100_000


class Folder:
    """Adds files one by one; `count` files with `bytes` bytes so far. most: None for no bound."""

    def __init__(self, path: str, called: str, index: BinaryIO, most: int | None) -> None:
        self.count = self.bytes = 0
        self._path, self._called, self._index, self._most = path, called, index, most
        self._names = FileNames()
        self._last: tuple[str, Hashable] | None = None
        self._stem = ""
        self._writer = JsonWriter(Limits(None, None))

    def add(self, text: str, suffix: str, data: bytes, about: Mapping[str, Any], group: Hashable = None) -> None:
        """Adds a file with `data`; its name resembles `text`. Raises UserError.

        group: consecutive files with the same text and group have the same name and differ by suffix.
        """
        if self.count == self._most:
            raise UserError(
                f"The export would write more than {self._most:,} files. Select fewer messages with -Y,"
                " or remove the limit with --max-files all."
            )
        if group is None or self._last != (text, group):
            self._last, self._stem = (text, group), self._names.new(text)
        name = f"{self._stem}.{safe_name(suffix)}"
        try:
            with open(os.path.join(self._path, name), "xb", 0) as file:
                file.write(data)
            self._index.write(self._writer.format_line({"file": name, "length": len(data), **about}))
        except OSError as error:
            raise make_write_error(self._called, error) from error
        self.count += 1
        self.bytes += len(data)


@contextmanager
def create_filled_folder(path: str, *, force: bool = False, most: int | None = MOST_FILES) -> Iterator[Folder]:
    """Creates a folder with an index; the folder gets its name at the end of the block. Raises UserError."""
    with create_folder(path, force=force) as hidden:
        try:
            index = open(os.path.join(hidden, INDEX), "xb")  # noqa: SIM115
        except OSError as error:
            raise make_write_error(path, error) from error
        try:
            yield Folder(hidden, path, index, most)
            index.flush()
            os.fsync(index.fileno())
        except OSError as error:
            raise make_write_error(path, error) from error
        finally:
            index.close()
