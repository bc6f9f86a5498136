"""Small captures of every format, hard to cut, made by a seed; what scans of them give, as plain values."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import numpy as np
import pyarrow as pa

from analyzer.pipeline.file_notes import merge_notes
from analyzer.pipeline.pointers import BEHIND, PACKET
from analyzer.pipeline.scan import FileSplit, build_splits, find_cuts, scan_splits
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.options import Options
from tests.analyzer.capture.test_fragments import pieces4, pieces6
from tests.analyzer.capture.writers import NS, T0, Frame, Ng, ethernet, ipv4, ipv6, pcap, segment, tcp, udp


def traffic(random: Random, count: int = 60) -> list[Frame]:
    """Plain segments, IPv6, other packets, datagrams in pieces that others come between; a clock that goes back."""
    found: list[bytes] = []
    late: list[bytes] = []
    for number in range(count):
        payload = random.randbytes(random.choice((0, 5, 80, 700)))
        port = 40_000 + random.randrange(3)
        kind = random.randrange(8)
        if kind == 0:
            found.append(ethernet(ipv4(udp(payload, (53, 53)), protocol=17)))
        elif kind == 1:
            found.append(ethernet(ipv6(tcp(payload, ports=(port, 9092), seq=number)), 0x86DD))
        elif kind == 2:
            whole = tcp(random.randbytes(300), ports=(port, 9092), seq=number)
            cut = pieces4(whole, 104, number) if random.random() < 0.5 else pieces6(whole, 104, number)
            random.shuffle(cut)
            found.append(cut[0])
            late += cut[1:]
        else:
            found.append(segment(payload, ports=(port, 9092), seq=number))
        while late and random.random() < 0.5:
            found.append(late.pop(0))
    times = (T0 + number * 1_000_000 + random.randrange(-3_000_000, 3_000_000) for number in range(len(found)))
    return [Frame(data, time - time % 1000) for data, time in zip(found, times, strict=False)]


def as_pcap(frames: Sequence[Frame], random: Random) -> bytes:
    magic = random.choice((0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34))
    return pcap(frames, order=random.choice("<>"), magic=magic, snaplen=random.choice((0, 96, 262_144)))


def as_pcapng(frames: Sequence[Frame], random: Random) -> bytes:
    """Sections in both byte orders, interfaces that tell time differently, blocks of all kinds in between."""
    data, interfaces = b"", list[Callable[[int], int]]()
    writer = Ng()
    for frame in frames:
        if not data or random.random() < 0.05:
            writer, interfaces = Ng(random.choice("<>")), []
            data += writer.section()
        if not interfaces or random.random() < 0.1:
            resolution, ticks = random.choice(((6, 1000), (9, 1), (0x80 | 30, 0)))
            shift = random.choice((0, 3600))
            pairs = [(9, bytes([resolution])), (14, struct.pack(writer.order + "q", shift))]
            data += writer.interface(*pairs, snaplen=random.choice((0, 2000)))
            interfaces.append(lambda time, ticks=ticks, shift=shift: _ticks(time - shift * NS, ticks))  # type: ignore[misc]
        chosen = random.randrange(len(interfaces))
        odd = random.random()
        if odd < 0.05:
            data += writer.simple(frame.data)
        elif odd < 0.1:
            data += writer.obsolete(frame.data, interfaces[chosen](frame.time), chosen)
        else:
            comment = [(1, b"odd" * random.randrange(4))] if odd < 0.2 else []
            data += writer.enhanced(frame.data, interfaces[chosen](frame.time), *comment, interface=chosen)
        if random.random() < 0.1:
            data += writer.other(random.choice((5, 0xBAD, 10)), random.randbytes(random.randrange(9)))
        if random.random() < 0.03:
            data += writer.names(("10.0.0.1", b"one"))
        if random.random() < 0.03:
            data += writer.enhanced(frame.data, 0, interface=77)
    return data


def _ticks(time: int, nanoseconds: int) -> int:
    return time // nanoseconds if nanoseconds else (time << 30) // NS


FORMATS = {"pcap": as_pcap, "pcapng": as_pcapng}


def cut_up(files: Sequence[CaptureFile], size: int) -> list[FileSplit]:
    """All files as splits of about so many bytes."""
    cuts = {number: find_cuts(file, size) for number, file in enumerate(files) if file.plain}
    return build_splits(files, cuts=cuts)


def scanned(
    files: Sequence[CaptureFile], chosen: Iterable[FileSplit], options: Options | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The packets of splits in their order behind the shuffle, and what is said of the files."""
    every = pa.Table.from_batches(scan_splits(chosen, files, options or Options()))
    packets = sorted(unbundled(every), key=lambda row: (row["connection"], row["place"], row["origin"]))
    return packets, merged(notes_in(every))


def merged(notes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is said of each file."""
    return [asdict(note) for note in merge_notes(notes)]


def notes_in(rows: pa.Table) -> list[dict[str, Any]]:
    """What is said in rows of bundles and notes."""
    pairs = zip(rows["connection"].to_pylist(), rows["packet"].to_pylist(), strict=True)
    return [json.loads(packet) for connection, packet in pairs if not connection]


def unbundled(rows: pa.Table) -> list[dict[str, Any]]:
    """The packets in rows of bundles and notes, in their order, each with its payload behind it."""
    found = []
    for row in rows.to_pylist():
        if not row["connection"]:
            continue
        rest = row["payload"]
        for record in np.frombuffer(row["packet"], PACKET).copy():
            size = int(record["captured"]) if record["position"] == BEHIND else 0
            place, origin = int(record["time"] + record["late"]), row["origin"] + int(record["after"])
            record["after"] = 0
            packet = record.tobytes() + rest[:size]
            found.append({"connection": row["connection"], "place": place, "origin": origin, "packet": packet})
            rest = rest[size:]
        assert not rest
    return found


def write_all(folder: Path, contents: Sequence[bytes], suffix: str = "pcap") -> None:
    folder.mkdir(parents=True)
    for number, content in enumerate(contents):
        (folder / f"{number}.{suffix}").write_bytes(content)
