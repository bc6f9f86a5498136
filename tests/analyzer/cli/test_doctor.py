"""The command: a summary for people, lines for programs, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer.cli.doctor import command

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
FENCED = str(GOLDEN / "k4_java_txn.pcap.zst")
WELL = str(GOLDEN / "k4_py_aio.pcap.zst")


def test_a_summary() -> None:
    result = CliRunner().invoke(command, ["--severity", "warning", FENCED])
    kind, example, total = result.stdout.splitlines()
    assert kind.split() == ["warning", "fenced-producer", "1", "message", "115"]
    assert example.strip().startswith("115: HReS_a5XSlu_HndJDj2uVg[0]: producer 1000, epoch 3, writes behind epoch 4")
    assert total == "1 findings in 184 messages of 20 streams"


def test_lines() -> None:
    result = CliRunner().invoke(command, ["--format", "ndjson", "--severity", "warning", FENCED])
    (found,) = map(json.loads, result.stdout.splitlines())
    assert (found["number"], found["severity"], found["code"]) == (115, "warning", "fenced-producer")
    assert found["id"].endswith("/c/" + found["id"].rpartition("/")[2])


@pytest.mark.parametrize(
    ("file", "level", "status"),
    [(FENCED, "warning", 1), (FENCED, "error", 0), (WELL, "warning", 0), (FENCED, "note", 1)],
)
@pytest.mark.parametrize("form", ["table", "ndjson"])
def test_the_exit_status(file: str, level: str, status: int, form: str) -> None:
    assert CliRunner().invoke(command, ["--fail-on", level, "--format", form, file]).exit_code == status
