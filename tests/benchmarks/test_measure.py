"""What is made of measured figures, and that a failure is never measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import works
from benchmarks.measure import Failed, Run, alternated, anonymous, median, output, run, slope, told, watched
from benchmarks.profiles import ROOMS, room
from benchmarks.table import HEAD, Line, text

PYTHON = sys.executable


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.05, 2.0])
def test_slope_is_the_exponent(exponent: float) -> None:
    sizes = [16, 64, 256, 1024]
    assert slope(sizes, [3 * size**exponent for size in sizes]) == pytest.approx(exponent)


def test_median_is_of_each_figure() -> None:
    assert median([Run(1.0, 9.0), Run(5.0, 7.0), Run(2.0, 8.0)]) == Run(2.0, 8.0)


def test_cpu_of_all_commands_of_a_pipeline_counts() -> None:
    work = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
    alone = run(([PYTHON, "-c", work],))
    both = run(([PYTHON, "-c", work], [PYTHON, "-c", work]))
    assert alone.cpu >= 0.1
    assert both.cpu >= 0.2


@pytest.mark.parametrize(
    "pipeline", [([PYTHON, "-c", "exit(3)"],), ([PYTHON, "-c", "exit(3)"], [PYTHON, "-c", "input"])], ids=len
)
def test_a_command_that_fails_is_no_figure(pipeline: tuple[list[str], ...]) -> None:
    with pytest.raises(Failed, match="ended with 3"):
        run(pipeline)
    with pytest.raises(Failed):
        output(pipeline)


def test_alternation_warms_up_and_keeps_the_order(tmp_path: Path) -> None:
    said = tmp_path / "said"
    programs = [f"import time; time.sleep({wait}); open({str(said)!r}, 'a').write('{wait} ')" for wait in (0, 0.3)]
    first, second = alternated([([PYTHON, "-c", program],) for program in programs], 1)
    assert said.read_text() == "0 0.3 " * 2
    assert second.wall >= 0.3
    assert first.cpu > 0


def test_a_long_command_runs_once() -> None:
    costs = {
        "short": iter([Run(9.0, 9.0), Run(1.0, 1.0), Run(3.0, 3.0), Run(2.0, 2.0)]),
        "long": iter([Run(30.0, 31.0)]),
    }
    runs = alternated([[[name]] for name in costs], 3, cost=lambda pipeline: next(costs[pipeline[0][0]]))
    assert [run.text() for run in runs] == ["2.00 s", "30.00 s, one run"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells of anonymous memory on Linux alone")
def test_memory_that_a_process_holds_is_seen() -> None:
    stored = watched(([PYTHON, "-c", "import time; data = bytearray(b'x') * (50 << 20); time.sleep(0.5)"],))
    assert 50 << 20 <= stored < 80 << 20
    ended = subprocess.Popen([PYTHON, "-c", "pass"])
    ended.wait()
    assert anonymous(ended.pid) is None


def test_messages_are_counted_in_outputs() -> None:
    assert works.lines(1)([b"head\n", b"a\n", b"b\n"]) == 2
    cells = [b""] * len(works.KAFKA_FIELDS)
    cells[4] = b"31,40"
    assert works.lengths([b"\t".join(cells), b"\t" * (len(cells) - 1)]) == 2
    assert told(([PYTHON, "-c", "print('{\"messages\": 7}')"],), works.counted) == 7


def test_the_message_that_is_decoded_is_one() -> None:
    said = output(works.decode()).decode()
    assert "60 bytes" in said
    assert all(word in said for word in ("Metadata", "producer-orders-eu-01", "payments"))


def test_the_table_is_markdown() -> None:
    found = text([Line("a", "b", "1 s", "tshark", "2 s", 2.0, "4"), Line("c", "d", "3 B")]).splitlines()
    assert len({line.count("|") for line in found}) == 1
    assert found[0].count("|") == len(HEAD) + 1
    assert found[2] == "| a | b | 1 s | tshark | 2 s | 2.0 | 4 |"


def test_a_frame_is_in_the_room_of_the_innermost_of_our_modules() -> None:
    frame = sys._getframe()
    assert room(frame) == "else"
    assert {name for _, name in ROOMS} == {"start", "capture", "engine", "keys", "values", "info", "text"}
