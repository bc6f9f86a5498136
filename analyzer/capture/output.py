"""Writes new files and folders, which appear complete or not at all.

Theory. Bytes go to a hidden name in the folder of the result, so that one rename publishes it. An interrupted result
gets no name; after a kill the hidden name remains at worst. Without `force` nothing is replaced, not even a file that
appeared meanwhile: a file gets its name by a hard link, which fails if the name exists.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from analyzer.errors import UserError

STANDARD = "-"
INDEX = "index.ndjson"
"""The file that marks a folder as written by an export."""

BUFFER = 1 << 20
COPIED = 64 << 20
"""Bytes that are copied in one call."""


class Output:
    """Writes bytes to a file. Raises UserError if that fails; a reader that went away remains an OSError.

    tick: called before each write; an exception from it ends the writing.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self.tick: Callable[[], None] = lambda: None

    def write(self, data: bytes) -> None:
        """Writes all bytes of `data` to the file. Raises UserError or BrokenPipeError."""
        self.writelines((data,))

    def writelines(self, parts: Iterable[bytes | memoryview]) -> None:
        """Writes all parts, one after the other."""
        write = self._file.write
        self.tick()
        for part in parts:
            try:
                write(part)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise make_write_error(self._name, error) from error

    def flush(self) -> None:
        """Writes buffered bytes to the file. Raises UserError or BrokenPipeError."""
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise make_write_error(self._name, error) from error

    def copy(self, descriptor: int, size: int) -> None:
        """Copies the first `size` bytes of a file, or fewer if it is shorter; the kernel copies them where it can."""
        try:
            self._file.flush()
            done, there = 0, 1
            while done < size and there:
                self.tick()
                there = _copy_part(descriptor, self._file.fileno(), done, min(size - done, COPIED))
                done += there
        except BrokenPipeError:
            raise
        except OSError as error:
            raise make_write_error(self._name, error) from error

    def finish(self) -> None:
        """Writes what is buffered, and syncs a file to the disk."""
        self.flush()
        try:
            if self._name != STANDARD:
                _sync_file(self._file.fileno())
        except BrokenPipeError:
            raise
        except OSError as error:
            raise make_write_error(self._name, error) from error


def _copy_part(source: int, target: int, begin: int, size: int) -> int:
    """Copies bytes of a file from `begin` on to the current position of another; returns how many."""
    if sys.platform == "linux":
        with suppress(OSError):  # other file systems and pipes take the copy below
            return os.copy_file_range(source, target, size, begin)
    data = os.pread(source, min(size, BUFFER), begin)
    return os.write(target, data) if data else 0


def make_write_error(path: str, error: OSError) -> UserError:
    """Returns the UserError for a failed write."""
    return UserError(f"Cannot write {path}: {error.strerror or error}. Nothing was changed there.")


def check_file(path: str, *, force: bool) -> None:
    """Raises UserError if a file of this name could not be written, as far as that can be known in advance."""
    if path == STANDARD or _is_channel(path):
        return
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give a file.")
    _check(path, force=force)


def check_folder(path: str, *, force: bool) -> None:
    """Raises UserError if a folder of this name could not be written.

    With `force` an empty folder, or one that an export wrote, may be replaced; no other.
    """
    if path == STANDARD:
        raise UserError("This format is a folder of files. Give a folder with -o, not standard output.")
    if force and os.path.lexists(path) and not _is_ours(path):
        raise UserError(
            f"{path} is not replaced, because no export wrote it (it has no {INDEX}). Remove it, or give another name."
        )
    _check(path, force=force)


def _check(path: str, *, force: bool) -> None:
    if not path:
        raise UserError("The name of the output is empty. Give a file or a folder.")
    if os.path.lexists(path) and not force:
        raise UserError(f"{path} exists already. Give another name, or --force to replace it.")
    folder = _parent_folder(path)
    if not os.path.isdir(folder):
        raise UserError(f"Cannot write {path}: there is no folder {folder}. Create it, or give another one.")


def _is_ours(path: str) -> bool:
    return os.path.isdir(path) and (os.path.isfile(os.path.join(path, INDEX)) or not os.listdir(path))


def _is_channel(path: str) -> bool:
    """Returns whether the path is a pipe, a terminal or a device."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


@contextmanager
def create_file(path: str, *, force: bool = False) -> Iterator[Output]:
    """Opens a file that gets its name when the block is left without an exception; `-` is standard output.

    Raises UserError.
    """
    check_file(path, force=force)
    if path == STANDARD:
        sys.stdout.flush()
        output = Output(sys.stdout.buffer, STANDARD)
        yield output
        output.finish()
        return
    if _is_channel(path):
        with _open_for_writing(path, os.O_WRONLY) as file:
            output = Output(file, path)
            yield output
            output.finish()
        return
    target = os.path.realpath(path)  # a symbolic link stays, and its target is replaced
    hidden = _make_hidden_name(target)
    try:
        with _open_for_writing(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path) as file:
            output = Output(file, path)
            yield output
            output.finish()
        _give_name(hidden, target, path, force=force)
    except BaseException:
        with suppress(OSError):
            os.unlink(hidden)
        raise


@contextmanager
def _open_for_writing(path: str, flags: int, called: str | None = None) -> Iterator[BinaryIO]:
    try:
        file = os.fdopen(os.open(path, flags | os.O_CLOEXEC, 0o666), "wb", BUFFER)
    except OSError as error:
        raise make_write_error(called or path, error) from error
    try:
        yield file
    finally:
        with suppress(OSError):  # a finished file has no buffer left, and a failure was reported
            file.close()


def _give_name(hidden: str, target: str, path: str, *, force: bool) -> None:
    try:
        if force:
            os.rename(hidden, target)
        else:
            _link(hidden, target)
    except FileExistsError:
        raise UserError(
            f"Another program has created {path} meanwhile. Give another name, or --force to replace it."
        ) from None
    except OSError as error:
        raise make_write_error(path, error) from error
    _sync_folder(_parent_folder(target))


def _link(hidden: str, target: str) -> None:
    try:
        os.link(hidden, target)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links.
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(hidden, target)
    else:
        os.unlink(hidden)


@contextmanager
def create_folder(path: str, *, force: bool = False) -> Iterator[str]:
    """Creates a folder that gets its name when the block is left without an exception. Raises UserError."""
    check_folder(path, force=force)
    target = os.path.realpath(path)
    with create_scratch_folder(_parent_folder(target), path) as hidden:
        yield hidden
        publish_folder(hidden, target, force=force)


@contextmanager
def create_scratch_folder(folder: str, called: str) -> Iterator[str]:
    """Creates a hidden folder within a folder, and removes it at the end of the block.

    called: the path it stands for, for the UserError.
    """
    hidden = _make_hidden_name(os.path.join(folder, "any"))
    try:
        os.mkdir(hidden)
    except OSError as error:
        raise make_write_error(called, error) from error
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def publish_folder(hidden: str, target: str, *, force: bool) -> None:
    """Gives a finished folder its name, and replaces an existing one if `force` is set. Raises UserError."""
    _sync_folder(hidden)
    try:
        if force and os.path.lexists(target):
            old = _make_hidden_name(target)
            os.rename(target, old)
            try:
                os.rename(hidden, target)
            except OSError:
                os.rename(old, target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, "another program has created it meanwhile")
            os.rename(hidden, target)
    except OSError as error:
        raise make_write_error(target, error) from error
    _sync_folder(_parent_folder(target))


def _make_hidden_name(target: str) -> str:
    return os.path.join(_parent_folder(target), f".wireanalyze-{secrets.token_hex(6)}")


def _parent_folder(path: str) -> str:
    return os.path.dirname(path.rstrip("/")) or ("/" if path.startswith("/") else ".")


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # some file systems cannot sync folders
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_file(descriptor: int) -> None:
    """Syncs a regular file to the disk; pipes and terminals have none."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fsync(descriptor)
