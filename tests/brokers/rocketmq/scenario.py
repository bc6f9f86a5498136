"""What happens to a name server and a broker while they are recorded: they start, and clients come side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.golang import built
from tests.brokers.lab.java import QUIET, Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import HOST, running, sited
from tests.brokers.rocketmq.journal import Journal, ran
from tests.brokers.rocketmq.recipe import broker, name_server, ports

FOLDER = Path(__file__).parent
PATIENCE = 120.0
"""Seconds for one client."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run left: the capture, what clients said, and the Java with the server's classes."""

    capture: Path
    journals: dict[str, Journal]
    server: Java


def record(folder: Path, kind: str) -> Recording:
    """Runs it all, with headers of that kind. Raises Missing where this machine lacks something for it.

    The client in Go knows one kind of header alone.
    """
    capture, home = folder / "rocketmq.pcap", folder / "client"
    homes = {name: folder / name for name in ("names", "broker", "client")}
    for each in homes.values():
        each.mkdir()
    known, own = ports()
    names = name_server(homes["names"], kind)
    at = sited(names, homes["names"], HOST, known)
    serving = broker(homes["broker"], kind, at.address("names"))
    site = sited(serving, homes["broker"], HOST, own)
    java = site.java
    program = compiled([FOLDER / "JavaClient.java"], java, fetched(COMPILER, java.path), folder / "classes")
    addresses = at.address("names"), site.address("broker")
    options = (
        "-Xmx160m",
        QUIET,
        f"-Drocketmq.serialize.type={kind}",
        f"-Duser.home={home}",
        f"-Drocketmq.client.localOffsetStoreDir={home}",
    )
    commands = {"java": program.command("JavaClient", *addresses, options=options)}
    try:
        commands["go"] = [str(built(FOLDER / "go_client", "rocketmq-go")), *addresses]
    except Missing as missing:
        print(missing)
    recorded = [*at.ports.values(), *site.ports.values()]
    with (
        recording(capture, recorded),
        running(names, at),
        running(serving, site),
        ThreadPoolExecutor(len(commands)) as clients,
    ):
        requested = {
            name: clients.submit(ran, command, home / f"{name}.log", PATIENCE) for name, command in commands.items()
        }
        journals = {name: each.result() for name, each in requested.items()}
    return Recording(capture, journals, java)
