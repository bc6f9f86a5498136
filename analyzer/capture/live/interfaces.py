"""The interfaces of this machine, as scapy finds them."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.capture.errors import CaptureError

ANY = "any"
"""Stands for all interfaces that are up."""

ETHERNET = 1


@dataclass(frozen=True, slots=True)
class Interface:
    """`link` is a LINKTYPE. Addresses are printed forms, IPv4 first."""

    name: str
    link: int
    up: bool
    loopback: bool
    addresses: tuple[str, ...]


def interfaces() -> list[Interface]:
    """All interfaces, those that are up first, each group by name."""
    import scapy.arch  # noqa: F401 (fills conf with what this system has)
    from scapy.config import conf
    from scapy.data import ARPHRD_TO_DLT

    found = [
        Interface(
            name=each.name,
            link=ARPHRD_TO_DLT.get(getattr(each, "type", ETHERNET), ETHERNET),
            up="UP" in str(each.flags),
            loopback="LOOPBACK" in str(each.flags),
            addresses=tuple(str(ipaddress.ip_address(ip)) for version in (4, 6) for ip in each.ips.get(version, ())),
        )
        for each in conf.ifaces.values()
    ]
    return sorted(found, key=lambda each: (not each.up, each.name))


def chosen(names: Sequence[str]) -> list[Interface]:
    """The interfaces of these names; without names the first that is up and no loopback, else the loopback.

    Raises CaptureError for a name that there is not.
    """
    known = interfaces()
    up = [each for each in known if each.up]
    if not names:
        return sorted(up, key=lambda each: each.loopback)[:1]
    by_name = {each.name: each for each in known}
    for name in names:
        if name != ANY and name not in by_name:
            raise CaptureError(f"there is no interface {name}: there are {', '.join([*by_name, ANY])}")
    wanted = up if ANY in names else [by_name[name] for name in names]
    return list(dict.fromkeys(wanted))


def may_capture() -> bool:
    """Whether this process may open an interface; asked by opening one, as no other answer is sure."""
    if not sys.platform.startswith("linux"):
        return _may_open_bpf()
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
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
