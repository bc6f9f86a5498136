"""What is said on stderr of files and connections: alike findings in one sentence, with -v each of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.session import Session
from tests.analyzer.cli.conftest import Call
from tests.analyzer.pipeline.house import EFFECTS, cut, golden_frames


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS["lost"]), ["1.pcap"])
    return str(tmp_path / "captures" / "1.pcap")


@pytest.mark.parametrize("command", ["list", "stats", "info"])
def test_alike_findings_are_reported_once(command: str, call: Call, lossy: str) -> None:
    with Session([lossy]) as session:
        gaps = [each.text for each in session.load().findings if each.code == "gap"]
    first, second = [line for line in call(command, lossy)[2].splitlines() if "(gap" in line]
    assert f" in 4 of 4 streams to port 29092, first: {gaps[0]} (gap; -v prints each)" in first
    assert " in 4 of 4 streams to port 29192, first: " in second
    assert sum(int(line.split()[2]) for line in (first, second)) == len(gaps)
    assert [each for each in call(command, "-v", lossy)[2].splitlines() if "(gap)" in each] == [
        f"wireanalyze: warning: {text} (gap)" for text in gaps
    ]


def test_a_finding_that_is_alone_is_reported_as_it_is(call: Call, tmp_path: Path) -> None:
    data = (Path(__file__).parents[3] / "captures" / "kafka.pcap").read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(data[:-3])
    reported = call("list", str(path))[2]
    assert reported == call("list", "-v", str(path))[2]
    assert "(damaged-capture)" in reported


def test_doctor_tells_of_connections_by_port(call: Call, lossy: str) -> None:
    printed = call("doctor", lossy)[1].splitlines()
    first, second = [line for line in printed if line.startswith("warning  gap ") and " in 4 of 4 streams" in line]
    every = [json.loads(line) for line in call("doctor", lossy, "--format", "ndjson")[1].splitlines()]
    counts = [each["count"] for each in every if each["code"] == "gap" and each["number"] is None]
    assert [int(line.split()[2]) for line in (first, second)] == counts
    with Session([lossy]) as session:
        texts = [each.text for each in session.load().findings if each.code == "gap"]
    verbose = call("doctor", "-v", lossy)[1].lower()
    assert all(text.lower() in verbose for text in texts)
    assert sum(text.lower() in "\n".join(printed).lower() for text in texts) == 2
