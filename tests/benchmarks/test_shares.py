"""What benchmarks/captures.py says of packets without payload, measured again in the recordings."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analyzer.session import Session
from benchmarks.kafka import KINDS as KAFKA
from benchmarks.protocols import KINDS
from benchmarks.recorded import GOLDEN

FIN_SYN_RST = 7
LONG = 40
"""Messages from which on a connection is taken for steady traffic."""

MEASURED = {"kafka": (0.60, 0.36), "rocketmq": (0.63, 0.39), "pulsar": (0.28, 0.24), "zookeeper": (0.24, 0.20)}
"""Packets by the message, and share; more recordings may move them a little."""


def steady(capture: Path) -> Iterator[tuple[float, float]]:
    """Packets without payload by the message, and their share, for each long connection without its ends."""
    with Session([capture]) as session:
        blocks = []
        for block in session.packets.blocks():
            blocks.append((block.flow, block.length, block.flags))
            session.engine.feed(block)
        session.engine.finish()
        flow, length, flags = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
        streams = session.engine.streams.column("flow")
        messages = np.bincount(session.rows.column("stream"), minlength=len(streams))
        for stream in np.flatnonzero(messages >= LONG).tolist():
            if (streams == streams[stream]).sum() == 1:  # addresses used again would mix connections
                mine = flow == streams[stream]
                empty = ((length == 0) & (flags & FIN_SYN_RST == 0) & mine).sum() - 1  # the handshake's third packet
                yield empty / messages[stream], empty / (empty + ((length > 0) & mine).sum())


@pytest.mark.parametrize("protocol", MEASURED)
def test_captures_are_made_with_what_recordings_have(protocol: str) -> None:
    found = [each for path in sorted((GOLDEN / protocol).glob("*.pcap.zst")) for each in steady(path)]
    by_message, share = (statistics.median(metrics) for metrics in zip(*found, strict=True))
    assert (by_message, share) == pytest.approx(MEASURED[protocol], abs=0.05)
    kind = KAFKA["small"] if protocol == "kafka" else KINDS[protocol]
    assert kind.acks == MEASURED[protocol][0]
