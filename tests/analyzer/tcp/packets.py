"""Packets of connections as tests write them, and blocks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.tcp.streams import ACK


class Written(NamedTuple):
    """A packet; time in ms, numbers as in the TCP header."""

    time: float
    side: int
    seq: int
    ack: int
    length: int = 0
    flags: int = ACK
    window: int = 100
    flow: int = 0


def make_block(packets: Sequence[Written], first: int) -> PacketBlock:
    """Returns a block of packets of which the first has a number."""
    columns = list(zip(*packets, strict=True)) if packets else [()] * len(Written._fields)
    time, side, seq, ack, length, flags, window, flow = (np.array(column, np.float64) for column in columns)
    return PacketBlock(
        number=np.arange(first, first + len(packets)),
        time=(time * 1e6).astype(np.int64),
        flow=flow.astype(np.int32),
        direction=side.astype(np.int8),
        seq=(seq % 2**32).astype(np.uint32),
        ack=(ack % 2**32).astype(np.uint32),
        flags=flags.astype(np.uint8),
        at=np.zeros(len(packets), np.int64),
        length=length.astype(np.int32),
        captured=length.astype(np.int32),
        window=window.astype(np.uint16),
    )
