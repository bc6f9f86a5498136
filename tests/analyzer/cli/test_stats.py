"""`wireanalyze stats`, as a user calls it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzer.cli.test_decode import run

CAPTURES = Path(__file__).parents[3] / "captures"
KAFKA, MIXED = str(CAPTURES / "kafka.pcap"), str(CAPTURES / "mixed.pcapng")
FIGURES = ("messages", "requests", "answers", "unanswered", "orphans", "oneway", "push", "raw", "bytes")


def said(*arguments: str, stdin: bytes = b"") -> str:
    done = run("stats", *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def counted(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*arguments, "--format", "json", stdin=stdin))
    return found


def test_json_says_what_list_says() -> None:
    found = counted(MIXED)
    rows = run("list", MIXED, "-e", "length", "--format", "csv").stdout.split()[1:]
    assert (found["messages"], found["message_bytes"]) == (len(rows), sum(map(int, rows)))
    assert found["packets"] >= found["tcp_packets"] > 0
    assert found["streams"] > 1
    assert sum(each["messages"] for each in found["operations"]) == found["messages"]
    assert all(set(each) == {"protocol", *FIGURES} for each in found["protocols"])
    assert all(set(each) == {"protocol", "operation", *FIGURES} for each in found["operations"])


def test_csv_is_the_operations() -> None:
    operations = counted(MIXED)["operations"]
    found = list(csv.DictReader(said(MIXED, "--format", "csv").splitlines()))
    assert found == [{key: "" if value is None else str(value) for key, value in each.items()} for each in operations]


def test_the_table_has_a_line_for_each_operation_beneath_its_protocol() -> None:
    head, *lines, last = said(KAFKA).splitlines()
    operations = counted(KAFKA)["operations"]
    assert head.split() == ["protocol,", "operation", *FIGURES]
    assert lines[0].startswith("kafka ")
    assert [line.split()[0] for line in lines[1:]] == [each["operation"] for each in operations]
    assert all(line.startswith("  ") for line in lines[1:])
    assert last.startswith(f"{counted(KAFKA)['packets']:,} packets")
    assert len({len(line) for line in [head, *lines]}) == 1


def test_several_protocols_are_summed() -> None:
    lines = said(MIXED).splitlines()
    assert lines[-2].split()[:2] == ["all", f"{counted(MIXED)['messages']:,}"]


@pytest.mark.parametrize("arguments", [["--counts"], ["-r", KAFKA], ["-n"], ["-d", "9092=kafka"]])
def test_options_of_list_are_taken(arguments: list[str]) -> None:
    files = [] if "-r" in arguments else [KAFKA]
    assert said(*arguments, *files) == said(KAFKA)


def test_a_pipe_and_several_files() -> None:
    assert counted("-", stdin=Path(KAFKA).read_bytes()) == counted(KAFKA)
    both = counted(KAFKA, MIXED)
    assert both["packets"] == counted(KAFKA)["packets"] + counted(MIXED)["packets"]


def test_a_capture_without_messages_is_told_in_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(Path(KAFKA).read_bytes()[:24])
    assert said(str(empty)) == "0 packets (0 TCP), 0 bytes; 0 streams, 0 messages\n"


def test_no_file_is_wrong_usage() -> None:
    done = run("stats")
    assert (done.returncode, done.stdout) == (2, b"")
