"""A frame, to nodes: its head, and behind it log, epochs, or a slave's address."""

from __future__ import annotations

from dissectors.errors import Truncated
from dissectors.field import FieldSpec
from dissectors.rocketmq.ha.forms import EPOCH, HANDSHAKE, HAFrame
from dissectors.rocketmq.ha.log import read_log
from dissectors.wire import INT32, INT64, leaves, read_leaves
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, element

_EPOCHS = Many("epochs", "array")
_ENTRY = leaves({"epoch": INT32, "startOffset": INT64})
_ADDRESS = FieldSpec("address", "string")


def read_frame(reader: Reader, found: HAFrame, from_slave: bool) -> None:
    """Reads a frame that begins at the reader's place, as far as it was captured. Raises a DecodeError."""
    begin = reader.at
    read_leaves(reader, found.form.head)
    stop = begin + found.size
    if found.form.operation == HANDSHAKE:
        reader.need(found.data, reader.at, "data")
        if from_slave and found.data:
            reader.leaf(_ADDRESS, reader.data[reader.at : stop].decode("utf-8", "replace"), stop)
        elif not from_slave:
            _read_epochs(reader, found.data // EPOCH.size)
        return
    if not found.data:
        return
    there = min(stop, reader.end)
    before, reader.end = reader.end, there
    read_log(reader, found.offset)
    reader.end = before
    if there < stop:
        raise Truncated(reader.path("data"), reader.at, stop - there, 0)


def _read_epochs(reader: Reader, count: int) -> None:
    reader.enter(_EPOCHS)
    for index in range(count):
        reader.enter(element(index, "struct"))
        read_leaves(reader, _ENTRY)
        reader.leave()
    reader.leave()
