"""What is said of real connections over a link that delays and loses packets; see lossy_link."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.insight.delays import ExchangeDelays, divide_exchanges
from analyzer.insight.network_checks import find_network_problems
from analyzer.session import Session
from dissectors.finding import Severity
from tests.analyzer.insight import lossy_link
from tests.analyzer.insight.lossy_link import LINKS, Link, record

GOLDEN = Path(__file__).parents[2] / "golden" / "network"
MS = 1_000_000


def divide(path: Path) -> tuple[ExchangeDelays, list[tuple[Severity, str]]]:
    with Session([path]).load() as session:
        found = [(finding.severity, finding.code) for _, finding in find_network_problems(session)]
        return divide_exchanges(session, range(len(session.rows))), found


@pytest.mark.parametrize(("name", "client", "network"), [("client", 0.4, 20), ("server", 20, 0.4), ("between", 12, 8)])
def test_the_capture_point_divides_the_round_trip(name: str, client: float, network: float) -> None:
    delays, findings = divide(GOLDEN / f"{name}.pcap")
    assert len(delays) == 4
    assert (delays.client / MS).tolist() == pytest.approx([client] * 4, abs=1)
    assert (delays.network / MS).tolist() == pytest.approx([network] * 4, abs=1)
    assert np.median(delays.working / MS) < 8
    assert findings == []


def test_lost_packets_and_servers_that_do_not_answer() -> None:
    delays, findings = divide(GOLDEN / "lossy.pcap")
    assert (delays.lost // MS).tolist() == [0, 0, 453, 0]
    assert delays.resent.tolist() == [0, 0, 3, 0]
    assert findings == [
        (Severity.NOTE, "retransmissions"),
        (Severity.WARNING, "connection-refused"),
        (Severity.WARNING, "no-handshake"),
    ]


def test_a_client_that_does_not_read() -> None:
    delays, findings = divide(GOLDEN / "window.pcap")
    assert (delays.closed // MS).tolist() == [346]
    assert findings == [(Severity.NOTE, "closed-window")]


@pytest.mark.slow
def test_recorded_now(tmp_path: Path) -> None:
    """A busy machine sees packets late, so times are half of the true ones at least."""
    if not lossy_link.is_possible():
        pytest.skip("this machine lets us make no network namespace")
    path = tmp_path / "now.pcap"
    path.write_bytes(record(Link(LINKS["between"].delays, requests=3)))
    delays, _ = divide(path)
    assert len(delays) == 3
    assert delays.client.min() + delays.network.min() >= 8 * MS
    assert delays.total.min() >= 10 * MS
