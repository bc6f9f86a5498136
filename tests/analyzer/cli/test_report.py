"""`wireanalyze report`, as a user calls it: lines of reports, and the page that --html writes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.analyzer.cli.conftest import Call
from tests.program import run

ROOT = Path(__file__).parents[3]
WATCH = str(ROOT / "tests" / "golden" / "zookeeper" / "cl_java395_watch.pcap.zst")
OLD = str(ROOT / "tests" / "golden" / "kafka" / "k010_py_old.pcap.zst")
KAFKA = str(ROOT / "captures" / "kafka.pcap")
ROCKETMQ = str(ROOT / "tests" / "golden" / "rocketmq" / "m550_json_tx_lab_tx.pcap.zst")
NAMES = (
    "kafka.groups, members, progress, kafka.producers, kafka.transactions, partitions, brokers, clients, upgrade, "
    "sessions, watches, commits, elections, producers, consumers, deliveries, lookups, transactions, "
    "rocketmq.deliveries, rocketmq.transactions, pops, roles, routes, groups, queues, delays, timeline"
)


def said(*arguments: str) -> str:
    done = run("report", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_without_anything_it_says_what_there_is() -> None:
    assert ", ".join(line.split()[0] for line in said().splitlines()) == NAMES


def test_without_a_name_it_counts() -> None:
    sessions, watches, delays = said(WATCH).splitlines()
    assert [line.split()[:2] for line in (sessions, watches, delays)] == [
        ["sessions", "2"], ["watches", "17"], ["delays", "17"],
    ]  # fmt: skip
    assert watches.endswith("stood up to 412ms: /jw, persistent")


def test_without_a_name_it_counts_what_must_not_be() -> None:
    line = next(each for each in said(OLD).splitlines() if each.startswith("upgrade"))
    assert line.split(maxsplit=2)[2] == "25 of 28 must not be"


def test_of_names_that_begin_alike_the_end_is_shown_too() -> None:
    first = said("producers", str(ROOT / "captures" / "pulsar.pcap.zst")).splitlines()[1]
    assert " persistent://public/…fault/python-codecs " in first


def test_a_bare_name_is_that_of_the_protocol_in_the_capture() -> None:
    assert json.loads(said("groups", KAFKA, "--json").splitlines()[0])["story"] == "kafka.groups"
    assert json.loads(said("groups", ROCKETMQ, "--json").splitlines()[0])["story"] == "groups"


def test_an_upgrade_breaks_clients() -> None:
    old = str(ROOT / "captures" / "kafka-0.10.pcap.zst")
    done = run("report", "upgrade", "--to", "4.0", old, "--json")
    verdicts = {json.loads(line)["verdict"] for line in done.stdout.splitlines()}
    assert (done.returncode, "breaks" in verdicts) == (1, True)
    assert run("report", "upgrade", "--to", "3.9", old).returncode == 0


def test_what_the_columns_are() -> None:
    lines = said("--list", "watches").splitlines()
    assert lines[0].startswith("watches: each watch")
    assert lines[1].split() == ["path", "text", "the", "node"]


def test_a_table_has_a_line_for_each_and_no_empty_columns() -> None:
    head, first, *rest = said("watches", WATCH).splitlines()
    titles = (
        "first",
        "path",
        "kind",
        "state",
        "event",
        "session",
        "set",
        "fired",
        "events",
        "stood",
        "write",
        "delivery",
    )
    assert tuple(head.split()) == (*titles, "messages")
    line = "14:09:32.411  /jw/x  exist  fired  NodeCreated  0x100001ed4cd0006  7  16  1  7ms  15  1.52ms  7, 16, 15"
    assert first.split() == line.split()
    assert len(rest) == 16
    assert "error" not in said("sessions", WATCH).splitlines()[0].split()[-1:]


def test_all_forms_say_the_same() -> None:
    objects = [json.loads(line) for line in said("watches", "--format", "ndjson", WATCH).splitlines()]
    assert objects[0] == {
        "story": "watches",
        "path": "/jw/x",
        "kind": "exist",
        "session": "0x100001ed4cd0006",
        "set": 7,
        "state": "fired",
        "event": "NodeCreated",
        "fired": 16,
        "events": 1,
        "stood_ns": 7003060,
        "write": 15,
        "delivery_ns": 1521204,
        "first": "2026-11-21T14:09:32.411579116Z",
        "last": "2026-11-21T14:09:32.418582176Z",
        "messages": [{"as": "set", "number": 7}, {"as": "fired", "number": 16}, {"as": "write", "number": 15}],
    }
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        text = said("watches", WATCH, "--format", form)
        lines = list(
            csv.DictReader(
                io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if form == "csv" else csv.QUOTE_NONE
            )
        )
        assert [line["path"] for line in lines] == [each["path"] for each in objects]
        assert [line["stood_ns"] for line in lines] == [
            "" if n is None else str(n) for n in (o["stood_ns"] for o in objects)
        ]
        assert json.loads(lines[0]["messages"]) == objects[0]["messages"]


def test_the_name_may_stand_anywhere_and_files_may_be_read_by_option() -> None:
    assert said("watches", WATCH) == said(WATCH, "watches") == said("-r", WATCH, "watches")


def test_standard_input() -> None:
    with Path(WATCH).open("rb") as file:
        done = run("report", "watches", "-", stdin=file.read())
    assert done.stdout.decode() == said("watches", WATCH)


def test_a_capture_that_says_nothing_of_it() -> None:
    done = run("report", "commits", KAFKA)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == (
        "wireanalyze: the report commits is empty: no message of zookeeper-quorum has data for it\n"
    )
    assert run("report", "commits", KAFKA, "--format", "csv").stdout.startswith(b"zxid,operation,")


def test_of_two_reports_of_one_name_the_one_that_the_capture_tells() -> None:
    lines = [json.loads(line) for line in said("transactions", ROCKETMQ, "--format", "ndjson").splitlines()]
    assert [(line["story"], line["outcome"]) for line in lines[:2]] == [("rocketmq.transactions", "committed")] * 2
    assert said("rocketmq.transactions", ROCKETMQ) == said("transactions", ROCKETMQ)
    (line, *_) = said("deliveries", str(ROOT / "captures" / "pulsar.pcap.zst"), "--format", "ndjson").splitlines()
    assert json.loads(line)["story"] == "deliveries"


def test_the_protocol_may_be_given_too() -> None:
    assert said("rocketmq.groups", ROCKETMQ) == said("groups", ROCKETMQ) != ""
    mixed = str(ROOT / "captures" / "mixed.pcapng")
    lines = {name: said(name, mixed) for name in ("deliveries", "pulsar.deliveries", "rocketmq.deliveries")}
    assert lines["deliveries"] == lines["pulsar.deliveries"] != lines["rocketmq.deliveries"]
    assert said("--list", "pulsar.deliveries") == said("--list", "deliveries")
    done = run("report", "pulsar.deliveries", ROCKETMQ)
    assert (done.stdout, done.returncode) == (b"", 0)
    assert b"no message of pulsar has data for it" in done.stderr


def test_a_file_that_is_called_like_a_report(tmp_path: Path) -> None:
    path = tmp_path / "watches"
    shutil.copy(WATCH, path)
    assert said("watches", str(path)) == said("watches", WATCH)


def test_show_says_its_part() -> None:
    lines = run("show", WATCH, "16").stdout.decode()
    text = "fires the exist watch on /jw/x that message 7 set 7 ms before; the news took 1.5 ms"
    assert f"watches: {text}\n" in lines
    (part,) = json.loads(run("show", "--json", WATCH, "16").stdout)["stories"]
    assert (part["story"], part["text"], part["line"]["set"]) == ("watches", text, 7)


# ---- `wireanalyze report --html`, as a user calls it


def test_a_page_is_written_and_not_replaced(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    status, out, err = call("report", "--html", str(path), KAFKA)
    assert (status, out) == (0, "")
    assert err.startswith("wireanalyze: A page of ") or "page of" in err
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "kafka.pcap" in text
    status, _, err = call("report", "--html", str(path), KAFKA)
    assert status == 2
    assert "--force" in err
    assert call("report", "--html", str(path), "--force", KAFKA)[0] == 0
    assert call("report", "--html", "-", KAFKA)[1] == text


@pytest.mark.parametrize(
    "arguments", [("groups", KAFKA), (KAFKA, "--json"), (KAFKA, "--list"), (), ("no-such-file.pcap",)]
)
def test_what_has_no_meaning_is_refused(call: Call, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "page.html"
    status, out, err = call("report", "--html", str(path), *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("wireanalyze: ")
    assert not path.exists()
