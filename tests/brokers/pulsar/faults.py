"""A standalone, a client, and a transaction that is not ended in time, while they are recorded."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.java import QUIET, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import HOST, running, sited
from tests.brokers.pulsar.recipe import NEW, OPENED, ports, recipe

FOLDER = Path(__file__).parent
PATIENCE = 120.0
"""Seconds for the client."""


def record_late_transaction(folder: Path) -> Path:
    """Records a client whose transaction exceeds its timeout of 3 s; returns the capture. Raises Missing."""
    capture, standalone = folder / "late.pcap", recipe(NEW)
    site = sited(standalone, folder, HOST, ports(NEW))
    program = compiled([FOLDER / "FaultClient.java"], site.java, fetched(COMPILER, site.java.path), folder / "client")
    command = program.command("FaultClient", site.address("broker"), options=("-Xmx128m", QUIET, *OPENED))
    with running(standalone, site), recording(capture, [site.ports["broker"]]):
        subprocess.run(command, timeout=PATIENCE, check=True)
    return capture
