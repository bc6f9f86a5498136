"""The short way of `decode HEX` says what the program says, or nothing; and it is short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli.decoding import plain_text
from analyzer.cli.program import run

API_VERSIONS = "00000027001200040000000100076b702d4e6f6e65000d6b61666b612d707974686f6e07332e302e313200"
FITTING = {
    "a request": [API_VERSIONS],
    "in words": [API_VERSIONS[:8], API_VERSIONS[8:]],
    "in upper case": [API_VERSIONS.upper()],
    "as source code": ["b'" + "".join(f"\\x{byte:02x}" for byte in bytes.fromhex(API_VERSIONS)) + "'"],
    "two": [API_VERSIONS * 2],
    "a broken one": [API_VERSIONS[:30] + "ff" + API_VERSIONS[32:]],
    "zookeeper": ["0000002d" + "0000000000000000000000000000271000000000000000000000001000" + "00" * 16],
    "pulsar": ["0000000900000005081292010a"],
}
OTHER = {
    "an option": [API_VERSIONS, "--json"],
    "an option of one letter": ["-p", "kafka", API_VERSIONS],
    "stdin": ["-"],
    "a file": ["@nothing"],
    "no hex": ["hello"],
    "half a byte": [API_VERSIONS[:-1]],
    "nothing": [],
    "empty": [""],
    "foreign": [b"GET / HTTP/1.1\r\n\r\n".hex()],
    "what nobody knows": ["ffffffffffff"],
}


@pytest.mark.parametrize("arguments", FITTING.values(), ids=FITTING)
def test_it_says_what_the_program_says(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = run(["decode", *arguments])
    output = capsys.readouterr()
    text = plain_text(["decode", *arguments], {}, False)
    assert text == output.out if (status, output.err) == (0, "") else text is None


@pytest.mark.parametrize("name", ["a request", "in words", "as source code", "two", "zookeeper"])
def test_it_knows_what_is_usual(name: str) -> None:
    assert plain_text(["decode", *FITTING[name]], {}, False)


@pytest.mark.parametrize("arguments", OTHER.values(), ids=OTHER)
def test_it_leaves_the_rest_to_the_program(arguments: list[str]) -> None:
    assert plain_text(["decode", *arguments], {}, False) is None


def test_it_leaves_colours_other_commands_and_completion_to_the_program() -> None:
    assert plain_text(["decode", API_VERSIONS], {}, True) is None
    assert plain_text(["show", API_VERSIONS], {}, False) is None
    for name in ("_WIREANALYZE_COMPLETE", "WIREANALYZE_DEBUG"):
        assert plain_text(["decode", API_VERSIONS], {name: "1"}, False) is None


SLOW = {"click", "dataclasses", "inspect", "datetime", "pathlib", "orjson", "numpy", "crc32c", "dissectors.pulsar"}


def test_a_request_of_kafka_loads_little() -> None:
    code = f"import sys; sys.argv[1:] = ['decode', {API_VERSIONS!r}]; from analyzer.cli import main\n"
    code += "try: main()\nfinally: print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, timeout=60, check=True, text=True)
    text, _, loaded = done.stdout.partition("LOADED")
    assert text == plain_text(["decode", API_VERSIONS], {}, False)
    assert not SLOW & set(loaded.split())


def test_a_reader_that_went_away_is_no_error() -> None:
    command = [sys.executable, "-m", "analyzer.cli", "decode", API_VERSIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def test_files_are_read_as_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "message"
    file.write_bytes(bytes.fromhex(API_VERSIONS))
    assert run(["decode", f"@{file}"]) == 0
    assert capsys.readouterr().out == plain_text(["decode", API_VERSIONS], {}, False)
    assert run(["decode", f"@{tmp_path}/none"]) == 2
    assert "No such file" in capsys.readouterr().err
