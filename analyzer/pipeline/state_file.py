"""What connections leave for the next batch: rows of a Parquet file, each with the checkpoint of a connection.

Theory. A checkpoint is plain data (checkpoint.py) of a few classes of our own, pickled. Whoever reads it looks up no
other class, and dissectors are named, not pickled, so a file can neither run anything nor bring an old table along. A
file says which version of this layout it has. The row of a connection without new packets is written again as it is,
so a batch needs the files of the batch before it and no older ones.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.errors import UserError
from analyzer.pipeline.checkpoint import FlowCheckpoint
from analyzer.pipeline.ledger import make_read_error, make_state_error
from analyzer.pipeline.pointers import POINTER_SCHEMA
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.arrow_columns import escape_surrogates
from dissectors.api import Dissector

STATE_VERSION = 12
"""Of the columns and of all that is pickled in them: a change of a class that is counts it up."""

_VERSION_KEY = b"wireanalyze.state"
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


class StateCodec:
    """Checkpoints as bytes. known: the dissectors that they may name."""

    def __init__(self, known: Iterable[Dissector]) -> None:
        self._known = {dissector.name: dissector for dissector in known}
        self._functions = {function: name for each in self._known.values() for function, name in _list_functions(each)}

    def encode(self, state: FlowCheckpoint) -> bytes:
        """Returns the bytes of a checkpoint, compressed."""
        buffer = io.BytesIO()
        _Pickler(buffer, self._functions).dump(state)
        return zlib.compress(buffer.getbuffer(), 1)

    def decode(self, data: bytes) -> FlowCheckpoint:
        """Returns a checkpoint. Raises UserError for bytes that encode() of this version did not make."""
        try:
            found = _Unpickler(zlib.decompress(data), self._known).load()
            if isinstance(found, FlowCheckpoint):
                return found
        except (zlib.error, pickle.UnpicklingError, *_BROKEN):
            pass
        raise make_state_error("The state of a connection is damaged")


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


STATE = "state"
"""The table of these rows."""

STATE_SCHEMA = pa.schema(
    [
        *(("connection", pa.binary()), ("capture", pa.string()), ("end_ns", pa.int64()), ("uses", pa.int32())),
        *(("lower", pa.bool_()), ("data", pa.binary())),
    ],
    {_VERSION_KEY: str(STATE_VERSION).encode()},
)
"""uses: streams that the connection has had. lower: its side a is the lower end. end_ns: of the open stream. data: its
checkpoint. Both are null where no stream is open."""

BEFORE_ALL = int(np.iinfo(np.int64).min)
"""The place of such a row among pointers; its origin is negative."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """How a batch goes on with the one before. `folder`: where its tasks write their states, on a shared file system.

    close: no more will come, so all connections end here. latest: by capture a time (ns) up to which its packets have
    been read, in this batch or before; what was silent for an hour by then has ended.
    """

    folder: str
    close: bool = False
    latest: Mapping[str, int] = field(default_factory=dict)


class ConnectionState(NamedTuple):
    """A row of the state, but for its connection. today: it was left by an earlier part of the same batch."""

    capture: str
    end_ns: int | None
    uses: int
    lower: bool
    data: bytes | None
    today: bool = False

    @classmethod
    def from_pointer(cls, packet: bytes, payload: bytes) -> Self:
        """Decodes the columns `packet` and `payload`, as read_states() fills them."""
        capture, end_ns, uses, lower = json.loads(packet)
        return cls(capture, end_ns, uses, lower, payload or None)


def write_states(folder: str, name: str, rows: pa.Table) -> None:
    """Writes the rows of connections that go on (STATE_SCHEMA) into a new file of a folder. Raises UserError."""
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, exist_ok=True)
        pq.write_table(rows, path, use_dictionary=["capture"], row_group_size=ROW_GROUP)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error  # Arrow's own text has the path again
        raise UserError(
            f"Cannot write the state {path}: {why}. Free some space there, or give another --state."
        ) from error


ROW_GROUP = 1 << 8
"""States of connections that are in memory at a time when they are read."""


def read_states(path: str, captures: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file of write_states() as rows among pointers. Raises UserError.

    captures: their numbers by name, for connections begin with the number of a capture, which is that of one run.
    """
    try:
        with pq.ParquetFile(path) as file:
            _check_version(path, file.schema_arrow)
            for batch in file.iter_batches(ROW_GROUP):
                yield _build_pointers(batch, captures)
    except (pa.ArrowException, EOFError, OSError) as error:
        raise make_read_error(path, error) from error


def _build_pointers(batch: pa.RecordBatch, captures: Mapping[str, int]) -> pa.RecordBatch:
    rows, count = batch.select(["connection", *ConnectionState._fields[:5]]).to_pylist(), len(batch)
    names = [captures[row["capture"]].to_bytes(4) + row["connection"][4:] for row in rows]
    packets = [json.dumps([row[name] for name in ConnectionState._fields[:4]]).encode() for row in rows]
    payloads = [row["data"] or b"" for row in rows]
    columns = [names, np.full(count, BEFORE_ALL), np.full(count, -1), packets, payloads]
    return pa.record_batch(columns, schema=POINTER_SCHEMA)


def _check_version(path: str, schema: pa.Schema) -> None:
    version = (schema.metadata or {}).get(_VERSION_KEY, b"")
    if not version.isdigit():
        raise make_state_error(f"The state {path} is damaged")
    if int(version) != STATE_VERSION:
        raise make_state_error(
            f"The state {path} has version {int(version)}, but this program reads version {STATE_VERSION}"
        )


class OpenStates(NamedTuple):
    """What the batch before has left: files of write_states(), and the numbers of captures by name."""

    paths: Sequence[str]
    captures: Mapping[str, int]

    @classmethod
    def find(cls, folder: str, names: Iterable[str], captures: Iterable[str], files: Sequence[CaptureFile]) -> Self:
        """Returns the files of these names in a folder.

        captures: the names of those of which they may be. files: what is read next.
        """
        numbers: dict[str, int] = {escape_surrogates(file.capture_name): file.capture for file in files}
        for name in sorted(set(captures) - numbers.keys()):
            numbers[name] = max(numbers.values(), default=0) + 1
        return cls([os.path.join(folder, name) for name in names], numbers)

    def read_rows(self) -> Iterator[pa.RecordBatch]:
        """Yields all rows. Raises UserError."""
        return (batch for path in self.paths for batch in read_states(path, self.captures))


NO_STATES = OpenStates((), {})


def build_state_rows(rows: Iterable[tuple[bytes, ConnectionState]]) -> pa.RecordBatch:
    """Returns rows of the state, by connection."""
    columns: dict[str, list[Any]] = {name: [] for name in STATE_SCHEMA.names}
    for connection, left in rows:
        for name, value in {"connection": connection, **left._asdict()}.items():
            if name in columns:
                columns[name].append(value)
    return pa.record_batch([pa.array(columns[each.name], each.type) for each in STATE_SCHEMA], schema=STATE_SCHEMA)
