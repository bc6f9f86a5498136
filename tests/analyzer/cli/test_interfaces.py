"""`wireanalyze interfaces`, printed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer.cli.interfaces import command
from analyzer.live import interfaces as module
from analyzer.live import launcher
from analyzer.live.interfaces import NetworkInterface

ROOT = Path(__file__).parents[3]
FOUND = [
    NetworkInterface("eth0", 1, True, False, ("10.0.0.1", "fe80::1"), mac="02:fc:00:00:00:01", mtu=1500),
    NetworkInterface("wlan\x1b[0", 105, False, False, ()),
]
TABS = """\
number\tname\tstate\tlink\tmay capture\tmac\tmtu\taddresses
1\teth0\tup\tETHERNET\tyes\t02:fc:00:00:00:01\t1500\t10.0.0.1, fe80::1
2\twlan\\x1b[0\tdown\tIEEE802_11\tno: it is down\t\t\t
"""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setattr(module, "list_interfaces", lambda: FOUND)
    monkeypatch.setattr(module, "may_capture", lambda: True)
    monkeypatch.setattr(module, "_may_open", lambda interface: True)
    monkeypatch.setattr(launcher, "can_use_dumpcap", lambda: False)
    return CliRunner()


def test_in_a_pipe(runner: CliRunner) -> None:
    assert runner.invoke(command).output == TABS


def test_as_json(runner: CliRunner) -> None:
    first, second = map(json.loads, runner.invoke(command, ["--json"]).output.splitlines())
    assert list(first) == [
        "number",
        "name",
        "state",
        "link",
        "linktype",
        "capture",
        "reason",
        "mac",
        "mtu",
        "addresses",
    ]
    assert (first["capture"], first["addresses"], first["mtu"]) == ("yes", ["10.0.0.1", "fe80::1"], 1500)
    assert (second["capture"], second["reason"], second["mac"]) == ("no", "it is down", None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("columns", "macs"), [("80", False), ("160", True)])
def test_on_a_terminal(columns: str, macs: bool) -> None:
    """The real ones; a narrow one has no room for the columns that say least."""
    main, side = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": columns, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-m", "analyzer.cli", "interfaces"], stdin=side, stdout=side, check=False, env=environment
    )
    os.close(side)
    text = os.read(main, 1 << 16).decode()
    os.close(main)
    assert done.returncode == 0
    assert ("mac" in text) == macs
    assert "addresses" in text
    assert "127.0.0.1" in text
