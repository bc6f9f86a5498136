"""Folders that a run makes for itself and takes away again, also those of runs that were killed.

Theory. Who makes such a folder holds a lock on a file in it, and a lock ends with its process, however that ends. So a
folder whose lock is free has no owner any more, and whoever comes next takes it away. A folder without such a file is
nobody's to take: it is being made, or was kept on purpose.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from analyzer.capture.output import make_write_error
from analyzer.errors import UserError

OWNER_FILE = "owner"
"""The file that is locked. It says on which machine: locks of others are not always known."""


@contextmanager
def create_owned_folder(prefix: str, parent: str | None = None) -> Iterator[Path]:
    """Yields a new folder whose name begins with `prefix`, ours while the block runs; it is not removed.

    parent: where; by default in the temporary folder. Folders there that have lost their owners are removed first.
    Raises UserError if there is none that can be written.
    """
    try:
        where = parent or tempfile.gettempdir()
        remove_abandoned(prefix, where)
        home = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    except OSError as error:
        if parent is not None:
            raise make_write_error(parent, error) from error
        raise UserError("No temporary folder can be written. Set TMPDIR to one.") from error
    descriptor = os.open(home / f"{OWNER_FILE}.new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, _encode_machine())
        os.rename(home / f"{OWNER_FILE}.new", home / OWNER_FILE)  # it has its name when it is locked, not before
        yield home
    finally:
        os.close(descriptor)


def remove_abandoned(prefix: str, parent: str) -> None:
    """Removes the folders in `parent` that create_owned_folder() made for processes of this user which are gone."""
    with suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(prefix):
                _remove_if_abandoned(os.path.join(parent, name))


def _remove_if_abandoned(home: str) -> None:
    with suppress(OSError):
        if os.lstat(home).st_uid != os.geteuid():
            return
        descriptor = os.open(os.path.join(home, OWNER_FILE), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.read(descriptor, 256) == _encode_machine():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(home, ignore_errors=True)
        finally:
            os.close(descriptor)


def _encode_machine() -> bytes:
    return os.fsencode(os.uname().nodename)
