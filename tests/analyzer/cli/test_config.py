"""The configuration on the command line: where it is, what is in force, and that commands obey it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.config import load
from tests.analyzer.cli.conftest import Call
from tests.analyzer.cli.test_program import loaded_by
from tests.analyzer.config.test_reading import WHOLE, file
from tests.analyzer.config.test_writing import effective

CAPTURE = str(Path(__file__).parents[3] / "captures" / "kafka.pcap")


def protocols(said: str) -> set[str]:
    return {json.loads(line)["protocol"] for line in said.splitlines()}


def test_path(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, "")
    assert call("--config", path, "config", "path") == (0, f"{path}\n", "")
    monkeypatch.setenv("WIREANALYZE_CONFIG", path)
    assert call("config", "path") == (0, f"{path}\n", "")
    monkeypatch.setenv("WIREANALYZE_CONFIG", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    text = "wireanalyze: There is no such file, so all settings have their defaults.\n"
    assert call("config", "path") == (0, f"{tmp_path}/none/wireanalyze/config.toml\n", text)


def test_show_loads_again_to_the_same(call: Call, tmp_path: Path) -> None:
    path = file(tmp_path, WHOLE)
    status, shown, text = call("--config", path, "config", "show")
    assert (status, text) == (0, "")
    (tmp_path / "again").mkdir()
    again = file(tmp_path / "again", shown)
    assert effective(load(again))[1:] == effective(load(path))[1:]
    assert load(again).columns["kafka"] == load(path).columns["kafka"]
    assert "zookeeper" in load(again).columns


@pytest.mark.parametrize("command", [["config", "show"], ["list", CAPTURE], ["info", CAPTURE]])
def test_a_wrong_file_is_one_sentence(call: Call, tmp_path: Path, command: list[str]) -> None:
    path = file(tmp_path, "[lst]")
    text = f"wireanalyze: {path}, line 1: There is no table 'lst'. Did you mean list or tls?\n"
    assert call("--config", path, *command) == (2, "", text)


def test_a_file_that_was_named_must_be_there(call: Call, tmp_path: Path) -> None:
    status, out, text = call("--config", str(tmp_path / "none"), "list", CAPTURE)
    assert (status, out) == (2, "")
    assert "There is no configuration" in text


def test_a_capture_is_opened_without_a_file(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIREANALYZE_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    status, out, text = call("list", CAPTURE, "-e", "protocol", "--format", "ndjson")
    assert (status, protocols(out), text) == (0, {"kafka"}, "")


def test_ports_are_reported_and_the_command_line_goes_before(call: Call, tmp_path: Path) -> None:
    rows = ["list", CAPTURE, "-e", "protocol", "--format", "ndjson"]
    path = file(tmp_path, "[ports]\n29092 = 'none'\n'29100-29199' = 'none'\n49092 = 'none'")
    assert protocols(call("--config", path, *rows)[1]) == {"unknown"}
    assert protocols(call("--config", path, *rows, "-d", "29092=kafka")[1]) == {"kafka", "unknown"}
    assert protocols(call("--config", path, *rows, "-d", "20000-50000=kafka")[1]) == {"kafka"}


def test_only_a_file_costs_a_parser() -> None:
    code = f"from analyzer.cli.program import run\nrun(['list', {CAPTURE!r}, '-e', 'number'])"
    assert not loaded_by(code) & {"tomllib", "analyzer.config.reading", "analyzer.config.writing"}
