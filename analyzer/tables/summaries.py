"""Summaries: how many requests there were, how many failed and how long they took, by window of time, protocol,
operation, version, client and topic.

Theory. Everything counted is an integer and adds up, in whatever order and however often, so each
process sums up what it has read, and sums are added. Which topic a message is about may be known by its id alone in one
process and by its name in another, and a message may say both. So parts are summed by the lists of what messages name,
and only when all names are known a list becomes a row for each topic in it. A row without a topic counts every
exchange of its key once, whatever topics it has.

Latencies are counted in buckets. Percentiles of parts do not add up to those of the whole, and what engines estimate
changes with how rows were dealt out. Counts of buckets do add up. A number below 8 is its own bucket; of a larger one
the highest bit that is set says which eight buckets, and the three bits behind it say which of these. So a bucket is at
most an eighth as wide as its numbers are large, and all of it are shifts:

    bucket(ns) = ns                                 if ns < 8
                 8 * (e - 2) + (ns >> e - 3) - 8    else, where 2**e <= ns < 2**(e + 1)

    least(b)   = b                                  if b < 8
                 b % 8 + 8 << b // 8 - 1            else
    most(b)    = least(b + 1) - 1
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.columns.arrays import Ints, flag_run_starts
from analyzer.query.response_errors import load_nothing_new
from analyzer.tables.arrow_columns import build_batch, count_days
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import build_schema
from analyzer.tables.topic_names import NO_NAMES, TopicNames

_BITS = 3
_EACH = 1 << _BITS


def find_bucket(latency: Ints) -> Ints:
    """Returns the buckets of latencies in ns (n); those below zero are in bucket 0."""
    latency = np.maximum(latency, 0)
    exponent = np.frexp(latency.astype(np.float64))[1].astype(np.int64) - 1
    # A float rounds large numbers up, maybe to the next power of two.
    exponent = np.maximum(exponent - (latency >> np.maximum(exponent, 0) == 0), _BITS)
    far = _EACH * (exponent - _BITS + 1) + (latency >> exponent - _BITS) - _EACH
    return np.where(latency < _EACH, latency, far)


PARTS = "parts_of_summaries"
"""The table of parts; it is not written for others."""

SUMMARIES = "summaries"
SECOND = 10**9

SUMMARY_KEY = ("date", "window_ns", "capture", "protocol", "role", "operation", "version", "client")
SUMMED = ("messages", "answers", "errors", "request_bytes", "response_bytes", "latency_sum_ns")
UNPAIRED_COLUMNS = ("role", "protocol", "operation", "version", "client", "length")
"""Keys of rows that stand for themselves of which summaries are made, as they are."""

_TOPICS = ("topics", "is_list")
"""What a part has in place of a topic: nothing, the only topic, or a list of them as JSON."""

PART_SCHEMA = pa.schema(
    [
        *(build_schema(SUMMARIES).field(name) for name in SUMMARY_KEY),
        ("topics", pa.string()),
        ("is_list", pa.bool_()),
        ("bucket", pa.int32()),
        *((name, pa.int64()) for name in (*SUMMED, "latency_max_ns")),
    ]
)

Batches = Iterable[pa.RecordBatch]


class SummaryBuilder:
    """Sums up what an analysis writes. window: seconds of a window of time."""

    def __init__(self, window: int) -> None:
        self._window = window * SECOND
        self._parts: list[pa.Table] = []

    def add_exchanges(self, batch: pa.RecordBatch) -> None:
        """Adds the rows of a batch of the table `exchanges` to the sums of their windows."""
        latency = batch.column("latency_ns")
        timed, waited = latency.is_valid(), np.maximum(latency.fill_null(0).to_numpy(), 0)
        self._add(
            batch,
            batch.column("request_time_ns").to_numpy(),
            role=pa.repeat(pa.scalar("request"), len(batch)),
            answers=batch.column("answered").cast(pa.int64()),
            errors=_find_errors(batch).cast(pa.int64()),
            request_bytes=batch.column("request_length"),
            response_bytes=batch.column("response_length").fill_null(0),
            latency_sum_ns=waited,
            latency_max_ns=pc.if_else(timed, waited, None),
            bucket=pc.if_else(timed, pa.array(find_bucket(waited).astype(np.int32)), None),
        )

    def add_unpaired(self, batch: pa.RecordBatch) -> None:
        """Takes rows of `messages` that are no half of an exchange: oneway and push."""
        nothing = np.zeros(len(batch), np.int64)
        self._add(
            batch,
            batch.column("time_ns").to_numpy(),
            **dict.fromkeys(("answers", "errors", "response_bytes", "latency_sum_ns"), nothing),
            role=batch.column("role"),
            request_bytes=batch.column("length"),
            latency_max_ns=pa.nulls(len(batch), pa.int64()),
            bucket=pa.nulls(len(batch), pa.int32()),
        )

    def _add(self, batch: pa.RecordBatch, time: Ints, **counted: Any) -> None:
        if not len(batch):
            return
        window = time // self._window * self._window
        topics, is_list = _encode_topic_lists(batch.column("topics"))
        alike = {name: batch.column(name) for name in ("capture", "protocol", "operation", "version", "client")}
        columns = {**alike, **counted, "window_ns": window, "date": pa.array(count_days(window), pa.date32())}
        columns |= {"topics": topics, "is_list": is_list, "messages": np.ones(len(batch), np.int64)}
        self._parts.append(_sum_rows(pa.table([columns[name] for name in PART_SCHEMA.names], schema=PART_SCHEMA)))

    def build_parts(self) -> Iterator[pa.RecordBatch]:
        """Yields the sums, as rows of PARTS."""
        if self._parts:
            yield from _sum_rows(pa.concat_tables(self._parts)).combine_chunks().to_batches()


def merge_summaries(parts: Batches, names: TopicNames = NO_NAMES) -> Iterator[pa.RecordBatch]:
    """Yields the rows of `summaries` of all parts of their keys, in the order of the keys.

    names: of topics that have ids.
    """
    found = [batch for batch in parts if len(batch)]
    if not found:
        return
    sums = _sum_rows(pa.Table.from_batches(found, PART_SCHEMA))
    total = sums.drop_columns(list(_TOPICS)).append_column("topic", pa.nulls(len(sums), pa.string()))
    every = pa.concat_tables([total, _expand_topics(sums, names).select(total.column_names)])
    yield from _build_summary_rows(_sum_rows(every, (*SUMMARY_KEY, "topic"))).to_batches()


def _find_errors(batch: pa.RecordBatch) -> pa.Array:
    """Which answers report an error that is more than there being nothing now."""
    error = batch.column("error")
    ordinary = pa.repeat(pa.scalar(False), len(batch))
    for (protocol, operation), codes in load_nothing_new().items():
        is_protocol = pc.equal(batch.column("protocol"), protocol)
        if pc.any(is_protocol).as_py():
            these = pc.and_(is_protocol, pc.fill_null(pc.equal(batch.column("operation"), operation), False))
            empty = pc.is_in(pc.struct_field(error, "code"), pa.array(codes, pa.int64()))
            ordinary = pc.or_(ordinary, pc.and_(these, empty))
    return pc.and_not(error.is_valid(), ordinary)


def _encode_topic_lists(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Lists of topics as texts to be grouped by, and which of these are lists rather than a topic."""
    count = pc.list_value_length(lists).to_numpy()
    texts = lists.flatten()
    offsets = np.concatenate(([0], np.cumsum(count, dtype=np.int64)))
    first = np.where(count > 0, offsets[:-1], 0)
    alone = texts.take(pa.array(first, mask=count == 0)) if len(texts) else pa.nulls(len(lists), pa.string())
    several = np.flatnonzero(count > 1)
    if not len(several):
        return alone, pa.array(count > 1)
    numbered = texts.dictionary_encode()
    numbers, known = numbered.indices.to_numpy(), numbered.dictionary.to_pylist()
    kinds: dict[bytes, str] = {}
    keys = []
    for begin, end in zip(offsets[several].tolist(), offsets[several + 1].tolist(), strict=True):
        key = numbers[begin:end].tobytes()
        text = kinds.get(key)
        if text is None:
            text = kinds[key] = json.dumps([known[number] for number in numbers[begin:end].tolist()])
        keys.append(text)
    return pc.replace_with_mask(alone, pa.array(count > 1), pa.array(keys, pa.string())), pa.array(count > 1)


def _sum_rows(rows: pa.Table, key: Iterable[str] = (*SUMMARY_KEY, *_TOPICS)) -> pa.Table:
    """Rows of one key and bucket as one."""
    by = [*key, "bucket"]
    sums = [(name, "sum") for name in SUMMED]
    found = rows.group_by(by, use_threads=False).aggregate([*sums, ("latency_max_ns", "max")])
    plain = {f"{name}_sum": name for name in SUMMED} | {"latency_max_ns_max": "latency_max_ns"}
    return found.rename_columns([plain.get(name, name) for name in found.column_names]).select(rows.column_names)


def _expand_topics(sums: pa.Table, names: TopicNames) -> pa.Table:
    """A row for each topic of each row that has some."""
    some = sums.filter(sums.column("topics").is_valid())
    kinds: dict[tuple[str, str, bool], list[str]] = {}
    each = zip(*(some.column(name).to_pylist() for name in ("capture", *_TOPICS)), strict=True)
    lists = [kinds.get(kind) or kinds.setdefault(kind, _resolve_topics(kind, names)) for kind in each]
    count = np.array([len(topics) for topics in lists], np.int64)
    rows = some.take(pa.array(np.repeat(np.arange(len(some)), count))).drop_columns(list(_TOPICS))
    return rows.append_column("topic", pa.array([topic for topics in lists for topic in topics], pa.string()))


def _resolve_topics(kind: tuple[str, str, bool], names: TopicNames) -> list[str]:
    capture, topics, is_list = kind
    known: Mapping[str, str] = names.get(capture, {})
    return list(dict.fromkeys(known.get(topic, topic) for topic in (json.loads(topics) if is_list else [topics])))


def _build_summary_rows(sums: pa.Table) -> pa.Table:
    """Sums by bucket, in one row for each key with the counts of its buckets."""
    key = (*SUMMARY_KEY, "topic")
    sums = sums.sort_by([(name, "ascending") for name in (*key, "bucket")]).combine_chunks()
    begins = np.flatnonzero(flag_run_starts(*(_number_values(sums.column(name)) for name in key)))
    rows = sums.take(pa.array(begins))
    columns: dict[str, Any] = {name: rows.column(name).combine_chunks() for name in key}
    columns |= {name: np.add.reduceat(sums.column(name).to_numpy(), begins) for name in SUMMED}
    timed = sums.column("bucket").is_valid().to_numpy()
    latest = np.maximum.reduceat(sums.column("latency_max_ns").fill_null(0).to_numpy(), begins)
    many = np.add.reduceat(timed.astype(np.int32), begins)
    columns["latency_max_ns"] = pa.array(latest, mask=many == 0)
    offsets = np.concatenate(([0], np.cumsum(many))).astype(np.int32)
    counted = sums.filter(pa.array(timed))
    kind = build_schema(SUMMARIES).field("latency").type
    arrays = [counted.column(name).combine_chunks() for name in ("bucket", "messages")]
    values = pa.StructArray.from_arrays(arrays, fields=list(kind.value_type))
    columns["latency"] = pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)
    return pa.Table.from_batches([build_batch(SUMMARIES, columns, Options())])


def _number_values(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Equal values, and nulls, have equal numbers."""
    numbers: npt.NDArray[np.int32] = column.combine_chunks().dictionary_encode("encode").indices.to_numpy()
    return numbers
