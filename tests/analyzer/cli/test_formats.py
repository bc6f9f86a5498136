"""The same forms of output, under the same names, for every command that prints data; options that several share."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click import BadParameter

from analyzer.cli.options import Count
from tests.analyzer.cli.conftest import Call

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


@pytest.mark.sampled(5)
@pytest.mark.parametrize("arguments", ROWS, ids=" ".join)
def test_forms_of_rows_say_the_same(arguments: list[str], call: Call) -> None:
    lines = [json.loads(line) for line in call(*arguments, "--format", "ndjson")[1].splitlines()]
    assert lines
    if arguments[0] != "stats":
        assert json.loads(call(*arguments, "--format", "json")[1]) == lines
        assert call(*arguments, "--json") == call(*arguments, "--format", "ndjson")
    commas = list(csv.DictReader(io.StringIO(call(*arguments, "--format", "csv")[1])))
    tabs = list(csv.DictReader(io.StringIO(call(*arguments, "--format", "tsv")[1]), delimiter="\t"))
    assert commas == tabs
    assert len(commas) == len(lines)
    assert set(commas[0]) <= set(lines[0]) | {"about"}


@pytest.mark.parametrize("arguments", WHOLE, ids=" ".join)
def test_what_is_one_object_is_json(arguments: list[str], call: Call) -> None:
    assert json.loads(call(*arguments, "--json")[1])
    assert call(*arguments, "--json")[1] == call(*arguments, "--format", "json")[1]


def test_an_empty_array(call: Call) -> None:
    assert call("list", KAFKA, "-c", "0", "--format", "json")[1] == "[]\n"


def test_an_export_of_json_is_what_list_prints(tmp_path: Path, call: Call) -> None:
    call("export", KAFKA, "-Y", "kafka.Produce", "-o", str(tmp_path / "rows.json"))
    printed = call("list", KAFKA, "-Y", "kafka.Produce", "--format", "json")[1]
    assert (tmp_path / "rows.json").read_text() == printed


# ---- options that several commands share


@pytest.mark.parametrize(("text", "number"), [("64", 64), ("0", 0), ("all", None), ("ALL", None), ("All", None)])
def test_a_number_or_all(text: str, number: int | None) -> None:
    assert Count().convert(text, None, None) == number


@pytest.mark.parametrize("text", ["-1", "al", "6.4", ""])
def test_neither(text: str) -> None:
    with pytest.raises(BadParameter, match="Give a number or all"):
        Count().convert(text, None, None)
