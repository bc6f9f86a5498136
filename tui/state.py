"""Files that the user interface leaves for its user: what was copied, reports. They are his alone."""

from __future__ import annotations

import os
from contextlib import suppress

from tui.remembered import place


def file_path(name: str) -> str:
    """Where a file of this name stands."""
    return str(place(os.environ).with_name(name))


def put(name: str, data: bytes) -> str | None:
    """Writes a file, whole or not at all; its path, None where it cannot be written."""
    path = file_path(name)
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


def short(path: str) -> str:
    """A path for people: ~ for the user's own folder."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(f"{home}/") else path
