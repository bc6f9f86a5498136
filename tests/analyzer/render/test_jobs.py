"""Rows printed by several processes are the same bytes, and one that ends early is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import analyzer.cli.list
from analyzer.render import jobs
from tests.program import run

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka.pcap"

FORMS = [
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

PROGRAM = """
import os, signal, sys
from analyzer.errors import UserError
from analyzer.render.jobs import print_in_parallel

def work(window, out):
    if window.start == {start}:
        {act}
    out.write(b"%d\\n" * len(window) % tuple(window))
    return len(window)

try:
    print(print_in_parallel([range(at, at + 3) for at in range(0, 30, 3)], {jobs}, work, 7))
except UserError as error:
    sys.exit(f"told: {{error}}")
"""


def printed(jobs: int, start: int = -1, act: str = "pass") -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(start=start, act=act, jobs=jobs)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 16])
def test_in_order_whatever_their_number(count: int) -> None:
    found = printed(count)
    assert found.stdout.split() == [*map(str, range(30)), "37"]
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("start", [3, 6, 15])
def test_one_that_is_killed_is_one_clear_error(start: int) -> None:
    found = printed(3, start, "os.kill(os.getpid(), signal.SIGKILL)")
    assert found.stderr.startswith("told: Signal 9 ended one of 3 processes")
    assert found.stdout.split() == [*map(str, range(start))]


def test_a_defect_is_told_by_the_process_that_has_it() -> None:
    found = printed(2, 3, "raise RuntimeError('broken window')")
    assert found.stderr.count("RuntimeError: broken window") == 1
    assert found.returncode != 0


def test_nobody_reads_any_more() -> None:
    program = PROGRAM.format(start=-1, act="pass", jobs=2).replace('b"%d\\n"', 'b"x" * 200_000 + b"%d\\n"')
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        reader.stdout.read(10)
        reader.stdout.close()
        assert b"BrokenPipeError" in reader.stderr.read()
        assert reader.wait(30) == 1


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_the_same_bytes(form: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.cli.list, "FIRST", 20)
    monkeypatch.setattr(analyzer.cli.list, "WINDOW", 40)
    alone, together = (run("list", *form, "--jobs", count, str(CAPTURE)) for count in ("1", "3"))
    assert together.stdout == alone.stdout
    assert together.stderr == alone.stderr
    assert together.returncode == alone.returncode == 0


def test_how_many_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_count_processors", lambda: 8)
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 4 << 30)
    assert jobs.choose_jobs(jobs.WORTH - 1) == 1
    assert jobs.choose_jobs(jobs.WORTH) == 8
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 1 << 30)
    assert jobs.choose_jobs(jobs.WORTH) == 2
    monkeypatch.setattr(jobs, "_read_free_memory", lambda: 0)
    assert jobs.choose_jobs(jobs.WORTH) == 1
