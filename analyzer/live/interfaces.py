"""Lists the interfaces of this machine, as scapy finds them, and whether we may capture on them."""

from __future__ import annotations

import difflib
import fcntl
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analyzer.errors import CaptureError

ANY = "any"
"""Stands for all interfaces that are up."""

ETHERNET, LINUX_COOKED = 1, 276
LINKS = {
    0: "NULL", 1: "ETHERNET", 12: "RAW", 101: "RAW", 105: "IEEE802_11", 108: "LOOP", 113: "LINUX_SLL",
    127: "IEEE802_11_RADIOTAP", 228: "IPV4", 229: "IPV6", 276: "LINUX_SLL2",
}  # fmt: skip
"""Names of LINKTYPEs that interfaces have."""

FOLDERS_OF_SCAPY = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
NOWHERE = f"{os.devnull}/nowhere"

GET_MTU = 0x8921
"""The ioctl SIOCGIFMTU of Linux."""

NEAR = 3
"""Number of names that are suggested for a wrong one."""

DENIED = "this user may not"


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """Describes an interface.

    `link` is a LINKTYPE. Addresses are texts, IPv4 first. running: it has a carrier. mac: empty if it has none; mtu:
    bytes, None if unknown.
    """

    name: str
    link: int
    up: bool
    loopback: bool
    addresses: tuple[str, ...]
    running: bool = True
    mac: str = ""
    mtu: int | None = None

    @property
    def state(self) -> Literal["up", "down", "no carrier"]:
        """State of the interface: `up`, `down` or `no carrier`."""
        if not self.up:
            return "down"
        return "up" if self.running else "no carrier"

    @property
    def link_name(self) -> str:
        """Name of the LINKTYPE, without LINKTYPE_."""
        return LINKS.get(self.link, f"LINKTYPE {self.link}")


@dataclass(frozen=True, slots=True)
class CapturePermission:
    """Holds whether packets can be captured on an interface: by this process, by dumpcap, or why not."""

    how: Literal["yes", "via dumpcap", "no"]
    reason: str | None = None


def list_interfaces() -> list[NetworkInterface]:
    """Returns all interfaces, those that are up first, each group sorted by name; `any` comes last if it exists."""
    _load_scapy()
    from scapy.config import conf

    conf.ifaces.reload()  # this process may have entered another network namespace
    found = []
    for each in conf.ifaces.values():
        flags = str(each.flags).split("+")
        found.append(
            NetworkInterface(
                name=each.name,
                link=_link(getattr(each, "type", ETHERNET)),
                up="UP" in flags,
                loopback="LOOPBACK" in flags,
                addresses=tuple(
                    str(ipaddress.ip_address(ip)) for version in (4, 6) for ip in each.ips.get(version, ())
                ),
                running="RUNNING" in flags,
                mac="" if each.mac in (None, "", "00:00:00:00:00:00") else each.mac,
                mtu=_mtu(each.name),
            )
        )
    found.sort(key=lambda each: (not each.up, each.name))
    return [*found, *([NetworkInterface(ANY, LINUX_COOKED, True, False, ())] if _linux() else [])]


def choose_interfaces(names: Sequence[str]) -> list[NetworkInterface]:
    """Returns the interfaces with these names or numbers (from 1, in list_interfaces()), each once.

    Without names it returns the first one that is up; a loopback interface only if no other is. `any` is an interface
    if the system has it, else all interfaces that are up. Raises CaptureError for an unknown one.
    """
    known = list_interfaces()
    up = [each for each in known if each.up and each.name != ANY]
    if not names:
        return sorted(up, key=lambda each: each.loopback)[:1]
    if not _linux() and ANY in names:
        return up
    return list(dict.fromkeys(_find_interface(name, known) for name in names))


def _find_interface(name: str, known: Sequence[NetworkInterface]) -> NetworkInterface:
    by_name = {each.name: each for each in known}
    if name in by_name:
        return by_name[name]
    if name.isascii() and name.isdecimal() and 0 < int(name) <= len(known):
        return known[int(name) - 1]
    near = difflib.get_close_matches(name, by_name, NEAR)
    meant = f" Did you mean {' or '.join(sorted(near))}?" if near else ""
    known_names = ", ".join(dict.fromkeys([*by_name, ANY]))
    raise CaptureError(f"There is no interface {name}.{meant} Interfaces are {known_names}.")


def may_capture() -> bool:
    """Returns whether this process may open an interface, by opening one."""
    if not _linux():
        return _may_open_bpf()
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return False
    return True


def check_permission(interface: NetworkInterface, dumpcap: bool) -> CapturePermission:
    """Returns whether packets can be captured there, by opening it. dumpcap: whether dumpcap may capture for us."""
    if not interface.up:
        return CapturePermission("no", "it is down")
    try:
        if _may_open(interface):
            return CapturePermission("yes")
    except OSError as error:
        return CapturePermission("no", error.strerror or str(error))
    return CapturePermission("via dumpcap") if dumpcap else CapturePermission("no", DENIED)


def _linux() -> bool:
    return sys.platform.startswith("linux")


def _load_scapy() -> None:
    """Imports scapy without its cache and configuration folders.

    scapy keeps pickles there. A privileged process must not read files that a user can write, and must not leave files
    of root where a user must write.
    """
    before = {name: os.environ.get(name) for name in FOLDERS_OF_SCAPY}
    os.environ |= dict.fromkeys(FOLDERS_OF_SCAPY, NOWHERE)
    try:
        import scapy.arch  # noqa: F401 (fills conf with what this system has)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _link(hardware: int) -> int:
    """Returns the LINKTYPE that we capture with; on Linux all unknown kinds are cooked."""
    if _linux():
        from analyzer.live.packet_ring import LINKS as OF_HARDWARE  # lazy: it imports numpy

        return OF_HARDWARE.get(hardware, LINUX_COOKED)
    from scapy.data import ARPHRD_TO_DLT

    return int(ARPHRD_TO_DLT.get(hardware, ETHERNET))


def _mtu(name: str) -> int | None:
    """Returns the MTU, which scapy does not read."""
    if not _linux():
        return None
    request = struct.pack("16s16x", name.encode())
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            found: int = struct.unpack_from("i", fcntl.ioctl(control, GET_MTU, request), 16)[0]
    except OSError:
        return None
    return found


def _may_open(interface: NetworkInterface) -> bool:
    """Returns whether we may open the interface. Raises OSError if nobody can."""
    if not _linux():
        return _may_open_bpf()
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as opened:
            if interface.name != ANY:
                opened.bind((interface.name, 0))
    except PermissionError:
        return False
    return True


def _may_open_bpf() -> bool:
    try:
        with open("/dev/bpf0", "rb"):
            return True
    except PermissionError:
        return False
    except OSError:
        return True
