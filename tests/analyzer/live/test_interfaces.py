"""What interfaces there are, which ones are meant, and whether we may capture there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from analyzer.errors import CaptureError
from analyzer.live import interfaces as module
from analyzer.live.interfaces import (
    CapturePermission,
    NetworkInterface,
    check_permission,
    choose_interfaces,
    list_interfaces,
)
from tests.analyzer.live.worlds import ABLE, ROOT, USER, python, told
from tests.namespaces import privileged

ETH = NetworkInterface("eth0", 1, True, False, ("10.0.0.1",))
LO = NetworkInterface("lo", 1, True, True, ("127.0.0.1", "::1"))
IDLE = NetworkInterface("wlan0", 1, True, False, (), running=False)
DOWN = NetworkInterface("eth1", 1, False, False, ())
NUMBER = NetworkInterface("3", 1, True, False, ())
ALL = NetworkInterface("any", 276, True, False, ())
KNOWN = [ETH, LO, IDLE, DOWN, ALL]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), [ETH]),
        (("lo",), [LO]),
        (("2", "lo", "1"), [LO, ETH]),
        (("5",), [ALL]),
        (("any", "lo"), [ALL, LO]),
        (("eth1",), [DOWN]),
        (
            ("etho",),
            "There is no interface etho. Did you mean eth0 or eth1? Interfaces are eth0, lo, wlan0, eth1, any.",
        ),
        (("zzz",), "There is no interface zzz. Interfaces are eth0, lo, wlan0, eth1, any."),
        (("0",), "There is no interface 0. "),
        (("6",), "There is no interface 6. "),
        (("٣",), "There is no interface ٣. "),
        (("-1",), "There is no interface -1. "),
        (("",), "There is no interface . Interfaces are"),
    ],
)
def test_chosen(
    names: tuple[str, ...], expected: list[NetworkInterface] | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "list_interfaces", lambda: KNOWN)
    monkeypatch.setattr(module, "_linux", lambda: True)
    if isinstance(expected, list):
        assert choose_interfaces(names) == expected
    else:
        with pytest.raises(CaptureError) as raised:
            choose_interfaces(names)
        assert str(raised.value).startswith(expected)


@pytest.mark.parametrize(
    ("known", "names", "expected"),
    [
        ([LO, DOWN], (), [LO]),
        ([DOWN], (), []),
        ([ETH, LO, DOWN], ("any",), [ETH, LO]),
        ([ETH, LO, NUMBER], ("3",), [NUMBER]),
        ([ETH, NUMBER, LO], ("3",), [NUMBER]),
    ],
)
def test_chosen_elsewhere(
    known: list[NetworkInterface],
    names: tuple[str, ...],
    expected: list[NetworkInterface],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "list_interfaces", lambda: known)
    monkeypatch.setattr(module, "_linux", lambda: False)
    assert choose_interfaces(names) == expected


def test_states_and_links() -> None:
    assert [each.state for each in KNOWN] == ["up", "up", "no carrier", "down", "up"]
    assert (ETH.link_name, ALL.link_name, NetworkInterface("x", 249, True, False, ()).link_name) == (
        "ETHERNET",
        "LINUX_SLL2",
        "LINKTYPE 249",
    )


def test_scapy_is_not_at_home_and_the_environment_stays() -> None:
    """It would read and write pickles there, with whatever right this process has."""
    script = (
        "import os; before = dict(os.environ)\n"
        "from analyzer.live.interfaces import list_interfaces; found = list_interfaces()\n"
        "import scapy.main; assert scapy.main.SCAPY_CACHE_FOLDER is None, scapy.main.SCAPY_CACHE_FOLDER\n"
        "assert dict(os.environ) == before and 'scapy.all' not in __import__('sys').modules; print(len(found))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": "/tmp"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert int(done.stdout) >= 1, done.stderr


def test_those_of_this_machine() -> None:
    found = list_interfaces()
    assert any(each.loopback for each in found)
    assert ("any" in [each.name for each in found]) == sys.platform.startswith("linux")
    assert [each.up for each in found if each.name != "any"] == sorted((each.up for each in found[:-1]), reverse=True)


LINKS = (
    "ip link add va type veth peer name vb && ip link set va up mtu 9000 && ip addr add 10.9.8.7/24 dev va && "
    "ip addr add fe80::7/64 dev va && "
)
LISTING = python("-m", "analyzer.cli", "interfaces", "--json")


@privileged
@pytest.mark.parametrize(("user", "may"), [(ABLE, "yes"), (USER, "no")], ids=["able", "not able"])
def test_each_by_itself(user: str, may: str) -> None:
    """vb is down, so va has no carrier."""
    found = {each["name"]: each for each in told(f"{LINKS} {user} {LISTING}")}
    assert list(found) == ["lo", "va", "vb", "any"]
    assert [each["number"] for each in found.values()] == [1, 2, 3, 4]
    assert [each["state"] for each in found.values()] == ["up", "no carrier", "down", "up"]
    assert {**found["va"], "mac": None} == {
        "number": 2, "name": "va", "state": "no carrier", "link": "ETHERNET", "linktype": 1, "capture": may,
        "reason": None if may == "yes" else "this user may not", "mac": None, "mtu": 9000,
        "addresses": ["10.9.8.7", "fe80::7"],
    }  # fmt: skip
    assert (found["vb"]["capture"], found["vb"]["reason"]) == ("no", "it is down")
    assert (found["lo"]["mac"], len(found["va"]["mac"]), found["any"]["link"]) == (None, 17, "LINUX_SLL2")


@privileged
def test_what_is_down_or_removed_cannot_be_captured_on() -> None:
    assert check_permission(DOWN, dumpcap=True) == CapturePermission("no", "it is down")
    assert check_permission(NetworkInterface("gone0", 1, True, False, ()), dumpcap=True) == CapturePermission(
        "no", "No such device"
    )


def test_dumpcap_may_in_our_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_may_open", lambda interface: False)
    assert check_permission(ETH, dumpcap=True) == CapturePermission("via dumpcap")
    assert check_permission(ETH, dumpcap=False) == CapturePermission("no", "this user may not")
