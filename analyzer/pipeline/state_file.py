"""What connections leave for the next batch, in files that are only ever written from begin to end.

Theory. A state is plain data (checkpoint.py) of a few classes of our own, pickled. Whoever reads it looks up no other
class, and dissectors are named, not pickled, so a file can neither run anything nor bring an old table along. A file
says which version of this layout it has; each state is compressed alone and found by its place, so that what has not
changed is copied as it is, and a batch needs the files of the batch before it and no older ones.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import pyarrow as pa

from analyzer.errors import UserError
from analyzer.pipeline.arrow_columns import escape_surrogates
from analyzer.pipeline.checkpoint import FlowCheckpoint
from analyzer.pipeline.pointers import POINTER_SCHEMA
from analyzer.pipeline.sources import CaptureFile
from dissectors.api import Dissector

STATE_VERSION = 9
"""Of the layout of files and of all that is pickled in them: a change of a class that is counts it up."""

_NAME = "wireanalyze state"
_HEAD = f"{_NAME} {STATE_VERSION}\n".encode()
_SIZE = 8
"""Bytes of a state's length before it was compressed, in front of it."""

_MODULES = frozenset(
    f"analyzer.{name}"
    for name in (
        *(f"messages.{each}" for each in ("connection", "framing", "recognise", "decode_as", "index", "tls_layer")),
        *(f"tls.{each}" for each in ("certificates", "facts", "half_session", "handshake", "keys", "negotiation")),
        *(f"tls.{each}" for each in ("record_opener", "records", "session", "suites")),
        *("tcp.reassembly", "tcp.streams", "query.fields.session_values", "pipeline.checkpoint"),
    )
)
_CONTAINERS: Mapping[str, frozenset[str]] = {
    "collections": frozenset(("Counter", "OrderedDict", "deque")),
    "array": frozenset(("array", "_array_reconstructor")),
}


class StateLocation(NamedTuple):
    """Where a state lies: `length` bytes of a file, as it was written."""

    path: str
    position: int
    length: int


class StateWriter:
    """One task's file of batch `number` in `folder`; there is none without a state. To be closed.

    known: the dissectors whose functions states may name.
    """

    def __init__(self, folder: str, number: int, known: Iterable[Dissector] = ()) -> None:
        self._folder = folder
        self._functions = {function: name for each in known for function, name in _list_functions(each)}
        self.name = f"state-{number:06}-{uuid.uuid4().hex}"
        self.path = os.path.join(folder, self.name)
        self._file: BinaryIO | None = None

    def add(self, state: FlowCheckpoint) -> StateLocation:
        """Writes a state; the place has the file's name in its folder."""
        buffer = io.BytesIO()
        _Pickler(buffer, self._functions).dump(state)
        data = buffer.getbuffer()
        return self.copy(len(data).to_bytes(_SIZE) + pa.compress(data, codec="zstd", asbytes=True))

    def copy(self, raw: bytes) -> StateLocation:
        """Writes what Reader.raw gave. Raises UserError where there is no room."""
        try:
            if self._file is None:
                os.makedirs(self._folder, exist_ok=True)
                self._file = open(self.path, "wb")  # noqa: SIM115 # closed by close()
                self._file.write(_HEAD)
            position = self._file.tell()
            self._file.write(raw)
        except OSError as error:
            raise _make_write_error(self.path, error) from error
        return StateLocation(self.name, position, len(raw))

    def flush(self) -> None:
        """Lets a Reader of this process see all. Raises UserError where there is no room."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            raise _make_write_error(self.path, error) from error

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
            raise _make_write_error(self.path, error) from error


class StateReader:
    """States of files by their places. `known`: the dissectors that they may name. To be closed."""

    def __init__(self, known: Iterable[Dissector]) -> None:
        self._known = {dissector.name: dissector for dissector in known}
        self._files: dict[str, int] = {}

    def read_raw(self, place: StateLocation) -> bytes:
        """Reads a state without decoding it. Raises UserError if the file is missing, foreign or truncated."""
        try:
            if place.path not in self._files:
                self._files[place.path] = os.open(place.path, os.O_RDONLY | os.O_CLOEXEC)
                _check_head(place.path, os.pread(self._files[place.path], len(_HEAD) + _SIZE, 0))
            found = os.pread(self._files[place.path], place.length, place.position)
        except OSError as error:
            raise UserError(
                f"Cannot read the state {place.path}: {error.strerror}. Begin again with another --state."
            ) from error
        if len(found) < place.length:
            raise _make_damage_error(place.path)
        return found

    def read_state(self, place: StateLocation) -> FlowCheckpoint:
        """Reads and decodes a state. Raises UserError, also for one that another program wrote."""
        raw = self.read_raw(place)
        size = int.from_bytes(raw[:_SIZE])
        try:
            data = pa.decompress(raw[_SIZE:], decompressed_size=size, codec="zstd", asbytes=True)
            found = _Unpickler(data, self._known).load()
        except (pa.ArrowException, OSError, pickle.UnpicklingError, *_BROKEN) as error:
            raise _make_damage_error(place.path) from error
        if not isinstance(found, FlowCheckpoint):
            raise _make_damage_error(place.path)
        return found

    def close(self) -> None:
        """Closes the descriptors of all open state files."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()


_BROKEN = (AttributeError, EOFError, ImportError, IndexError, KeyError, MemoryError, TypeError, ValueError)
"""What unpickling raises for bytes that are none of a pickle."""


def _list_functions(dissector: Dissector) -> Iterator[tuple[object, tuple[str, str]]]:
    """The functions that a dissector has in the place of methods, and how a state names them."""
    for kind in type(dissector).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, staticmethod):
                yield getattr(dissector, name), (dissector.name, name)


class _Pickler(pickle.Pickler):
    """Names dissectors, their methods and their functions."""

    def __init__(self, buffer: BinaryIO, functions: Mapping[object, tuple[str, str]]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._functions = functions

    def persistent_id(self, obj: object) -> tuple[str, str] | None:
        """Returns how a state names a dissector, or a function or method of one; None for what is pickled."""
        if isinstance(obj, Dissector):
            return obj.name, ""
        if isinstance(obj, MethodType) and isinstance(obj.__self__, Dissector):
            return obj.__self__.name, obj.__name__
        return self._functions.get(obj) if isinstance(obj, FunctionType) else None


class _Unpickler(pickle.Unpickler):
    """Knows the classes of a connection's state, and those that dissectors are made of."""

    def __init__(self, data: bytes, known: dict[str, Dissector]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = known
        self._packages = {type(each).__module__.partition(".")[0] for each in known.values()} | {"dissectors"}

    def persistent_load(self, pid: tuple[str, str]) -> object:
        """Returns what a name stands for, as persistent_id() gave it. Raises UserError for an unknown protocol."""
        name, method = pid
        if name not in self._known:
            raise UserError(f"The state has connections of {name}, a protocol that is not installed here. Install it.")
        return getattr(self._known[name], method) if method else self._known[name]

    def find_class(self, module: str, name: str) -> type:
        """Returns a class that may be in a state. Raises UnpicklingError for any other."""
        ours = module in _MODULES or module.partition(".")[0] in self._packages
        if name in _CONTAINERS.get(module, ()):
            return super().find_class(module, name)  # type: ignore[no-any-return]
        if ours:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")


def _check_head(path: str, head: bytes) -> None:
    if head.startswith(_HEAD):
        return
    words = head.partition(b"\n")[0].split()
    if b" ".join(words[:-1]).decode(errors="replace") != _NAME or not words[-1].isdigit():
        raise _make_damage_error(path)
    raise UserError(
        f"The state {path} has version {int(words[-1])}, but this program reads version {STATE_VERSION}."
        " Use the program that wrote it, or begin again with another --state."
    )


def _make_damage_error(path: str) -> UserError:
    return UserError(f"The state {path} is damaged. Begin again with another --state.")


def _make_write_error(path: str, error: OSError) -> UserError:
    return UserError(
        f"Cannot write the state {path}: {error.strerror}. Free some space there, or give another --state."
    )


STATE = "state"
"""The table of these rows."""

STATE_SCHEMA = pa.schema(
    [
        ("connection", pa.binary()),
        ("capture", pa.string()),
        ("stream_id", pa.string()),
        ("begin_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("packets", pa.int64()),
        ("waiting", pa.int32()),
        ("uses", pa.int32()),
        ("lower", pa.bool_()),
        ("path", pa.string()),
        ("position", pa.int64()),
        ("length", pa.int64()),
    ]
)
"""stream_id, begin_ns, end_ns, packets: of the open stream. waiting: its requests without answer. uses: streams that
the connection has had. lower: its side a is the lower end. path: the name of a file in the state's folder.

Of a connection without open stream `stream_id` and all that speaks of one, path, position and length are null.
"""

BEFORE_ALL = int(np.iinfo(np.int64).min)
"""The place of such a row among pointers; its origin is negative."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """How a batch goes on with the one before. `folder`: where its tasks write their states, on a shared file system.

    number: of the batch, from 1. close: no more will come, so all connections end here. latest: by capture a time (ns)
    up to which its packets have been read, in this batch or before; what was silent for an hour by then has ended.
    """

    folder: str
    number: int
    close: bool = False
    latest: Mapping[str, int] = field(default_factory=dict)


class ConnectionState(NamedTuple):
    """A row of the state as it comes back, but for its connection; the path leads to the file."""

    capture: str
    stream_id: str | None
    begin_ns: int | None
    end_ns: int | None
    packets: int | None
    waiting: int | None
    uses: int
    lower: bool
    path: str | None
    position: int | None
    length: int | None

    @classmethod
    def from_packet(cls, packet: bytes) -> Self:
        """Decodes the column `packet`, as build_pointer_rows() writes it."""
        return cls(*json.loads(packet))

    @property
    def place(self) -> StateLocation | None:
        """Where the state of a connection lies in the file."""
        if self.path is None or self.position is None or self.length is None:
            return None
        return StateLocation(self.path, self.position, self.length)


def build_pointer_rows(states: pa.Table | pa.RecordBatch, folder: str, files: Sequence[CaptureFile]) -> pa.RecordBatch:
    """The rows of the batch before, to be put among the pointers of a batch that reads `files` (there may be none).

    folder: where the state's files lie now. Captures are known by name, for their numbers are those of one run.
    """
    rows = states.select(STATE_SCHEMA.names).to_pylist()
    numbers = _number_captures({row["capture"] for row in rows}, files)
    names, packets = [], []
    for row in rows:
        names.append(numbers[row["capture"]].to_bytes(4) + row.pop("connection")[4:])
        path = None if row["path"] is None else os.path.join(folder, row["path"])
        packets.append(json.dumps(ConnectionState(**{**row, "path": path})).encode())
    count = len(rows)
    places, origins = np.full(count, BEFORE_ALL), np.full(count, -1)
    columns = [pa.array(names, pa.binary()), places, origins, pa.array(packets, pa.binary())]
    return pa.record_batch(columns, schema=POINTER_SCHEMA)


def _number_captures(known: set[str], files: Sequence[CaptureFile]) -> Mapping[str, int]:
    """The numbers of captures by name: those of the files, behind them those that are known from states alone."""
    numbers: dict[str, int] = {escape_surrogates(file.capture_name): file.capture for file in files}
    for name in sorted(known - numbers.keys()):
        numbers[name] = max(numbers.values(), default=-1) + 1
    return numbers


def build_state_rows(rows: Iterable[tuple[bytes, ConnectionState]]) -> pa.RecordBatch:
    """Returns rows of the state, by connection."""
    columns: dict[str, list[Any]] = {name: [] for name in STATE_SCHEMA.names}
    for connection, left in rows:
        columns["connection"].append(connection)
        for name, value in left._asdict().items():
            columns[name].append(value)
    return pa.record_batch([pa.array(columns[each.name], each.type) for each in STATE_SCHEMA], schema=STATE_SCHEMA)
