"""Findings about the network below connections, for all protocols.

Theory. Metrics of connections (analyzer.tcp.network) say what happened, but a metric is a finding only if it matters.
Retransmissions and closed windows are weighed by the time that they cost. A reset is reported if it left requests
without response; these messages have findings of their own, so a reset is a note. A failed handshake is reported if the
target is a server of a known protocol. A connection that was never opened carries no protocol, so its port decides: a
usual port of a protocol, or one that is used in this capture.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.bodies import flag_long_polls
from analyzer.decode.endpoints import find_server_port, find_server_ports, name_endpoint
from analyzer.insight.counts import find_unanswered
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER, NO_PROTOCOL
from analyzer.session import Analysis
from analyzer.tcp.network import NEVER
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.finding import Finding, Severity
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

LOST_NS, GRAVE_LOST_NS = 150_000_000, 1_000_000_000
"""Time that retransmissions of a connection cost from which on it is reported, and from which on it is a warning."""

CLOSED_NS, GRAVE_CLOSED_NS = 200_000_000, 2_000_000_000
"""The same for closed windows."""

ANSWERED_WITHIN_NS = 3_000_000_000
"""Time that a capture must continue after a single SYN before that is called unanswered."""

_BOTH = 0b11


def find_network_problems(session: Analysis) -> Iterator[tuple[int, Finding]]:
    """Yields findings about the network, each with its stream."""
    streams = session.engine.streams
    numbers = np.arange(len(streams), dtype=np.int64)
    if not len(numbers):
        return
    metrics = session.engine.network.find_metrics(numbers)
    decoded = streams.column("protocol") != NO_PROTOCOL
    for stream in np.flatnonzero(decoded & (metrics.retransmission_time >= LOST_NS)).tolist():
        cost, many = int(metrics.retransmission_time[stream]), int(metrics.retransmissions[stream])
        text = f"{_name(session, stream)}: {count_text(many, 'retransmission')} cost {lasting(cost)}"
        yield stream, _weigh("retransmissions", text, _name_server(session, stream), grave=cost >= GRAVE_LOST_NS)
    for stream in np.flatnonzero(decoded & (metrics.zero_window_time >= CLOSED_NS)).tolist():
        cost, many = int(metrics.zero_window_time[stream]), int(metrics.zero_windows[stream])
        text = f"{_name(session, stream)}: {_name_closer(session, stream)} closed its window {_times(many)}, "
        text += f"for {lasting(cost)} in all: it did not read what had come"
        yield stream, _weigh("closed-window", text, _name_server(session, stream), grave=cost >= GRAVE_CLOSED_NS)
    for stream in _find_cut(session, metrics.resetter).tolist():
        side = int(metrics.resetter[stream])
        who = ("the client", "the server")[side]
        text = f"{_name(session, stream)}: {who} reset the connection while requests had no answer"
        yield stream, Finding(Severity.NOTE, "connection-reset", text, subject=_name_server(session, stream))
    meant = _find_meant(session)
    yield from _tell_attempts(session, metrics.refused & meant, "connection-refused", "answered with RST")
    silent = metrics.unanswered & meant & ((metrics.retransmissions > 0) | _was_time(session))
    yield from _tell_attempts(session, silent, "no-handshake", "did not answer")


def _find_cut(session: Analysis, resetter: Ints) -> Ints:
    """Returns the streams that one side reset while the other waited for a response."""
    rows = np.arange(session.rows.first, len(session.rows))
    waiting = find_unanswered(session, rows)
    waiting = waiting[~flag_long_polls(session, waiting)]
    has_requests = np.zeros((2, len(session.engine.streams)), bool)
    has_requests[session.rows.column("side")[waiting], session.rows.column("stream")[waiting]] = True
    both = session.engine.streams.column("sides") == _BOTH
    cut = has_requests[FROM_CLIENT] & (resetter == FROM_SERVER) | has_requests[FROM_SERVER] & (resetter == FROM_CLIENT)
    return np.flatnonzero(cut & both & (resetter != UNKNOWN_SIDE))


def _find_meant(session: Analysis) -> Bools:
    """Returns the streams to a port that is usual for a protocol, or used by one in this capture."""
    ports = find_server_ports(session)
    decoded = ports[session.engine.streams.column("protocol") != NO_PROTOCOL]
    usual = [port for dissector in session.engine.known.dissectors for port in (*dissector.ports, *dissector.tls_ports)]
    return np.isin(ports, np.concatenate((decoded, np.array(usual, np.int64))), kind="table")


def _was_time(session: Analysis) -> Bools:
    """Returns the streams that the other side had time to answer before the capture ended."""
    streams = session.engine.streams
    return int(streams.column("end").max()) - streams.column("begin") >= ANSWERED_WITHIN_NS


def _tell_attempts(session: Analysis, which: Bools, code: str, did: str) -> Iterator[tuple[int, Finding]]:
    """Yields one finding for each attempt, the same for all to a server: a note if the server began to listen later."""
    begin = session.engine.streams.column("begin")
    servers: dict[str, list[int]] = {}
    for stream in np.flatnonzero(which).tolist():
        servers.setdefault(_name_server(session, stream), []).append(stream)
    opened = _find_opened(session)
    ports = find_server_ports(session)
    for server, tried in servers.items():
        mine = opened[ports[opened] == find_server_port(session, tried[0])]
        others = [int(begin[stream]) for stream in mine.tolist() if _name_server(session, stream) == server]
        begun = min(others, default=0)
        early = [stream for stream in tried if begin[stream] < begun]
        for part, severity in ((early, Severity.NOTE), (tried[len(early) :], Severity.WARNING)):
            if part:
                later = any(time > begin[part[-1]] for time in others)
                text = _describe_attempts(session, server, did, part, later=later)
                yield from ((stream, Finding(severity, code, text, subject=server)) for stream in part)


def _describe_attempts(session: Analysis, server: str, did: str, tried: list[int], *, later: bool) -> str:
    """Describes how a server handled attempts to connect, in order. later: whether it accepted later connections."""
    begin = session.engine.streams.column("begin")
    first, last = int(begin[tried[0]]), int(begin[tried[-1]])
    hosts = {name_endpoint(session, stream, FROM_CLIENT).rpartition(":")[0] for stream in tried}
    text = f"{server} {did} when {count_text(len(hosts), 'host')} wanted to connect, {_times(len(tried))}"
    text += f" within {lasting(last - first)}" if last > first else ""
    return f"{text}; later it accepted connections" if later else text


def _find_opened(session: Analysis) -> Ints:
    """Returns the streams whose server answered the SYN or sent messages."""
    streams = session.engine.streams
    halves = session.engine.network.halves
    server = 2 * np.arange(len(streams)) + 1 - np.maximum(streams.column("client").astype(np.int64), 0)
    accepted = (halves.column("opened")[server] != NEVER) | (streams.column("protocol") != NO_PROTOCOL)
    return np.flatnonzero(accepted)


def _weigh(code: str, text: str, subject: str, *, grave: bool) -> Finding:
    return Finding(Severity.WARNING if grave else Severity.NOTE, code, text, subject=subject)


def _name(session: Analysis, stream: int) -> str:
    return f"{name_endpoint(session, stream, FROM_CLIENT)} to {_name_server(session, stream)}"


def _name_server(session: Analysis, stream: int) -> str:
    return name_endpoint(session, stream, FROM_SERVER)


def _name_closer(session: Analysis, stream: int) -> str:
    """Returns the side whose window was closed for longer."""
    halves = session.engine.network.halves.column("zero_window_time")[2 * stream : 2 * stream + 2]
    client = max(session.engine.streams.cell("client", stream), 0)
    return "the client" if halves[client] >= halves[1 - client] else "the server"


def _times(many: int) -> str:
    return "once" if many == 1 else f"{many:,} times"
