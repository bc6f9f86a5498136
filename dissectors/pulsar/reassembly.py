"""A message that was too large for one frame, put together again from its chunks.

Facts (PIP-37; ProducerImpl and ConsumerImpl of the Java client). The producer compresses the message, cuts it, and
sends each chunk as a SEND of its own, all with one sequence id and one uuid, which consists of the producer's name and
the sequence id. The broker stores and delivers them as messages. num_chunks_from_msg and chunk_id count them,
total_chunk_msg_size is the size of the compressed message, uncompressed_size that of the whole. A consumer accepts them
only in order, and begins again with chunk 0. Each chunk is encrypted separately, so encrypted chunks cannot be joined.
Several consumers of a client may all get the same uuid on one connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

from dissectors.field import Field, Tree
from dissectors.finding import Finding, Severity
from dissectors.fragment import Fragment, Fragments, Other
from dissectors.message import Body, Context
from dissectors.pulsar.expert_info import collect_tree_findings
from dissectors.pulsar.frame import FRAGMENTED, decode_frame, decode_payload, find_fragment
from dissectors.pulsar.frame_fields import read_frame, read_payload
from dissectors.pulsar.header import find_command
from dissectors.pulsar.nested import open_tree
from dissectors.wire.amounts import count_text
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import fold_tree
from dissectors.wire.reader import Reader
from dissectors.wire.sections import PlainSections
from dissectors.wire.specs import Wrapping

NAMED = 20
"""Messages, or runs of missing chunks, that a line names."""

_WHOLE = Wrapping("whole", "struct")
_ALIKE = ("num_chunks_from_msg", "total_chunk_msg_size", "compression", "uncompressed_size")
"""What all chunks of a message must say alike."""

_SIZE = 4
"""Bytes of a frame's size, which does not count itself."""


class _FrameChunk(NamedTuple):
    """A frame with a chunk. row: its number as it is printed, None for the one that is looked at."""

    row: int | None
    number: int
    values: Mapping[str, Any]
    lacks: bool

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata, as far as it could be read."""
        found: dict[str, Any] = self.values.get("metadata", {})
        return found

    @property
    def total(self) -> int:
        """How many chunks it says there are."""
        return int(self.metadata.get("num_chunks_from_msg", 0))

    @property
    def called(self) -> str:
        """How a finding names the message: by its number, if that is known."""
        return "this message" if self.row is None else f"message {self.row}"


class _NotReassemblable(Exception):
    """The chunks can't be joined, for a reason that a Finding of this code tells."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def add_reassembled(tree: Tree, message: bytes, others: Sequence[Other]) -> None:
    """Adds to the tree of a chunk what the others tell: which message completes it, or the whole."""
    payload = tree.fields[-1] if tree.fields else None
    chunk = None if payload is None else next((node for node in payload.children if node.spec.name == "chunk"), None)
    if payload is None or chunk is None:
        return
    last = _read_chunk(None, message)
    if not Fragment((), last.number, last.total).completes:
        if others:
            _annotate(chunk, f"message {others[0].row} has the whole")
        return
    rows = f"with {_format_rows(others)}" if others else "alone"
    if "encrypted" in last.values:
        _annotate(chunk, f"{rows}; each is encrypted by itself, so they can't be joined")
        return
    _annotate(chunk, rows)
    try:
        chunks = _collect_chunks(last, others)
    except _NotReassemblable as refused:
        tree.findings.append(Finding(Severity.WARNING, refused.code, refused.text, 0, payload.offset, payload.length))
        return
    data = b"".join(chunk.values["payload"] for chunk in chunks)
    reader = Reader(tree, tree.sources[0], tree.fields, (), Budget())
    inner = reader.read_decoded(payload, f"payload, {count_text(len(chunks), 'chunk')} joined", data)
    for text in _find_contradictions(chunks, others, len(data)):
        tree.findings.append(Finding(Severity.WARNING, "inconsistent-chunks", text, inner.source, 0, len(data)))
    inner.guard(partial(_read_reassembled, metadata=last.metadata), len(data))


def _read_reassembled(reader: Reader, metadata: dict[str, Any]) -> None:
    reader.enter(_WHOLE)
    read_payload(reader, metadata)
    reader.leave()


def decode_reassembled(message: bytes, others: Sequence[Other]) -> dict[str, Any] | None:
    """Returns the values of the last chunk's frame, as if it had the whole; None where that can't be read."""
    last = _read_chunk(None, message)
    try:
        if "encrypted" in last.values:
            return None
        data = b"".join(chunk.values["payload"] for chunk in _collect_chunks(last, others))
        found = decode_payload(PlainSections(data), 0, {k: v for k, v in last.metadata.items() if k != "chunk_id"})
    except (*FAILURES, _NotReassemblable):
        return None
    return {name: value for name, value in last.values.items() if name != "chunk"} | {"payload": found}


def _read_chunk(row: int | None, message: bytes) -> _FrameChunk:
    try:
        found = decode_frame(PlainSections(message))
    except FAILURES:
        found = fold_tree(read_frame(message)).values
    number = found.get("metadata", {}).get("chunk_id", -1)
    lacks = len(message) < _SIZE + int.from_bytes(message[:_SIZE])
    return _FrameChunk(row, number, found, lacks or not isinstance(found.get("payload"), bytes))


def _collect_chunks(last: _FrameChunk, others: Sequence[Other]) -> list[_FrameChunk]:
    """The chunks by their numbers. Raises _Refused unless all are there, whole, and not too large."""
    if last.number >= last.total:
        raise _NotReassemblable(
            "inconsistent-chunks", f"chunk {last.number}, counted from 0, is said to be of {last.total}"
        )
    missing = _format_missing([other.number for other in others], last.number)
    if missing:
        text = f"of {last.total} chunks those of number {missing} are not in the messages before this one"
        raise _NotReassemblable("missing-chunks", text)
    budget = Budget()
    if any(other.message is None for other in others):
        raise _NotReassemblable(
            "limit-exceeded", f"the chunks have more than the {budget.left} bytes that may be joined"
        )
    found = [_read_chunk(other.row, other.message) for other in others if other.message is not None]
    chunks = sorted((*found, last), key=lambda chunk: chunk.number)
    for chunk in chunks:
        if chunk.lacks:
            raise _NotReassemblable("missing-chunks", f"chunk {chunk.number}, in {chunk.called}, is not whole")
    return chunks


def _format_missing(numbers: Iterable[int], last: int) -> str:
    """The numbers below the last one that are not there, as `0 to 2, 5`; empty where all are."""
    edges = pairwise(sorted({-1, last, *numbers}))
    runs = ((low + 1, high - 1) for low, high in edges if high - low > 1)
    named = [f"{first}" if first == stop else f"{first} to {stop}" for first, stop in islice(runs, NAMED)]
    return ", ".join(named) + (" and more" if next(runs, None) else "")


def _find_contradictions(chunks: Sequence[_FrameChunk], others: Sequence[Other], size: int) -> Iterator[str]:
    """What does not fit together in chunks that can be joined; others: in the order in which they came."""
    last = chunks[-1]
    numbers = [other.number for other in others]
    if numbers != sorted(numbers):
        came = ", ".join(map(str, numbers[:NAMED])) + (" ..." if len(numbers) > NAMED else "")
        yield f"chunks came out of order: {came} before the last, which is {last.number}"
    for name in _ALIKE:
        mine = last.metadata.get(name)
        other = next((chunk for chunk in chunks if chunk.metadata.get(name) != mine), None)
        if other is not None:
            yield f"{name} is {other.metadata.get(name)} in {other.called}, and {mine} in the last"
    expected = last.metadata.get("total_chunk_msg_size", size)
    if expected != size:
        yield f"the chunks have {size} bytes together, total_chunk_msg_size says {expected}"


def _format_rows(others: Sequence[Other]) -> str:
    """`messages 51, 52 and 53`."""
    *rows, last = [str(other.row) for other in others]
    more = f" and {len(rows) + 1 - NAMED:,} more" if len(rows) >= NAMED else f" and {last}" if rows else last
    return f"message{'s' if rows else ''} {', '.join(rows[:NAMED])}{more}"


def _annotate(node: Field, text: str) -> None:
    """Says something beside the value of a node."""
    node.spec = replace(node.spec, label=lambda _: text)


def read_with_findings(message: bytes, context: Context) -> Tree:
    """Returns the nodes of a frame and its findings."""
    tree = read_frame(message)
    tree.findings.extend(collect_tree_findings(find_command(message)[0], tree, context))
    return tree


def _decode_tree(message: bytes, context: Context, others: Sequence[Other]) -> Tree:
    """The frame, and its chunks joined and decompressed."""
    tree = read_with_findings(message, context)
    add_reassembled(tree, message, others)
    return open_tree(tree)


def _decode_values(message: bytes, context: Context, others: Sequence[Other]) -> Body | None:
    found = decode_reassembled(message, others)
    return None if found is None else Body(found, None)


FRAGMENTS = Fragments(FRAGMENTED, find_fragment, _decode_tree, _decode_values)
