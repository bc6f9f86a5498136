"""Processes at the ends of connections, by the /proc of this machine."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.live import processes
from analyzer.live.live_session import _are_local
from analyzer.live.processes import Ends, LocalProcesses, OwnerFinder, write_end
from analyzer.messages.socket_owners import SocketOwner
from analyzer.query.fields.catalog import resolve_fields
from analyzer.query.fields.reading import FieldReader
from analyzer.session import Session
from tests.golden.truth import GOLDEN

pytestmark = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs Linux's /proc")

OURS = SocketOwner(Path("/proc/self/comm").read_text().strip(), os.getpid())
CLIENT = "import socket, sys; kept = socket.create_connection((sys.argv[1], int(sys.argv[2]))); input()"


@contextmanager
def connect(family: int, host: str, to: str) -> Iterator[tuple[Ends, Ends, SocketOwner]]:
    """Another process that is connected with us: the ends as it sees them, as we do, and who it is."""
    with socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::") as server:
        server.settimeout(30)
        command = [sys.executable, "-c", CLIENT, to, str(server.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as client:
            accepted, _ = server.accept()
            here, there = (
                write_end(socket.inet_pton(family, name), port)
                for name, port in (accepted.getsockname()[:2], accepted.getpeername()[:2])
            )
            name = Path(f"/proc/{client.pid}/comm").read_text().strip()
            yield Ends(there, here), Ends(here, there), SocketOwner(name, client.pid)
            accepted.close()
            client.communicate(b"\n")


@pytest.mark.parametrize(
    ("family", "host", "to"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        pytest.param(socket.AF_INET6, "::1", "::1", marks=pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")),
        pytest.param(socket.AF_INET6, "::", "127.0.0.1", marks=pytest.mark.skipif(not socket.has_ipv6, reason="IPv6")),
    ],
    ids=["ipv4", "ipv6", "ipv4 on a socket of ipv6"],
)
def test_both_ends_are_found_and_nothing_else(family: int, host: str, to: str) -> None:
    finder = OwnerFinder()
    with connect(family, host, to) as (theirs, ours, owner):
        other = Ends(ours.here, f"{ours.there[:-4]}0001")
        for _ in range(2):
            assert finder.find_owners([theirs, ours, other]) == {theirs: owner, ours: OURS}
    assert theirs not in finder.find_owners([theirs])


def test_an_end_as_the_system_writes_it() -> None:
    numbers = struct.unpack("=4I", bytes(range(16)))
    assert write_end(bytes(range(16)), 2181) == f"{''.join(f'{each:08X}' for each in numbers)}:0885"
    assert write_end(bytes(10) + b"\xff\xff\x7f\0\0\1", 80) == write_end(b"\x7f\0\0\1", 80)


def test_rows_have_the_processes_of_their_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is looked for some times; one that is not there keeps nothing."""
    asked = []

    def find(self: OwnerFinder, wanted: dict[Ends, tuple[int, int]]) -> dict[Ends, SocketOwner]:
        asked.append(set(wanted.values()))
        return {ends: SocketOwner("java", 7) for ends, (stream, side) in wanted.items() if (stream, side) == (0, 1)}

    monkeypatch.setattr(OwnerFinder, "find_owners", find)
    monkeypatch.setattr(processes, "PAUSE", 0.0)
    with Session([GOLDEN / "tls" / "k_java_t13.pcap.zst"]) as session:
        session.engine.owners = LocalProcesses(session.engine.streams, session.packets.flows)
        session.load()
        for _ in range(5):
            session.engine.owners.look()
        assert len(asked) == processes.MOST_LOOKS
        rows = np.flatnonzero(session.rows.column("stream") == 0)
        names = ("client.process", "client.pid", "server.process", "server.pid")
        reading = FieldReader(RowReader(session), ())
        found = [list(map(tuple, reading.read_by_row(field, rows))) for field in resolve_fields(names)]
        assert [set(each) for each in found] == [{()}, {()}, {("java",)}, {(7,)}]


def test_interfaces_of_others_have_none() -> None:
    assert _are_local(["lo"])
    assert _are_local(["any"])
    assert not _are_local(["lo", "eth0@broker"])
