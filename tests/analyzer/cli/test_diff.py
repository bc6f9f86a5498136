"""`wireanalyze diff`, as a user calls it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from analyzer.render.differences_text import KEYS
from tests.analyzer.cli.conftest import Call

CAPTURES = Path(__file__).parents[3] / "captures"
BEFORE, AFTER = str(CAPTURES / "kafka.pcap"), str(CAPTURES / "kafka-4.4.pcap.zst")


def test_equal_captures(call: Call) -> None:
    status, out, err = call("diff", BEFORE, BEFORE)
    (count,) = {call("stats", BEFORE, "--counts", "--json")[1].split('"messages":')[1].split(",")[0]}
    assert (status, out, err) == (0, f"No differences found in {count} and {count} messages.\n", "")
    assert call("diff", BEFORE, BEFORE, "--json")[1] == ""


def test_forms_say_the_same(call: Call) -> None:
    lines = call("diff", BEFORE, AFTER)[1].splitlines()
    objects = [json.loads(line) for line in call("diff", BEFORE, AFTER, "--format", "ndjson")[1].splitlines()]
    assert [each for line in lines[:-1] for each in [line[14:]]] == list(dict.fromkeys(one["text"] for one in objects))
    assert all(tuple(each) == KEYS for each in objects)
    assert lines[-1].startswith(f"{len(lines) - 1} differences in ")
    assert json.loads(call("diff", BEFORE, AFTER, "--format", "json")[1]) == objects
    rows = list(csv.DictReader(call("diff", BEFORE, AFTER, "--format", "csv")[1].splitlines()))
    assert [row["text"] for row in rows] == [each["text"] for each in objects]


def test_clients_stand_in_the_order_of_the_values_they_send(call: Call) -> None:
    """In the order of a set, which differs between runs, they stood one way or the other."""
    (line,) = (line for line in call("diff", BEFORE, AFTER)[1].splitlines() if "transactionTimeoutMs" in line)
    assert line.endswith("is also 0, 60000 (still 2147483647) (kafka-python-client, transactions-client).")


def test_top_and_filter(call: Call) -> None:
    every = call("diff", BEFORE, AFTER)[1].splitlines()
    first, last = call("diff", BEFORE, AFTER, "--top", "1")[1].splitlines()
    assert first == every[0]
    assert last == f"{every[-1]}; --top {len(every) - 1} prints all"
    _, out, err = call("diff", BEFORE, AFTER, "-Y", "length == 0")
    assert out == "No differences found in 0 and 0 messages.\n"
    assert err.count("pass the filter.") == 2
    out = call("diff", BEFORE, AFTER, "-Y", "operation == Metadata")[1]
    assert "Metadata" in out
    assert "Fetch" not in out


def test_several_captures_on_a_side(call: Call) -> None:
    both = call("diff", "--before", BEFORE, "--before", AFTER, "--after", BEFORE, "--after", AFTER)
    assert both == call("diff", BEFORE, BEFORE, "--before", AFTER, "--after", AFTER)
    assert both[1].startswith("No differences found in ")


@pytest.mark.parametrize("files", [(), (BEFORE,), (BEFORE, AFTER, AFTER), ("--before", BEFORE), ("-", "-")])
def test_what_is_unclear_is_refused(call: Call, files: tuple[str, ...]) -> None:
    status, out, err = call("diff", *files)
    assert (status, out) == (2, "")
    assert err.startswith("wireanalyze: ")
