"""The machinery around clients, without servers: what is read of them, how one that waits goes on, one that fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.brokers.zookeeper import decoded, recipe
from tests.brokers.zookeeper.journal import Event, Journal, Step, client

HOLDING = """if True:
    print("SESSION 0x1")
    print('STEP {"operation": "create", "asked": {"path": "/a"}, "error": -110, "answer": {}}')
    print("HOLD", flush=True)
    input()
    print('STEP {"operation": "closeSession"}')
    print('EVENT {"type": "NodeCreated", "state": "SyncConnected", "path": "/b"}')
"""
ROWS = [
    {"number": 1, "operation": "connect", "role": "request", "fields": {}},
    {"number": 2, "operation": "create", "role": "request", "fields": {"path": "/a"}},
    {"number": 3, "operation": "create", "role": "response", "partner": 2, "fields": {"err": -110}},
    {"number": 4, "operation": "delete", "role": "request", "fields": {"path": "/a"}},
    {"number": 5, "operation": "notification", "role": "push", "fields": {"type": "T", "state": "S", "path": "/"}},
]
"""A session; the answer to 4 is lost."""


def test_a_client_that_waits_goes_on(tmp_path: Path) -> None:
    with client([sys.executable, "-c", HOLDING], tmp_path / "log") as found:
        found.hold()
        before = len(found.journal.steps)
        journal = found.finish()
    assert before == 1
    steps = [Step("create", {"path": "/a"}, -110, {}), Step("closeSession")]
    assert journal == Journal("0x1", steps, [Event("NodeCreated", "SyncConnected", "/b")])


def test_a_client_that_fails_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such host')"]
    with client(command, tmp_path / "log") as found, pytest.raises(AssertionError, match="no such host"):
        found.hold()


def test_steps_are_what_was_answered() -> None:
    rows = [{"protocol": "zookeeper", "client": "0x1", **row} for row in ROWS]
    other = [{**row, "client": "0x2"} for row in rows]
    assert decoded.steps(rows + other, "0x1") == [Step("create", {"path": "/a"}, -110, {"err": -110})]
    assert decoded.events(rows + other, "0x1") == [Event("T", "S", "/")]


def test_an_ensemble_whose_ports_are_taken_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "vacant", lambda host, ports: False)
    first, second, watching = recipe.members(2, 1)
    assert [member.observes for member in (first, second, watching)] == [False, False, True]
    assert len({port for member in (first, second, watching) for port in member.ports.values()}) == 9
    assert second.line(dynamic=True) == f"{second.line(dynamic=False)};{second.address}"
    assert watching.line(dynamic=False).endswith(":observer")


def test_a_digest_is_the_servers_own() -> None:
    # DigestAuthenticationProvider's documentation, of super:test.
    assert recipe.digest("super", "test") == "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
