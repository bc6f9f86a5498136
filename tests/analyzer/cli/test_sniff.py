"""Live capture from the command line, on a network of the test's own: what is printed, what is kept, how it ends."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import click
import pytest

from analyzer.cli import program
from analyzer.cli.live_status import WIPE
from analyzer.cli.memory import PROGRAM as PROGRAM_TAKES
from analyzer.cli.sniff_options import Capturing, capture_options
from analyzer.errors import UserError
from analyzer.live.capture_request import CaptureBounds, CaptureRequest
from analyzer.session import Session
from tests.analyzer.cli.live_network import (
    ENVIRONMENT,
    MAY_CAPTURE,
    NOBODY,
    PATIENCE,
    PROGRAM,
    ROOT,
    Network,
    Running,
    as_nobody,
    conversation,
    frames,
    sniffing,
    until,
)
from tests.namespaces import why_not
from tests.needs import LIBPCAP
from tests.waiting import is_over

CAPTURE = ROOT / "captures" / "kafka.pcap"
STREAM, PORT = 2, 29092
LATER = {"partner", "partner_id", "client"}
"""What a live row can't know yet of a request."""

TCP = ("-f", "tcp")
"""Leaves out what the system itself says on a new cable."""

NDJSON = ("--format", "ndjson")
EVERYBODY = 0o777


def run(*arguments: str, begin: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*begin, *PROGRAM, *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd="/"
    )


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    missing = [name for name in ("nsenter", "setpriv") if shutil.which(name) is None]
    reason = f"needs {' and '.join(missing)}" if missing else why_not()
    if reason is not None:
        pytest.skip(reason)
    with Network() as found:
        command = found.command(*as_nobody(*MAY_CAPTURE), *PROGRAM, "--version")
        if not found.works or subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT).returncode:
            pytest.skip("needs a checkout that every user may read, the right to mount, and to become another user")
        yield found


@pytest.fixture
def folder() -> Iterator[Path]:
    """That any user may write to, which pytest's are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, EVERYBODY)
        yield Path(name)


FRAMES = frames(CAPTURE)
"""Three connections of Kafka, whole."""


def parsed(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def listed(folder: Path, *options: str) -> str:
    """What `list` prints of the files of a folder, in their order."""
    files = sorted(str(each) for each in folder.glob("*.pcapng"))
    printed = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(printed, write_through=True)):
        assert program.run(["list", *files, *options]) == 0
        return printed.getvalue().decode()


def without_what_comes_later(text: str) -> list[dict[str, object]]:
    return [
        {key: value for key, value in row.items() if row["role"] != "request" or key not in LATER}
        for row in parsed(text)
    ]


def sent(network: Network, running: Running, rows: int, interface: str = "v1") -> None:
    """Puts the capture on the cable and waits for its rows."""
    network.send(FRAMES, interface)
    until("the rows", lambda: running.rows.count("\n") >= rows, lambda: ended(running))


def ended(running: Running) -> str | None:
    return None if running.process.poll() is None else running.said


@pytest.fixture(scope="module")
def messages() -> int:
    with Session([CAPTURE]).load() as session:
        return len(session.rows)


WRONG = [
    (
        ["-i", "no-such-if", "-a", "60"],
        "'60' is not one of duration:60s, size:100M, filesize:100000 (kilobytes), packets:10000, files:5.",
    ),
    (["-a", "duration:soon"], "'duration:soon' does not say how much. Write for example duration:60s."),
    (["-a", "duration:0"], "'duration:0' does not say how much"),
    (["-a", "duration:1e9"], "'duration:1e9' does not say how much"),
    (["-a", "packets:-1"], "'packets:-1' does not say how much. Write for example packets:10000."),
    (["-a", "files:2"], "-a files:2 counts the files of a ring. Say when a new one begins,"),
    (
        ["-w", "x", "-b", "filesize:1M"],
        "'filesize:1M' does not say how much. Write for example filesize:100000 (kilobytes).",
    ),
    (["-w", "x", "-b", "size:12Q"], "'size:12Q' does not say how much. Write for example size:100M."),
    (["-w", "x", "-b", "size:5iB"], "'size:5iB' does not say how much"),
    (
        ["-w", "x", "--ring", "files:3"],
        "--ring files:3 only says how many files to keep. Say also when a new one begins,",
    ),
    (["-w", "x", "--ring", "size:1M,file:3"], "'file:3' is not one of"),
    (["--ring", "size:1M"], "--ring writes a series of files. Give their name with -w, such as -w a.pcapng."),
    (["-c", "0"], "-c/--count: Give a whole number, 1 or more, not '0'."),
    (["-s", "-5"], "Give a whole number, 0 or more, not '-5'."),
    (["-B", "0"], "Give a whole number from 1 to 2047, not '0'."),
    (["--memory", "lots"], "'lots' is not a size. Give one such as 512M or 2G,"),
    (["--memory", "10M"], "10M is too little. Give 256M or more, or none"),
    (["--via", "magic"], "'magic' is not one of"),
    (["-w", "-"], "-w - would mix packets with rows. Give a file, or use tcpdump -w - or dumpcap -w -."),
    (["-w", "/no/such/folder/x"], "Cannot write /no/such/folder/x: there is no folder /no/such/folder."),
    (["-w", "/tmp"], "Cannot write /tmp: it is a folder."),
    (["-w", "/dev/null"], "Cannot write /dev/null: it is a pipe or a device."),
    (["-e", "nope"], "-e nope: There is no field nope."),
    (["-Y", "latency >"], "expected a value, found the end"),
]


@pytest.mark.parametrize(("options", "text"), WRONG, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_what_is_wrong_is_one_sentence_before_anything_begins(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.cli.sniff.LiveCapture", None)
    assert program.run(["sniff", "--headless", *options]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert text in output.err
    assert output.err.count("\n") == 1


WAYS = [
    (["-a", "duration:90"], {"until": CaptureBounds(seconds=90)}),
    (["-a", "duration:1.5m,packets:7", "-a", "filesize:2"], {"until": CaptureBounds(packets=7, seconds=90, size=2000)}),
    (["-a", "packets:7", "-c", "9"], {"until": CaptureBounds(packets=7)}),
    (["-a", "packets:7", "-c", "5"], {"until": CaptureBounds(packets=5)}),
    (["-w", "x", "--ring", "files:5,size:100M"], {"ring": CaptureBounds(files=5, size=100 << 20)}),
    (["-w", "x", "-b", "files:5", "-b", "duration:1h", "-b", "packets:9"], {"ring": CaptureBounds(9, 3600, 0, 5)}),
    (["-w", "x", "-b", "size:512"], {"ring": CaptureBounds(size=512)}),
    (
        ["-w", "x", "-b", "size:1GiB", "-a", "files:2"],
        {"ring": CaptureBounds(size=1 << 30), "until": CaptureBounds(files=2)},
    ),
    (
        ["-i", "lo", "-i", "eth0", "-f", "tcp", "-s", "96"],
        {"interfaces": ("lo", "eth0"), "filter": "tcp", "snaplen": 96},
    ),
    (["-B", "2", "-p", "-Z", "nobody"], {"buffer": 2 << 20, "promiscuous": False, "user": "nobody"}),
]


@pytest.mark.parametrize(("options", "asked"), WAYS, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_what_is_reported_is_what_is_requested(
    options: list[str], asked: dict[str, object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(mine: CaptureRequest, via: str) -> None:
        assert via == "auto"
        assert mine == replace(CaptureRequest(), **asked)  # type: ignore[arg-type]
        raise UserError("this is where it begins")

    monkeypatch.setattr("analyzer.cli.sniff.LiveCapture", begun)
    monkeypatch.setattr("analyzer.cli.sniff.check_environment", lambda user, write: None)
    assert program.run(["sniff", "--headless", *options]) == 2
    assert capsys.readouterr().err == "wireanalyze: this is where it begins\n"


@pytest.mark.parametrize(
    ("said", "tables"),
    [("256M", (256 << 20) - PROGRAM_TAKES), ("2GiB", (2 << 30) - PROGRAM_TAKES), ("none", None), ("0", None)],
)
def test_memory_is_what_the_program_and_its_tables_take(
    said: str, tables: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Capturing] = []

    @click.command()
    @capture_options
    def command(capturing: Capturing) -> None:
        found.append(capturing)

    command.main(["--memory", said], standalone_mode=False)
    assert found[0].memory == tables


def test_without_a_terminal_the_tui_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.cli.sniff.LiveCapture", None)
    assert program.run(["sniff"]) == 2
    assert "--headless" in capsys.readouterr().err


# ---- on a network


@LIBPCAP
def test_rows_as_they_come_are_those_of_the_file(network: Network, folder: Path) -> None:
    output = conversation(CAPTURE, STREAM)
    with sniffing(
        network, folder, "-i", "lo", "-f", f"tcp port {PORT}", "-w", "kept.pcapng", *NDJSON, "--fields"
    ) as running:
        network.talk(output, PORT)
        until(
            "the rows", lambda: running.rows.count("\n") == len(output), lambda: ended(running)
        )  # while it still runs
        assert running.end(signal.SIGINT) == 0
    live, file = (without_what_comes_later(text) for text in (running.rows, listed(folder, *NDJSON, "--fields")))
    assert live == file
    assert "packets captured to kept.pcapng" in running.said
    assert f"; {len(output)} messages" in running.said
    assert "dropped" not in running.said
    assert (folder / "kept.pcapng").stat().st_uid == NOBODY


@LIBPCAP
def test_rows_of_a_ring_and_two_interfaces(network: Network, folder: Path, messages: int) -> None:
    text = conversation(CAPTURE, STREAM)
    options = ("-i", "v0", "-i", "lo", *TCP, "-w", "kept.pcapng", "--ring", "packets:200")
    with sniffing(network, folder, *options, *NDJSON) as running:
        network.talk(text, PORT)
        sent(network, running, messages + len(text))
        assert running.end(signal.SIGTERM) == 0
    files = list(folder.glob("kept_*.pcapng"))
    assert len(files) > len(FRAMES) // 200
    assert without_what_comes_later(running.rows) == without_what_comes_later(listed(folder, *NDJSON))
    assert {row["destination"] for row in parsed(running.rows)} >= {f"127.0.0.1:{PORT}"}


@LIBPCAP
def test_any_interface_and_chosen_rows(network: Network, folder: Path, messages: int) -> None:
    """A frame on the cable is seen at both of its ends, so each message comes once, and its packets twice."""
    chosen = ("-Y", "role == response", "-e", "number,operation,latency", "--format", "csv")
    with sniffing(network, folder, "-i", "any", *TCP, "-w", "kept.pcapng", *chosen) as running:
        sent(network, running, messages // 2)
        assert running.end(signal.SIGHUP) == 0
    assert running.rows == listed(folder, *chosen)
    assert running.rows.startswith("number,operation,latency\n")


@LIBPCAP
def test_it_ends_by_itself_as_the_given_user(network: Network, folder: Path) -> None:
    """Without -w, and with the table; nothing stays of what nobody keeps."""
    spool = folder / "spool"
    spool.mkdir()
    spool.chmod(EVERYBODY)
    begin = ["env", f"TMPDIR={spool}"]
    options = ("-i", "v0", *TCP, "-c", "30", "-a", "duration:200", "-Z", "nobody")
    with sniffing(network, folder, *options, begin=begin, wait=False) as running:
        until("the spool", lambda: list(spool.iterdir()), lambda: ended(running))
        assert os.stat(f"/proc/{running.pid}").st_uid == NOBODY
        keep_sending(network, running)
        assert running.wait() == 0
    assert "30 packets captured" in running.said
    assert running.rows.split()[:3] == ["No.", "Time", "Str"]
    assert list(spool.iterdir()) == []


def keep_sending(network: Network, running: Running) -> None:
    """Sends until it has ended."""
    end = time.monotonic() + PATIENCE
    while running.process.poll() is None and time.monotonic() < end:
        network.send(FRAMES[:20])
        time.sleep(0.05)


@LIBPCAP
def test_it_ends_when_nobody_reads_any_more(network: Network, folder: Path) -> None:
    with sniffing(network, folder, "-i", "v0", *TCP, "-w", "kept.pcapng", *NDJSON, stdout=subprocess.PIPE) as running:
        assert running.process.stdout is not None
        network.send(FRAMES)
        assert json.loads(running.process.stdout.readline())["number"] == 1
        running.process.stdout.close()
        assert running.wait() == 0
    assert [line for line in running.said.splitlines() if "Rows " not in line] == []  # a busy machine is told of them
    assert parsed(listed(folder, *NDJSON))


@LIBPCAP
def test_a_reader_that_takes_its_time_loses_nothing(network: Network, folder: Path, messages: int) -> None:
    options = ("-i", "v0", *TCP, "-w", "kept.pcapng", *NDJSON, "--fields")
    with sniffing(network, folder, *options, stdout=subprocess.PIPE) as running:
        assert running.process.stdout is not None
        for _ in range(3):
            network.send(FRAMES)
        until("the packets", lambda: (folder / "kept.pcapng").stat().st_size > 3 * CAPTURE.stat().st_size)
        running.process.send_signal(signal.SIGINT)
        with running.process.stdout as stdout:
            rows = stdout.read().decode()
        assert running.wait() == 0
    assert without_what_comes_later(rows) == without_what_comes_later(listed(folder, *NDJSON, "--fields"))
    assert f"{3 * len(FRAMES):,} packets captured" in running.said


@pytest.mark.slow
def test_a_second_interrupt_waits_for_nothing(network: Network, folder: Path) -> None:
    options = ("-i", "v0", *TCP, "-w", "kept.pcapng", *NDJSON, "--fields")
    with sniffing(network, folder, *options, stdout=subprocess.PIPE) as running:
        for _ in range(3):
            network.send(FRAMES)
        until("the packets", lambda: (folder / "kept.pcapng").stat().st_size > 3 * CAPTURE.stat().st_size)
        running.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert running.end(signal.SIGINT) == 130
        assert running.process.stdout is not None
        running.process.stdout.close()
    assert f"{3 * len(FRAMES):,} packets captured to kept.pcapng" in running.said
    assert "of them were not printed" in running.said


@LIBPCAP
def test_the_capturing_process_is_killed(network: Network, folder: Path, messages: int) -> None:
    with sniffing(network, folder, "-i", "v0", *TCP, "-w", "kept.pcapng", *NDJSON) as running:
        sent(network, running, messages)
        (child,) = running.children
        os.kill(child, signal.SIGKILL)
        assert running.wait() == 2
    assert len(parsed(running.rows)) == messages
    *_, counted, problem = running.said.splitlines()
    assert "captured to kept.pcapng" in counted
    assert "was ended by SIGKILL" in problem
    assert without_what_comes_later(running.rows) == without_what_comes_later(listed(folder, *NDJSON))


@LIBPCAP
def test_the_analyzer_is_killed(network: Network, folder: Path, messages: int) -> None:
    with sniffing(network, folder, "-i", "v0", *TCP, "-w", "kept.pcapng") as running:
        network.send(FRAMES)
        (child,) = running.children
        running.process.kill()
        until("its end", lambda: is_over(child))
    assert len(parsed(listed(folder, *NDJSON))) == messages


@LIBPCAP
def test_a_terminal_shows_the_state(network: Network, folder: Path, messages: int) -> None:
    """By a line that makes room for rows."""
    ours, theirs = pty.openpty()
    program = [*as_nobody(*MAY_CAPTURE), *PROGRAM, "sniff", "--headless", "-i", "v0", *TCP, "-w", "kept.pcapng"]
    command = network.command(*program, folder=folder)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT)
    os.close(theirs)
    try:
        until("the capture", lambda: list(folder.glob("*.pcapng")))
        network.send(FRAMES)
        reported = read_until(ours, f"capturing v0: {len(FRAMES):,} packets, {messages} messages")
        process.send_signal(signal.SIGINT)
        reported += read_until(ours, f"{len(FRAMES):,} packets captured to kept.pcapng")
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    lines = [line.rpartition(WIPE)[2] for line in reported.split("\r\n")]
    assert sum(line[:6].strip().isdecimal() for line in lines) == messages  # none of them stands behind that line


def read_until(terminal: int, text: str) -> str:
    found, end = b"", time.monotonic() + PATIENCE
    while text.encode() not in found:
        assert time.monotonic() < end, f"{text} was not said: {found.decode(errors='replace')}"
        if select.select([terminal], [], [], 1)[0]:
            found += os.read(terminal, 4096)
    return found.decode(errors="replace")


REFUSED = [
    ([], ["-i", "lo"], "You are root"),
    (as_nobody(), ["-i", "lo"], "may not capture."),
    (as_nobody(*MAY_CAPTURE), ["-i", "lo", "-f", "tcp prt 1"], "-f tcp prt 1: "),
    (as_nobody(*MAY_CAPTURE), ["-i", "lo", "-w", "/kept.pcapng"], "Cannot write /kept.pcapng:"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("begin", "options", "text"), REFUSED, ids=lambda each: " ".join(each)[-40:] if isinstance(each, list) else ""
)
def test_what_cannot_begin_says_why(network: Network, begin: list[str], options: list[str], text: str) -> None:
    done = run("sniff", "--headless", *options, begin=network.command(*begin))
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_sudo_for_the_capturing_process_alone(network: Network, folder: Path, messages: int) -> None:
    may = ["sudo", "-n", "-l", *PROGRAM[:1]]
    if subprocess.run([*as_nobody(), *may], capture_output=True, check=False).returncode:
        pytest.skip("needs a rule of sudoers that lets nobody run this Python")
    with sniffing(
        network, folder, "-i", "v0", *TCP, "--via", "sudo", "-w", "kept.pcapng", begin=as_nobody()
    ) as running:
        sent(network, running, messages)
        assert running.end(signal.SIGINT) == 0
    assert (folder / "kept.pcapng").stat().st_uid == NOBODY
