"""A server: from jars and a recipe to a process that answers, and its end.

Theory. A recipe says what to fetch, what to write into the server's folder, what to run and how to see that it is
ready. All else is the same for all servers: ports that are free, a bounded heap, a deadline, an end by process id, and
logs that stay in the test's folder. Nothing outlives a test run (leash.py); and where there is `timeout`, a server is
started under it, so that one in a run that hangs ends, too.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.brokers.lab.java import Java, find_java
from tests.brokers.lab.leash import leashed
from tests.brokers.lab.maven import Jars, fetched

LIFETIME = 900
"""Seconds that a server lives at most."""

GRACE = 20.0
"""Seconds that it gets to stop by itself."""

HOST = "127.0.0.1"
LOG = "server.log"


@dataclass(frozen=True, slots=True)
class Site:
    """Where one server lives: its folder, its ports by name, the Java with its jars, its address on loopback."""

    folder: Path
    ports: Mapping[str, int]
    java: Java
    host: str = HOST

    def address(self, port: str) -> str:
        """host:port, as clients want it."""
        return f"{self.host}:{self.ports[port]}"

    def listens(self, port: str) -> bool:
        """Whether something takes connections there."""
        with suppress(OSError), socket.create_connection((self.host, self.ports[port]), timeout=1):
            return True
        return False

    def logged(self) -> str:
        """What the server said since it was last started."""
        log = self.folder / LOG
        return log.read_text(errors="replace") if log.exists() else ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a kind of server needs.

    ports: names for the ports it opens. prepare: writes its configuration, formats its storage. command: the main
    class and its arguments. ready: asked until it says so, `patience` seconds at most. java: the version it needs.
    """

    jars: Jars
    ports: tuple[str, ...]
    prepare: Callable[[Site], None]
    command: Callable[[Site], Sequence[str]]
    ready: Callable[[Site], bool]
    java: int = 17
    options: tuple[str, ...] = ("-Xmx512m",)
    patience: float = 90.0


class ServerError(Exception):
    """A server that did not come up; the text ends with what it logged last."""


def sited(recipe: Recipe, folder: Path, host: str = HOST, ports: Mapping[str, int] | None = None) -> Site:
    """All that a server needs before it starts, in an empty `folder`, on these ports or free ones. Raises Missing."""
    java = find_java(recipe.java)
    chosen = free_ports(recipe.ports) if ports is None else ports
    site = Site(folder, chosen, Java(java, (fetched(recipe.jars, java),)), host)
    recipe.prepare(site)
    return site


@contextmanager
def running(recipe: Recipe, site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """A server from ready to stopped, or killed before. Raises ServerError where it does not come up."""
    command = site.java.command(*recipe.command(site), options=recipe.options)
    bounded = shutil.which("timeout")
    log = site.folder / LOG
    with log.open("wb") as text:
        process = subprocess.Popen(
            [bounded, "-k", "10", str(LIFETIME), *command] if bounded else command,
            stdin=subprocess.DEVNULL,
            stdout=text,
            stderr=subprocess.STDOUT,
            cwd=site.folder,
            start_new_session=True,
        )
    try:
        with leashed(process):
            _wait(process, recipe, site, log)
            yield process
    finally:
        stop(process)


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """Ports of the loopback interface that nobody has just now."""
    sockets = [socket.create_server((HOST, 0)) for _ in names]
    found = {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}
    for each in sockets:
        each.close()
    return found


def vacant(host: str, ports: Iterable[int]) -> bool:
    """Whether this address is one of ours and nobody has these ports of it."""
    for port in ports:
        try:
            socket.create_server((host, port)).close()
        except OSError:
            return False
    return True


def _wait(process: subprocess.Popen[bytes], recipe: Recipe, site: Site, log: Path) -> None:
    deadline = time.monotonic() + recipe.patience
    while not recipe.ready(site):
        if process.poll() is not None:
            raise ServerError(f"the server ended with {process.returncode}\n{_tail(log)}")
        if time.monotonic() > deadline:
            raise ServerError(f"the server was not ready after {recipe.patience:.0f} s\n{_tail(log)}")
        time.sleep(0.2)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def stop(process: subprocess.Popen[Any]) -> None:
    """Asks a process to end, and after a while makes its whole group end."""
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a server's whole group as a machine that dies does: nothing is written, nobody is told.

    What is left of it is taken away where its `running` is left.
    """
    os.killpg(process.pid, signal.SIGKILL)
