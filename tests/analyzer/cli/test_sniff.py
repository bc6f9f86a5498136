"""Live capture, in a network namespace of the test's own: rows as they come equal the rows of the file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "captures" / "kafka.pcap"
TRAFFIC = ROOT / "tests" / "analyzer" / "capture" / "live_traffic.py"
PROGRAM = [sys.executable, "-m", "analyzer.cli"]
STREAM, PORT = 2, 29092
MESSAGES = 6
PATIENCE = 30.0
LATER = {"partner", "partner_id", "client"}
"""What a live row can't know yet of a request."""


def in_namespace(script: str) -> list[str]:
    return ["unshare", "--net", "sh", "-c", f"ip link set lo up && {script}"]


def why_not() -> str | None:
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None or shutil.which("ip") is None:
        return "needs Linux with unshare and ip"
    tried = subprocess.run(in_namespace("true"), capture_output=True, check=False)
    return None if tried.returncode == 0 else "needs the right to make a network namespace"


WHY_NOT = why_not()
privileged = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def sniffing(directory: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A shell in a namespace of its own, in which `sniff` runs; what is written to it is run beside."""
    script = (
        f"{' '.join(PROGRAM)} sniff -i lo --headless --format ndjson {' '.join(options)} >rows 2>said & echo $! >pid;"
        " sh; wait $(cat pid); echo $? >status"
    )
    shell = subprocess.Popen(in_namespace(script), stdin=subprocess.PIPE, text=True, cwd=directory, env=environment())
    try:
        yield shell
    finally:
        if shell.poll() is None:
            interrupt(directory)
        shell.communicate(timeout=PATIENCE)


def interrupt(directory: Path) -> None:
    os.kill(int((directory / "pid").read_text()), signal.SIGINT)


def talk(shell: subprocess.Popen[str]) -> None:
    assert shell.stdin is not None
    shell.stdin.write(f"{sys.executable} {TRAFFIC} {CAPTURE} {STREAM} {PORT} >talked\n")
    shell.stdin.flush()


def until(what: str, holds: object) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.05)


def content(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def without(row: dict[str, object], keys: set[str]) -> dict[str, object]:
    return {key: value for key, value in row.items() if key not in keys}


@privileged
def test_live_rows_equal_the_rows_of_the_file(tmp_path: Path) -> None:
    with sniffing(tmp_path, "-f", f"'tcp port {PORT}'", "-w", "kept.pcapng", "--fields") as shell:
        until("the capture", lambda: (tmp_path / "kept.pcapng").exists())
        talk(shell)
        until("the rows", lambda: content(tmp_path / "rows").count("\n") == MESSAGES)  # while it still runs
        interrupt(tmp_path)
        shell.communicate(timeout=PATIENCE)
    assert content(tmp_path / "status") == "0\n"
    live = rows_of(content(tmp_path / "rows"))
    command = [*PROGRAM, "list", str(tmp_path / "kept.pcapng"), "--format", "ndjson", "--fields"]
    listed = rows_of(subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout)
    assert len(live) == len(listed) == MESSAGES
    for mine, other in zip(live, listed, strict=True):
        later = LATER if mine["role"] == "request" else set()
        assert without(mine, later) == without(other, later)
    said = content(tmp_path / "said")
    assert "packets captured to kept.pcapng" in said
    assert "dropped" not in said


@privileged
def test_a_filter_chooses_rows_as_they_close(tmp_path: Path) -> None:
    """Their numbers stay."""
    with sniffing(tmp_path, "-w", "kept.pcapng", "-Y", "'role == response'", "-e", "number,role,latency_ns") as shell:
        until("the capture", lambda: (tmp_path / "kept.pcapng").exists())
        talk(shell)
        until("the rows", lambda: content(tmp_path / "rows").count("\n") == MESSAGES // 2)
        interrupt(tmp_path)
        shell.communicate(timeout=PATIENCE)
    command = [*PROGRAM, "list", str(tmp_path / "kept.pcapng"), "--format", "ndjson", "-e", "number,role,latency_ns"]
    listed = rows_of(subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout)
    assert rows_of(content(tmp_path / "rows")) == [row for row in listed if row["role"] == "response"]


def test_a_filter_needs_rows_to_choose_from() -> None:
    done = subprocess.run(
        [*PROGRAM, "sniff", "-Y", "role == push"], capture_output=True, text=True, check=False, env=environment()
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "-Y chooses the rows that --headless prints" in done.stderr


@privileged
def test_a_count_and_a_time_end_it(tmp_path: Path) -> None:
    with sniffing(tmp_path, "-c", "5", "-a", "duration:20", "-w", "kept.pcapng") as shell:
        until("the capture", lambda: (tmp_path / "kept.pcapng").exists())
        talk(shell)
        until("the end", lambda: "captured" in content(tmp_path / "said"))
        shell.communicate(timeout=PATIENCE)
    assert "5 packets captured" in content(tmp_path / "said")
    assert content(tmp_path / "status") == "0\n"


@privileged
def test_the_capturing_process_does_not_outlive_the_analyzer(tmp_path: Path) -> None:
    with sniffing(tmp_path, "-w", "kept.pcapng") as shell:
        until("the capture", lambda: (tmp_path / "kept.pcapng").exists())
        parent = int(content(tmp_path / "pid"))
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        assert len(children) == 1
        os.kill(parent, signal.SIGKILL)
        until("its end", lambda: not Path(f"/proc/{children[0]}").exists())
        shell.communicate(timeout=PATIENCE)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-i", "no-such-if"], "there is no interface no-such-if: there are "),
        (["-a", "60"], "'60' is not duration:SECONDS"),
        (["-w", "/no/such/folder/x"], "cannot write /no/such/folder/x"),
        (["-e", "nope"], "-e nope: there is no field nope"),
        (["-Y", "latency >"], "expected a value, found the end"),
    ],
)
def test_errors_are_one_sentence(options: list[str], text: str) -> None:
    if options[0] == "-w" and WHY_NOT is not None:
        pytest.skip("an interface is opened before the file")
    command = [*PROGRAM, "sniff", "--headless", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_filter_that_does_not_compile_is_named(tmp_path: Path) -> None:
    if WHY_NOT is not None:
        pytest.skip(WHY_NOT)
    command = [*PROGRAM, "sniff", "--headless", "-i", "lo", "-f", "tcp prt 1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    assert done.stderr.startswith("wireanalyze: -f tcp prt 1: ")


@privileged
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_the_right_one_sentence_says_how_to_get_it() -> None:
    command = ["setpriv", "--bounding-set=-net_raw", *PROGRAM, "sniff", "--headless", "-i", "lo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    assert "capturing needs a right" in done.stderr
    assert "sudo" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_terminal_the_tui_says_so() -> None:
    done = subprocess.run(
        [*PROGRAM, "sniff"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 2
    assert "--headless" in done.stderr


def test_interfaces_are_listed() -> None:
    done = subprocess.run([*PROGRAM, "interfaces"], capture_output=True, text=True, check=True, env=environment())
    head, *found = done.stdout.splitlines()
    assert head.split("\t") == ["name", "state", "link", "may capture", "addresses"]
    assert any(line.split("\t")[2] == "loopback" for line in found)
