"""Captures of real servers and clients against what RocketMQ's own classes read: every message, every field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzer.wire import by_id, rows
from tests.golden.truth import captures, differences, name_of, read_ndjson


@pytest.mark.parametrize("use_fast_path", [True, False], ids=["fast path", "slow path"])
@pytest.mark.parametrize("path", captures("rocketmq"), ids=name_of)
def test_a_capture(path: Path, use_fast_path: bool) -> None:
    found = differences(path, use_fast_path=use_fast_path)
    assert not found.causes, found.report()


@pytest.mark.parametrize("path", captures("rocketmq"), ids=name_of)
def test_clients(path: Path) -> None:
    """A request says who asks, its answer says the same, and an answer alone does not know."""
    truth = read_ndjson(path.with_name(f"{path.name.removesuffix('.pcap.zst')}.expected.ndjson.zst"))
    reported = {
        (row["stream_key"], row["from_client"], row["offset"]): f"{row['fields']['language']} {row['mq_version']}"
        for row in truth
        if row["role"] in ("request", "oneway")
    }
    found = by_id(rows(path, ("id", "stream_id", "from_client", "offset", "client", "partner_id", "role")))
    for row in found.values():
        requested = found.get(row["partner_id"]) if row["role"] == "response" else row
        key = requested and (requested["stream_id"], requested["from_client"], requested["offset"])
        assert row["client"] == reported.get(key)
