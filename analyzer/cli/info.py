"""`wireanalyze info`: what a capture is, as capinfos tells it, and which protocols are in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click
import numpy as np

from analyzer.capture.packets import Reader
from analyzer.capture.records import CaptureInfo
from analyzer.cli.inputs import files_options, loaded
from analyzer.cli.options import decode_as_option
from analyzer.decode_as import Told
from analyzer.render.jsonable import JsonWriter
from analyzer.session import Session, iso_time
from analyzer.text import safe_text

SECOND = 10**9
MOST, SHOWN, LONGEST = 1000, 20, 500
"""Comments and names that are told to programs, that are shown to people, and characters of one."""


@click.command("info")
@files_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@decode_as_option
def command(files: tuple[str, ...], decode_as: Told, reader: Reader, as_json: bool) -> None:
    """Tell the properties of captures: format, times, packets, interfaces, comments; protocols found."""
    with loaded(files, decode_as, reader) as session:
        found = {
            "files": [_file(info) for info in session.packets.files],
            "packets": _packets(session),
            "streams": len(session.engine.streams),
            "messages": len(session.rows),
            "protocols": _protocols(session),
            "comments": [{"packet": number, "text": text} for number, text in session.comments.first(MOST)],
            "names": dict(islice(session.hosts.every(), MOST)),
        }
        if as_json:
            sys.stdout.buffer.write(JsonWriter().line(found))
        else:
            click.echo("\n".join(_lines(found)))


def _file(info: CaptureInfo) -> dict[str, Any]:
    seconds = 0.0 if info.first is None or info.last is None else (info.last - info.first) / SECOND
    return {
        "file": info.path,
        "format": info.format,
        "byte_order": info.byte_order,
        "compression": info.compression,
        "size": os.path.getsize(info.path) if os.path.isfile(info.path) else None,
        "packets": info.packets,
        "first": None if info.first is None else iso_time(info.first),
        "last": None if info.last is None else iso_time(info.last),
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
            }
            for each in info.interfaces
        ],
        "application": info.application,
        "os": info.os,
        "hardware": info.hardware,
        "comment": info.comment,
        "more_comments": info.remarks[1:],
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


def _protocols(session: Session) -> list[dict[str, Any]]:
    """Messages, bytes and streams of each protocol, most messages first."""
    rows = session.rows
    numbers, lengths, streams = rows.column("protocol"), rows.column("length"), rows.column("stream")
    found = []
    for number in np.unique(numbers).tolist():
        mine = numbers == number
        dissector = session.engine.dissector(number)
        found.append(
            {
                "protocol": "unknown" if dissector is None else dissector.name,
                "messages": int(mine.sum()),
                "bytes": int(lengths[mine].sum()),
                "streams": len(np.unique(streams[mine])),
            }
        )
    return sorted(found, key=lambda each: -each["messages"])


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for file in found["files"]:
        for name, value in file.items():
            if name == "more_comments":
                yield from (_line("comment", _shown(comment)) for comment in value[:SHOWN])
            elif isinstance(value, list):
                for number, each in enumerate(value):
                    yield _line(
                        f"{name[:-1]} {number}",
                        ", ".join(f"{_words(key)} {_shown(of)}" for key, of in each.items() if of),
                    )
            elif value is not None and value != 0:
                yield _line(name, _shown(value))
    kinds = ", ".join(f"{count:,} {_words(name)}" for name, count in found["packets"].items() if count)
    yield _line("packets by kind", kinds)
    comments, names = found["comments"], list(found["names"].items())
    yield from (_line(f"comment on {each['packet']}", safe_text(each["text"], LONGEST)) for each in comments[:SHOWN])
    yield from (_line(address, safe_text(", ".join(names), LONGEST)) for address, names in names[:SHOWN])
    yield _line("streams", f"{found['streams']:,}")
    yield _line("messages", f"{found['messages']:,}")
    for each in found["protocols"]:
        text = ", ".join(counted(each[name], name[:-1]) for name in ("messages", "bytes", "streams"))
        yield _line(f"  {each['protocol']}", text)


def _line(name: str, value: str) -> str:
    return f"{_words(name) + ':':<22} {value}"


def counted(count: int, thing: str) -> str:
    """`1 stream`, `2,000 streams`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return safe_text("none" if value is None else str(value))
