"""Files that are written one after the other: read while they grow, kept while they are needed, saved as one."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture import feed
from analyzer.capture import succession as module
from analyzer.capture.output import Output
from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet, encode_statistics
from analyzer.capture.records import RecordBlock
from analyzer.capture.succession import FileSuccession
from analyzer.errors import UserError
from analyzer.export.pcapng import write
from analyzer.insight.frames import frames_of
from analyzer.session import Session
from tests.analyzer.capture.reading import read, rows
from tests.analyzer.capture.writers import T0, Ng, ethernet, ipv4, segment, udp
from tests.analyzer.wire import rows_of
from tests.waiting import until

ROOT = Path(__file__).parents[3]
PATIENCE = 60.0
NG = Ng()
HEAD = NG.section() + NG.interface(link=1)
PAYLOADS = [f"packet {number}".encode() for number in range(60)]
BLOCKS = [NG.enhanced(segment(payload, seq=number), (T0 + number) // 1000) for number, payload in enumerate(PAYLOADS)]


def written(path: Path, blocks: list[bytes], head: bytes = HEAD) -> str:
    path.write_bytes(head + b"".join(blocks))
    return str(path)


class Reader(threading.Thread):
    """Reads the packets of a succession while files come: their payloads."""

    def __init__(self, packets: PacketReader) -> None:
        super().__init__()
        self.packets = packets
        self.payloads: list[bytes] = []

    def run(self) -> None:
        for block in self.packets.blocks():
            self.payloads += self.packets.store.read_many(block.at, block.captured)


@contextmanager
def reading(files: FileSuccession) -> Iterator[Reader]:
    with PacketReader(files, block=16) as packets:
        reader = Reader(packets)
        reader.start()
        try:
            yield reader
        finally:
            packets.stop()
            reader.join()


# ---- rows of a live run are the rows of its files

CAPTURES = ["captures/kafka.pcap", "captures/mixed.pcapng", "tests/golden/zookeeper", "tests/golden/pulsar"]


def captures() -> list[Path]:
    found = [ROOT / name for name in CAPTURES]
    return [min(path.glob("*.pcap*")) if path.is_dir() else path for path in found]


def as_pcapng(path: Path) -> tuple[bytes, list[bytes]]:
    """The packets of a capture as blocks, and what a file of them begins with."""
    with PacketReader([path]) as packets:
        for _ in packets.blocks():
            pass
        records = RecordBlock.concatenate(list(packets.reread_records()))
        data = packets.store.read_many(records.at, records.captured)
        links = np.unique(records.link).tolist()
        columns = (records.link.tolist(), records.time.tolist(), data, records.original.tolist())
        blocks = [encode_packet(links.index(link), *rest) for link, *rest in zip(*columns, strict=True)]
    return encode_header([InterfaceDescription(f"if{link}", link) for link in links]), blocks


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_rows_equal_those_of_one_file(path: Path, seed: int, tmp_path: Path) -> None:
    """Pieces of any length in any number of files, of which a ring takes the first ones away."""
    chance = random.Random(seed)
    head, blocks = as_pcapng(path)
    whole = tmp_path / "whole.pcapng"
    whole.write_bytes(head + b"".join(blocks))
    cuts = sorted(chance.randrange(len(blocks) + 1) for _ in range(chance.choice((0, 3, 40))))
    files = FileSuccession()

    def write() -> None:
        names = []
        for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(blocks)], strict=True)):
            names.append(tmp_path / f"{number}.pcapng")
            data = head + b"".join(blocks[first:last]) + encode_statistics(0, T0, last - first, 0)
            step = chance.choice((100, 10_000, 1_000_000))
            with open(names[-1], "wb", buffering=0) as file:
                file.write(data[: (at := len(head))])
                files.add_file(str(names[-1]))
                while at < len(data):
                    file.write(data[at : (at := at + chance.randrange(1, step))])
            if len(names) > 4:
                names[-5].unlink()
                files.remove_file(str(names[-5]))
        files.finish()

    writer = threading.Thread(target=write)
    with Session(files, block=chance.choice((7, 1000))) as session:
        writer.start()
        for _ in session.grow():
            pass
        writer.join()
        live, found, counts = rows_of(session), session.findings, session.packets.counts
        with Session([whole]).load() as other:
            assert live == rows_of(other)
            assert found == other.findings
            assert counts == other.packets.counts
            assert other.packets.counts.packets == len(blocks)


# ---- what becomes of files


def test_a_file_is_read_while_it_grows_and_whatever_becomes_of_its_name(tmp_path: Path) -> None:
    files = FileSuccession()
    first = tmp_path / "1"
    with reading(files) as reader, open(first, "wb", buffering=0) as file:
        file.write(HEAD[:-5])
        files.add_file(str(first))
        first.unlink()
        file.write(HEAD[-5:] + BLOCKS[0] + BLOCKS[1][:30])
        until("it", lambda: len(reader.payloads) == 1)
        file.write(BLOCKS[1][30:])
        until("it", lambda: len(reader.payloads) == 2)
        files.add_file(written(tmp_path / "2", BLOCKS[2:9]))
        until("it", lambda: len(reader.payloads) == 9)
        files.finish()
        reader.join(PATIENCE)
        assert reader.payloads == PAYLOADS[:9]
        assert [info.packets for info in reader.packets.files] == [2, 7]
        assert reader.packets.findings == []


CUT = HEAD + BLOCKS[0] + BLOCKS[1][:-3]
DAMAGED = HEAD + BLOCKS[0] + BLOCKS[1][:-4] + bytes(4)
PROBLEMS = {
    "nothing": (b"", 0, "is empty"),
    "half a header": (HEAD[:20], 0, "ends within its pcapng section header, at byte 20"),
    "no capture": (b"GET / HTTP/1.1\r\n" * 3, 0, "is not a capture"),
    "cut in a packet": (CUT, 1, "it ends in the middle of a record"),
    "damaged": (DAMAGED, 1, "is damaged at byte"),
}


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, name: str, is_last: bool) -> None:
    content, count, text = PROBLEMS[name]
    (tmp_path / "bad").write_bytes(content)
    files = FileSuccession()
    files.add_file(written(tmp_path / "good", BLOCKS[10:20]))
    files.add_file(str(tmp_path / "bad"))
    if not is_last:
        files.add_file(written(tmp_path / "better", BLOCKS[20:30]))
    files.finish()
    with PacketReader(files) as packets:
        found = rows(packets)
        assert len(found) == 10 + count + (not is_last) * 10
        assert [packet.number for packet in found] == list(range(1, len(found) + 1))
        (finding,) = packets.findings
        assert finding.code == "damaged-capture"
        assert "bad" in finding.text
        assert text in finding.text


def test_a_file_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    files = FileSuccession()
    files.add_file(str(tmp_path / "missing"))
    files.add_file(written(tmp_path / "good", BLOCKS[:5]))
    files.finish()
    with PacketReader(files) as packets:
        assert [packet.payload for packet in rows(packets)] == PAYLOADS[:5]
        packets.release(99)
        assert "cannot open" in packets.findings[0].text
        assert "what was captured to it is not shown" in packets.findings[0].text


def test_a_file_that_could_not_be_opened_at_once_is_tried_when_its_turn_comes(tmp_path: Path) -> None:
    files = FileSuccession()
    assert files.add_file(written(tmp_path / "1", BLOCKS[:5]))
    assert not files.add_file(str(tmp_path / "2")), "its name must stay"
    written(tmp_path / "2", BLOCKS[5:9])
    files.finish()
    with PacketReader(files) as packets:
        assert [packet.payload for packet in rows(packets)] == PAYLOADS[:9]
        packets.release(99)
    assert packets.findings == []


def test_what_begins_when_nobody_reads_any_more_is_not_opened(tmp_path: Path) -> None:
    files, before = FileSuccession(), len(os.listdir("/dev/fd"))
    PacketReader(files).close()
    assert files.add_file(written(tmp_path / "1", BLOCKS[:5])), "its name may go"
    files.finish()
    assert len(os.listdir("/dev/fd")) == before


def test_nothing_is_no_damage(tmp_path: Path) -> None:
    files = FileSuccession()
    files.finish()
    with PacketReader(files) as packets:
        assert rows(packets) == []
        assert packets.findings == []
        assert files.save(str(tmp_path / "saved")) == 0


def test_a_file_that_was_cut_back_is_whole(tmp_path: Path) -> None:
    """Who finds the disk full takes the part of a block away again."""
    files = FileSuccession()
    path = tmp_path / "1"
    with reading(files) as reader:
        files.add_file(written(path, [BLOCKS[0], BLOCKS[1][:20]]))
        until("it", lambda: len(reader.payloads) == 1)
        os.truncate(path, len(HEAD) + len(BLOCKS[0]))
        files.finish()
        reader.join(PATIENCE)
        assert reader.packets.findings == []


def test_stop_gives_what_there_is(tmp_path: Path) -> None:
    files = FileSuccession()
    files.add_file(written(tmp_path / "1", BLOCKS[:20]))
    files.add_file(written(tmp_path / "2", [*BLOCKS[20:30], BLOCKS[30][:9]]))
    with PacketReader(files) as packets:
        packets.stop()
        assert [packet.payload for packet in rows(packets)] == PAYLOADS[:30]
        assert packets.findings == []


def test_a_silence_is_an_empty_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads a live capture goes on while nothing comes, so that it tells what it has put off."""
    monkeypatch.setattr(feed, "IDLE", 0.02)
    files = FileSuccession()
    with PacketReader(files) as packets:
        timeout = threading.Timer(PATIENCE, packets.stop)
        timeout.start()
        files.add_file(written(tmp_path / "a.pcapng", BLOCKS))
        blocks = packets.blocks()
        assert sum(iter(lambda: len(next(blocks)), 0)) == len(BLOCKS)
        assert len(next(blocks)) == 0
        with open(tmp_path / "a.pcapng", "ab") as file:
            file.write(BLOCKS[0])
        files.finish()
        assert sum(map(len, blocks)) == 1
        timeout.cancel()


# ---- what leaves


def test_files_leave_from_the_first_on(tmp_path: Path) -> None:
    files = FileSuccession()
    names = [written(tmp_path / str(number), BLOCKS[10 * number : 10 * number + 10]) for number in range(4)]
    with PacketReader(files) as packets:
        for name in names:
            files.add_file(name)
        files.finish()
        files.remove_file(names[1])
        files.remove_file(names[0])
        assert packets.removed_before == 1, "nothing has been read"
        blocks = packets.blocks()
        at = [int(next(blocks).at[0]) for _ in range(3)]
        assert packets.removed_before == 21
        assert packets.first == 1
        packets.release(20)
        assert packets.first == 11, "packet 20 is still needed"
        assert [part.path for part in files.parts] == names[1:]
        packets.release(21)
        assert (packets.first, packets.removed_before) == (21, 21)
        assert [info.path for info in packets.files] == names[2:3]
        assert packets.store.read_bytes(at[0], 9) == bytes(9), "what has left reads as zeros"
        assert packets.store.gather(np.array(at), 6).tolist() == [[0] * 6, [0] * 6, [*PAYLOADS[20][:6]]]
        packets.release(99)
        assert packets.first == 21, "the file that is read stays"
        assert len(list(blocks)) == 1
        assert [(before, len(records)) for before, records in packets.reread_numbered()] == [(20, 10), (30, 10)]
        assert files.save(str(tmp_path / "saved")) == 20
        assert files.first == 21
    assert read(tmp_path / "saved").payloads == PAYLOADS[20:40]


def test_a_ring_with_a_file_each_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors, files and ids are bounded, also where the ring keeps all of its files; empty ones leave no trace."""
    monkeypatch.setattr(module, "AWAKE", 5)
    monkeypatch.setattr(module, "MOST_FILES", 12)
    monkeypatch.setattr("analyzer.capture.store.MOST", 20)
    files = FileSuccession()
    before = len(os.listdir("/dev/fd"))
    with PacketReader(files) as packets:
        blocks = packets.blocks()
        for number in range(60):
            files.add_file(written(tmp_path / str(number), []))
            files.add_file(written(tmp_path / f"{number}+", BLOCKS[number : number + 1]))
            (at,) = next(blocks).at
            packets.release(packets.removed_before)
            assert len(os.listdir("/dev/fd")) - before < 12
            assert packets.store.read_bytes(int(at), 8) == PAYLOADS[number][:8]
        assert 10 < len(packets.files) < 15
        early = list(packets.reread_records())
        assert packets.store.read_bytes(int(early[0].at[0]), 9)[:6] == BLOCKS[0][28:34], (
            "a file that rests is opened again"
        )
        files.finish()
        assert list(blocks) == []
        count = files.save(str(tmp_path / "saved"))
        assert count == 60 - files.first + 1
    assert len(os.listdir("/dev/fd")) == before
    assert read(tmp_path / "saved").payloads == PAYLOADS[-count:]


@pytest.mark.parametrize("spooled", [False, True])
def test_files_without_a_row_go_as_well(tmp_path: Path, spooled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where hardly anything is TCP, and of files that nobody else has the first when they are too much."""
    monkeypatch.setattr(module, "MOST_BYTES", 20_000)
    datagram = NG.enhanced(ethernet(ipv4(udp(bytes(1000), (1, 2)), protocol=17)), T0 // 1000)
    files, most = FileSuccession(), 0
    with Session(files) as session:
        rows = session.grow()
        for number in range(60):
            path = tmp_path / str(number)
            files.add_file(written(path, [datagram] * 3 if number else [*BLOCKS[:2], datagram]))
            path.unlink()
            if not spooled and number > 2:
                files.remove_file(str(tmp_path / str(number - 2)))
                files.remove_file(str(tmp_path / str(number - 3)))
        files.finish()
        for _ in rows:
            session.eviction.evict(session.eviction.find_due_row(None))
            most = max(most, len(session.packets.files))
        assert session.packets.counts.packets == 180
        assert session.packets.files[0].path == str(tmp_path / ("54" if spooled else "58"))
        assert most < 10


def test_a_session_of_several_files_without_the_first(tmp_path: Path) -> None:
    """Packets of a row, exported packets and a second reading are those of the files that are left."""
    head, blocks = as_pcapng(ROOT / "captures" / "kafka.pcap")
    files = FileSuccession()
    third = len(blocks) // 3
    parts = [blocks[:third], blocks[third : 2 * third], blocks[2 * third :]]
    for number, part in enumerate(parts):
        files.add_file(written(tmp_path / str(number), part, head))
    whole = written(tmp_path / "whole", blocks, head)
    with Session(files) as session, Session([whole]).load() as other:
        with pytest.raises(UserError, match="Stop it first"):
            session.reopen_with_rules((29092, "raw"))
        files.finish()
        session.load()
        last = len(session.rows) - 1
        expected = [replace(frame, at=0) for frame in frames_of(other, last)]
        assert [replace(frame, at=0) for frame in frames_of(session, last)] == expected
        session.packets.release(third + 1)
        assert session.packets.first == third + 1
        assert [replace(frame, at=0) for frame in frames_of(session, last)] == expected
        wanted = np.ones(len(blocks) + 1, bool)
        with open(tmp_path / "out", "wb") as file:
            assert write(session, wanted, Output(file, "out")) == len(blocks) - third
        assert read(tmp_path / "out").payloads == read([tmp_path / "1", tmp_path / "2"]).payloads
        with session.reopen_with_rules((29092, "zookeeper")).load() as again:
            assert again.packets.counts.packets == len(blocks) - third
            assert "zookeeper" in {row["protocol"] for row in rows_of(again)}


# ---- what is saved


def test_saved_while_it_is_captured(tmp_path: Path) -> None:
    files = FileSuccession()
    files.add_file(written(tmp_path / "1", [*BLOCKS[:20], NG.other(5, bytes(12))]))
    files.add_file(written(tmp_path / "2", [*BLOCKS[20:25], BLOCKS[25][:40]]))
    saved = tmp_path / "saved"
    assert files.save(str(saved)) == 25, "nothing has been read yet"
    assert read(saved).payloads == PAYLOADS[:25]
    assert read(saved).findings == []
    with pytest.raises(UserError, match="exists already"):
        files.save(str(saved))
    with pytest.raises(UserError, match="is being written to"):
        files.save(str(tmp_path / "2"), force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "saved"]
    files.close()


def test_read_once_more_when_it_is_over(tmp_path: Path) -> None:
    """Also a spool, whose names are gone."""
    files = FileSuccession()
    for number in range(3):
        files.add_file(written(tmp_path / str(number), BLOCKS[number * 20 : number * 20 + 20]))
        (tmp_path / str(number)).unlink()
    files.finish()
    with PacketReader(files) as packets, PacketReader(files.reopen()) as others:
        assert rows(packets) == rows(others)
        assert others.counts.packets == 60
