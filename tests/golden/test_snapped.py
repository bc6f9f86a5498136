"""Captures of which only the first bytes of each packet are kept say what the whole ones say, or less."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.analyzer.wire import Row, by_id, rows
from tests.golden.snapped import snapped
from tests.golden.truth import captures, name_of

KEYS = ("id", "protocol", "operation", "code", "partner_id", "latency_ns", "findings")
LENGTHS = (68, 80, 96, 128, 256)
PATHS = [path for protocol in ("zookeeper", "kafka", "pulsar", "rocketmq") for path in captures(protocol)]


@cache
def whole(path: Path) -> dict[str, Row]:
    return by_id(rows(path, KEYS))


def differences(cut: Row, row: Row | None) -> Iterator[str]:
    """What a row says that the row of the whole capture does not."""
    if row is None:
        if cut["operation"] is not None or cut["partner_id"] is not None:
            yield f"{cut['id']}: a message that is not there"
        return
    for key in KEYS[1:-1]:
        if cut[key] not in (None, "unknown", row[key]):
            yield f"{cut['id']}: {key} {cut[key]}, whole {row[key]}"
    malformed = [any(found["code"] == "malformed-body" for found in each["findings"]) for each in (cut, row)]
    if malformed == [True, False]:
        yield f"{cut['id']}: malformed-body"


@pytest.mark.sampled(16)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_a_cut_capture(path: Path, length: int, tmp_path: Path) -> None:
    found = rows(snapped(path, length, tmp_path), KEYS)
    assert found or length < 96  # of IPv6 the headers alone are as long
    wrong = [text for row in found for text in differences(row, whole(path).get(row["id"]))]
    assert wrong == []
