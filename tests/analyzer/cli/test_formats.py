"""The same forms of output, under the same names, for every command that prints data."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KAFKA = str(ROOT / "captures" / "kafka.pcap")
ZOOKEEPER = str(ROOT / "captures" / "mixed.pcapng")
ROWS = [
    ["list", KAFKA, "-c", "40", "-e", "number,operation,latency_ns"],
    ["follow", KAFKA, "3"],
    ["stats", KAFKA],
    ["stats", KAFKA, "--by", "operation,version"],
    ["stats", KAFKA, "--counts"],
    ["stats", KAFKA, "--conversations"],
    ["doctor", KAFKA],
    ["report", "sessions", ZOOKEEPER],
    ["fields", "latency"],
]
WHOLE = [["stats", KAFKA], ["info", KAFKA], ["show", KAFKA, "7"], ["protocols"], ["protocols", "kafka", "Fetch"]]


def call(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analyzer.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


@pytest.mark.parametrize("arguments", ROWS, ids=" ".join)
def test_forms_of_rows_say_the_same(arguments: list[str]) -> None:
    lines = [json.loads(line) for line in call([*arguments, "--format", "ndjson"]).stdout.splitlines()]
    assert lines
    if arguments[0] != "stats":
        assert json.loads(call([*arguments, "--format", "json"]).stdout) == lines
        assert call([*arguments, "--json"]).stdout == call([*arguments, "--format", "ndjson"]).stdout
    commas = list(csv.DictReader(io.StringIO(call([*arguments, "--format", "csv"]).stdout)))
    tabs = list(csv.DictReader(io.StringIO(call([*arguments, "--format", "tsv"]).stdout), delimiter="\t"))
    assert commas == tabs
    assert len(commas) == len(lines)
    assert set(commas[0]) <= set(lines[0]) | {"about"}


@pytest.mark.parametrize("arguments", WHOLE, ids=" ".join)
def test_what_is_one_object_is_json(arguments: list[str]) -> None:
    assert json.loads(call([*arguments, "--json"]).stdout)
    assert call([*arguments, "--json"]).stdout == call([*arguments, "--format", "json"]).stdout


def test_an_empty_array() -> None:
    assert call(["list", KAFKA, "-c", "0", "--format", "json"]).stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["list", KAFKA, "--format", "parquet"], "wireanalyze export FILE --as parquet -o FOLDER"),
        (["doctor", KAFKA, "--format", "parquet"], "wireanalyze export FILE --as parquet -o FOLDER"),
        (["list", KAFKA, "--format", "ndjsn"], "did you mean ndjson?"),
        (["list", KAFKA, "--format", "jsonl"], "did you mean ndjson?"),
        (["info", KAFKA, "--format", "xml"], "'xml' is none of table, json"),
        (["list", KAFKA, "--json", "--format", "csv"], "--json is short for --format ndjson"),
    ],
)
def test_what_is_refused_says_what_to_do(words: list[str], text: str) -> None:
    done = call(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr


def test_an_export_of_json_is_what_list_prints(tmp_path: Path) -> None:
    call(["export", KAFKA, "-Y", "kafka.Produce", "-o", str(tmp_path / "rows.json")])
    assert (tmp_path / "rows.json").read_text() == call(
        ["list", KAFKA, "-Y", "kafka.Produce", "--format", "json"]
    ).stdout
