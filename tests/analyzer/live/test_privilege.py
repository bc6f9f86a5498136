"""Who a process is to be, and that nothing is left of what it could do beyond that."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import CaptureError
from analyzer.live.privilege import Identity, choose_identity
from tests.analyzer.live.worlds import NOBODY, ROOT, python, told, trial
from tests.namespaces import privileged

SUDO = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
CLEAN = dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0" * 16) | {"NoNewPrivs": "1"}


@pytest.mark.parametrize(
    ("user", "uid", "environment", "expected"),
    [
        ("", 0, {}, "You are root, and network data should not be decoded as root. "),
        ("", 0, {"SUDO_UID": "0", "SUDO_GID": "0"}, "You are root"),
        ("", 0, {"SUDO_UID": "nobody", "SUDO_GID": "1"}, "You are root"),
        ("", 0, {"SUDO_UID": "1000"}, "You are root"),
        ("", 0, SUDO, NOBODY),
        ("", 0, {"SUDO_UID": "54321", "SUDO_GID": "54322"}, 54321),
        ("root", 0, SUDO, 0),
        ("root", 0, {}, 0),
        ("nobody", 0, {"SUDO_UID": "54321", "SUDO_GID": "54322"}, NOBODY),
        ("no-such-user", 0, SUDO, "-Z no-such-user: There is no such user on this machine."),
        ("a\0b", 0, {}, "-Z a\0b: There is no such user on this machine."),
        ("", 54321, {}, 54321),
        ("", 54321, SUDO, 54321),
        ("nobody", NOBODY, {}, NOBODY),
        ("root", 54321, {}, "-Z root: Only root can become another user. Leave it out."),
    ],
)
def test_who_to_be(
    user: str, uid: int, environment: dict[str, str], expected: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if NOBODY not in {each.pw_uid for each in pwd.getpwall()}:
        pytest.skip("needs a user nobody")
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("geteuid", "getuid", "getgid"):
        monkeypatch.setattr(os, name, lambda: uid)
    if isinstance(expected, int):
        assert choose_identity(user).uid == expected
    else:
        with pytest.raises(CaptureError, match=expected.split(":")[0]) as raised:
            choose_identity(user)
        assert str(raised.value).startswith(expected)


def test_a_user_that_the_system_does_not_know_has_one_group() -> None:
    assert Identity("54321", 54321, 54322, None).groups == [54322]


def is_clean(threads: list[dict[str, str]], uid: int) -> bool:
    return all(
        {**each, **CLEAN} == each and each["Uid"].split() == each["Gid"].split() == [str(uid)] * 4 for each in threads
    )


@privileged
@pytest.mark.parametrize("user", ["nobody", "root"])
def test_both_processes_are_left_with_nothing(user: str, place: Path) -> None:
    uid = pwd.getpwnam(user).pw_uid
    ready, run = told(trial("auto", place / "kept", asked={"user": user}))
    assert is_clean(ready["mine"], uid)
    assert is_clean(ready["its"], uid)
    entry = pwd.getpwnam(user)
    assert set(map(int, ready["its"][0]["Groups"].split())) == set(os.getgrouplist(user, entry.pw_gid))
    assert ready["home"] == entry.pw_dir
    assert run["captured"] == run["read"] == 20
    assert (place / "kept0").stat().st_uid == uid
    assert (place / "kept0").stat().st_mode & 0o777 == 0o600


GIVING_UP = """
import ctypes, json, os, resource
from analyzer.errors import CaptureError
from analyzer.live.privilege import give_up
try:
    give_up({user!r})
    again = []
    for regain in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot("/")):
        try: regain()
        except PermissionError: again.append("refused")
    print(json.dumps(dict(uids=os.getresuid(), gids=os.getresgid(), groups=os.getgroups(), again=again,
        dumpable=ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), core=resource.getrlimit(resource.RLIMIT_CORE),
        environment={{name: os.environ.get(name) for name in ("HOME", "USER", "XDG_CONFIG_HOME")}})))
except CaptureError as error:
    print(json.dumps(dict(error=str(error))))
"""


def giving_up(user: str, before: str = "env XDG_CONFIG_HOME=/closed/x") -> dict[str, Any]:
    return told(f"{before} {python('-c', GIVING_UP.format(user=user))}")[0]


@privileged
def test_there_is_no_way_back() -> None:
    found = giving_up("nobody")
    assert found["uids"] == found["gids"] == [NOBODY] * 3
    assert found["groups"] == [NOBODY]
    assert found["again"] == ["refused"] * 3
    assert (found["dumpable"], found["core"]) == (0, [0, 0])
    home = pwd.getpwuid(NOBODY).pw_dir
    assert found["environment"] == {"HOME": home, "USER": "nobody", "XDG_CONFIG_HOME": None}


@privileged
def test_the_capturing_process_believes_sudo_and_not_its_argument() -> None:
    found = giving_up("root", "env " + " ".join(f"{name}={value}" for name, value in SUDO.items()))
    assert found["uids"] == [NOBODY] * 3


BESIDE_A_THREAD = """
import json, threading
from pathlib import Path
from analyzer.errors import CaptureError
from analyzer.live.privilege import become, choose_identity
end, problem = threading.Event(), ""
threading.Thread(target=end.wait).start()
try:
    become(choose_identity({user!r}))
except CaptureError as error:
    problem = str(error)
end.set()
print(json.dumps(dict(problem=problem, status=Path("/proc/self/status").read_text())))
"""


@privileged
def test_a_program_that_is_open_can_capture_without_rights_only() -> None:
    """Its threads keep their way to dumpcap; one with rights would keep them, and is told so before it loses any."""
    found = told(f"setpriv --reuid={NOBODY} --clear-groups {python('-c', BESIDE_A_THREAD.format(user=''))}")[0]
    assert found["problem"] == ""
    assert "NoNewPrivs:\t0" in found["status"]
    found = told(python("-c", BESIDE_A_THREAD.format(user="nobody")))[0]
    assert found["problem"].startswith("A program that is open already cannot give up its right to capture. ")
    assert "Uid:\t0" in found["status"]


LOOKING = """
import json, os
from analyzer.live.privilege import impersonate_sudo_caller
def readable():
    try: return bool(open("/etc/shadow").read())
    except PermissionError: return False
def here(): return [os.getresuid(), os.getresgid(), os.getgroups(), os.environ["HOME"], readable()]
before = here()
with impersonate_sudo_caller():
    inside = here()
print(json.dumps([[before == here(), *inside]]))
"""


@privileged
def test_files_are_looked_at_impersonate_sudo_caller() -> None:
    for environment, expected in (
        (SUDO, [[0, NOBODY, 0], [0, NOBODY, 0], [NOBODY], pwd.getpwuid(NOBODY).pw_dir, False]),
        ({}, [[0] * 3, [0] * 3, os.getgroups(), "/root", True]),
    ):
        text = " ".join(f"{name}={value}" for name, value in {"HOME": "/root", **environment}.items())
        (found,) = told(f"env {text} {python('-c', LOOKING)}")[0]  # type: ignore[misc]
        assert found == [True, *expected]


@privileged
def test_who_could_not_read_the_program_is_not_chosen(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    (closed / "analyzer").symlink_to(ROOT / "analyzer")
    (closed / "dissectors").symlink_to(ROOT / "dissectors")
    script = python("-c", GIVING_UP.format(user="nobody")).replace(f"PYTHONPATH={ROOT}", f"PYTHONPATH={closed}")
    text = told(script)[0]["error"]
    assert (
        text == f"nobody may not read {closed}/analyzer/__init__.py, which this program needs. Install "
        "the program where every user may read it, such as in /opt, or give another user with -Z."
    )


@privileged
def test_rights_that_cannot_be_given_up_are_reported() -> None:
    """As in a container without the capability to change users."""
    text = told("setpriv --bounding-set=-setuid " + python("-c", GIVING_UP.format(user="nobody")))[0]["error"]
    assert text == "Cannot drop privileges: Operation not permitted. Nothing is captured."


CHECKING = """
import json, os, tempfile
from analyzer.errors import CaptureError
from analyzer.live.privilege import check_environment
def check(write):
    try: check_environment("nobody", write)
    except CaptureError as error: return str(error)
os.environ["TMPDIR"] = "/closed"
print(json.dumps([check("/closed/a.pcapng"), check({open!r}), check(None), os.getresuid()]))
"""


@privileged
def test_what_the_user_cannot_write_is_said_before_the_capture(place: Path) -> None:
    script = python("-c", CHECKING.format(open=str(place / "a.pcapng")))
    assert told(f"mount -t tmpfs -o mode=755 none /srv && cd /srv && {script}")[0] == [
        "nobody may not write to /closed. Run chown nobody /closed, or write to another folder with -w.",
        None,
        None,
        [0, 0, 0],
    ]
