"""The state that outlives a run (layout, columns, earlier filters), and files for the user, such as copies and reports.

Theory. The state is for comfort, it is no configuration: nobody edits the file, and errors with it are ignored. Two
programs may run at the same time. So save() reads the file again and changes only the names that this run has set: the
last program wins a name, never the file. Earlier filters may be confidential, so all files are readable by the user
alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, overload

FOLDER, NAME = "wireanalyze", "tui.json"

ENTRIES, LONGEST_TEXT = 1000, 4096
"""The entries of a list or table that are kept, and the characters of the longest text."""

LARGEST_FILE = 1 << 20
"""The bytes of the file at most: save() drops the largest values, and a larger file is not read."""

LARGEST_NUMBER = 1 << 53
"""Absolute values of numbers are below that, so that every integer is exact as a float."""

SavedValue = bool | int | float | str | list[str] | dict[str, float]
_One = TypeVar("_One", bool, int, float, str)


def find_state_file(environment: Mapping[str, str]) -> Path:
    """Returns the path of the file by the XDG Base Directory Specification; ignores a relative XDG_STATE_HOME."""
    home = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return Path(home, FOLDER, NAME)


class SavedState:
    """Values by name.

    path: the file, which is read at the first access; None: values of this run only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, object] | None = None
        self._changed: dict[str, SavedValue] = {}

    @overload
    def get(self, name: str, default: _One) -> _One: ...
    @overload
    def get(self, name: str, default: list[str]) -> list[str]: ...
    @overload
    def get(self, name: str, default: dict[str, float]) -> dict[str, float]: ...
    def get(self, name: str, default: SavedValue) -> SavedValue:
        """Returns the value of a name, or the default if there is none of the default's type.

        Lists and tables are copies; entries of a wrong type are left out.
        """
        return convert_value(self._load().get(name), default)

    def set(self, name: str, value: SavedValue) -> None:
        """Sets a value. Lists and tables are cut after ENTRIES entries; a text longer than LONGEST_TEXT is ignored."""
        bounded, known = _limit_value(value), self._load()
        if bounded is not None and (type(known.get(name)), known.get(name)) != (type(bounded), bounded):
            self._changed[name] = known[name] = bounded

    def save(self) -> None:
        """Writes the changed values to the file, atomically; errors are ignored."""
        path, changed = self._path, self._changed
        if path is not None and changed:
            with suppress(OSError, ValueError, RecursionError):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write(path, _encode_state({**_read_state(path), **changed}))
                self._changed = {}

    def _load(self) -> dict[str, object]:
        if self._known is None:
            self._known = {} if self._path is None else _read_state(self._path)
        return self._known


def _read_state(path: Path) -> dict[str, object]:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _encode_state(things: dict[str, object]) -> bytes:
    """Encodes the values as JSON in ASCII, because a text may have half of a surrogate pair."""
    parts = {name: json.dumps(thing) for name, thing in things.items()}
    while parts and sum(len(json.dumps(name)) + len(part) + 4 for name, part in parts.items()) > LARGEST_FILE - 4:
        del parts[max(parts, key=lambda name: len(parts[name]))]
    return "{{{}}}\n".format(",\n".join(f"{json.dumps(name)}: {part}" for name, part in parts.items())).encode()


def _write(path: Path, data: bytes) -> None:
    """Writes under a temporary name first, so that the replacement is atomic."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        hidden.replace(path)
    except OSError:
        with suppress(OSError):
            hidden.unlink()
        raise


def convert_value(thing: object, default: SavedValue) -> SavedValue:
    """Converts a value to the default's type; returns the default if it does not fit."""
    match default, thing:
        case bool(), bool():
            return thing
        case int(), int() if _is_number(thing) and not isinstance(default, bool):
            return thing
        case float(), int() | float() if _is_number(thing):
            return float(thing)
        case str(), str():
            return thing
        case list(), list():
            return [one for one in thing if isinstance(one, str)]
        case dict(), dict():
            return {name: one for name, one in thing.items() if _is_number(one)}
    return default


def _is_number(thing: object) -> bool:
    return isinstance(thing, int | float) and not isinstance(thing, bool) and abs(thing) < LARGEST_NUMBER


def _limit_value(value: SavedValue) -> SavedValue | None:
    match value:
        case str():
            return value if len(value) <= LONGEST_TEXT else None
        case list():
            return [text for text in value if len(text) <= LONGEST_TEXT][:ENTRIES]
        case dict():
            return dict([(name, one) for name, one in value.items() if _is_number(one)][:ENTRIES])
    return value if isinstance(value, bool) or _is_number(value) else None


def locate_file(name: str) -> str:
    """Returns the path of a file beside the state file."""
    return str(find_state_file(os.environ).with_name(name))


def write_file(name: str, data: bytes) -> str | None:
    """Writes a file atomically, readable by the user alone; returns its path, or None if that fails."""
    path = locate_file(name)
    hidden = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)  # one that was left behind keeps its own
            file.write(data)
        os.replace(hidden, path)
    except OSError:
        with suppress(OSError):
            os.unlink(hidden)
        return None
    return path


def shorten_path(path: str) -> str:
    """Shortens a path for display: ~ for the home directory."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(f"{home}/") else path
