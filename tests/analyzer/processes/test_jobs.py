"""What several processes do together is the same whatever their number, and one that ends early is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzer.export import objects, pcapng
from analyzer.insight import reports
from analyzer.processes import jobs
from analyzer.render import printer, shared_printing
from tests.program import run

CAPTURES = Path(__file__).parents[3] / "captures"
KAFKA, PULSAR, ZOOKEEPER = (str(CAPTURES / name) for name in ("kafka.pcap", "pulsar.pcap.zst", "zookeeper.pcap.zst"))

PATIENCE = 60
CHUNKS = str(CAPTURES.parent / "tests/golden/pulsar/go4_chunks.pcap.zst")

LISTS = [
    [],
    ["--format", "ndjson", "--fields"],
    ["--format", "json"],
    ["--format", "csv", "-e", "number,time,latency,info"],
    ["-e", "number,info,kafka.topic"],
    ["-Y", "kafka.Fetch", "--format", "tsv"],
    ["-Y", "number < 3 or number > 400", "--format", "json"],
    ["-Y", "operation == Produce and number > 1000000"],
    ["--time-format", "relative"],
    ["--time-format", "delta"],
    ["--head", "20"],
    ["--sort", "length"],
]

COMMANDS = [
    *(["list", *form, KAFKA] for form in LISTS),
    *(["doctor", *form, path] for form in ([], ["--format", "ndjson"]) for path in (KAFKA, PULSAR, ZOOKEEPER)),
    ["doctor", "-Y", "kafka.topic", KAFKA],
    *(["stats", *form, KAFKA] for form in ([], ["--format", "json"], ["-Y", "kafka.topic"], ["--no-errors"])),
    *(["stats", "--by", keys, path] for keys in ("topic", "error,operation", "partition") for path in (KAFKA, PULSAR)),
    ["stats", "--by", "path,time", "--format", "csv", ZOOKEEPER],
    *(["export", "-o", "-", "--as", form, KAFKA] for form in ("ndjson", "json", "csv", "tsv", "pcapng", "raw", "pdus")),
    *(["export", "-o", "-", "--as", form, "-Y", "number > 1000000", KAFKA] for form in ("pcapng", "raw", "pdus")),
    ["export", "-o", "-", "--as", "ndjson", "--fields", "-Y", "kafka.topic", "--partners", PULSAR],
    ["export", "-o", "-", "--as", "tsv", "--time-format", "delta", KAFKA],
    ["report", "deliveries", PULSAR],
]

PROGRAM = """
import os, signal, sys
from analyzer.errors import UserError
from analyzer.processes.jobs import map_in_order, print_in_turns

def work(window, out):
    if window.start == {start}:
        {act}
    out.write(b"%d\\n" * len(window) % tuple(window))
    return len(window)

try:
    {run}
except UserError as error:
    sys.exit(f"told: {{error}}")
"""


PRINT = "print(print_in_turns([range(at, at + 3) for at in range(0, 30, 3)], {jobs}, work, 7, sys.stdout.buffer))"

MAP = """
    def find(window):
        work(window, open(os.devnull, "wb"))
        return bytes(window) * 100_000
    for found in map_in_order(find, [range(at, at + 3) for at in range(0, 30, 3)], {jobs}):
        print(*found[:3], len(found))
"""


def printed(jobs: int, start: int = -1, act: str = "pass", run: str = PRINT) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(start=start, act=act, run=run.format(jobs=jobs))
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("count", [1, 2, 3, 10, 16])
def test_in_order_whatever_their_number(count: int) -> None:
    found = printed(count)
    assert found.stdout.split() == [*map(str, range(30)), "37"]
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("count", [1, 2, 3, 10, 16])
def test_results_are_in_order_whatever_their_number(count: int) -> None:
    found = printed(count, run=MAP)
    assert found.stdout.splitlines() == [f"{at} {at + 1} {at + 2} 300000" for at in range(0, 30, 3)]
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("run", [PRINT, MAP])
@pytest.mark.parametrize("start", [3, 6, 15])
def test_one_that_is_killed_is_one_clear_error(start: int, run: str) -> None:
    found = printed(3, start, "os.kill(os.getpid(), signal.SIGKILL)", run)
    assert found.stderr.startswith("told: Signal 9 ended one of 3 processes")
    assert found.stdout.split()[:start] == [*map(str, range(start))] or run is MAP
    assert len(found.stdout.splitlines()) == (start if run is PRINT else start // 3)


@pytest.mark.parametrize("run", [PRINT, MAP])
def test_a_defect_is_reported_by_the_process_that_has_it(run: str) -> None:
    found = printed(2, 3, "raise RuntimeError('broken window')", run)
    assert found.stderr.count("RuntimeError: broken window") == 1
    assert found.returncode != 0


def test_nobody_reads_any_more() -> None:
    program = PROGRAM.format(start=-1, act="pass", run=PRINT.format(jobs=2)).replace(
        'b"%d\\n"', 'b"x" * 200_000 + b"%d\\n"'
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        reader.stdout.read(10)
        reader.stdout.close()
        assert b"BrokenPipeError" in reader.stderr.read()
        assert reader.wait(PATIENCE) == 1


def alive(group: int) -> bool:
    """Whether any process of a group is running."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("run", [PRINT, MAP])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_all_end_with_the_one_that_is_interrupted(run: str, number: signal.Signals) -> None:
    act = "print('here', flush=True); import time; time.sleep(600)"
    program = PROGRAM.format(start=9, act=act, run=run.format(jobs=4))
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert any(b"here" in line for line in parent.stdout)
        os.kill(parent.pid, number)
        parent.communicate(timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        while alive(parent.pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert not alive(parent.pid)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_same_bytes(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = run(*command, "--jobs", "1")
    monkeypatch.setattr(shared_printing, "FIRST", 20)
    monkeypatch.setattr(printer, "TOGETHER", 100)
    monkeypatch.setattr(reports, "FRAGMENT", 100)
    monkeypatch.setattr(jobs, "LEAST", 100)
    monkeypatch.setattr(pcapng, "TOGETHER", 100)
    assert alone.returncode == 0
    for together in (run(*command, "--jobs", count) for count in ("2", "3")):
        assert together.stdout == alone.stdout
        assert together.stderr == alone.stderr
        assert together.returncode == 0


def test_the_same_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fragments of a message, too, which this process puts together."""
    monkeypatch.setattr(objects, "TOGETHER", 50)
    found = []
    for count in ("1", "3"):
        out = tmp_path / count
        done = run("export", "-o", str(out), "--as", "objects", KAFKA, PULSAR, CHUNKS, "--jobs", count)
        assert done.returncode == 0
        found.append({each.name: each.read_bytes() for each in out.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]) > 300


def test_how_many_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_count_processors", lambda: 8)
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 4 << 30)
    assert jobs.choose_jobs(jobs.WORTH - 1) == 1
    assert jobs.choose_jobs(jobs.WORTH) == 8
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 1 << 30)
    assert jobs.choose_jobs(jobs.WORTH) == 2
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 0)
    assert jobs.choose_jobs(jobs.WORTH) == 1
