"""Records in bundles, and back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import numpy as np
import pyarrow as pa

from analyzer.pipeline.pointers import append_payloads, bundle_records, count_records, unbundle_records

RECORD = np.dtype([("number", "<u4"), ("flag", "u1")])


@pytest.mark.parametrize(
    ("count", "follow"),
    [([1], [0]), ([3], [2]), ([1, 2, 1], [1, 0, 1]), ([2, 5, 1, 3], [0, 5, 0, 1])],
    ids=str,
)
@pytest.mark.parametrize("first", [0, 1])
def test_what_is_bundled_comes_back(count: Sequence[int], follow: Sequence[int], first: int) -> None:
    """Also of a part of a column, which begins elsewhere in its data; payload keeps its order."""
    records = np.array([(number * 1000, number % 3) for number in range(sum(count))], RECORD)
    payloads = pa.array([bytes([number]) * number for number in range(sum(follow))], pa.binary())
    column = append_payloads(bundle_records(records, np.array(count)), payloads, np.array(follow)).slice(first)
    found = unbundle_records(column, RECORD.itemsize)
    assert found.count.tolist() == count_records(column).tolist() == list(count)[first:]
    assert found.records.tobytes() == records[sum(count[:first]) :].tobytes()
    behind = [b"".join(payloads.to_pylist()[sum(follow[:n]) :][: follow[n]]) for n in range(first, len(count))]
    begins = found.begin.tolist()
    assert [bytes(found.data[begin:][: len(each)]) for begin, each in zip(begins, behind, strict=True)] == behind
    assert len(found.data) == sum(len(value) for value in column.to_pylist())


def test_a_record_after_its_count() -> None:
    (value,) = bundle_records(np.array([(258, 7), (1, 2)], RECORD), np.array([2])).to_pylist()
    assert value == bytes((2, 0, 0, 0, 2, 1, 0, 0, 7, 1, 0, 0, 0, 2))
