"""A name server, brokers and clients, and faults that are done to them while they are recorded."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.java import QUIET, Java, compiled
from tests.brokers.lab.leash import leashed
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import HOST, Recipe, Site, free_ports, kill, running, sited, stop
from tests.brokers.rocketmq.recipe import BROKER, CONTROLLER, JSON, NAMES, VIP, broker, controller, name_server

FOLDER = Path(__file__).parent
PATIENCE = 240.0
"""Seconds for a client to end, or to print what is waited for."""

_CREATES = "autoCreateTopicEnable=true\n"
_BUSY = f"{_CREATES}waitTimeMillsInSendQueue=0\n"
_CONTROLLED = """\
autoCreateTopicEnable=true
enableControllerMode=true
controllerAddr={controller}
brokerHeartbeatInterval=1000
controllerHeartBeatTimeoutMills=4000
checkSyncStateSetPeriod=1000
syncControllerMetadataPeriod=1000
"""


@dataclass(slots=True)
class Lab:
    """Servers in one folder, started one after the other, and the ports that are recorded."""

    folder: Path
    stack: ExitStack
    ports: list[int] = field(default_factory=list)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    program: Java | None = None

    def prepare(self, name: str, make: Callable[[Path], Recipe], ports: Mapping[str, int]) -> tuple[Recipe, Site]:
        """Makes what a server needs before it starts. Raises Missing."""
        home = self.folder / name
        home.mkdir()
        recipe = make(home)
        site = sited(recipe, home, HOST, ports)
        self.ports += ports.values()
        if self.program is None:
            java = site.java
            sources = [FOLDER / "FaultClient.java"]
            self.program = compiled(sources, java, fetched(COMPILER, java.path), self.folder / "classes")
        return recipe, site

    def start(self, name: str, recipe: Recipe, site: Site) -> None:
        """Starts a server; gives back once it is ready."""
        self.processes[name] = self.stack.enter_context(running(recipe, site))

    def start_client(self, mode: str, names: str) -> subprocess.Popen[str]:
        """Starts a client."""
        assert self.program is not None
        options = (
            "-Xmx96m",
            QUIET,
            f"-Duser.home={self.folder}",
            f"-Drocketmq.client.localOffsetStoreDir={self.folder}",
        )
        command = self.program.command("FaultClient", mode, names, options=options)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for pipe in filter(None, (process.stdin, process.stdout)):
            self.stack.enter_context(pipe)
        self.stack.enter_context(leashed(process))
        self.stack.callback(stop, process)
        return process


def record(folder: Path, fault: str) -> Path:
    """Records what happens in one fault, by its name in FAULTS; returns the capture. Raises Missing."""
    capture = folder / f"{fault}.pcap"
    with ExitStack() as stack:
        FAULTS[fault](Lab(folder, stack), capture)
    return capture


def _run_client(lab: Lab, capture: Path, mode: str, settings: str) -> None:
    """A name server, a broker with these settings, and a client that does what it is told."""
    names = lab.prepare("names", lambda home: name_server(home, JSON), free_ports(tuple(NAMES)))
    address = names[1].address("names")
    serving = lab.prepare("broker", lambda home: broker(home, JSON, address, settings), _choose_broker_ports())
    lab.start("names", *names)
    lab.start("broker", *serving)
    with recording(capture, lab.ports):
        assert lab.start_client(mode, address).wait(PATIENCE) == 0


def differ(lab: Lab, capture: Path) -> None:
    """Two consumers of a group subscribe to different tags."""
    _run_client(lab, capture, "subscribe", _CREATES)


def flood(lab: Lab, capture: Path) -> None:
    """A broker that lets no message wait gets more than it can store at once."""
    _run_client(lab, capture, "flood", _BUSY)


def fail_over(lab: Lab, capture: Path) -> None:
    """The master of two brokers dies while a client sends; the controller makes the other one master."""
    names = lab.prepare("names", lambda home: name_server(home, JSON), free_ports(tuple(NAMES)))
    electing = lab.prepare("controller", lambda home: controller(home, JSON), free_ports((CONTROLLER,)))
    address = names[1].address("names")
    settings = _CONTROLLED.format(controller=electing[1].address(CONTROLLER))
    brokers = {
        name: lab.prepare(name, lambda home: broker(home, JSON, address, settings), _choose_broker_ports())
        for name in ("first", "second")
    }
    lab.start("names", *names)
    lab.start("controller", *electing)
    with recording(capture, lab.ports):
        for name, server in brokers.items():
            lab.start(name, *server)
        time.sleep(8)  # until the second one is in sync
        client = lab.start_client("send", address)
        _wait_for(client, "stored", 10)
        kill(lab.processes["first"])
        _wait_for(client, "failed", 1)
        _wait_for(client, "stored", 10)


def _choose_broker_ports() -> dict[str, int]:
    """Free ports, of which that for VIP channels is the broker's own less two."""
    chosen = free_ports(tuple(BROKER))
    return chosen | {"vip": chosen["broker"] - VIP}


def _wait_for(client: subprocess.Popen[str], text: str, count: int) -> None:
    """Waits until a client has printed so many lines that begin so."""
    assert client.stdout is not None
    deadline = time.monotonic() + PATIENCE
    for line in client.stdout:
        count -= line.startswith(text)
        if not count:
            return
        assert time.monotonic() < deadline, text
    raise AssertionError(f"the client ended before it printed {text!r}")


FAULTS: Mapping[str, Callable[[Lab, Path], None]] = {"differ": differ, "flood": flood, "fail_over": fail_over}
