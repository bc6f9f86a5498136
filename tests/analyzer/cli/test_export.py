"""`wireanalyze export`, as a user calls it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.content import read_messages
from analyzer.session import Session
from tests.program import run
from tests.waiting import until

ROOT = Path(__file__).parents[3]
PATIENCE = 60
KAFKA = str(ROOT / "captures" / "kafka.pcap")
SASL = str(ROOT / "tests" / "golden" / "kafka" / "k24_sasl_v0.pcap.zst")
FETCHES = "kafka.api_key == 1 && role == response"


def exported(*arguments: str) -> str:
    """What a successful export says."""
    done = run("export", *arguments)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    return done.stderr.decode()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("ndjson", []),
        ("ndjson", ["--fields", "--bytes-limit", "all"]),
        ("csv", []),
        ("tsv", ["-e", "number,operation,kafka.topic"]),
        ("csv", ["--columns", "kafka"]),
        ("csv", ["-e", "number,time", "--time-format", "delta"]),
        ("ndjson", ["-Y", FETCHES, "-e", "number,error"]),
    ],
)
def test_lines_are_those_of_list(form: str, more: list[str], tmp_path: Path) -> None:
    out = tmp_path / f"out.{form}"
    exported(KAFKA, "-o", str(out), *more)
    assert out.read_bytes() == run("list", KAFKA, "--format", form, *more).stdout
    assert out.read_bytes() == run("export", KAFKA, "-o", "-", "--as", form, *more).stdout


def test_a_filter_chooses_and_partners_come_along(tmp_path: Path) -> None:
    alone, both = tmp_path / "alone.ndjson", tmp_path / "both.ndjson"
    assert "109 messages written" in exported(KAFKA, "-o", str(alone), "-Y", FETCHES)
    assert "218 messages written" in exported(KAFKA, "-o", str(both), "-Y", FETCHES, "--partners")
    numbers = [json.loads(line)["number"] for line in both.read_text().splitlines()]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("only", ["client", "server", None])
def test_a_stream_is_what_follow_says(only: str | None, tmp_path: Path) -> None:
    out, side = tmp_path / "out", [] if only is None else ["--only", only]
    text = exported(KAFKA, "-o", str(out), "--as", "stream", "--stream", "2", *side)
    assert out.read_bytes() == run("follow", KAFKA, "2", "--as", "raw", *side).stdout
    assert text.count("not masked") == 1


def test_packets_of_messages_and_of_their_connections(tmp_path: Path) -> None:
    bare, whole = tmp_path / "bare.pcapng", tmp_path / "whole.pcapng"
    assert "not masked" in exported(KAFKA, "-o", str(bare), "-Y", "stream == 2")
    assert "11 packets of 6 messages" in exported(KAFKA, "-o", str(whole), "--stream", "2", "--handshakes")
    listed = [
        json.loads(line) for line in run("list", KAFKA, "-Y", "stream == 2", "--format", "ndjson").stdout.splitlines()
    ]
    again = [json.loads(line) for line in run("list", str(whole), "--format", "ndjson").stdout.splitlines()]
    assert [(row["id"], row["time"], row["info"]) for row in again] == [
        (row["id"], row["time"], row["info"]) for row in listed
    ]


def test_bytes_and_objects(tmp_path: Path) -> None:
    raw, split, objects = tmp_path / "out.bin", tmp_path / "split", tmp_path / "objects"
    exported(KAFKA, "-o", str(raw), "-Y", "operation == Produce")
    exported(KAFKA, "-o", str(split), "-Y", "operation == Produce", "--split")
    exported(KAFKA, "-o", str(objects), "-Y", "operation == Produce", "--as", "objects")
    with Session([KAFKA]).load() as session:
        rows = np.flatnonzero(session.rows.column("code") == 0)
        assert raw.read_bytes() == b"".join(read_messages(session, rows))
    files = sorted(path for path in split.iterdir() if path.suffix == ".bin")
    assert b"".join(path.read_bytes() for path in files) == raw.read_bytes()
    assert any(path.suffix == ".value" for path in objects.iterdir())


def test_secrets_are_masked_where_they_can_be(tmp_path: Path) -> None:
    masked, shown, raw = tmp_path / "masked.ndjson", tmp_path / "shown.ndjson", tmp_path / "raw.bin"
    assert "masked" not in exported(SASL, "-o", str(masked), "--fields").replace(str(masked), "")
    exported(SASL, "-o", str(shown), "--fields", "--show-secrets")
    exported(SASL, "-o", str(raw))
    assert b"redacted" in masked.read_bytes()
    assert b"redacted" not in shown.read_bytes()


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "out"], "the end of out does not say the form of the export: add --as ndjson"),
        (["-o", "out.pcap"], "the end of out.pcap does not say"),
        (["-o", "there.csv"], "there.csv exists already."),
        (["-o", "no/out.csv"], "there is no folder no"),
        (["-o", "folder", "--as", "raw"], "folder is a folder"),
        (["-o", "folder", "--as", "objects", "--force"], "was not written by an export"),
        (["-o", "-", "--as", "objects"], "standard output is not"),
        (["-o", "-", "--as", "parquet"], "standard output is not"),
        (["-o", "there.csv", "--as", "parquet"], "there.csv is a file"),
        (["-o", "out.csv", "--handshakes"], "--handshakes is for pcapng, and this is to be csv"),
        (["-o", "out.pcapng", "-e", "id"], "-e is for ndjson, json, csv, tsv"),
        (["-o", "out.bin", "--table", "messages"], "--table is for parquet"),
        (["-o", "out.bin", "--time-format", "iso"], "--time-format is for ndjson"),
        (["-o", "out", "--as", "stream"], "name the stream with --stream"),
        (["-o", "out.bin", "--stream", "99"], "there is no stream 99"),
        (["-o", "out.pcapng", "--reader", "scapy"], "Leave out --reader."),
        (["-o", "out.csv", "-e", "lenght"], "length"),
        (["-o", "out.csv", "-Y", "length >"], "expected a value"),
        (["-o", "out", "--as", "objects", "--max-files", "2"], "more than 2 files"),
    ],
)
def test_errors_are_one_sentence_and_leave_nothing(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").touch()
    (tmp_path / "there.csv").write_text("mine")
    done = run("export", KAFKA, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert text in done.stderr.decode()
    assert "defect" not in done.stderr.decode()
    assert sorted(os.listdir(tmp_path)) == ["folder", "there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_what_is_there_is_refused_before_a_capture_is_read(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.touch()
    done = run("export", str(tmp_path / "no such capture"), "-o", str(out))
    assert b"exists already." in done.stderr
    exported(KAFKA, "-o", str(out), "--force")
    assert out.stat().st_size


def test_from_a_pipe(tmp_path: Path) -> None:
    out, expected = tmp_path / "out.pcapng", tmp_path / "expected.pcapng"
    done = run("export", "-", "-o", str(out), "-Y", FETCHES, "--handshakes", stdin=Path(KAFKA).read_bytes())
    assert done.returncode == 0
    exported(KAFKA, "-o", str(expected), "-Y", FETCHES, "--handshakes")
    assert out.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_in_between(number: int, tmp_path: Path) -> None:
    """While the capture is still coming; tests/analyzer/capture/test_output.py ends the writing itself."""
    pipe, out = tmp_path / "pipe", tmp_path / "out.pcapng"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "analyzer.cli", "export", str(pipe), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with pipe.open("wb", buffering=0) as file:
            file.write(Path(KAFKA).read_bytes()[:20_000])
            until("an empty pipe", lambda: not any(fcntl.ioctl(file, termios.FIONREAD, bytes(4))))
            process.send_signal(number)
            assert process.wait(PATIENCE) != 0
    finally:
        process.kill()
        process.wait()
    assert os.listdir(tmp_path) == ["pipe"]
