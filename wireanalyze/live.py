"""Messages of live traffic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from os import PathLike, fspath
from typing import Literal

import numpy as np

from analyzer.session import grow_within
from wireanalyze.capture import make_filter, split_names
from wireanalyze.errors import CaptureError, translate_errors
from wireanalyze.inputs import DecodeAs, Names, make_key_ring, read_rules
from wireanalyze.message import Message, Owner, iterate_messages

MEMORY = 256 << 20
"""Bytes that the tables of a live capture may take; the oldest rows leave then."""


def sniff(
    interface: str | tuple[str, ...] = (),
    *,
    filter: str = "",
    where: str | None = None,
    timeout: float | timedelta | None = None,
    packets: int = 0,
    write: str | PathLike[str] | None = None,
    keylog: Names | None = None,
    decode_as: DecodeAs | None = None,
    via: Literal["auto", "self", "sudo", "dumpcap"] = "auto",
) -> Iterator[Message]:
    """Captures, and yields each message when it is complete. Leaving the loop ends the capture.

    Decode a message (`values`, `text`) inside the loop: when the capture ends, its bytes are gone.

    Args:
        interface: names of interfaces; none: the first that is up. `any`: all.
        filter: a capture filter in the language of tcpdump, such as `tcp port 9092`.
        where: a display filter, such as `latency > 10ms`.
        timeout: seconds after which the capture ends; None: when you leave the loop.
        packets: a number of packets after which it ends; 0: no bound.
        write: a pcapng file that keeps the packets.
        keylog: key logs that decrypt TLS, also while they grow.
        decode_as: protocols of ports or connections.
        via: what opens the interface: this process, sudo, or dumpcap.

    This process gives up its own capture privileges for good. Raises CaptureError if it may not capture.
    """
    from analyzer.live.capture import LiveCapture
    from analyzer.live.capture_request import CaptureBounds, CaptureRequest
    from analyzer.live.live_session import LiveSession

    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout or 0.0
    wanted, rules, secrets = make_filter(where), read_rules(decode_as), make_key_ring(keylog, None, grows=True)
    request = CaptureRequest(
        interfaces=tuple(split_names(interface)), filter=filter, until=CaptureBounds(packets=packets, seconds=seconds)
    )

    def run() -> Iterator[Message]:
        with (
            translate_errors(CaptureError),
            LiveCapture(request, via) as capture,
            LiveSession(
                capture, None if write is None else fspath(write), decode_as=rules, memory=MEMORY, secrets=secrets
            ) as sniffing,
        ):
            owner = Owner(sniffing.session, streaming=True)
            try:
                for rows in grow_within(sniffing.session, MEMORY):
                    numbers = np.arange(rows.start, rows.stop)
                    chosen = numbers if wanted is None else wanted.select_rows(owner.reader, numbers)
                    yield from iterate_messages(owner, [chosen])
            finally:
                owner.closed = True
            if sniffing.problem is not None:
                raise CaptureError(sniffing.problem)

    return run()
