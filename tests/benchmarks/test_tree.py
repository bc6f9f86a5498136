"""That the cost of a command is that of all processes below it, however they end, each once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.measure import Failed
from benchmarks.tree import DRIVER, OTHER, WORKER, Process, grown, run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of trees of processes")

BEGIN = """
import os, signal, subprocess, sys, time
def burn():
    while time.process_time() < 0.3: pass
def end():
    with open(sys.argv[1], "a") as file: file.write(f"{time.process_time()}\\n")
    os._exit(0)
"""
CHILD = "if os.fork() == 0: burn(); time.sleep(1.5); end()\n"
PROGRAMS = {
    "an orphan": CHILD + "end()",
    "waited for": CHILD + "os.wait(); end()",
    "forgotten": f"signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{CHILD}try: os.wait()\nexcept OSError: end()",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_process_counts_once(program: str, tmp_path: Path) -> None:
    text = tmp_path / "said"
    found = run([sys.executable, "-c", BEGIN + PROGRAMS[program], str(text)])
    assert found.cpu == pytest.approx(sum(map(float, text.read_text().split())), abs=0.15)
    assert found.cpu >= 0.3


def test_what_each_was_and_when() -> None:
    program = BEGIN + "burn(); subprocess.run([sys.executable, '-c', 'import time; time.sleep(1.5)', 'pyspark.daemon'])"
    found = grown([sys.executable, "-c", program])
    (driver,), (worker,) = found.of(DRIVER), found.of(WORKER)
    assert driver.spent() >= 0.25 > worker.spent()
    assert driver.resident > 5_000_000 < worker.resident
    assert not driver.forgotten
    assert found.lasted >= found.wall >= 0.5


def test_time_between_two_looks() -> None:
    process = Process(1, OTHER, cpu=[(10.0, 1.0), (11.0, 1.5), (12.0, 3.0)])
    assert process.spent() == 3.0
    assert process.spent(10.5, 11.5) == 0.5
    assert process.spent(13, 14) == 0


def test_a_failure_is_no_figure() -> None:
    with pytest.raises(Failed, match=r"ended with 3: it was this\n"):
        run([sys.executable, "-c", "import sys; print('it was this', flush=True); sys.exit(3)"])
