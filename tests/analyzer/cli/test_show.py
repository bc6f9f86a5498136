"""`wireanalyze show`: what other messages tell of one, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.program import run

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"


def shown(name: str, message: int, *options: str) -> str:
    done = run("show", str(GOLDEN / f"{name}.pcap.zst"), str(message), *options)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def block(text: str) -> list[str]:
    """The lines between the packets and the message's own title."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("packets "))
    return lines[first + 1 : lines.index("", first)]


JG = "topic nM4IBaneSOKPcY_ClnOBnw is jg (message 8)"
BLOCKS: list[tuple[str, int, list[str]]] = [
    ("k4_java_classic", 1, []),
    ("k4_java_classic", 45, [JG]),
    (
        "k4_java_classic",
        56,
        [JG, "session 268456014 holds 3 partitions in epoch 2 (since message 47)", "  jg[1 at 11, 2 at 3, 3 at 2]"],
    ),
    ("k4_java_classic", 107, [JG, "session 289718293 holds 1 partition in epoch 1 (since message 93)", "  jg[0 at 4]"]),
    (
        "k4_java_txn",
        111,
        [
            "topic HReS_a5XSlu_HndJDj2uVg is jt (message 8)",
            "producer 1000 is transaction jtx-1 (message 34)",
            "kafka.transactions: begins: transaction jtx-1, committed after 29 ms, 1 record to jt[0]",
        ],
    ),
    (
        "k4_election",
        6,
        [
            "broker 2 is 127.0.0.1:29199 (message 77)",
            "session 208796917 began before the capture, in epoch 4111 it holds what was asked for then",
        ],
    ),
]


@pytest.mark.parametrize(("name", "message", "expected"), BLOCKS)
def test_what_is_known_stands_below_the_facts(name: str, message: int, expected: list[str]) -> None:
    assert block(shown(name, message)) == expected


def test_of_an_answer_it_is_what_was_requested() -> None:
    assert block(shown("k4_java_classic", 61)) == block(shown("k4_java_classic", 56))


def test_names_stand_next_to_ids_in_the_tree_and_in_the_line() -> None:
    text = shown("k4_java_txn", 111)
    assert 'topicId: "HReS_a5XSlu_HndJDj2uVg" (jt)' in text
    assert "producerId: 1000 (transaction jtx-1)" in text
    assert "jt[0: " in text


def nodes(fields: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    inner = [node for each in fields for node in nodes(each.get("children", []), name)]
    return [each for each in fields if each["name"] == name] + inner


def test_for_programs() -> None:
    found = json.loads(shown("k4_java_classic", 56, "--json"))
    topic = "nM4IBaneSOKPcY_ClnOBnw"
    assert found["names"] == [{"kind": "topic", "id": topic, "name": "jg", "message": 8}]
    session = found["session"]
    assert (session["id"], session["epoch"], session["complete"]) == (268456014, 2, True)
    assert session["partitions"][0] == {"topic": topic, "partition": 1, "fetchOffset": 11}
    requested = json.loads(shown("k4_java_classic", 45, "--json"))
    assert "session" not in requested
    (node,) = nodes(requested["fields"], "topicId")
    assert (node["value"], node["text"]) == (topic, "jg")
    assert topic in requested["row"]["info"]
    metadata_log = {"kind": "topic", "id": "AAAAAAAAAAAAAAAAAAAAAQ", "name": "__cluster_metadata", "message": None}
    assert metadata_log in json.loads(shown("k4_election", 8, "--json"))["names"]


def test_what_a_last_chunk_completes() -> None:
    """Sent in messages 43 to 47."""
    path = GOLDEN.with_name("pulsar") / "go4_chunks.pcap.zst"
    text = run("show", str(path), "47").stdout.decode()
    assert "(with messages 43, 44, 45 and 46)" in text
    assert "\n1:0+4200      whole  struct\n1:0+4200        payload: " in text
    assert "\nsource 1: payload, 5 chunks joined, 4200 bytes\n00000000  " in text
    found = json.loads(run("show", str(path), "47", "--json", "--bytes-limit", "all").stdout)
    parent = next(index for index, node in enumerate(found["fields"]) if node["name"] == "payload")
    joined = {"id": 1, "name": "payload, 5 chunks joined", "length": 4200, "parent": [parent]}
    assert found["sources"][1:] == [joined]
    payload = nodes(found["fields"][parent]["children"], "payload")
    assert [(node["source"], node["offset"], node["length"]) for node in payload] == [(1, 0, 4200)]
