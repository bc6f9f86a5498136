"""A command line without a command: files and tshark's options mean open, list or sniff; other words are misspelt."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli.front import SYNONYMS, unknown_command, with_command
from analyzer.cli.program import COMMANDS
from tests.analyzer.cli.conftest import Call

ROOT = Path(__file__).parents[3]
KAFKA = str(ROOT / "captures" / "kafka.pcap")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ([KAFKA], ["list", KAFKA]),
        (["-r", KAFKA, "-Y", "error", "-c", "5"], ["list", "-r", KAFKA, "-Y", "error", "-c", "5"]),
        (["-nr", KAFKA], ["list", "-nr", KAFKA]),
        (["--debug", "--config", "c.toml", "-"], ["--debug", "--config", "c.toml", "list", "-"]),
        (["--config=c.toml", "missing.pcap"], ["--config=c.toml", "list", "missing.pcap"]),
        (["--plugin", "p.py", "-c", "1", "a.pcap"], ["--plugin", "p.py", "list", "-c", "1", "a.pcap"]),
        (["-i", "lo", "-f", "port 9092"], ["sniff", "--headless", "-i", "lo", "-f", "port 9092"]),
        (["-q"], ["list", "-q"]),
        (["list", KAFKA], ["list", KAFKA]),
        (["help", "list"], ["list", "--help"]),
        (["help"], ["--help"]),
        (["--version"], ["--version"]),
        (["lst"], ["lst"]),
        ([], []),
    ],
)
def test_what_is_meant_without_a_terminal(arguments: list[str], meant: list[str]) -> None:
    assert with_command(arguments, COMMANDS) == meant


def test_what_is_meant_in_a_terminal() -> None:
    meant = {"": "open", "-Y error": "open", "-e id": "list", "-T ek": "list", "-i lo": "sniff"}
    code = (
        "from analyzer.cli.front import with_command; from analyzer.cli.program import COMMANDS;"
        f"print(*(with_command([*each.split(), {KAFKA!r}], COMMANDS)[0] for each in {list(meant)!r}))"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    subprocess.run(
        [sys.executable, "-c", code], stdin=follower, stdout=follower, stderr=follower, check=True, env=environment
    )
    os.close(follower)
    printed = os.read(leader, 1000).decode().split()
    os.close(leader)
    assert printed == [*meant.values()]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("lits", "Did you mean list?"),
        ("sats", "Did you mean stats?"),
        ("doctr", "Did you mean doctor?"),
        ("tcpdump", "Did you mean sniff?"),
        ("capinfos", "Did you mean info?"),
        ("xyzzy", "Commands are open, web, list,"),
    ],
)
def test_a_misspelt_command(word: str, text: str) -> None:
    assert text in unknown_command(word, COMMANDS)


def test_every_synonym_is_for_a_command_and_is_none() -> None:
    assert set(SYNONYMS.values()) <= set(COMMANDS)
    assert not set(SYNONYMS) & set(COMMANDS)


def test_as_tshark_users_type_it(call: Call) -> None:
    _, plain, _ = call("list", KAFKA, "-Y", "kafka.Fetch", "-e", "number,latency", "-c", "60", "--format", "tsv")
    assert plain.count("\n") > 2
    words = ["-r", KAFKA, "-Y", "kafka.Fetch", "-e", "number", "-e", "latency", "-c", "60", "-n"]
    assert call(*words, "-d", "tcp.port==29092,kafka", "-T", "fields") == (0, plain, "")


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("fields", ["--format", "tsv"]),
        ("tabs", ["--format", "tsv"]),
        ("text", []),
        ("ek", ["--format", "ndjson", "--fields"]),
        ("json", ["--format", "json", "--fields"]),
    ],
)
def test_forms_of_tshark(value: str, options: list[str], call: Call) -> None:
    assert call(KAFKA, "-c", "9", "-T", value) == call("list", KAFKA, "-c", "9", *options)


def test_chosen_fields_take_the_place_of_bodies(call: Call) -> None:
    (first, *_) = json.loads(call(KAFKA, "-c", "9", "-T", "json", "-e", "number")[1])
    assert first == {"number": 1}


def test_other_forms_say_which_one_is_meant(call: Call) -> None:
    status, printed, reported = call(KAFKA, "-T", "pdml")
    assert (status, printed) == (2, "")
    assert "--format ndjson --fields" in reported
