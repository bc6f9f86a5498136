"""`wireanalyze protocols`."""

from __future__ import annotations

import json

import pytest
from click.shell_completion import ShellComplete

from analyzer.cli.program import program, run
from dissectors.finding import ADVICE, CODES


def test_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["kafka", "9092"] in [row[:2] for row in rows]
    assert all(row[2] for row in rows)


def test_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "findings"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {code: what for code, what, *_ in rows} == CODES
    assert {code: advice for code, _, *rest in rows for advice in rest} == ADVICE


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


def test_a_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "kafka", "heartbeat", "4"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Heartbeat Request (Version: 4) => groupId generationId memberId groupInstanceId _tagged")
    assert run(["protocols", "kafka", "Heartbeat"]) == 0
    assert "  versions   0-4\n" in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for arguments in ([], ["findings"], ["kafka"], ["kafka", "heartbeat"], ["kafka", "12", "4"], ["kafka", "errors"]):
        assert run(["protocols", *arguments, "--json"]) == 0
        found[" ".join(arguments)] = json.loads(capsys.readouterr().out)
    assert found[""][0]["name"] == "kafka"
    assert {"code": "gap", "what": CODES["gap"], "advice": ADVICE["gap"]} in found["findings"]
    assert found["kafka"][12] == {"code": 12, "name": "Heartbeat", "versions": "0-4"}
    assert found["kafka heartbeat"]["request"]["fields"][3]["nullable"] == "3+"
    assert found["kafka 12 4"]["response"]["fields"][1] == {"name": "errorCode", "type": "int16", "enum": "error"}
    assert {"code": 58, "name": "SASL_AUTHENTICATION_FAILED"} in found["kafka errors"]["errors"]


@pytest.mark.parametrize(
    ("before", "typed", "expected"),
    [
        ([], "ka", {"kafka"}),
        (["kafka"], "offsetf", {"OffsetFetch", "OffsetForLeaderEpoch"}),
        (["kafka"], "ty", {"types"}),
        (["rocketmq"], "send_m", {"SEND_MESSAGE", "SEND_MESSAGE_V2"}),
        (["rocketmq-ha"], "S", set()),
        (["kafak"], "S", set()),
        (["kafka", "fetch"], "18", {"18"}),
        (["kafka", "types"], "", set()),
    ],
)
def test_completion(before: list[str], typed: str, expected: set[str]) -> None:
    found = ShellComplete(program, {}, "wireanalyze", "_").get_completions(["protocols", *before], typed)
    assert {item.value for item in found} == expected
