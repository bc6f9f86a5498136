"""What is told about packets and hosts, and what is said about who speaks which protocol, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzer.cli.conftest import Call
from tests.analyzer.cli.test_config import CAPTURE, protocols
from tests.analyzer.commented import commented
from tests.analyzer.messages.test_message_comments import COMMENTS, PACKETS
from tests.analyzer.wire import frames

HOSTILE = b"scarlet\x1b[31m\nand \xe2\x80\xae more"
ESCAPED = "scarlet\\x1b[31m\\nand \\u202e more"


@pytest.fixture
def path(tmp_path: Path) -> str:
    comments = {**COMMENTS, 8: [b"the answer", HOSTILE]}
    return str(commented(tmp_path / "a.pcapng", frames(PACKETS), comments, ("10.0.0.2", b"broker-1\0" + HOSTILE)))


def test_info_tells_comments_and_names(call: Call, path: str) -> None:
    _, out, text = call("info", path)
    assert text == ""
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert {"packet comments: 8", "resolved names: 1", "comment on 5: two messages"} <= set(lines)
    assert f"comment on 8: {ESCAPED}" in lines
    assert f"10.0.0.2: broker-1, {ESCAPED}" in lines
    found = json.loads(call("info", "--json", path)[1])
    assert found["comments"][:2] == [{"packet": 1, "text": "the SYN"}, {"packet": 4, "text": "the beginning"}]
    assert found["names"] == {"10.0.0.2": ["broker-1", HOSTILE.decode()]}


def test_info_is_bounded(call: Call, tmp_path: Path) -> None:
    comments = {1: [b"%d" % number for number in range(1000)], 2: [b"x"] * 100}
    path = str(commented(tmp_path / "a.pcapng", frames(PACKETS), comments))
    assert call("info", path)[1].count("comment on ") == 20
    found = json.loads(call("info", "--json", path)[1])
    assert (len(found["comments"]), found["files"][0]["packet_comments"]) == (1000, 1100)


def test_show_tells_comments_and_names(call: Call, path: str) -> None:
    lines = call("show", path, "3")[1].splitlines()
    assert lines[1].startswith(f"10.0.0.2:9092 ({ESCAPED}) -> 10.0.0.1:40000, ")
    assert ["comment on packet 8: the answer", f"comment on packet 8: {ESCAPED}"] == [
        line for line in lines if line.startswith("comment")
    ]
    assert call("show", "-n", path, "3")[1].splitlines()[1].startswith("10.0.0.2:9092 -> 10.0.0.1:40000, ")


def test_show_for_programs(call: Call, path: str) -> None:
    found: dict[str, Any] = json.loads(call("show", path, "1", "--json")[1])
    reported = {each["number"]: each.get("comments") for each in found["packets"]}
    assert reported == {4: ["the beginning", "really"], 5: ["two messages"], 7: ["came again"]}
    assert found["row"]["source"] == "10.0.0.1:40000"


def test_a_message_of_many_comments(call: Call, tmp_path: Path) -> None:
    path = str(commented(tmp_path / "a.pcapng", frames(PACKETS), {8: [b"x" * 5000] * 25}))
    lines = [line for line in call("show", path, "3")[1].splitlines() if "comment" in line]
    assert (len(lines), lines[-1], max(map(len, lines)) < 1100) == (21, "and 5 more comments", True)


def test_follow_tells_comments_and_names(call: Call, path: str) -> None:
    head, *lines = call("follow", path, "0")[1].splitlines()
    assert head == f"stream 0: 10.0.0.1:40000>10.0.0.2:9092 (unnamed > {ESCAPED}:9092), 3 messages"
    reported = [line.strip() for line in lines if "comment" in line]
    assert reported == [
        *(f"comment: {text}" for text in ("the beginning", "really", "two messages", "two messages", "the answer")),
        f"comment: {ESCAPED}",
    ]
    assert call("follow", "-n", path, "0")[1].splitlines()[0].endswith(" 10.0.0.1:40000>10.0.0.2:9092, 3 messages")


def test_the_configuration_may_not_want_names(call: Call, path: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[list]\nnames = false\n")
    unwanted = ["--config", str(tmp_path / "c.toml")]
    for command in (["list", path], ["show", path, "2"], ["follow", "--only", "client", path, "0"]):
        assert "scarlet" in call(*command)[1]
        assert "scarlet" not in call(*unwanted, *command)[1]
        assert "scarlet" not in call(*command, "-n")[1]


def test_programs_get_addresses(call: Call, path: str) -> None:
    rows = [json.loads(line) for line in call("list", path, "--format", "ndjson")[1].splitlines()]
    assert {row["source"] for row in rows} == {"10.0.0.1:40000", "10.0.0.2:9092"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["stream==0,none"], {"kafka", "unknown"}),
        (["tcp.port==1-65535,none"], {"unknown"}),
        (["1-65535=none", "29092=kafka"], {"kafka", "unknown"}),
        (["29092=kafka", "1-65535=none"], {"unknown"}),
        (["127.0.0.1:33862>127.0.0.1:29092=none"], {"kafka", "unknown"}),
    ],
    ids=["stream", "range", "last-port", "last-range", "ends"],
)
def test_who_speaks_what(call: Call, told: list[str], expected: set[str]) -> None:
    words = [word for each in told for word in ("-d", each)]
    assert protocols(call("list", CAPTURE, "-e", "protocol", "--format", "ndjson", *words)[1]) == expected


def test_a_word_about_no_stream_is_reported(call: Call) -> None:
    words = ["stream==99,none", "127.0.0.1:33862>127.0.0.1:29092=none", "127.0.0.1:29092>127.0.0.1:1=none"]
    options = [word for each in words for word in ("-d", each)]
    status, _, error = call("info", CAPTURE, *options)
    assert status == 0
    count = "The input has 37 streams, counted from 0.\n"
    assert error == "".join(
        f"wireanalyze: -d: There is no stream {name}. {count}" for name in ("99", "127.0.0.1:29092>127.0.0.1:1")
    )


def test_streams_have_no_numbers_in_a_pipeline(call: Call, tmp_path: Path) -> None:
    status, _, error = call("pipeline", CAPTURE, "-o", str(tmp_path / "out"), "-d", "stream==3,kafka")
    assert status == 2
    assert "ends of the stream: CLIENT>SERVER=PROTOCOL." in error
