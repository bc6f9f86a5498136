"""`wireanalyze stats`, as a user calls it: counts, one screen, and groups."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.metrics import METRIC_NAMES as ALL
from analyzer.insight.statistics import statistics
from analyzer.session import Session
from tests.program import run

CAPTURES = Path(__file__).parents[3] / "captures"
KAFKA, MIXED = str(CAPTURES / "kafka.pcap"), str(CAPTURES / "mixed.pcapng")
FIGURES = ("messages", "requests", "answers", "unanswered", "orphans", "oneway", "push", "raw", "bytes")


def said(*arguments: str, stdin: bytes = b"") -> str:
    done = run("stats", *arguments, stdin=stdin, COLUMNS="120")
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def counted(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    return told(*arguments, "--counts", stdin=stdin)


def told(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
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
    found = list(csv.DictReader(said(MIXED, "--counts", "--format", "csv").splitlines()))
    assert found == [{key: "" if value is None else str(value) for key, value in each.items()} for each in operations]


def test_the_table_has_a_line_for_each_operation_beneath_its_protocol() -> None:
    head, *lines, last = said(KAFKA, "--counts").splitlines()
    operations = counted(KAFKA)["operations"]
    assert head.split() == ["protocol,", "operation", *FIGURES]
    assert lines[0].startswith("kafka ")
    assert [line.split()[0] for line in lines[1:]] == [each["operation"] for each in operations]
    assert all(line.startswith("  ") for line in lines[1:])
    assert last.startswith(f"{counted(KAFKA)['packets']:,} packets")
    assert len({len(line) for line in [head, *lines]}) == 1


def test_several_protocols_are_summed() -> None:
    lines = said(MIXED, "--counts").splitlines()
    assert lines[-2].split()[:2] == ["all", f"{counted(MIXED)['messages']:,}"]


@pytest.mark.parametrize("arguments", [["-r", KAFKA], ["-n"], ["-d", "9092=kafka"], ["-Y", "length > 0"]])
def test_options_of_list_are_taken(arguments: list[str]) -> None:
    files = [] if "-r" in arguments else [KAFKA]
    assert said("--counts", *arguments, *files) == said(KAFKA, "--counts")


def test_a_pipe_and_several_files() -> None:
    assert counted("-", stdin=Path(KAFKA).read_bytes()) == counted(KAFKA)
    both = counted(KAFKA, MIXED)
    assert both["packets"] == counted(KAFKA)["packets"] + counted(MIXED)["packets"]


def test_a_capture_without_messages_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(Path(KAFKA).read_bytes()[:24])
    assert said(str(empty), "--counts") == "0 packets (0 TCP), 0 bytes; 0 streams, 0 messages\n"
    head, why = said(str(empty)).splitlines()
    assert head == "empty.pcap: 0 packets (0 TCP), 0B, 0 streams, 0 messages, 0B"
    assert why.startswith("no messages of a protocol that is known here")
    assert said(str(empty), "--by", "client,topic", "--format", "csv") == ",".join(["client", "topic", *ALL]) + "\n"
    assert said(str(empty), "--by", "time").splitlines()[-1].startswith("0 of 0 groups; 0 messages")
    assert json.loads(said(str(empty), "--endpoints", "--format", "json")) == {"endpoints": [], "endpoints_in_all": 0}


def test_the_screen_in_json_has_the_counts_and_more() -> None:
    plain, found = counted(MIXED), told(MIXED)
    for key in ("packets", "tcp_packets", "packet_bytes", "streams", "messages", "message_bytes"):
        assert found[key] == plain[key]
    counts = {(each["protocol"], each["operation"]): each for each in plain["operations"]}
    assert len(found["operations"]) == len(counts)
    for each in found["operations"]:
        count = counts[each["protocol"], each["operation"]]
        assert {key: each[key] for key in count} == count
        assert set(each) == {"protocol", "operation", "versions", "latencies", *ALL}
        assert sum(bucket["answers"] for bucket in each["latencies"]) == each["timed"]
    assert len(found["unanswered"]["oldest"]) == found["total"]["unanswered"]
    listed = [
        json.loads(line) for line in run("list", MIXED, "--format", "ndjson", "-e", "number,id").stdout.splitlines()
    ]
    assert all({key: each[key] for key in ("number", "id")} in listed for each in found["unanswered"]["oldest"])


def test_errors_are_those_that_list_tells() -> None:
    errors = run("list", MIXED, "-e", "operation,error", "--format", "csv").stdout.decode().splitlines()[1:]
    found = told(MIXED, "--by", "operation,error")
    for group in found["groups"]:
        name = f"{group['operation'] or ''},{group['error'] or ''}"
        assert errors.count(name) == group["messages"]
    assert sum(group["errors"] + group["empty"] for group in found["groups"]) == sum(
        not line.endswith(",") for line in errors
    )


def test_groups_are_those_of_statistics_in_all_forms() -> None:
    with Session([MIXED]).load() as session:
        expected = statistics(RowReader(session), ["protocol", "role"])
    objects = told(MIXED, "--by", "protocol,role")["groups"]
    assert [(each["protocol"], each["role"]) for each in objects] == [group.key for group in expected.groups]
    lines = list(csv.DictReader(said(MIXED, "--by", "protocol", "--by", "role", "--format", "csv").splitlines()))
    for line, each in zip(lines, objects, strict=True):
        assert {key: value for key, value in line.items() if key not in ("rate", "error_rate", "mean_ns")} == {
            key: "" if value is None else str(value)
            for key, value in each.items()
            if key not in ("rate", "error_rate", "mean_ns")
        }
    head, *rows, _ = said(MIXED, "--by", "protocol,role", "--top", "3").splitlines()
    assert head.split()[:2] == ["protocol", "role"]
    assert [tuple(row.split()[:2]) for row in rows] == [group.key for group in expected.groups[:3]]


def test_sorted_by_a_figure_what_has_none_comes_last() -> None:
    found = [group["p99_ns"] for group in told(MIXED, "--by", "operation", "--sort", "p99")["groups"]]
    known = [value for value in found if value is not None]
    assert known == sorted(known, reverse=True)
    assert found == [*known, *[None] * (len(found) - len(known))]


def test_sorted_by_a_key() -> None:
    rising, falling = (
        [group["topic"] for group in told(MIXED, "--by", "topic", "--sort", sort)["groups"]]
        for sort in ("topic", "-topic")
    )
    assert rising[:-1] == sorted(rising[:-1])
    assert falling == [*rising[-2::-1], None]


def test_a_filter_chooses_what_is_counted() -> None:
    found = told(MIXED, "-Y", "protocol == kafka and role == response", "--by", "operation")
    answers = {
        each["operation"]: each["answers"] for each in counted(MIXED)["operations"] if each["protocol"] == "kafka"
    }
    assert {group["operation"]: group["messages"] for group in found["groups"]} == answers


@pytest.mark.parametrize("view", ["conversations", "endpoints"])
def test_traffic_in_all_forms(view: str) -> None:
    found = told(MIXED, f"--{view}", "--top", "4")
    assert (len(found[view]), found[f"{view}_in_all"] > 4) == (4, True)
    lines = list(csv.DictReader(said(MIXED, f"--{view}", "--top", "4", "--format", "csv").splitlines()))
    assert lines == [{key: "" if value is None else str(value) for key, value in each.items()} for each in found[view]]
    shown = said(MIXED, f"--{view}", "--top", "4").splitlines()
    assert len(shown) == 6
    assert shown[-1].startswith(f"4 of {found[f'{view}_in_all']:,} {view}")


def test_a_narrow_locale_gets_plain_bars() -> None:
    done = run("stats", MIXED, PYTHONIOENCODING="ascii", COLUMNS="60")
    assert done.stdout.isascii()
    assert b"@" in done.stdout
    assert b"\\u2026" not in done.stdout


def test_what_no_filter_lets_through_is_reported() -> None:
    head, why = said(MIXED, "-Y", "kafka.topic == nobody").splitlines()
    assert "0 streams, 0 of 1,140 messages" in head
    assert why == "no message fulfils the filter"
    assert said(MIXED, "-Y", "kafka.topic == nobody", "--endpoints", "--format", "csv").startswith("endpoint,")


def test_connections_and_files_are_not_among_what_a_filter_chose(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(KAFKA).read_bytes()[:-7])
    whole, chosen = told(str(cut)), told(str(cut), "-Y", "length > 0")
    assert "damaged-capture" in {each["code"] for each in whole["findings"]}
    assert "damaged-capture" not in {each["code"] for each in chosen["findings"]}
    assert chosen["messages"] == whole["messages"]


def test_numbers_that_have_names_are_reported_by_them() -> None:
    assert "Fetch " in said(MIXED, "--by", "kafka.api_key")
    assert "5.98ms " in said(MIXED, "--by", "latency")
    assert {group["kafka.api_key"] for group in told(MIXED, "--by", "kafka.api_key")["groups"]} >= {1, 3, None}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "arguments", [[], ["--by", "client,topic"], ["--by", "info"], ["--counts"], ["--by", "client", "--format", "csv"]]
)
def test_names_cannot_act_on_a_terminal(arguments: list[str], tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.pcapng"
    names = {b"RangeAssignor-0": b"\x1b]0;is it\x07\xc2\x9b31m", b"lab_base": b"l\xe2\x80\xae[2Jx"}
    data = Path(MIXED).read_bytes()
    for name, other in names.items():
        assert len(name) == len(other)
        data = data.replace(name, other)
    hostile.write_bytes(data)
    found = said(str(hostile), *arguments)
    assert "is it" in found or "client" not in "".join(arguments)
    assert all(character.isprintable() for character in found.replace("\n", ""))
