"""Which way to the right to capture is taken, and what is said where there is none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import CaptureError
from analyzer.live import launcher
from analyzer.live.capture_request import CaptureRequest
from analyzer.live.launcher import Via, start_capture_process
from tests.analyzer.live.worlds import ABLE, DUMPCAP, NOBODY, SUDOER, USER, told, trial
from tests.namespaces import privileged

ORDINARY = 54321


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, Any]]]:
    """What is started; nothing is."""
    found: list[tuple[list[str], dict[str, Any]]] = []

    def start(command: list[str], environment: dict[str, str] | None = None, apart: bool = True) -> tuple[None, None]:
        found.append((command, {"environment": environment, "apart": apart}))
        return None, None

    monkeypatch.setattr(launcher, "_popen", start)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return found


def be(monkeypatch: pytest.MonkeyPatch, uid: int, *, may: bool, dumpcap: bool = False, terminal: bool = False) -> None:
    for name in ("geteuid", "getuid", "getgid"):
        monkeypatch.setattr(os, name, lambda: uid)
    monkeypatch.setattr(launcher, "may_capture", lambda: may)
    monkeypatch.setattr(launcher, "can_use_dumpcap", lambda: dumpcap)
    monkeypatch.setattr(launcher, "_has_terminal", lambda: terminal)


@pytest.mark.parametrize(
    ("uid", "may", "dumpcap", "via", "first", "last"),
    [
        (0, True, False, "auto", sys.executable, "}"),
        (0, True, True, "sudo", sys.executable, "}"),
        (ORDINARY, True, True, "auto", sys.executable, "}"),
        (ORDINARY, True, False, "self", sys.executable, "}"),
        (ORDINARY, False, True, "auto", sys.executable, "dumpcap"),
        (ORDINARY, True, True, "dumpcap", sys.executable, "dumpcap"),
        (ORDINARY, True, True, "sudo", "sudo", "}"),
    ],
)
def test_the_way_that_is_taken(
    uid: int, may: bool, dumpcap: bool, via: Via, first: str, last: str,
    commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    be(monkeypatch, uid, may=may, dumpcap=dumpcap)
    requested = CaptureRequest(("lo",), user="root" if uid == 0 else "")
    way = start_capture_process(requested, via)
    command = commands[0][0]
    assert command[0] == first
    assert command[-1].endswith(last)
    assert CaptureRequest.from_json(next(each for each in command if each.startswith("{"))) == requested
    assert bool(way.notes) == (via == "auto" and last == "dumpcap")
    assert not way.prompts


@pytest.mark.parametrize(
    ("uid", "may", "via", "found", "expected"),
    [
        (
            0,
            True,
            "auto",
            True,
            "You are root, and network data should not be decoded as root. Run the program as yourself with",
        ),
        (0, True, "dumpcap", True, "You are root, and network data should not be decoded as root"),
        (ORDINARY, False, "auto", True, f"{ORDINARY} may not capture. Give --via sudo, so that sudo"),
        (ORDINARY, False, "self", True, f"{ORDINARY} may not capture."),
        (ORDINARY, False, "dumpcap", False, "--via dumpcap: There is no dumpcap that you may run"),
        (ORDINARY, False, "sudo", False, "--via sudo: There is no sudo on this machine"),
    ],
)
def test_no_way(
    uid: int, may: bool, via: Via, found: bool, expected: str,
    commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    be(monkeypatch, uid, may=may)
    monkeypatch.setattr(shutil, "which", lambda name: name if found else None)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(CaptureError) as raised:
        start_capture_process(CaptureRequest(), via)
    assert str(raised.value).startswith(expected)
    assert not commands


def test_root_that_may_not_capture_and_root_with_dumpcap(
    commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, 0, may=False)
    with pytest.raises(CaptureError, match="Even root may not capture here"):
        start_capture_process(CaptureRequest(user="root"))
    be(monkeypatch, 0, may=True)
    with pytest.raises(CaptureError, match="--via dumpcap is not for root"):
        start_capture_process(CaptureRequest(user="root"), "dumpcap")


def test_the_sentence_names_the_group_that_dumpcap_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("macOS has another way")
    be(monkeypatch, ORDINARY, may=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "dpkg-reconfigure wireshark-common" in launcher.explain_denial()
    (tmp_path / "dumpcap").touch()
    monkeypatch.setattr(os, "stat", lambda path: type("Stat", (), {"st_gid": 59999, "st_mode": 0})())
    assert f"join dumpcap's group (sudo usermod -aG 59999 {ORDINARY}, then log in again)" in launcher.explain_denial()
    assert "setcap" in launcher.explain_denial()


@pytest.mark.parametrize(("user", "remaining"), [("", True), ("nobody", False)])
def test_whom_the_user_names_goes_before_who_called_sudo(
    user: str, remaining: bool, commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, 0, may=True)
    monkeypatch.setenv("SUDO_UID", "54321")
    monkeypatch.setenv("SUDO_GID", "54321")
    assert start_capture_process(CaptureRequest(user=user)).becoming.uid == (54321 if remaining else NOBODY)
    assert ("SUDO_UID" in commands[0][1]["environment"]) == remaining


@pytest.mark.parametrize("interfaces", [("ssh://broker/eth0",), ("ssh://broker/eth0", "lo")])
def test_sudo_starts_no_ssh(
    interfaces: tuple[str, ...], commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other machines alone need no right here."""
    be(monkeypatch, ORDINARY, may=False)
    request = CaptureRequest(interfaces=interfaces)
    if "lo" in interfaces:
        with pytest.raises(CaptureError, match="with root's keys"):
            start_capture_process(request, "sudo")
    else:
        start_capture_process(request, "sudo")
        assert commands[0][0][0] == sys.executable


@pytest.mark.parametrize("terminal", [False, True])
def test_sudo_is_called_so_that_nothing_depends_on_the_environment(
    terminal: bool, commands: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, ORDINARY, may=False, terminal=terminal)
    monkeypatch.setenv("PYTHONPATH", "/some where")
    way = start_capture_process(CaptureRequest(("lo",)), "sudo")
    command, how = commands[0]
    assert ("-n" in command[: command.index("--")]) != terminal
    assert command[command.index("--") + 1 :][:4] == ["env", "PYTHONPATH=/some where", sys.executable, "-B"]
    assert way.prompts == terminal
    assert how["apart"] != terminal  # else it has no terminal to ask on


def test_dumpcap_answers_whether_it_may_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dumpcap"
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(launcher, "QUICK", 0.2)
    for text, may in (("exit 0", True), ("exit 1", False), ("exec sleep 10", False), (None, False)):
        program.write_text("" if text is None else f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        assert launcher.can_use_dumpcap() == may
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert not launcher.can_use_dumpcap()


def test_what_cannot_be_started_is_reported() -> None:
    with pytest.raises(CaptureError, match="Cannot start /no/such/program: No such file"):
        launcher._popen(["/no/such/program"])


def last_words_of(script: str) -> str:
    way = launcher.CaptureProcess(
        *launcher._popen(["sh", "-c", script]), launcher.choose_identity("root" if os.geteuid() == 0 else "")
    )
    with way.process, way.errors:
        way.process.wait()
        return way.last_words()


def test_last_words() -> None:
    assert last_words_of("echo one >&2; echo two >&2; echo >&2; echo three") == "two"
    assert last_words_of("true") == ""


@privileged
def test_a_user_who_may_capture_needs_no_help(place: Path) -> None:
    ready, run = told(f"{ABLE} {trial('auto', place / 'kept')}")
    assert ready["notes"] == []
    for each in (*ready["mine"], *ready["its"]):
        assert [each[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [""] * 4
        assert each["NoNewPrivs"] == "1"
    assert (run["captured"], run["read"], run["dropped"], run["problem"]) == (20, 20, 0, None)


@privileged
def test_a_user_without_the_right_gets_advice(place: Path) -> None:
    (text,) = told(f"{USER} {trial('auto')}")
    assert text["error"].startswith("nobody may not capture. Give --via sudo")


@privileged
@pytest.mark.skipif(shutil.which("sudo") is None, reason="needs sudo")
def test_sudo_starts_the_capturing_process_alone(place: Path) -> None:
    """Without a terminal."""
    ready, run = told(f"{SUDOER} && exec setsid {USER} {trial('sudo', place / 'kept', runs=1)}")
    assert {each["Uid"] for each in ready["mine"] + ready["its"]} == {" ".join([str(NOBODY)] * 4)}
    assert {each["CapBnd"] for each in ready["its"]} == {"0" * 16}
    assert run["read"] == 20
    assert (place / "kept0").stat().st_uid == NOBODY


@privileged
@pytest.mark.skipif(shutil.which("sudo") is None, reason="needs sudo")
def test_sudo_that_may_not_ask_says_so() -> None:
    (text,) = told(f"mount -t tmpfs none /etc/sudoers.d && exec setsid {USER} {trial('sudo')}")
    assert "sudo: a password is required" in text["error"]


@privileged
@pytest.mark.skipif(not shutil.which("dumpcap") or not shutil.which("setcap"), reason="needs dumpcap and setcap")
def test_dumpcap_captures_for_whom_it_may(place: Path) -> None:
    """Twice, though by then nothing that is started could gain a right."""
    ready, *runs = told(f"{DUMPCAP} && {USER} {trial('auto', place / 'kept', runs=2)}")
    assert "dumpcap captures" in ready["notes"][0]
    assert {each["NoNewPrivs"] for each in ready["mine"] + ready["its"]} == {"1"}
    assert [(run["captured"], run["read"], run["problem"]) for run in runs] == [(20, 20, None)] * 2
    assert (place / "kept1").stat().st_uid == NOBODY
