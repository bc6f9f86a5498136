"""`wireanalyze protocols`."""

from __future__ import annotations

import pytest

from analyzer.cli.program import run
from dissectors import registry
from dissectors.finding import CODES


def test_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["kafka", "9092"] in [row[:2] for row in rows]
    assert all(row[2] for row in rows)


def test_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "findings"]) == 0
    assert dict(line.split("\t") for line in capsys.readouterr().out.splitlines()) == CODES


def test_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "kafka"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["18", "ApiVersions"] in [row[:2] for row in rows]
    assert len(rows) == 95
    assert [int(row[0]) for row in rows] == sorted(int(row[0]) for row in rows)


def test_operations_without_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "pulsar"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "23\tLOOKUP" in rows
    assert len(rows) == 70


def test_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "kafak"]) == 2
    names = ", ".join(registry.BUILT_IN)
    assert f"no protocol is called 'kafak'; there are {names}, or findings" in capsys.readouterr().err
