"""Captures that come through pipes, as other programs write them: rows come with their packets, not at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet
from analyzer.capture.records import RecordBlock
from analyzer.cli.memory import LEAST
from analyzer.cli.program import run
from analyzer.messages.eviction import Eviction
from tests.namespaces import in_namespace, privileged
from tests.waiting import until

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "captures" / "kafka.pcap"
TRAFFIC = ROOT / "tests" / "analyzer" / "capture" / "live_traffic.py"
STREAM, PORT, MESSAGES = 2, 29092, 6
PROGRAM = [sys.executable, "-m", "analyzer.cli"]
ROWS = ["--format", "ndjson", "-e", "number,role,operation"]
PATIENCE = 60.0


class Listing:
    """`list -` as a process: what is written to it, and the rows that it has printed."""

    def __init__(self, source: str = "-") -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "list", source, *ROWS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.rows: list[dict[str, object]] = []
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        assert self.process.stdout is not None
        self.rows.extend(json.loads(line) for line in iter(self.process.stdout.readline, b""))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end(self) -> str:
        """What was said on standard error, when the input has ended."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        self._thread.join(PATIENCE)
        text = self.process.stderr.read().decode()
        self.process.wait(PATIENCE)
        self.process.stderr.close()
        return text


@contextmanager
def listing(source: str = "-") -> Iterator[Listing]:
    found = Listing(source)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.end()
        assert found.process.stdout is not None
        found.process.stdout.close()


def blocks() -> list[bytes]:
    """The packets of the capture as pcapng blocks."""
    with PacketReader([CAPTURE]) as packets:
        for _ in packets.blocks():
            pass
        records = RecordBlock.concatenate(list(packets.reread_records()))
        data = packets.store.read_many(records.at, records.captured)
        columns = (records.time.tolist(), data, records.original.tolist())
        return [encode_packet(0, *each) for each in zip(*columns, strict=True)]


def all_rows() -> list[dict[str, object]]:
    done = subprocess.run([*PROGRAM, "list", str(CAPTURE), *ROWS], capture_output=True, check=True, cwd=ROOT)
    return [json.loads(line) for line in done.stdout.splitlines()]


LINK = int.from_bytes(CAPTURE.read_bytes()[20:22], "little")
HEAD = encode_header([InterfaceDescription("lo", LINK)])


def test_a_pipe_that_pauses_brings_a_second_section_and_ends_in_a_record() -> None:
    parts, expected = blocks(), all_rows()
    with listing() as found:
        found.write(HEAD + b"".join(parts[:200]) + parts[200][:50])
        until("the first rows", lambda: len(found.rows) > 50)
        found.write(parts[200][50:] + b"".join(parts[201:300]))
        before = len(found.rows)
        until("more rows", lambda: len(found.rows) > before)
        found.write(HEAD + b"".join(parts[300:-1]) + parts[-1][:-4])
        text = found.end()
    assert found.process.returncode == 0
    assert found.rows == expected[: len(found.rows)]
    assert len(found.rows) >= len(expected) - 2
    assert "standard input is damaged at byte" in text
    assert "it ends in the middle of a record" in text


def test_rows_of_a_named_pipe_come_as_they_close(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    whole = CAPTURE.read_bytes()
    with listing(str(path)) as found, open(path, "wb", buffering=0) as pipe:
        pipe.write(whole[:60_000])
        until("the first rows", lambda: len(found.rows) > 20)
        assert found.process.poll() is None
        pipe.write(whole[60_000:])
        pipe.close()
        assert found.end() == ""
    assert found.rows == all_rows()


ROUNDS = 4


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [[], ["--tail", "2000"], ["--sort", "number"]], ids=str)
def test_the_oldest_rows_leave(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """All are printed as they come; what has to be kept for the end is what is there at the end."""
    monkeypatch.setattr("analyzer.cli.memory.PROGRAM", LEAST - 100_000)
    left = [0]
    leave = Eviction.evict

    def told(eviction: Eviction, before: int) -> None:
        leave(eviction, before)
        left.append(eviction._engine.rows.first)

    monkeypatch.setattr(Eviction, "evict", told)
    path, once = tmp_path / "fifo", b"".join(blocks())
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as pipe:
            for number in range(ROUNDS):
                before = len(left)
                pipe.write(HEAD + once.replace(b"\x7f\0\0\1", bytes((127, 0, number, 1))))
                pipe.flush()
                until("a block", lambda before=before: len(left) > before)

    writer = threading.Thread(target=write)
    writer.start()
    assert run(["list", str(path), "--memory", "256M", *ROWS, *options]) == 0
    writer.join(PATIENCE)
    printed = [json.loads(line)["number"] for line in capsysbinary.readouterr().out.splitlines()]
    every = range(1, ROUNDS * len(all_rows()) + 1)
    assert 0 < left[-1] < len(every) - 1000
    assert printed == list(every[left[-1] :] if options else every)


def test_memory_is_not_for_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", str(CAPTURE), "--memory", "1G"]) == 2
    assert "--memory is for pipes" in capsys.readouterr().err


WRITERS = {
    "tcpdump -U": ("tcpdump", "tcpdump -i lo -U -w - tcp port {port}", True),
    "tcpdump, nanoseconds": ("tcpdump", "tcpdump -i lo -U --immediate-mode --nano -w - tcp port {port}", True),
    "tcpdump without -U": ("tcpdump", "tcpdump -i lo --immediate-mode -w - tcp port {port}", False),
    "dumpcap": ("dumpcap", "dumpcap -i lo -q -f 'tcp port {port}' -w -", True),
    "dumpcap -P": ("dumpcap", "dumpcap -i lo -q -P -f 'tcp port {port}' -w -", True),
}


@pytest.mark.sampled(2)
@privileged
@pytest.mark.parametrize("name", WRITERS)
def test_what_other_programs_capture(tmp_path: Path, name: str) -> None:
    program, command, at_once = WRITERS[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    writer = command.format(port=PORT)
    script = (
        f"sh -c 'echo $$ >pid; exec {writer.replace(chr(39), chr(34))}' 2>heard"
        f" | {' '.join([*PROGRAM, 'list', '-', *ROWS])} >rows 2>said & sh; wait"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = subprocess.Popen(in_namespace(script), stdin=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)

    def content(file: str) -> str:
        return (tmp_path / file).read_text() if (tmp_path / file).exists() else ""

    def has_all() -> bool:
        """Whether tcpdump has taken all that the kernel has for it, where each packet of lo is counted twice."""
        os.kill(int(content("pid")), signal.SIGUSR1)
        counts = re.findall(r"(\d+) packets captured, (\d+) packets received", content("heard"))
        return bool(counts) and 0 < 2 * int(counts[-1][0]) == int(counts[-1][1])

    try:
        until("the capture", lambda: "istening on" in content("heard") or "Capturing on" in content("heard"))
        assert shell.stdin is not None
        shell.stdin.write(f"{sys.executable} {TRAFFIC} {CAPTURE} {STREAM} {PORT} >talked\n")
        shell.stdin.flush()
        if at_once:
            until("the rows", lambda: content("rows").count("\n") == MESSAGES)
        else:
            until("the traffic", lambda: content("talked") != "")
            until("the packets", has_all)
    finally:
        if content("pid"):
            os.kill(int(content("pid")), signal.SIGINT)
        shell.communicate(timeout=PATIENCE)
    assert content("said") == ""
    assert [json.loads(line)["number"] for line in content("rows").splitlines()] == list(range(1, MESSAGES + 1))
