"""Nobody needs a port to be found, and nobody claims what is another's: all captures with no port known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture.packets import PacketReader
from analyzer.decode.rows import RowReader
from analyzer.session import Analysis, Session
from dissectors.api import Dissector
from dissectors.registry import Ports
from tests.golden.truth import GOLDEN, name_of

CAPTURES = sorted(GOLDEN.glob("*/*.pcap.zst"))

KNOWN: dict[str, dict[str, int]] = {
    # telnet's four bytes of a hang-up and one more: alone they would be a word, like this they may be anything.
    "flw_395": {"zookeeper": 1},
}
"""Messages that only the port makes known, by capture."""


class NoPorts(Ports):
    """Every port is anybody's."""

    def by_port(self, port: int) -> Dissector | None:
        return None


def protocols(session: Analysis) -> Counter[str]:
    session.load()
    return Counter(RowReader(session).read_columns(["protocol"], np.arange(len(session.rows)))[0])


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_a_capture_without_ports(path: Path) -> None:
    with Session([path]) as reported, Analysis(PacketReader([path]), NoPorts()) as untold:
        expected, found = protocols(reported), protocols(untold)
    assert {name: count - found[name] for name, count in expected.items() if count != found[name]} == KNOWN.get(
        path.name.removesuffix(".pcap.zst"), {}
    )
