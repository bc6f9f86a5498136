"""What becomes of a capture when something breaks while packets come: nothing captured is lost, nothing is left behind.

Packets come over a wire between two namespaces, so it is known how many, and what rows they make.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.wire import Wire, why_not
from tests.live.cables import alike, listed, made, packets_of, running, until
from tests.waiting import is_over

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

PACKETS = 4_000
RATE = 8_000
ENDLESS = 10_000_000
OTHER = ("time", "latency_ns", "partner", "partner_id")
"""What is not the same when the same packets are sent again, and where a request has left with its file."""

ON_A_MEGABYTE = (
    *("unshare", "--mount", "sh", "-c"),
    'mount -t tmpfs -o size=1m none little && "$@"; status=$?; cp little/* .; exit $status',
    "sh",
)
"""Runs a command with a small file system in the folder `little`; its files are copied out at the end."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("captures") / "small.pcap", PACKETS)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as found:
        yield found


@pytest.mark.slow
def test_a_ring_of_small_files_loses_no_row(wire: Wire, small: Path, tmp_path: Path) -> None:
    """Most of them have gone when the last packet comes, none before somebody could open it."""
    ring = ("-w", "ring.pcapng", "--ring", "size:50k,files:3")
    rows = listed(small)
    whole = sum(row["state"] == "complete" for row in rows)
    with running(wire, tmp_path, "-i", wire.near(), *ring) as found:
        wire.send(small, RATE // 4, packets_of(small), own=True).wait()
        until("the rows", lambda: found.lines >= whole, found.why)
        assert found.end(signal.SIGINT) == 0
    files = list(tmp_path.glob("ring_*.pcapng"))
    assert len(files) == 3
    assert max(int(each.name.split("_")[1]) for each in files) > 10
    assert 0 < packets_of(*files) < PACKETS
    assert alike(found.rows, *OTHER) == alike(rows, *OTHER)


@pytest.mark.slow
def test_the_capturing_process_is_killed(wire: Wire, small: Path, tmp_path: Path) -> None:
    with running(wire, tmp_path, "-i", wire.near(), "-w", "kept.pcapng") as found:
        sending = wire.send(small, RATE, ENDLESS, own=True)
        until("rows", lambda: found.lines > 100, found.why)
        os.kill(found.child, signal.SIGKILL)
        status = found.wait()
        sending.end()
    assert status != 0
    assert "Traceback" not in found.said
    assert "killed" in found.said or "signal 9" in found.said or "SIGKILL" in found.said
    assert alike(found.rows) == alike(listed(tmp_path / "kept.pcapng"))
    assert packets_of(tmp_path / "kept.pcapng") > 100


@pytest.mark.slow
def test_the_analyzer_is_killed(wire: Wire, small: Path, tmp_path: Path) -> None:
    with running(wire, tmp_path, "-i", wire.near(), "-w", "kept.pcapng") as found:
        sending = wire.send(small, RATE, ENDLESS, own=True)
        until("rows", lambda: found.lines > 100, found.why)
        child = found.child
        os.kill(found.process.pid, signal.SIGKILL)
        until("the end of the capturing process", lambda: is_over(child))
        sending.end()
    assert wire.sockets() == 0
    rows = listed(tmp_path / "kept.pcapng")
    assert alike(found.rows) == alike(rows[: len(found.rows)])
    assert packets_of(tmp_path / "kept.pcapng") > 100


@pytest.mark.slow
@pytest.mark.parametrize("how", ["down", "removed"])
def test_the_interface_goes(how: str, wire: Wire, small: Path, tmp_path: Path) -> None:
    with running(wire, tmp_path, "-i", wire.near(), "-w", "kept.pcapng") as found:
        sending = wire.send(small, RATE, ENDLESS, own=True)
        until("rows", lambda: found.lines > 100, found.why)
        wire.set("down") if how == "down" else wire.remove()
        status = found.wait()
        sending.end()
    assert status != 0
    assert wire.near() in found.said
    assert "Traceback" not in found.said
    assert alike(found.rows) == alike(listed(tmp_path / "kept.pcapng"))
    if how == "down":
        again = tmp_path / "again"
        again.mkdir()
        wire.set("up")
        with running(wire, again, "-i", wire.near(), "-w", "kept.pcapng", "-c", "500") as found:
            wire.send(small, RATE, PACKETS, own=True).wait()
            assert found.wait() == 0
        assert packets_of(again / "kept.pcapng") == 500


@pytest.mark.slow
def test_one_of_two_interfaces_goes(small: Path, tmp_path: Path) -> None:
    """The other one goes on, and the end says it."""
    with Wire(pairs=2) as wire, running(wire, tmp_path, "-i", "wire0", "-i", "wire0-1", "-w", "kept.pcapng") as found:
        wire.send(small, RATE, PACKETS // 2, own=True).wait()
        wire.set("down")
        sent = wire.send(small, RATE, PACKETS, number=1, own=True).wait()
        assert found.end(signal.SIGINT) == 2
        assert found.said.splitlines()[-1] == "wireanalyze: wire0 is down; the other interfaces went on"
        came = wire.counted().packets + wire.counted(1).packets
    assert came == PACKETS // 2 + sent.packets == packets_of(tmp_path / "kept.pcapng")
    assert alike(found.rows) == alike(listed(tmp_path / "kept.pcapng"))


@pytest.mark.slow
def test_the_disk_is_full(wire: Wire, small: Path, tmp_path: Path) -> None:
    """A file system of a megabyte; what lies on it then is whole, and was printed."""
    (tmp_path / "little").mkdir()
    with running(wire, tmp_path, "-i", wire.near(), "-w", "little/kept.pcapng", before=ON_A_MEGABYTE) as found:
        wire.ready()
        time.sleep(1.0)
        sending = wire.send(small, RATE, ENDLESS, own=True)
        status = found.wait()
        sending.end()
    assert status != 0
    assert "little/kept.pcapng" in found.said
    assert "Traceback" not in found.said
    assert alike(found.rows) == alike(listed(tmp_path / "kept.pcapng"))
    assert packets_of(tmp_path / "kept.pcapng") > 2_000
