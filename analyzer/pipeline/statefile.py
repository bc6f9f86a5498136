"""What connections leave for the next batch, in files that are only ever written from begin to end.

Theory. A state is plain data (suspended.py) of a few classes of our own, pickled. Whoever reads it looks up no other
class, and dissectors are named, not pickled, so a file can neither run anything nor bring an old table along. A file
says which version of this layout it has; each state is compressed alone and found by its place, so that what has not
changed is copied as it is, and a batch needs the files of the batch before it and no older ones.
"""

from __future__ import annotations

import io
import os
import pickle
import uuid
from collections.abc import Iterable
from types import MethodType
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from analyzer.errors import UserError
from analyzer.pipeline.suspended import Suspended
from dissectors.api import Dissector

VERSION = 5
"""Of the layout of files and of all that is pickled in them: a change of a class that is counts it up."""

_NAME = "wireanalyze state"
_HEAD = f"{_NAME} {VERSION}\n".encode()
_SIZE = 8
"""Bytes of a state's length before it was compressed, in front of it."""

_MODULES = frozenset(
    f"analyzer.{name}"
    for name in (
        *(f"messages.{each}" for each in ("connection", "framing", "recognise", "decode_as", "index")),
        *("tcp.reassembly", "tcp.streams", "query.fields.held", "pipeline.suspended"),
    )
)
_COLLECTIONS = frozenset(("Counter", "OrderedDict", "deque"))


class Place(NamedTuple):
    """Where a state lies: `length` bytes of a file, as it was written."""

    path: str
    position: int
    length: int


class Writer:
    """One task's file of batch `number` in `folder`; there is none without a state. To be closed."""

    def __init__(self, folder: str, number: int) -> None:
        self._folder = folder
        self.name = f"state-{number:06}-{uuid.uuid4().hex}"
        self.path = os.path.join(folder, self.name)
        self._file: BinaryIO | None = None

    def add(self, state: Suspended) -> Place:
        """Writes a state; the place has the file's name in its folder."""
        buffer = io.BytesIO()
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(state)
        data = buffer.getbuffer()
        return self.copy(len(data).to_bytes(_SIZE) + pa.compress(data, codec="zstd", asbytes=True))

    def copy(self, raw: bytes) -> Place:
        """Writes what Reader.raw gave. Raises UserError where there is no room."""
        try:
            if self._file is None:
                os.makedirs(self._folder, exist_ok=True)
                self._file = open(self.path, "wb")  # noqa: SIM115 # closed by close()
                self._file.write(_HEAD)
            position = self._file.tell()
            self._file.write(raw)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return Place(self.name, position, len(raw))

    def flush(self) -> None:
        """Lets a Reader of this process see all. Raises UserError where there is no room."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def abandon(self) -> None:
        """Closes what nobody will read again."""
        if self._file is not None:
            self._file.close()

    def close(self) -> None:
        """Brings all to the disk."""
        if self._file is None:
            return
        try:
            with self._file as file:
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _cannot_write(self.path, error) from error


class Reader:
    """States of files by their places. `known`: the dissectors that they may name. To be closed."""

    def __init__(self, known: Iterable[Dissector]) -> None:
        self._known = {dissector.name: dissector for dissector in known}
        self._files: dict[str, int] = {}

    def raw(self, place: Place) -> bytes:
        """A state as it was written. Raises UserError for a file that is gone, not ours, or cut."""
        try:
            if place.path not in self._files:
                self._files[place.path] = os.open(place.path, os.O_RDONLY | os.O_CLOEXEC)
                _check(place.path, os.pread(self._files[place.path], len(_HEAD) + _SIZE, 0))
            found = os.pread(self._files[place.path], place.length, place.position)
        except OSError as error:
            raise UserError(
                f"cannot read the state {place.path}: {error.strerror}; start anew with another --state"
            ) from error
        if len(found) < place.length:
            raise _damaged(place.path)
        return found

    def state(self, place: Place) -> Suspended:
        """A state. Raises UserError, also for one that nobody of ours has written."""
        raw = self.raw(place)
        size = int.from_bytes(raw[:_SIZE])
        try:
            data = pa.decompress(raw[_SIZE:], decompressed_size=size, codec="zstd", asbytes=True)
            found = _Unpickler(data, self._known).load()
        except (pa.ArrowException, OSError, pickle.UnpicklingError, *_BROKEN) as error:
            raise _damaged(place.path) from error
        if not isinstance(found, Suspended):
            raise _damaged(place.path)
        return found

    def close(self) -> None:
        """Closes the files."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()


_BROKEN = (AttributeError, EOFError, ImportError, IndexError, KeyError, MemoryError, TypeError, ValueError)
"""What unpickling raises for bytes that are none of a pickle."""


class _Pickler(pickle.Pickler):
    """Names dissectors and their methods."""

    def persistent_id(self, obj: object) -> tuple[str, str] | None:
        """See pickle.Pickler.persistent_id."""
        if isinstance(obj, Dissector):
            return obj.name, ""
        if isinstance(obj, MethodType) and isinstance(obj.__self__, Dissector):
            return obj.__self__.name, obj.__name__
        return None


class _Unpickler(pickle.Unpickler):
    """Knows the classes of a connection's state, and those that dissectors are made of."""

    def __init__(self, data: bytes, known: dict[str, Dissector]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = known
        self._packages = {type(each).__module__.partition(".")[0] for each in known.values()} | {"dissectors"}

    def persistent_load(self, pid: tuple[str, str]) -> object:
        """See pickle.Unpickler.persistent_load."""
        name, method = pid
        if name not in self._known:
            raise UserError(f"the state has connections of {name}, a protocol that is not installed here: install it")
        return getattr(self._known[name], method) if method else self._known[name]

    def find_class(self, module: str, name: str) -> type:
        """See pickle.Unpickler.find_class."""
        ours = module in _MODULES or module.partition(".")[0] in self._packages
        if ours or (module == "collections" and name in _COLLECTIONS):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")


def _check(path: str, head: bytes) -> None:
    if head.startswith(_HEAD):
        return
    said = head.partition(b"\n")[0].split()
    if b" ".join(said[:-1]).decode(errors="replace") != _NAME or not said[-1].isdigit():
        raise _damaged(path)
    raise UserError(
        f"the state {path} is of version {int(said[-1])} and this program reads version {VERSION}: go on with the"
        " program that wrote it, or start anew with another --state"
    )


def _damaged(path: str) -> UserError:
    return UserError(f"the state {path} is damaged: start anew with another --state")


def _cannot_write(path: str, error: OSError) -> UserError:
    return UserError(f"cannot write the state {path}: {error.strerror}; free some space there, or name another --state")
