"""How much memory the kernel is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.live import opening, packet_ring, privilege
from analyzer.live.asked import CaptureRequest
from analyzer.live.interfaces import NetworkInterface

MIB = 1 << 20


@pytest.mark.parametrize(
    ("interfaces", "wanted", "given", "notes"),
    [
        (1, 2047, 2047, ()),
        (16, 128, 128, ()),
        (32, 128, 64, ("32 interfaces have 64 MiB of buffer each, not 128",)),
        (2, 1500, 1024, ("2 interfaces have 1024 MiB of buffer each, not 1500",)),
    ],
)
def test_many_interfaces_share_what_all_may_have(
    interfaces: int, wanted: int, given: int, notes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Granting:
        """A ring as large as is asked for."""

        def __init__(self, number: int, name: str, expression: str, snaplen: int, buffer: int, promiscuous: bool):
            self.granted = buffer

    found = [NetworkInterface(f"e{number}", 1, True, False, ()) for number in range(interfaces)]
    monkeypatch.setattr(opening.sys, "platform", "linux")
    monkeypatch.setattr(opening, "chosen", lambda names: found)
    monkeypatch.setattr(packet_ring, "PacketRing", Granting)
    monkeypatch.setattr(privilege, "give_up", lambda user: None)
    taps: list[Any]
    taps, said = opening.open_taps(CaptureRequest(buffer=wanted * MIB))
    assert [tap.granted for tap in taps] == [given * MIB] * interfaces
    assert tuple(said) == notes
