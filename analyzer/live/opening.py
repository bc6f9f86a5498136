"""Which taps a capture has, and the end of the right that opening them needs."""

from __future__ import annotations

import sys
from typing import Literal, get_args

from analyzer.capture.errors import CaptureError
from analyzer.live.asked import CaptureRequest
from analyzer.live.interfaces import ANY, choose_interfaces
from analyzer.live.taps import Tap

TOGETHER = 2 << 30
"""Bytes of buffer that all interfaces may have: it is memory that the kernel can't take back."""

Source = Literal["ring", "scapy", "dumpcap"]


def open_taps(asked: CaptureRequest, source: str = "ring") -> tuple[list[Tap], list[str]]:
    """Taps that are open, without the privilege that it took, and sentences for the user.

    source: another than Linux's ring; where there is none, scapy's sockets. Raises CaptureError.
    """
    from analyzer.live.privilege import give_up

    if source not in get_args(Source):
        raise CaptureError(f"packets come from {', '.join(get_args(Source))}, not from {source}")
    notes: list[str] = []
    if source == "dumpcap":
        taps = _dumpcaps(asked)  # first: the kernel lets nobody who has given up all gain dumpcap's right
    else:
        taps = _rings(asked, notes) if source == "ring" and sys.platform.startswith("linux") else _sockets(asked)
    if not taps:
        raise CaptureError("no interface is up")
    give_up(asked.user)
    return taps, notes


def _rings(asked: CaptureRequest, notes: list[str]) -> list[Tap]:
    from analyzer.live.packet_ring import PacketRing

    taps: list[Tap] = []
    found = choose_interfaces(asked.interfaces)
    buffer = min(asked.buffer, TOGETHER // max(len(found), 1))
    if buffer < asked.buffer:
        notes.append(f"{len(found)} interfaces have {buffer >> 20} MiB of buffer each, not {asked.buffer >> 20}")
    for number, each in enumerate(found):
        name = None if each.name == ANY else each.name
        tap = PacketRing(number, name, asked.filter, asked.snaplen, buffer, asked.promiscuous)
        taps.append(tap)
        if tap.granted < buffer >> 20 << 20:
            notes.append(f"{each.name}: the kernel gave {tap.granted >> 20} MiB of buffer, not {buffer >> 20}")
    return taps


def _sockets(asked: CaptureRequest) -> list[Tap]:
    from analyzer.live.scapy_tap import ScapyTap

    return [
        ScapyTap(number, each, asked.filter, asked.snaplen, asked.buffer, asked.promiscuous)
        for number, each in enumerate(choose_interfaces(asked.interfaces))
    ]


def _dumpcaps(asked: CaptureRequest) -> list[Tap]:
    from analyzer.live.dumpcap_tap import DumpcapTap

    return [
        DumpcapTap(number, each.name, asked.filter, asked.snaplen, asked.buffer, asked.promiscuous)
        for number, each in enumerate(choose_interfaces(asked.interfaces))
    ]
