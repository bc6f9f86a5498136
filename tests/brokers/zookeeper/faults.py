"""A server by itself, clients in this process, and faults that are done to both while they are recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import Recipe, Site, running, sited
from tests.brokers.zookeeper.ensemble import word
from tests.brokers.zookeeper.recipe import NEW, Member

TIMEOUT = 4.0
"""Seconds that a session lives."""

FROZEN = 6.0
"""Seconds that a server is frozen: longer than a session lives."""

TOO_LARGE = 1_100_000
"""Bytes; a server reads no packet of more than 1,048,575."""

MANY = 3000
"""Requests that a client sends without a pause; a server stops reading when 1,000 wait."""

_LINES = """\
tickTime=500
dataDir=data
clientPort={client}
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    site: Site
    process: subprocess.Popen[bytes]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server by itself. Raises Missing."""

    def prepare(site: Site) -> None:
        (site.folder / "zoo.cfg").write_text(_LINES.format(**site.ports))
        (site.folder / "data").mkdir()

    recipe = Recipe(
        jars=NEW.jars,
        ports=("client",),
        prepare=prepare,
        command=lambda _: ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"),
        ready=lambda site: "Mode:" in (word(Member(1, site.host, site.ports), "srvr") or ""),
        options=("-Xmx128m",),
    )
    site = sited(recipe, folder)
    with running(recipe, site) as process:
        yield Server(site, process)


def record(server: Server, folder: Path, fault: str) -> Path:
    """Records what happens in one fault, by its name in FAULTS; returns the capture. Raises Missing."""
    capture = folder / f"{fault}.pcap"
    with recording(capture, list(server.site.ports.values())):
        FAULTS[fault](server)
    return capture


@contextmanager
def _frozen(server: Server) -> Iterator[None]:
    group = os.getpgid(server.process.pid)
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def freeze(server: Server) -> None:
    """The server stands still for longer than the session of a client lives, and goes on."""
    from kazoo.client import KazooClient

    client = KazooClient(server.site.address("client"), timeout=TIMEOUT)
    client.start()
    client.create("/frozen", b"")
    with _frozen(server):
        time.sleep(FROZEN)
    client.retry(client.get, "/frozen")
    client.stop()
    client.close()


def send_too_much(server: Server) -> None:
    """A client sends a node that is larger than the server reads."""
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException

    client = KazooClient(server.site.address("client"), timeout=TIMEOUT)
    client.start()
    with suppress(KazooException):
        client.create("/large", bytes(TOO_LARGE))
    client.retry(client.exists, "/large")
    client.stop()
    client.close()


def send_many(server: Server) -> None:
    """A client sends more requests without waiting for answers than the server keeps waiting."""
    from kazoo.client import KazooClient

    client = KazooClient(server.site.address("client"), timeout=10.0)
    client.start()
    client.create("/many", b"")
    with _frozen(server):
        answers = [client.set_async("/many", b"x") for _ in range(MANY)]
        time.sleep(2)
    for answer in answers:
        answer.get(timeout=60)
    client.stop()
    client.close()


FAULTS: Mapping[str, Callable[[Server], None]] = {"frozen": freeze, "large": send_too_much, "many": send_many}
