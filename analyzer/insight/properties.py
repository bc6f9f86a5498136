"""Properties of captures: facts about files, packets by kind, streams, messages, protocols.

Theory. Everything here is counted while packets are read, or follows from columns of the index, so it is available at
once. For an input that has not ended, it covers what has been read so far.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from analyzer.capture.records import CaptureInfo
from analyzer.columns.arrays import list_distinct
from analyzer.columns.values import format_iso_time
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Session

SECOND = 10**9
MOST = 1000
"""Number of comments and names that are listed."""

Properties = dict[str, Any]
"""An object of docs/reference/output.md (info)."""


def properties(session: Session, rows: int, streams: int) -> Properties:
    """Returns the properties of a session, of which `rows` rows and `streams` streams are known."""
    return {
        "files": [_file(info) for info in session.packets.files],
        "packets": _packets(session),
        "streams": streams,
        "messages": rows,
        "protocols": _protocols(session, rows),
        **({"tls": tls} if (tls := _summarise_tls(session)) else {}),
        "comments": [{"packet": number, "text": text} for number, text in session.comments.read_first(MOST)],
        "names": dict(islice(session.hosts.iterate_names(), MOST)),
    }


def _summarise_tls(session: Session) -> list[Properties]:
    """Returns TLS connections by their handshakes. Reads nothing again if all bytes belong to known protocols."""
    from analyzer.insight.tls import summarise_tls  # lazy: most captures have none

    raw = bool((session.rows.column("protocol")[session.rows.first :] == NO_PROTOCOL).any())
    return summarise_tls(session) if raw or len(session.engine.tls) else []


def _file(info: CaptureInfo) -> Properties:
    seconds = 0.0 if info.first is None or info.last is None else (info.last - info.first) / SECOND
    return {
        "file": info.path,
        "format": info.format,
        "byte_order": info.byte_order,
        "compression": info.compression,
        "size": os.path.getsize(info.path) if os.path.isfile(info.path) else None,
        "packets": info.packets,
        "first": None if info.first is None else format_iso_time(info.first),
        "last": None if info.last is None else format_iso_time(info.last),
        "seconds": seconds,
        "captured_bytes": info.captured,
        "wire_bytes": info.original,
        "packets_per_second": info.packets / seconds if seconds else None,
        "bits_per_second": info.original * 8 / seconds if seconds else None,
        "snaplen": info.snaplen or None,
        "interfaces": [
            {
                "name": each.name,
                "link_type": each.link,
                "snaplen": each.snaplen or None,
                "ticks_per_second": each.tsresol,
                "comment": each.comment,
                "received_packets": None if number not in info.statistics else info.statistics[number].received,
                "dropped_packets": None if number not in info.statistics else info.statistics[number].dropped,
            }
            for number, each in enumerate(info.interfaces)
        ],
        "application": info.application,
        "os": info.os,
        "hardware": info.hardware,
        "comment": info.comment,
        "more_comments": info.capture_comments[1:],
        "packet_comments": len(info.comments),
        "resolved_names": len(info.names),
        "left_out": info.left_out,
    }


def _packets(session: Session) -> dict[str, int]:
    counts = session.packets.counts
    return {
        "all": counts.packets,
        "tcp": counts.tcp,
        "not_tcp": counts.not_tcp,
        "unreadable": counts.unreadable,
        "fragments": counts.fragments,
        "cut_by_snaplen": counts.cut,
        "retransmitted": len(session.engine.repeats),
    }


def _protocols(session: Session, rows: int) -> list[Properties]:
    """Returns messages, bytes and streams of each protocol, most messages first."""
    in_memory = slice(session.rows.first, rows)
    numbers, lengths, streams = (session.rows.column(name)[in_memory] for name in ("protocol", "length", "stream"))
    found = []
    for number in list_distinct(numbers).tolist():
        mine = numbers == number
        dissector = session.engine.dissector(number)
        found.append(
            {
                "protocol": "unknown" if dissector is None else dissector.name,
                "messages": int(mine.sum()),
                "bytes": int(lengths[mine].sum()),
                "streams": len(list_distinct(streams[mine])),
            }
        )
    return sorted(found, key=lambda each: -each["messages"])
