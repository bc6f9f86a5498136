"""`wireanalyze decode`, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dissectors.zookeeper.messages import connected
from tests.program import run


def framed(body: str) -> str:
    """A body, given as hex, behind its size."""
    data = bytes.fromhex(body)
    return (len(data).to_bytes(4) + data).hex()


API_VERSIONS = "00000027001200040000000100076b702d4e6f6e65000d6b61666b612d707974686f6e07332e302e313200"
METADATA_V1 = framed("0003 0001 00000005 0003616263 00000001 0005 7465737431")
METADATA_V1_ANSWER = framed(
    "00000005 00000001 00000000 0009 6c6f63616c686f7374 00002384 ffff 00000000"
    "00000001 0000 0005 7465737431 00 00000001 0000 00000000 00000000 00000000 00000000"
)


def objects(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def leaves(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [leaf for node in nodes for leaf in (leaves(node["children"]) if "children" in node else [node])]


def xxd(data: bytes) -> str:
    return "".join(f"{at:08x}: {data[at : at + 16].hex(' ', 2):<39}  x\n" for at in range(0, len(data), 16))


def test_a_request_by_its_bytes() -> None:
    done = run("decode", API_VERSIONS, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    (shown,) = objects(done)
    assert (shown["protocol"], shown["role"], shown["operation"], shown["version"]) == (
        "kafka",
        "request",
        "ApiVersions",
        4,
    )
    assert (shown["state"], shown["correlation"], shown["findings"]) == ("complete", 1, [])
    assert sum(leaf["length"] for leaf in leaves(shown["fields"])) == shown["sources"][0]["length"] == 43
    assert {"clientSoftwareName": "kafka-python"}.items() <= {
        n["name"]: n["value"] for n in leaves(shown["fields"])
    }.items()


@pytest.mark.parametrize("form", ["argument", "words", "stdin", "file", "binary", "binary stdin", "dump"])
def test_every_way_in(form: str, tmp_path: Path) -> None:
    file, data, stdin = tmp_path / "message", bytes.fromhex(API_VERSIONS), b""
    arguments = {"argument": [API_VERSIONS], "words": [API_VERSIONS[:8], API_VERSIONS[8:]]}.get(form, [f"@{file}"])
    if form in ("stdin", "binary stdin"):
        arguments, stdin = ["-"], data if form == "binary stdin" else API_VERSIONS.encode()
    file.write_bytes({"file": API_VERSIONS.encode(), "binary": data, "dump": xxd(data).encode()}.get(form, b""))
    done = run("decode", *arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert [shown["operation"] for shown in objects(done)] == ["ApiVersions"]


def test_several_back_to_back() -> None:
    shown = objects(run("decode", API_VERSIONS + METADATA_V1, "--json"))
    assert [(each["operation"], each["correlation"]) for each in shown] == [("ApiVersions", 1), ("Metadata", 5)]


@pytest.mark.parametrize("api", ["connect", "CONNECT"])
def test_a_response_to_an_operation_without_a_number(api: str) -> None:
    answer = connected(0x1234).hex()
    named = run("decode", answer, "--response", "-p", "zookeeper", "--api", api, "--json")
    assert named.returncode == 0
    assert named.stdout == run("decode", answer, "--response", "-p", "zookeeper", "--json").stdout
    assert json.loads(named.stdout)["operation"] == "connect"


@pytest.mark.parametrize("api", ["Metadata", "metadata", "3"])
def test_a_lone_response(api: str) -> None:
    done = run("decode", METADATA_V1_ANSWER, "--response", "--api", api, "--version", "1", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    (shown,) = objects(done)
    assert (shown["role"], shown["operation"], shown["code"], shown["version"]) == ("response", "Metadata", 3, 1)
    assert (shown["state"], shown["findings"]) == ("complete", [])
    assert "localhost" in [leaf["value"] for leaf in leaves(shown["fields"])]


def test_a_request_and_its_response_only_if_given() -> None:
    both = METADATA_V1 + METADATA_V1_ANSWER
    reported = objects(run("decode", both, "--response", "--json"))
    assert [(each["role"], each["operation"]) for each in reported] == [
        ("request", "Metadata"),
        ("response", "Metadata"),
    ]
    assert reported[1]["findings"] == []
    untold = objects(run("decode", both, "--json"))
    assert untold[1]["operation"] != "Metadata"


def test_what_was_cut_says_so() -> None:
    done = run("decode", API_VERSIONS[:-6], "--json")
    (shown,) = objects(done)
    assert (done.returncode, shown["state"]) == (0, "partial")
    assert len(shown["findings"]) == 1
    assert sum(leaf["length"] for leaf in leaves(shown["fields"])) == 40


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", "369295616"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "1195725856"),
        (bytes.fromhex("00000004fffffffe"), "No protocol fits."),
    ],
)
def test_nothing_fits(data: bytes, reason: str) -> None:
    done = run("decode", data.hex(), "--json")
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert reason in done.stderr.decode()
    assert all(shown["state"] in ("guessed", "undecoded") for shown in objects(done))
    assert objects(done)
    assert run("decode", data.hex(), "-p", "kafka").returncode == 0


def test_text_has_tree_and_bytes() -> None:
    done = run("decode", API_VERSIONS)
    text = done.stdout.decode()
    assert "kafka ApiVersions v4 request" in text.splitlines()[0]
    assert "requestApiKey: 18 (ApiVersions)" in text
    assert "00000020  68 6f 6e 07" in text
    assert "\x1b" not in text


def test_colour_only_when_requested() -> None:
    coloured = run("decode", API_VERSIONS, "--color", "always").stdout.decode()
    assert "\x1b[" in coloured
    assert "\x1b" not in run("decode", API_VERSIONS, NO_COLOR="1").stdout.decode()


def test_sasl_is_masked_unless_requested() -> None:
    token = b"\0user\0hunter2"
    body = b"\x00\x24\x00\x00\x00\x00\x00\x01\xff\xff" + len(token).to_bytes(4) + token
    message = (len(body).to_bytes(4) + body).hex()
    for arguments in (["--json"], []):
        hidden = run("decode", message, *arguments).stdout.decode()
        assert "hunter2" not in hidden
        assert b"hunter2".hex() not in hidden.replace(" ", "")
        shown = run("decode", message, "--show-secrets", *arguments).stdout.decode()
        assert b"hunter2".hex() in shown.replace(" ", "")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "analyzer.cli", "decode", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdin.write(bytes.fromhex(API_VERSIONS) * 2000)
    writer.stdin.close()
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait(60) == 0
