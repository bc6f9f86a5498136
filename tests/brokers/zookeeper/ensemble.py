"""An ensemble under way: its members are started, stopped, killed and emptied one by one, and asked who leads."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.brokers.lab.server import ServerError, Site, kill, running, sited
from tests.brokers.zookeeper.recipe import Member, Release, recipe

PATIENCE = 40.0
"""Seconds until an ensemble has a leader that all its members follow."""


def word(member: Member, asked: str) -> str | None:
    """What a server answers to a four-letter word; None where nobody takes the connection, or it breaks off."""
    try:
        with socket.create_connection((member.host, member.ports["client"]), timeout=5) as connection:
            connection.sendall(asked.encode())
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    except OSError:
        return None


class Ensemble:
    """Members by number, in folders of their own. To be left (`close`) when it is no longer needed."""

    def __init__(self, release: Release, members: tuple[Member, ...], folder: Path) -> None:
        """Fetches and writes what they need; nothing runs yet. Raises Missing."""
        self.members = {member.number: member for member in members}
        self.sites: dict[int, Site] = {}
        self._recipes = {member.number: recipe(release, member, members) for member in members}
        self._running: dict[int, tuple[ExitStack, subprocess.Popen[bytes]]] = {}
        for number, member in self.members.items():
            place = folder / f"server-{number}"
            place.mkdir(parents=True)
            self.sites[number] = sited(self._recipes[number], place, member.host, member.ports)

    @property
    def ports(self) -> list[int]:
        """All ports, once."""
        return sorted({port for member in self.members.values() for port in member.ports.values()})

    def start(self, *numbers: int) -> None:
        """Starts these members, or all, and waits until they serve. Raises ServerError."""
        for number in numbers or self.members:
            stack = ExitStack()
            self._running[number] = stack, stack.enter_context(running(self._recipes[number], self.sites[number]))
        self.settle()

    def stop(self, number: int) -> None:
        """Ends a member as its init system would."""
        self._running.pop(number)[0].close()

    def kill(self, number: int) -> None:
        """Ends a member as the loss of its machine would."""
        stack, process = self._running.pop(number)
        kill(process)
        stack.close()

    def empty(self, number: int) -> None:
        """Takes away all data of a member that does not run."""
        shutil.rmtree(self.sites[number].folder / "data" / "version-2")

    def close(self) -> None:
        """Stops whoever runs: those who follow first, so that nobody is elected any more."""
        for number in sorted(self._running, key=lambda number: self.modes([number]).get(number) == "leader"):
            self.stop(number)

    def modes(self, numbers: Iterable[int]) -> dict[int, str]:
        """What these members say that they are: leader, follower, observer. Who does not serve is left out."""
        found = {}
        for number in numbers:
            _, _, rest = (word(self.members[number], "srvr") or "").partition("Mode: ")
            if rest:
                found[number] = rest.partition("\n")[0]
        return found

    def settle(self) -> None:
        """Waits until all who run serve clients and one of them leads. Raises ServerError.

        Followers of a leader that is no more serve until they expert info, so it is not enough that all serve.
        """
        deadline = time.monotonic() + PATIENCE
        known: dict[int, str] = {}
        while len(known) < len(self._running):
            known |= self.modes(self._running.keys() - known.keys())
            if len(known) == len(self._running) and "leader" not in known.values():
                known.clear()
            if time.monotonic() > deadline:
                number = min(self._running.keys() - known.keys())
                raise ServerError(f"server {number} does not serve\n{self.sites[number].logged()[-4000:]}")
            time.sleep(0.3)

    def led_by(self) -> int:
        """The number of the leader."""
        return next(number for number, mode in self.modes(self._running).items() if mode == "leader")


@contextmanager
def ensembled(release: Release, members: tuple[Member, ...], folder: Path) -> Iterator[Ensemble]:
    """An ensemble of which nothing runs yet, and nothing any more when it is left."""
    ensemble = Ensemble(release, members, folder)
    try:
        yield ensemble
    finally:
        ensemble.close()
