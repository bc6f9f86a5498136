"""`wireanalyze list`, as a user calls it: which rows, in which order, in which columns."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.program import run
from analyzer.query.presets import load_presets
from tests.program import run as run_apart

CAPTURES = Path(__file__).parents[3] / "captures"
KAFKA, MIXED = str(CAPTURES / "kafka.pcap"), str(CAPTURES / "mixed.pcapng")
Row = dict[str, Any]
Listed = Callable[..., bytes]


@pytest.fixture
def listed(capsysbinary: pytest.CaptureFixture[bytes]) -> Listed:
    """What a call prints; it must succeed."""

    def call(*arguments: str) -> bytes:
        status = run(["list", *arguments])
        printed = capsysbinary.readouterr()
        assert status == 0, printed.err
        return printed.out

    return call


@cache
def all_rows(capture: str) -> Sequence[Row]:
    done = run_apart("list", capture, "--format", "ndjson", "--fields")
    assert done.returncode == 0
    return tuple(json.loads(line) for line in done.stdout.splitlines())


def numbers(printed: bytes) -> list[int]:
    return [json.loads(line)["number"] for line in printed.splitlines()]


def expected(capture: str, rows: Iterable[Row]) -> list[int]:
    return [row["number"] for row in rows]


# ---- which rows, in which order


def is_slow(row: Row) -> bool:
    return row["latency_ns"] is not None and row["latency_ns"] > 20_000_000


def by_latency(rows: Iterable[Row]) -> list[Row]:
    """The slowest first, what has none last, equal ones as they stand."""
    return sorted(rows, key=lambda row: (row["latency_ns"] is None, -(row["latency_ns"] or 0)))


def by_operation_and_length(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["operation"] is None, row["operation"] or "", -row["length"]))


FILTERS: dict[str, Callable[[Row], bool]] = {
    "": lambda row: True,
    "latency > 20ms": is_slow,
    "protocol == zookeeper": lambda row: row["protocol"] == "zookeeper",
    "number < 0": lambda row: False,
}
ORDERS: dict[str, Callable[[Iterable[Row]], list[Row]]] = {
    "": list,
    "-latency": by_latency,
    "operation,length:desc": by_operation_and_length,
}
CUTS: Sequence[tuple[int | None, int | None]] = (
    *((None, None), (0, None), (7, None), (None, 0), (None, 7)),
    *((12, 5), (5, 12), (100_000, None), (None, 100_000)),
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("text", FILTERS)
def test_filter_order_and_cut(listed: Listed, text: str, order: str) -> None:
    """All of them together, against the same in plain Python over the rows of ndjson."""
    rows = ORDERS[order]([row for row in all_rows(MIXED) if FILTERS[text](row)])
    for head, tail in CUTS:
        arguments = [*(["-Y", text] if text else []), *(["--sort", order] if order else [])]
        arguments += [] if head is None else ["--head", str(head)]
        arguments += [] if tail is None else ["--tail", str(tail)]
        cut = rows[:head]
        cut = cut if tail is None else cut[max(len(cut) - tail, 0) :]
        printed = listed(MIXED, "--format", "ndjson", "-e", "number", *arguments)
        assert numbers(printed) == [row["number"] for row in cut], arguments


@pytest.mark.parametrize("form", ["ndjson", "csv", "tsv", "table"])
def test_a_filter_changes_no_line(listed: Listed, form: str) -> None:
    """Neither does an order: what is printed are lines of the whole list."""
    head = 0 if form == "ndjson" else 1
    whole = listed(MIXED, "--format", form).splitlines()[head:]
    wanted = [whole[row["number"] - 1] for row in all_rows(MIXED) if is_slow(row)]
    assert listed(MIXED, "--format", form, "-Y", "latency > 20ms").splitlines()[head:] == wanted
    backwards = listed(MIXED, "--format", form, "-Y", "latency > 20ms", "--sort", "-number").splitlines()[head:]
    assert backwards == wanted[::-1]


SORTED: dict[str, Callable[[Row], Any]] = {
    "time": lambda row: row["time"],
    "source": lambda row: row["source"],
    "id": lambda row: row["id"],
    "from_client": lambda row: row["from_client"],
    "error": lambda row: row["error"] and row["error"]["name"],
    "info": lambda row: row["info"],
    "version": lambda row: row["version"],
    "partner": lambda row: row["partner"],
    "zookeeper.getData.path": lambda row: (
        row["fields"].get("path") if (row["protocol"], row["operation"]) == ("zookeeper", "getData") else None
    ),
    "source.port": lambda row: int(row["source"].rpartition(":")[2]),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", ["{}", "-{}", "{}:desc", "-{}:desc", "{}:asc"])
@pytest.mark.parametrize("key", SORTED)
def test_sorting(listed: Listed, key: str, way: str) -> None:
    """Numbers by number, texts by text; what has no value last, whichever way; otherwise stable."""
    falling = way in ("-{}", "{}:desc")
    rows = all_rows(MIXED)
    there = sorted({SORTED[key](row) for row in rows if SORTED[key](row) is not None})
    place = {value: -rank if falling else rank for rank, value in enumerate(there)}
    wanted = sorted(rows, key=lambda row: place.get(SORTED[key](row), len(place) + 1))
    printed = listed(MIXED, "--format", "ndjson", "-e", "number", "--sort", way.format(key))
    assert numbers(printed) == [row["number"] for row in wanted]


def test_values_of_two_kinds_are_sorted(listed: Listed) -> None:
    """Correlations: numbers before texts."""
    rows = all_rows(MIXED)
    wanted = sorted(
        rows, key=lambda row: (row["correlation"] is None, type(row["correlation"]) is str, row["correlation"])
    )
    printed = listed(MIXED, "--format", "ndjson", "-e", "number", "--sort", "correlation")
    assert numbers(printed) == [row["number"] for row in wanted]


# ---- -c


@pytest.mark.parametrize("count", [0, 1, 2, 99, 100_000])
def test_reading_ends_after_a_number_of_messages(listed: Listed, count: int) -> None:
    """The rows are those of a pipe that ends there; all of them where the input is shorter."""
    whole = [json.loads(line) for line in listed(KAFKA, "--format", "ndjson").splitlines()]
    rows = [json.loads(line) for line in listed(KAFKA, "--format", "ndjson", "-c", str(count)).splitlines()]
    if count < len(whole):
        streamed = run_apart("list", "-", "--format", "ndjson", stdin=Path(KAFKA).read_bytes()).stdout.splitlines()
        assert rows == [json.loads(line) for line in streamed[:count]]
    else:
        assert rows == whole


def test_what_is_not_read_is_neither_wanted_nor_sorted(listed: Listed) -> None:
    printed = listed(MIXED, "--format", "ndjson", "-e", "number", *("-c", "60", "-Y", "role == response"))
    assert numbers(printed) == [row["number"] for row in all_rows(MIXED)[:60] if row["role"] == "response"]
    last = listed(MIXED, "--format", "ndjson", "-e", "number", *("-c", "60", "--sort", "-number", "--head", "3"))
    assert numbers(last) == [60, 59, 58]


# ---- pipes


PIPED: Sequence[Sequence[str]] = (
    (),
    ("-Y", "latency > 20ms"),
    ("-Y", "latency > 20ms", "--head", "3"),
    ("--tail", "4"),
    ("-Y", "kafka.topic", "--tail", "4"),
    ("--sort", "-length", "--head", "5"),
    ("-c", "50", "--sort", "operation"),
    ("--time-format", "delta", "--head", "20"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", PIPED, ids=" ".join)
def test_a_pipe_gives_what_the_file_gives(listed: Listed, arguments: Sequence[str]) -> None:
    """But for topics that only a later message names."""
    keys = ("-e", "number,time,stream,operation,length,latency,kafka.CreateTopics.request.topics.name")
    piped = run_apart("list", "-", *keys, *arguments, stdin=Path(MIXED).read_bytes())
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert piped.stdout == listed(MIXED, *keys, *arguments)


@pytest.mark.parametrize("arguments", [("-c", "5"), ("--head", "5"), ("-Y", "operation == ApiVersions", "--head", "2")])
def test_a_pipe_that_stays_open_is_left_when_enough_was_read(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "analyzer.cli", "list", "-", "--format", "tsv", "-e", "number", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(Path(KAFKA).read_bytes())
            process.stdin.flush()
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert process.returncode == 0
        assert process.stdout is not None
        assert len(process.stdout.read().splitlines()) == 1 + int(arguments[-1])


# ---- the time


def nanoseconds(time: str) -> int:
    whole, fraction = time.rstrip("Z").split(".")
    return int(datetime.fromisoformat(f"{whole}+00:00").timestamp()) * 10**9 + int(fraction)


def as_seconds(number: int) -> str:
    return f"{'-' if number < 0 else ''}{abs(number) // 10**9}.{abs(number) % 10**9:09}"


def first_packet(capture: str) -> int:
    info = json.loads(run_apart("info", "--json", capture).stdout)
    return nanoseconds(info["files"][0]["first"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["ndjson", "tsv", "csv"])
@pytest.mark.parametrize("order", ["number", "-latency"])
def test_time_formats(listed: Listed, form: str, order: str) -> None:
    times = [nanoseconds(row["time"]) for row in (by_latency if order == "-latency" else list)(all_rows(MIXED))]
    began = first_packet(MIXED)
    wanted = {
        "epoch": [as_seconds(time) for time in times],
        "relative": [as_seconds(time - began) for time in times],
        "delta": [as_seconds(time - before) for before, time in pairwise([times[0], *times])],
    }
    for name, texts in wanted.items():
        printed = listed(MIXED, "--format", form, "-e", "time", "--sort", order, "--time-format", name).splitlines()
        found = (
            [json.loads(line)["time"] for line in printed] if form == "ndjson" else [x.decode() for x in printed[1:]]
        )
        assert found == texts


def test_the_time_of_the_table(listed: Listed) -> None:
    """A clock, all of it, or seconds; the other columns stay."""
    usual = listed(KAFKA).decode().splitlines()
    iso = listed(KAFKA, "--time-format", "iso").decode().splitlines()
    relative = listed(KAFKA, "--time-format", "relative").decode().splitlines()
    for row, plain, whole, seconds in zip([None, *all_rows(KAFKA)], usual, iso, relative, strict=True):
        assert whole == f"{plain[:7]}{row['time'] if row else 'Time'.ljust(30)}{plain[25:]}"
        text = as_seconds(nanoseconds(row["time"]) - first_packet_of_kafka()) if row else "Time"
        assert seconds == f"{plain[:7]}{text.rjust(18)}{plain[25:]}"


@cache
def first_packet_of_kafka() -> int:
    return first_packet(KAFKA)


def test_delta_does_not_depend_on_what_is_written_together(listed: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = listed(MIXED, "--time-format", "delta")
    monkeypatch.setattr("analyzer.render.printer.TOGETHER", 7)
    assert listed(MIXED, "--time-format", "delta") == whole


# ---- columns


PATHS = ("kafka.topic", "kafka.Metadata.response.topics.name", "source.port", "port", "zookeeper.getData.request.watch")


def test_paths_in_cells_are_those_of_json_with_commas(listed: Listed) -> None:
    keys = ("-e", ",".join(["number", *PATHS, "error"]))
    rows = [json.loads(line) for line in listed(MIXED, *keys, "--format", "ndjson").splitlines()]
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        head, *cells = csv.reader(listed(MIXED, *keys, "--format", form).decode().splitlines(), delimiter=delimiter)
        assert head == ["number", *PATHS, "error"]
        for row, found in zip(rows, cells, strict=True):
            assert found == [cell(value) for value in row.values()]
    assert sum(bool(row["kafka.topic"]) for row in rows) > 50
    assert {type(row["source.port"]) for row in rows} == {int}
    assert {len(row["port"]) for row in rows} == {2}
    assert {row["zookeeper.getData.request.watch"] for row in rows} == {None, True, False}


def cell(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(cell, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value["name"] if isinstance(value, dict) else str(value)


def test_a_path_next_to_what_rows_have(listed: Listed) -> None:
    """With bodies, where alike rows are written together, and in the order that was asked for."""
    keys = "kafka.topic,number,time,info,error"
    rows = [json.loads(line) for line in listed(KAFKA, "-e", keys, "--fields", "--format", "ndjson").splitlines()]
    assert list(rows[0]) == [*keys.split(","), "fields"]
    for row, plain in zip(rows, all_rows(KAFKA), strict=True):
        assert {key: row[key] for key in row if key != "kafka.topic"} == {
            key: plain[key] for key in row if key in plain
        }


def test_other_programs_names_of_keys(listed: Listed) -> None:
    printed = listed(KAFKA, "-e", "frame.number,tcp.stream,latency", "--format", "csv").decode().splitlines()
    assert printed[0] == "frame.number,tcp.stream,latency"
    assert printed[2] == ",".join(str(all_rows(KAFKA)[1][key]) for key in ("last_packet", "stream", "latency_ns"))


def test_bytes_and_long_lists_are_cut(listed: Listed) -> None:
    path = "kafka.Produce.request.topicData.partitionData.records.records.value"
    arguments = ("-e", path, "-Y", path, "--head", "1", "--bytes-limit", "2", "--max-items", "2")
    (row,) = [json.loads(line) for line in listed(KAFKA, *arguments, "--format", "ndjson").splitlines()]
    first, second, rest = row[path]
    assert (first["hex"], second["hex"], rest["truncated"]) == ("7661", "7661", True)
    assert listed(KAFKA, *arguments, "--format", "tsv").decode().splitlines()[1] == "7661...,7661...,..."


HEADS = {
    "default": "No. Time Str Source Destination Protocol Operation V Length Latency Info",
    "latency": "No. Time Latency Str Client Operation V Length Error Info",
    "kafka": (
        "No. Time Str Source Destination Role Operation V Correlation Client Latency kafka.topic kafka.group Error Info"
    ),
    "zookeeper": "No. Time Str Source Destination Role Operation Correlation Client Latency zookeeper.path Error Info",
    "zookeeper-quorum": "No. Time Str Source Destination Role Operation Length Latency Error Info",
}


@pytest.mark.parametrize("name", load_presets())
def test_sets_of_columns(listed: Listed, name: str) -> None:
    """For people a table with the same cells; for programs just the keys."""
    head, *lines = listed(MIXED, "--columns", name, "--head", "40").decode().splitlines()
    assert " ".join(head.split()) == HEADS.get(name, " ".join(head.split()))
    assert len(lines) == 40
    keys, *cells = csv.reader(listed(MIXED, "--columns", name, "--head", "40", "--format", "csv").decode().splitlines())
    assert tuple(keys) == tuple(load_presets()[name])
    shown = {"number", "stream", "operation", "length", "client", "code"} & set(keys)
    for line, row in zip(lines, cells, strict=True):
        words = line.split()
        assert [row[keys.index(key)] in words for key in shown if row[keys.index(key)]].count(False) == 0


def test_columns_are_aligned(listed: Listed) -> None:
    head, *lines = listed(KAFKA, "--columns", "latency", "--head", "40").decode().splitlines()
    place, right = head.index("Info"), head.index("Length") + len("Length")
    assert all(line[place - 1] == " " != line[place] for line in lines)
    assert all(line[right - 1].isdigit() and line[right] == " " for line in lines)


def test_the_line_of_information_is_not_cut(listed: Listed) -> None:
    """But where it has ids of topics, which have their names there."""
    lines = listed(KAFKA, "--columns", "latency").decode().splitlines()[1:]
    pairs = list(zip(lines, (row["info"] for row in all_rows(KAFKA)), strict=True))
    plain = [(line, info) for line, info in pairs if not re.search("[A-Za-z0-9_-]{22}", info)]
    assert len(plain) > len(pairs) // 2
    assert all(line.endswith(info) for line, info in plain)
    assert max(map(len, lines)) > 150


def test_sets_and_keys_stand_behind_each_other(listed: Listed) -> None:
    arguments = ("--columns", "latency,zookeeper-quorum", "-e", "kafka.topic,number,offset", "--format", "tsv")
    head = listed(KAFKA, *arguments).decode().splitlines()[0].split("\t")
    keys = dict.fromkeys([*load_presets()["latency"], *load_presets()["zookeeper-quorum"], "kafka.topic", "offset"])
    assert head == list(keys)


def test_sets_are_listed(listed: Listed) -> None:
    lines = listed("--columns", "list").decode().splitlines()
    assert {line.split()[0]: line.split()[1].split(",") for line in lines} == {
        name: list(keys) for name, keys in load_presets().items()
    }


def test_sets_of_the_configuration(listed: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[columns]\nmine = ["kafka.topic", "tcp.stream"]\nlatency = ["number"]\n[list]\ntime-format = "epoch"\n'
    )
    monkeypatch.setenv("WIREANALYZE_CONFIG", str(config))
    assert listed(KAFKA, "--columns", "mine", "--format", "csv").startswith(b"kafka.topic,tcp.stream\n")
    assert listed(KAFKA, "--columns", "latency", "--head", "1").split() == [b"No.", b"1"]
    # The format of the time is for people: what programs read stays as it is.
    assert as_seconds(nanoseconds(all_rows(KAFKA)[0]["time"])) in listed(KAFKA).decode()
    assert listed(KAFKA, "-e", "time", "--format", "csv").split()[1] == all_rows(KAFKA)[0]["time"].encode()


def test_a_table_without_rows_has_its_head(listed: Listed) -> None:
    assert listed(KAFKA, "--columns", "kafka", "-Y", "number < 0").split()[0] == b"No."
    assert listed(KAFKA, "-e", "number", "-Y", "number < 0") == b"number\n"
    assert listed(KAFKA, "--format", "ndjson", "-Y", "number < 0") == b""
