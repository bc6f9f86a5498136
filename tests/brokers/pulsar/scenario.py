"""What happens to a standalone while it is recorded: its clients, side by side, each with topics of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.java import QUIET, Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import HOST, running, sited
from tests.brokers.pulsar.journal import Journal, of_python, ran
from tests.brokers.pulsar.recipe import NEW, OPENED, SECRET, Release, ports, recipe

FOLDER = Path(__file__).parent
PATIENCE = 80.0
"""Seconds for one client."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run left: the capture, what clients said, and the Java with the server's classes."""

    capture: Path
    journals: dict[str, Journal]
    server: Java


def record(folder: Path, release: Release = NEW) -> Recording:
    """Runs it all; Java's client is of the newest release. Raises Missing where this machine lacks something for it."""
    capture = folder / "standalone.pcap"
    standalone = recipe(release)
    site = sited(standalone, folder, HOST, ports(release))
    java, commands = site.java, {}
    if release is NEW:
        program = compiled([FOLDER / "JavaClient.java"], java, fetched(COMPILER, java.path), folder / "client")
        arguments = site.address("broker"), site.address("web"), SECRET
        commands["java"] = program.command("JavaClient", *arguments, options=("-Xmx128m", QUIET, *OPENED))
    if find_spec("pulsar"):
        commands["python"] = of_python("python_client", site.address("broker"))
    if not commands:
        raise Missing("pulsar-client is not installed: it is one of wireanalyze[brokers]")
    with (
        running(standalone, site),
        recording(capture, [site.ports["broker"]]),
        ThreadPoolExecutor(len(commands)) as clients,
    ):
        requested = {
            name: clients.submit(ran, command, folder / f"{name}.log", PATIENCE) for name, command in commands.items()
        }
        journals = {name: each.result() for name, each in requested.items()}
    return Recording(capture, journals, java)
