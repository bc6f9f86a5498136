"""A network of a test's own, in a namespace: lo, and a cable between the interfaces v0 and v1 that have no address."""

from __future__ import annotations

import ctypes
import os
import shlex
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analyzer.decode.content import read_cell, read_message
from analyzer.session import Session
from tests.analyzer.live import wires
from tests.waiting import until

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "analyzer.cli"]
NOBODY = 65534
MAY_CAPTURE = ["--inh-caps=+net_raw,+net_admin", "--ambient-caps=+net_raw,+net_admin"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/"}
NEW_NETWORK = 0x40000000
LONGEST = 65535
PATIENCE = 120.0

Said = tuple[bool, bytes]
"""Whether the client said it, and what."""


def as_nobody(*capabilities: str) -> list[str]:
    """In front of a command: runs it as a user without any right but these."""
    user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return ["setpriv", *user, *capabilities]


def opened_up() -> str:
    """Shell commands after which every user can run this Python, also where it lies in a folder that is closed to them.

    For a mount namespace of one's own: that folder is one with nothing but the Python in it there.
    """
    python = Path(sys.base_prefix)
    closed = next((each for each in reversed(python.parents) if not each.stat().st_mode & stat.S_IXOTH), None)
    if closed is None:
        return "true"
    remaining = shlex.quote(tempfile.gettempdir())
    here, there = shlex.quote(str(python)), shlex.quote(str(closed))
    hide = f"mount --bind {here} {remaining} && mount -t tmpfs -o mode=755 none {there} && mkdir -p {here}"
    return f"{hide} && mount --move {remaining} {here}"


class Network:
    """A context manager; the namespaces, of network and mounts, go with it."""

    def __init__(self) -> None:
        cable = f"ip link add v0 mtu {LONGEST} type veth peer name v1 mtu {LONGEST}"
        up = f"{cable} && ip link set lo up && ip link set v0 up && ip link set v1 up"
        script = f"{opened_up()} && {up} && echo there && exec cat"
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        self.works = self._holder.stdout.readline() == b"there\n"
        self._path = f"/proc/{self._holder.pid}/ns/net"

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.communicate(timeout=PATIENCE)

    def command(self, *command: str, folder: Path = Path("/")) -> list[str]:
        """The same command in this network."""
        enter = ["nsenter", "--net", "--mount", "--target", str(self._holder.pid)]
        return [*enter, "sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command]

    def seen(self, path: Path) -> Path:
        """Where something that is mounted in there is seen from outside."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def do(self, *command: str) -> None:
        """Runs a command in it."""
        subprocess.run(self.command(*command), check=True, capture_output=True)

    def inside(self, work: Callable[[], None]) -> None:
        """Does something in it, in a thread, for only threads can go there and leave the others where they are."""
        failed: list[BaseException] = []

        def enter() -> None:
            try:
                with open(self._path) as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), NEW_NETWORK):
                        raise OSError(ctypes.get_errno(), "setns")
                work()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    def send(self, frames: Iterable[bytes], interface: str = "v1") -> None:
        """Puts frames on the cable, and waits until they have come out of it."""
        self.inside(lambda: wires.send(frames, interface))

    def talk(self, messages: Sequence[Said], port: int) -> None:
        """A conversation over lo: each message is said when the one before has arrived."""

        def say() -> None:
            with (
                socket.create_server(("127.0.0.1", port)) as server,
                socket.create_connection(("127.0.0.1", port)) as client,
            ):
                accepted, _ = server.accept()
                with accepted:
                    for from_client, message in messages:
                        sender, receiver = (client, accepted) if from_client else (accepted, client)
                        sender.sendall(message)
                        left = len(message)
                        while left:
                            left -= len(receiver.recv(left))

        self.inside(say)


def frames(path: Path) -> list[bytes]:
    """The packets of a plain pcap file."""
    content, found, at = path.read_bytes(), list[bytes](), 24
    while at < len(content):
        (size,) = struct.unpack_from("<I", content, at + 8)
        found.append(content[at + 16 : at + 16 + size])
        at += 16 + size
    return found


def conversation(path: Path, stream: int) -> list[Said]:
    """What the ends of a recorded connection say."""
    with Session([path]).load() as session:
        rows = [row for row in range(len(session.rows)) if read_cell(session, "stream", row) == stream]
        return [(read_cell(session, "side", row) == 0, read_message(session, row)) for row in rows]


@dataclass(frozen=True)
class Running:
    """A program that sniffs in a folder: what it has printed and said so far."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def rows(self) -> str:
        return (self.folder / "rows").read_text()

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()

    @property
    def children(self) -> list[int]:
        """The processes that it has started."""
        return [int(each) for each in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(PATIENCE)

    def end(self, number: int) -> int:
        """The same behind a signal."""
        self.process.send_signal(number)
        return self.wait()


@contextmanager
def sniffing(
    network: Network,
    folder: Path,
    *options: str,
    begin: Sequence[str] = (),
    where: Path | None = None,
    wait: bool = True,
    stdout: int | None = None,
) -> Iterator[Running]:
    """Runs `sniff --headless` in a network as somebody who may do nothing but capture; ends it at the latest.

    begin: what stands in front of that. wait: until there is a file, in `where` or that folder: the capture has begun.
    """
    before = [*begin] if begin else as_nobody(*MAY_CAPTURE)
    command = network.command(*before, *PROGRAM, "sniff", "--headless", *options, folder=folder)
    with open(folder / "rows", "wb") as rows, open(folder / "said", "wb") as text:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=rows if stdout is None else stdout, stderr=text, env=ENVIRONMENT
        )
    running = Running(process, folder)
    try:
        if wait:
            until(
                "the capture",
                lambda: any(each.stat().st_size for each in (where or folder).glob("*.pcapng")),
                lambda: running.said if process.poll() is not None else None,
            )
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
