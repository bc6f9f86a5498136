"""Tables appear whole, and at once as far as that can be: how what a run has written takes its place.

Theory. Tasks write into a folder beside the tables whose name readers of Parquet pass over. When all is there, one step
decides: until then a run that is killed has done nothing, from then on whoever comes next brings to its end what it
began. For tables that are written once the step is to call that folder READY; for a batch of a ring capture it is to
write the ledger (ledger.py), which names the number of the batch. What follows is made of renames that may be done
again: what was moved is no longer where it is looked for. A lock keeps two runs apart, so what a dead one has left is
nobody's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from analyzer.capture.output import make_write_error
from analyzer.errors import UserError

STAGING, READY, BATCH, REMOVED, LOCK = "_staging-", "_ready", "_batch-", "_gone-", "_lock"
"""What is in a folder of tables besides them."""


PARTITION = "date="
"""How the names of the folders in a table begin."""


def is_table(path: str) -> bool:
    """Returns whether a folder has nothing but what tables have, and marks of programs that read or write them."""
    return os.path.isdir(path) and all(name.startswith((PARTITION, "_", ".")) for name in os.listdir(path))


def refuse_others(folder: str, there: Collection[str]) -> None:
    """Raises UserError if one of what is there under a table's name is none of ours."""
    for table in there:
        path = os.path.join(folder, table)
        if not is_table(path):
            raise UserError(f"{path} is not replaced, because it is not a table of this program. Give another folder.")


@contextmanager
def lock_folder(folder: str) -> Iterator[None]:
    """Locks the folder (made if needed) while the block runs. Raises UserError if another run has it."""
    if any("\udc80" <= letter <= "\udcff" for letter in folder):
        raise UserError(f"Parquet files need a folder whose name is UTF-8, and {folder} is not. Give another folder.")
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise make_write_error(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"Another run is writing to {folder}. Wait until it has ended.") from error
        yield
    finally:
        os.close(descriptor)


def create_staging_folder(folder: str) -> str:
    """Creates a new folder for the tables that a run writes."""
    path = os.path.join(folder, f"{STAGING}{uuid.uuid4().hex}")
    os.mkdir(path)
    return path


def replace_tables(folder: str, written: str, tables: Collection[str]) -> None:
    """Replaces all tables of the folder by those in `written`, a folder of staging()."""
    for table in tables:
        os.makedirs(os.path.join(written, table), exist_ok=True)
    ready = os.path.join(folder, READY)
    sync_tree(written)
    os.rename(written, ready)
    _publish_tables(folder, ready)


def prepare_batch(folder: str, written: str, number: int) -> None:
    """Makes a staging folder the output of batch `number`, which counts once the ledger lists the batch."""
    sync_tree(written)
    os.rename(written, os.path.join(folder, f"{BATCH}{number}"))
    _sync_folder(folder)


def recover_folder(folder: str, batches: int) -> None:
    """Brings to its end what was decided, and takes away what was not. batches: how many the ledger knows."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name == READY:
            _publish_tables(folder, path)
        elif name.startswith(BATCH) and name.removeprefix(BATCH).isdigit():
            if int(name.removeprefix(BATCH)) <= batches:
                _add_batch(folder, path)
            else:
                _discard(folder, path)
        elif name.startswith((STAGING, REMOVED)):
            _discard(folder, path)


def _discard(folder: str, path: str) -> None:
    """Takes away what nobody needs; tasks of a run that was killed may be writing there for a moment."""
    removed_path = os.path.join(folder, f"{REMOVED}{uuid.uuid4().hex}")
    os.rename(path, removed_path)
    shutil.rmtree(removed_path, ignore_errors=True)


def _publish_tables(folder: str, ready: str) -> None:
    for table in sorted(os.listdir(ready)):
        new, old = os.path.join(ready, table), os.path.join(folder, table)
        if os.path.lexists(old):
            os.rename(old, os.path.join(folder, f"{REMOVED}{uuid.uuid4().hex}"))
        if os.listdir(new):
            os.rename(new, old)
        else:
            os.rmdir(new)
    os.rmdir(ready)
    for name in os.listdir(folder):
        if name.startswith(REMOVED):
            _discard(folder, os.path.join(folder, name))


def _add_batch(folder: str, batch: str) -> None:
    """Files join those that are there; their names are those of no other batch."""
    for place, _, names in os.walk(batch):
        target = os.path.join(folder, os.path.relpath(place, batch))
        if names:
            os.makedirs(target, exist_ok=True)
        for name in names:
            os.rename(os.path.join(place, name), os.path.join(target, name))
    shutil.rmtree(batch)


def write_atomically(path: str, data: bytes) -> None:
    """Gives a file new content in one step, on the disk before it has its name."""
    new = f"{path}.new"
    with open(new, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    _sync_folder(os.path.dirname(path) or ".")


def sync_tree(folder: str) -> None:
    """Brings all files of a folder to the disk: what is decided there must not be without them. Raises OSError."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync_path(os.path.join(place, name))
        _sync_folder(place)


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every file system knows folders that are written to the disk
        _sync_path(folder)


def _sync_path(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
