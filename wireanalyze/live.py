"""Messages of live traffic."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal

import numpy as np

from analyzer.session import grow_within
from wireanalyze.arguments import make_filter, split_names
from wireanalyze.errors import CaptureError, translate_errors
from wireanalyze.inputs import DecodeAs, Names, make_key_ring, read_rules
from wireanalyze.message import Message, iterate_messages
from wireanalyze.window import Closable, Owner

if TYPE_CHECKING:
    from analyzer.live.live_session import LiveSession
    from analyzer.query.filter import Filter

MEMORY = 256 << 20
"""Bytes that the tables of a live capture may take; the oldest rows leave then."""


class LiveMessages(Closable, Iterator[Message]):
    """The messages of a live capture, as they become complete. `stop` ends it, and the rest is still yielded.

    The capture is closed at the end of a `with` block, by `close`, or when nobody holds this object any more.
    """

    def __init__(self, sniffing: LiveSession, wanted: Filter | None, opened: ExitStack) -> None:
        self._sniffing = sniffing
        owner = Owner(sniffing.session, streaming=True)
        self._close = weakref.finalize(self, _close, owner, opened)
        self._messages = _iterate(sniffing, owner, wanted)

    def __next__(self) -> Message:
        return next(self._messages)

    def stop(self) -> None:
        """Asks the capture to end, and returns at once; what was captured by then still comes."""
        self._sniffing.stop()

    def close(self) -> None:
        """Ends the capture. Calling it again does nothing."""
        self._messages = iter(())
        self._close()


def _close(owner: Owner, opened: ExitStack) -> None:
    owner.closed = True
    opened.close()


def _iterate(sniffing: LiveSession, owner: Owner, wanted: Filter | None) -> Iterator[Message]:
    for rows in grow_within(sniffing.session, MEMORY):
        numbers = np.arange(rows.start, rows.stop)
        chosen = numbers if wanted is None else wanted.select_rows(owner.reader, numbers)
        yield from iterate_messages(owner, [chosen])
    if sniffing.problem is not None:
        raise CaptureError(sniffing.problem)


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
    user: str = "",
) -> LiveMessages:
    """Captures from now on; the result yields each message when it is complete. Leaving the loop ends the capture.

    Read what you need of a message inside the loop: its bytes are gone when the capture ends, and the oldest messages
    are evicted when their headers take more than 256 MiB of memory.

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
        user: whom this process and the capturing one become once the interface is open, as after -Z; root must say it.

    This process gives up its own capture privileges for good. Raises CaptureError if it may not capture.
    """
    from analyzer.live.capture import LiveCapture
    from analyzer.live.capture_request import CaptureBounds, CaptureRequest
    from analyzer.live.live_session import LiveSession
    from analyzer.live.privilege import check_environment

    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout or 0.0
    wanted, rules, secrets = make_filter(where), read_rules(decode_as), make_key_ring(keylog, None, grows=True)
    request = CaptureRequest(
        interfaces=tuple(split_names(interface)),
        filter=filter,
        until=CaptureBounds(packets=packets, seconds=seconds),
        user=user,
    )

    with translate_errors(CaptureError), ExitStack() as opened:
        path = None if write is None else fspath(write)
        check_environment(user, path)
        capture = opened.enter_context(LiveCapture(request, via))
        sniffing = LiveSession(capture, path, decode_as=rules, memory=MEMORY, secrets=secrets)
        opened.enter_context(sniffing)
        return LiveMessages(sniffing, wanted, opened.pop_all())
