"""The field slow: held against latencies that are sorted one operation at a time."""

from __future__ import annotations

from collections import defaultdict

import wireanalyze as wa
from tests.documents import ROOT


def test_slow_is_beyond_the_99th_percentile_of_its_operation() -> None:
    capture = wa.open(ROOT / "captures" / "kafka.pcap", jobs=1)
    latencies: dict[str | None, list[int]] = defaultdict(list)
    for message in capture.messages("role == response and latency"):
        assert message.latency_ns is not None
        latencies[message.operation].append(message.latency_ns)
    bounds = {name: sorted(some)[(len(some) * 99 + 99) // 100 - 1] for name, some in latencies.items()}
    wanted = [
        message.number
        for message in capture.messages("role == response and latency")
        if (message.latency_ns or 0) > bounds[message.operation]
    ]
    assert [message.number for message in capture.messages("slow")] == wanted != []
