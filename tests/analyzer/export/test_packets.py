"""Chosen messages as packets: the right ones, byte for byte, readable again by us and by others; also decrypted."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.output import Output, create_file
from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_blocks import LONGEST
from analyzer.capture.records import CaptureInfo, RecordBlock
from analyzer.decode.content import find_dissector, list_pieces, read_header, read_message, read_messages
from analyzer.decode.packets import list_packets
from analyzer.errors import CaptureError
from analyzer.export.packets import packets_of, with_partners
from analyzer.export.pcapng import write
from analyzer.session import Session
from tests.analyzer.capture.writers import NS, T0, Frame, Ng, ethernet, ipv4, pcap, tcp
from tests.analyzer.pipeline.house import EFFECTS, answer, golden_frames, message, talk
from tests.analyzer.wire import SERVER, Segment, frames, in_parts, opening, segments
from tests.program import run

ROOT = Path(__file__).parents[3]
KAFKA, MIXED = ROOT / "captures" / "kafka.pcap", ROOT / "captures" / "mixed.pcapng"

Seen = list[tuple[bytes, int, int, int]]
"""Of each packet its bytes, time, length on the wire and LINKTYPE."""


def seen(*paths: Path) -> tuple[Seen, list[CaptureInfo]]:
    found: list[RecordBlock] = []
    with PacketReader(paths, watch=found.append) as packets:
        for _ in packets.blocks():
            pass
        columns = [(r.at, r.captured, r.time, r.original, r.link) for r in found]
        rows = [row for block in columns for row in zip(*(column.tolist() for column in block), strict=True)]
        return [(packets.store.read_bytes(at, n), time, wire, link) for at, n, time, wire, link in rows], packets.files


def exported(inputs: Sequence[Path | str], out: Path, code: int | None = None, **chosen: bool) -> tuple[list[int], int]:
    """Exports the rows of an API, or all packets; gives the numbers of the packets and how many were written."""
    with Session(inputs).load() as session:
        if code is None:
            wanted = np.ones(session.packets.counts.packets + 1, bool)
        else:
            wanted = packets_of(session, np.flatnonzero(session.rows.column("code") == code), **chosen)
        with create_file(str(out)) as output:
            return np.flatnonzero(wanted[1:]).tolist(), write(session, wanted, output)


CAPTURES = [
    KAFKA,
    MIXED,
    ROOT / "captures" / "kafka-0.10.pcap.zst",
    ROOT / "tests" / "golden" / "zookeeper" / "mtu_en395_snap.pcap.zst",
]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_all_packets_are_what_they_were(path: Path, tmp_path: Path) -> None:
    _, count = exported([path], tmp_path / "out.pcapng")
    before, (info,) = seen(path)
    after, (made,) = seen(tmp_path / "out.pcapng")
    assert (after, len(after)) == (before, count)
    assert [(each.name, each.link, each.snaplen) for each in made.interfaces] == [
        (each.name, each.link, each.snaplen) for each in info.interfaces
    ]


def told(order: str) -> bytes:
    """A capture that says all that pcapng can say of packets, in two sections."""
    ng, frame = Ng(order), frames(segments(talk(1)))
    flags = (2, int.to_bytes(5, 4, "little" if order == "<" else "big"))
    queue = (6, int.to_bytes(3, 4, "little" if order == "<" else "big"))
    return b"".join(
        (
            ng.section((1, b"all of it"), (1, b"and more"), (2, b"a machine"), (3, b"an OS"), (4, b"a program")),
            ng.interface((2, b"eth0"), (3, b"the first"), (9, b"\x06"), (1, b"on it"), link=1, snaplen=96),
            ng.interface((2, b"ns0"), (9, b"\x09"), (14, int.to_bytes(7, 8, "little" if order == "<" else "big"))),
            ng.names(("10.0.0.1", b"client.example"), ("fd00::1", b"six.example")),
            ng.enhanced(frame[0].data, T0 // 1000, (1, "h\u00e9llo".encode()), flags, (1, b"again"), interface=0),
            ng.enhanced(frame[1].data + b"x", T0 + 123, queue, interface=1, original=2000),
            ng.other(5, bytes(12)),
            ng.simple(frame[2].data),
            ng.obsolete(frame[3].data, T0 // 1000 + 5),
            Ng("<").section((1, b"second")),
            Ng("<").interface((2, b"raw"), link=101),
            Ng("<").enhanced(frame[3].data[14:], T0 // 1000 + 9, (1, b"last"), interface=0),
        )
    )


@pytest.mark.parametrize("order", "<>")
def test_what_is_reported_of_packets_goes_along(order: str, tmp_path: Path) -> None:
    path, out = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    path.write_bytes(told(order))
    exported([path], out)
    before, _ = seen(path)
    after, (made,) = seen(out)
    assert after == before
    assert [each[3] for each in after] == [1, 1, 1, 1, 101]
    assert [(each.name, each.comment) for each in made.interfaces] == [("eth0", "on it"), ("ns0", None), ("raw", None)]
    assert (made.capture_comments, made.names, made.hardware, made.os, made.application) == (
        ["all of it", "and more", "second"],
        {"10.0.0.1": ["client.example"], "fd00::1": ["six.example"]},
        "a machine",
        "an OS",
        "a program",
    )
    data = out.read_bytes()
    assert all(text in data for text in ("h\u00e9llo".encode(), b"again", b"last", b"the first"))
    assert Ng("<").enhanced(before[1][0], before[1][1], (6, b"\3\0\0\0"), interface=1, original=2000) in data


def test_only_what_is_wanted(tmp_path: Path) -> None:
    path, out = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    path.write_bytes(told(">"))
    with Session([path]).load() as session:
        wanted = np.zeros(session.packets.counts.packets + 1, bool)
        wanted[[2, 5]] = True
        with create_file(str(out)) as output:
            assert write(session, wanted, output) == 2
    before, _ = seen(path)
    after, (made,) = seen(out)
    assert after == [before[1], before[4]]
    assert len(made.comments) == 1


HARD = {**{name: golden_frames("k4_go_segment", effect) for name, effect in EFFECTS.items()}, "kafka": None}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("code", [1, 18])
def test_the_packets_of_messages_are_those_that_show_tells(name: str, code: int, tmp_path: Path) -> None:
    path = KAFKA
    if (made := HARD[name]) is not None:
        path = tmp_path / "in.pcap"
        path.write_bytes(pcap(made))
    with Session([path]).load() as session:
        rows = np.flatnonzero(session.rows.column("code") == code)
        plain = {packet["number"] for row in rows.tolist() for packet in list_packets(session, row)}
        found = set(np.flatnonzero(packets_of(session, rows)).tolist())
        # A packet of which nothing was kept but its headers is in no piece that can be shown.
        cut = {packet for row in rows.tolist() for at, _, packet in list_pieces(session, row) if at == -2}
    assert plain
    assert plain <= found <= plain | cut


@pytest.mark.parametrize("path", [KAFKA, MIXED], ids=lambda path: path.name)
@pytest.mark.parametrize("handshakes", [False, True])
def test_reopened_it_has_the_same_messages(path: Path, handshakes: bool, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    with Session([path]).load() as session:
        rows = with_partners(session, np.flatnonzero(session.rows.column("code") == 1))
        mine = read_messages(session, rows)
        with create_file(str(out)) as output:
            write(session, packets_of(session, rows, handshakes=handshakes), output)
    with Session([out]).load() as session:
        framed = [row for row in range(len(session.rows)) if find_dissector(session, row) is not None]
        again = read_messages(session, np.array(framed))
    assert len(mine) > 100
    for each in mine:
        again.remove(each)


def about(session: Session, row: int) -> tuple[object, ...]:
    return read_header(session, row), session.rows.cell("offset", row), read_message(session, row)


def test_a_whole_connection_has_the_same_rows(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    with Session([KAFKA]).load() as session:
        rows = np.flatnonzero(session.rows.column("stream") == 3)
        before = [
            (read_header(session, row), session.rows.cell("offset", row), read_message(session, row))
            for row in rows.tolist()
        ]
        with create_file(str(out)) as output:
            write(session, packets_of(session, rows, handshakes=True), output)
    with Session([out]).load() as session:
        assert [about(session, row) for row in range(len(session.rows))] == before


# SYN, SYN-ACK, ACK, then requests and answers in turn, FIN, FIN and the last ACK.
CHOSEN = [(1, [4, 5], [1, 2, 3, 4, 5, 10, 11]), (3, [8, 9], [1, 2, 3, 4, 5, 8, 9, 10, 11])]


@pytest.mark.parametrize(("correlation", "bare", "whole"), CHOSEN)
def test_a_connections_beginning_and_end(correlation: int, bare: list[int], whole: list[int], tmp_path: Path) -> None:
    path = tmp_path / "in.pcap"
    mine, other = talk(1, 2, 3), talk(1)
    ends = (("10.0.0.9", 40_001), ("10.0.0.2", 9092))
    theirs = frames(segments(other), replace(other, ends=ends), T0 + NS)
    path.write_bytes(pcap([*frames(segments(mine)), *theirs]))
    with Session([path]).load() as session:
        index = session.rows
        rows = np.flatnonzero((index.column("correlation") == correlation) & (index.column("stream") == 0))
        assert np.flatnonzero(packets_of(session, rows)).tolist() == bare
        assert np.flatnonzero(packets_of(session, rows, handshakes=True)).tolist() == whole


def test_all_fragments_of_a_datagram(tmp_path: Path) -> None:
    whole = tcp(message(7, b"x" * 60), seq=1_001)
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    parts = [(whole[:32], 0, True), (whole[32:64], 32, True), (whole[64:], 64, False)]
    shuffled = [
        Frame(ethernet(ipv4(data, offset=offset, more=more, ident=ident)), T0 + NS + place)
        for place, (data, offset, more, ident) in enumerate(
            [(*parts[2], 7), (b"y" * 32, 0, True, 8), (*parts[0], 7), (*parts[1], 7)]
        )
    ]
    ending = frames([Segment(SERVER, 0, answer(7), len(message(7, b"x" * 60)))], begin=T0 + 2 * NS)
    path.write_bytes(pcap([*frames(opening()), *shuffled, *ending]))
    with Session([path]).load() as session:
        rows = np.flatnonzero(session.rows.column("role") == 0)
        wanted = packets_of(session, rows)
        with create_file(str(out)) as output:
            write(session, wanted, output)
    assert np.flatnonzero(wanted).tolist() == [4, 6, 7]
    with Session([out]).load() as session:
        assert read_message(session, 0) == message(7, b"x" * 60)


@pytest.mark.parametrize("form", ["cut in two", "dealt to two", "gzip", "pipe", "damaged pipe", "damaged"])
def test_from_wherever_packets_come(form: str, tmp_path: Path) -> None:
    made = frames(segments(talk(1, 2, 3, 4), in_parts(Random(1))))
    whole, out = tmp_path / "whole.pcap", tmp_path / "out.pcapng"
    whole.write_bytes(pcap(made))
    expected = exported([whole], tmp_path / "expected.pcapng", 3, handshakes=True)
    inputs: list[Path | str] = [tmp_path / "a", tmp_path / "b"]
    edges = [0, len(made) // 2, len(made)]
    if form == "cut in two":
        for path, (first, last) in zip(inputs, pairwise(edges), strict=True):
            Path(path).write_bytes(pcap(made[first:last]))
    elif form == "dealt to two":
        for number, path in enumerate(inputs):
            Path(path).write_bytes(pcap(made[number::2], magic=0xA1B23C4D))
    elif form == "gzip":
        inputs = inputs[:1]
        Path(inputs[0]).write_bytes(gzip.compress(whole.read_bytes()))
    elif form.endswith("pipe"):
        inputs = inputs[:1]
        os.mkfifo(inputs[0])
        # What comes behind a record that cannot be is in the spool, too, but was never read.
        behind = b"\xff" * 16 + pcap(made)[24:] if form.startswith("damaged") else b""
        data = whole.read_bytes() + behind
        threading.Thread(target=Path(inputs[0]).write_bytes, args=(data,), daemon=True).start()
    else:
        inputs = inputs[:1]
        Path(inputs[0]).write_bytes(whole.read_bytes() + pcap(made)[24:60])
    assert exported(inputs, out, 3, handshakes=True) == expected
    assert seen(out)[0] == seen(tmp_path / "expected.pcapng")[0]


@settings(max_examples=settings.default.max_examples // 4)  # each case writes two files and reads three
@given(
    st.sampled_from("<>"), st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), max_size=6), st.integers(0)
)
def test_damage_changes_no_packet_before_it(order: str, changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(told(order))
    for place, value in changes:
        data[place % len(data)] = value
    del data[cut % (4 * len(data)) :]
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "in.pcapng"), Path(folder, "out.pcapng")
        path.write_bytes(data)
        try:
            with Session([path]) as session, out.open("wb") as file:
                session.load()
                write(session, np.ones(session.packets.counts.packets + 1, bool), Output(file, str(out)))
        except CaptureError:
            return
        before, (info,) = seen(path)
        after, (made,) = seen(out)
    # Times before 1970 cannot be written, and those behind the year 2116 are not told apart.
    assert after == [(packet, min(max(time, 0), LONGEST), wire, link) for packet, time, wire, link in before]
    assert (made.names, made.capture_comments) == (info.names, info.capture_comments)
    assert [each.name for each in made.interfaces] == [each.name for each in info.interfaces]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_others_can_read_it(tmp_path: Path) -> None:
    path, out = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    path.write_bytes(told(">"))
    exported([path], out)

    found = tshark(out)
    # tshark looks for a packet's interface in the first section, whatever section the packet is in.
    assert [line.split("\t")[1:] for line in found[:4]] == [line.split("\t")[1:] for line in tshark(path)[:4]]
    assert found[0].split("\t") == ["1700000000.000000000", "54", "54", "eth0", "h\u00e9llo,again", "1000"]
    about = subprocess.run(["capinfos", str(out)], check=True, capture_output=True, text=True, timeout=60).stdout
    assert "Number of packets:   5" in about


def tshark(capture: Path) -> list[str]:
    names = ("time_epoch", "len", "cap_len", "interface_name", "comment")
    requested = [part for name in names for part in ("-e", f"frame.{name}")]
    command = ["tshark", "-n", "-r", str(capture), "-T", "fields", *requested, "-e", "tcp.seq_raw"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


# ---- exports of decrypted connections: secrets of what is in the output alone, and messages as packets


GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
CAPTURE, KEYS = str(GOLDEN / "k_java_t13.pcap.zst"), GOLDEN / "k_java_t13.keylog"
LISTED = ("operation", "version", "correlation", "length", "info")


def export(out: Path, *more: str) -> str:
    done = run("export", CAPTURE, "--keylog", str(KEYS), "-o", str(out), *more)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    return done.stderr.decode()


def rows(*arguments: str) -> bytes:
    keys = [word for key in LISTED for word in ("-e", key)]
    return run("list", *arguments, "--format", "csv", *keys).stdout


def test_embedded_keys_decrypt_the_output_and_no_more(tmp_path: Path) -> None:
    out = tmp_path / "a.pcapng"
    text = export(out, "-Y", "stream == 1", "--embed-keys")
    assert ", and " in text
    assert " secrets written to " in text
    assert rows(str(out)) == rows(CAPTURE, "--keylog", str(KEYS), "-Y", "stream == 1")
    written = set(re.findall(rb"[0-9a-f]{64} [0-9a-f]{64,}", out.read_bytes()))
    assert len({line.split()[0] for line in written}) == 1
    assert len(written) < len(re.findall(r"[0-9A-F]{64} [0-9A-F]{64,}", KEYS.read_text()))
    again = tmp_path / "b.pcapng"
    assert run("export", str(out), "-o", str(again)).returncode == 0
    assert not re.search(rb"[0-9a-f]{64} [0-9a-f]{64,}", again.read_bytes())


def test_without_the_option_no_secret_is_written(tmp_path: Path) -> None:
    secrets = [line.split()[-1].lower().encode() for line in KEYS.read_text().splitlines() if line]
    for form in ("pcapng", "pdus", "ndjson", "raw"):
        out = tmp_path / form
        export(out, "--as", form)
        data = out.read_bytes()
        assert not any(secret in data.lower() or bytes.fromhex(secret.decode()) in data for secret in secrets)


def test_embedded_keys_are_for_pcapng(tmp_path: Path) -> None:
    done = run("export", CAPTURE, "-o", str(tmp_path / "a.csv"), "--embed-keys")
    assert done.stderr.decode() == ("wireanalyze: --embed-keys is for pcapng, but the format is csv. Leave it out.\n")


def test_messages_are_packets_with_plaintext(tmp_path: Path) -> None:
    out, raw = tmp_path / "a.pcapng", tmp_path / "a.bin"
    assert export(out, "--as", "pdus").endswith(f"72 messages written to {out}\n")
    export(raw, "--as", "raw")
    data, plain = out.read_bytes(), raw.read_bytes()
    assert data.count(b"\x00\x0c\x00\x08kafka\0\0\0") == 72
    assert plain[:55] in data
    assert data.count((9093).to_bytes(4)) >= 72


def test_the_stream_is_the_plaintext(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    export(out, "--as", "stream", "--stream", "0")
    assert b"apache-kafka-java" in out.read_bytes()
