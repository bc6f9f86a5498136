"""Reads the records of batches one by one, or many at once with NumPy (fast_path.py).

Theory. Each call of NumPy costs time, and loading it costs far more. So few records are read by a plain loop, and so
are all records if NumPy is not loaded: a command that decodes one message does not load it. The result is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dissectors.kafka.records.layout import FAR, RECORD_MINIMUM, HeadValues
from dissectors.wire.flat import FlatRows, RowTable
from dissectors.wire.varint import Unfit, uvarint, uvarlong, zigzag


def read_rows(d: bytes, p: int, end: int, head: HeadValues) -> FlatRows:  # noqa: C901
    """Returns the records of a batch, in d from p to end. Raises one of emit.FAILURES where they are broken in any way.

    Long and flat on purpose: varints of one and two bytes, nearly all of them, are read in line, since a call for each
    would take three times as long.
    """
    count, base, first_time, append_time = head
    if count * RECORD_MINIMUM > end - p:
        raise Unfit
    records = FlatRows()
    for _ in range(count):
        n = d[p]
        p += 1
        if n > 127:
            m = d[p]
            p += 1
            if m < 128:
                n += (m << 7) - 128
            else:
                n, p = uvarint(d, p - 2)
        stop = p + (n >> 1)
        if n & 1:
            raise Unfit
        p += 1
        n = d[p]
        p += 1
        if n > 127:
            n, p = uvarlong(d, p - 1)
            if n > FAR:
                raise Unfit
        time = first_time + ((n >> 1) ^ -(n & 1)) if append_time is None else append_time
        n = d[p]
        p += 1
        if n > 127:
            m = d[p]
            p += 1
            if m < 128:
                n += (m << 7) - 128
            else:
                n, p = uvarint(d, p - 2)
        offset = base + ((n >> 1) ^ -(n & 1))
        n = d[p]
        p += 1
        if n == 1:
            key = None
        else:
            if n > 127:
                n, p = uvarint(d, p - 1)
            if n & 1:
                raise Unfit
            q = p + (n >> 1)
            key = d[p:q]
            p = q
        n = d[p]
        p += 1
        if n == 1:
            value = None
        else:
            if n > 127:
                m = d[p]
                p += 1
                if m < 128:
                    n += (m << 7) - 128
                else:
                    n, p = uvarint(d, p - 2)
            if n & 1:
                raise Unfit
            q = p + (n >> 1)
            value = d[p:q]
            p = q
        if d[p]:
            headers, p = _short_headers(d, p, stop) or _headers(d, p, stop)
        else:
            headers = []
            p += 1
        if p != stop or p > end:
            raise Unfit
        records.append({"offset": offset, "timestamp": time, "key": key, "value": value, "headers": headers})
    if p != end:
        raise Unfit
    return records


def _short_headers(d: bytes, p: int, stop: int) -> tuple[list[dict[str, Any]], int] | None:
    """Headers of which each number fits into one byte and no value is null, as nearly all are; None for others."""
    n = d[p]
    if n > 127 or n & 1 or n > stop - p:
        return None
    headers = []
    for _ in range(n >> 1):
        n = d[p + 1]
        p += 2
        q = p + (n >> 1)
        m = d[q]
        end = q + (m >> 1)
        if n > 127 or m > 127 or n & 1 or m & 1 or end >= stop:
            return None
        headers.append({"key": d[p:q].decode(), "value": d[q + 1 : end + 1]})
        p = end
    return headers, p + 1


def _headers(data: bytes, at: int, stop: int) -> tuple[list[dict[str, Any]], int]:
    headers: list[dict[str, Any]] = []
    unsigned, at = uvarint(data, at)
    count = zigzag(unsigned)
    if not 0 <= count * 2 <= stop - at:
        raise Unfit
    for _ in range(count):
        unsigned, at = uvarint(data, at)
        if unsigned & 1:
            raise Unfit
        end = at + (unsigned >> 1)
        key = data[at:end].decode()
        unsigned, at = uvarint(data, end)
        size = zigzag(unsigned)
        if size < -1:
            raise Unfit
        end = at + max(size, 0)
        headers.append({"key": key, "value": None if size < 0 else data[at:end]})
        at = end
    return headers, at


_WORTH_A_ROUND = 80
"""Records that NumPy takes as long for, reading and writing, as for one by one."""


def read_batches(bodies: Sequence[bytes | memoryview], heads: Sequence[HeadValues]) -> Sequence[FlatRows | RowTable]:
    """Returns the records of each batch: `bodies` are their bytes, decompressed, `heads` what their headers say.

    Raises one of emit.FAILURES where any are broken.
    """
    if sum(head[0] for head in heads) >= _WORTH_A_ROUND and "numpy" in sys.modules:
        from dissectors.kafka.records.batches.fast_path import read_tables

        try:
            return read_tables(bodies, heads)
        except (Unfit, IndexError, UnicodeDecodeError):
            pass  # broken, or odd: one by one it shows
    return [read_rows(bytes(body), 0, len(body), head) for body, head in zip(bodies, heads, strict=True)]
