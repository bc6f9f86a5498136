"""A network of a test's own, frames over it, and the capturing process beside.

A namespace belongs to a thread and to what that starts, so a test that needs one runs in a thread of its own.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from scapy.utils import RawPcapReader

from analyzer.live.capture_request import CaptureRequest
from analyzer.live.channel import (
    ChannelMessage,
    FailureMessage,
    FileBegunMessage,
    ReadyMessage,
    RunEndMessage,
    StartCommand,
    StopCommand,
    decode_message,
    encode_message,
)

ROOT = Path(__file__).parents[3]
NEW_NETWORK, NEW_MOUNTS = 0x40000000, 0x00020000
PATIENCE = 60.0
MTU = 20_000
OTHER_END = {"v0": "v1", "v1": "v0"}
SOL_PACKET, STATISTICS, IGNORE_OUTGOING, ALL_PROTOCOLS = 263, 6, 23, 3

P = ParamSpec("P")
L = TypeVar("L", bound=ChannelMessage)


def in_own_network(test: Callable[P, None]) -> Callable[P, None]:
    """Runs a test where there is lo and a pair of interfaces, v0 and v1, on which nobody but the test says a word."""

    @wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        failed: list[BaseException] = []

        def inside() -> None:
            try:
                if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK | NEW_MOUNTS):
                    raise OSError(ctypes.get_errno(), "unshare")
                shell("mount --make-rprivate /")
                # In the thread's own network, which is where this file is looked up.
                Path("/proc/thread-self/root/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
                shell(
                    f"ip link set lo up; ip link add v0 mtu {MTU} type veth peer name v1 mtu {MTU}; ip link set v0 up; "
                    "ip link set v1 up"
                )
                test(*arguments, **named)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    return run


def shell(script: str) -> None:
    subprocess.run(["sh", "-ec", script], check=True, capture_output=True)


def send(frames: Iterable[bytes], interface: str = "v0") -> None:
    """Over a wire, each as it is; once this returns, all of them have come out of its other end.

    Where the machine is busy the kernel carries them a little later than it takes them, and each processor its own: so
    all are sent on one, and one who listens at the other end counts them.
    """
    processors = os.sched_getaffinity(0)
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as other,
    ):
        out.bind((interface, 0))
        other.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
        other.bind((OTHER_END.get(interface, interface), ALL_PROTOCOLS))
        os.sched_setaffinity(0, {min(processors)})
        try:
            left = sum(bool(out.send(frame)) for frame in frames)
        finally:
            os.sched_setaffinity(0, processors)
        end = time.monotonic() + PATIENCE
        while (left := left - struct.unpack("II", other.getsockopt(SOL_PACKET, STATISTICS, 8))[0]) > 0:
            assert time.monotonic() < end, f"{left} frames did not come out of the wire"
            time.sleep(0.001)


def frames_of(name: str) -> list[bytes]:
    """Of a capture in captures/."""
    with RawPcapReader(str(ROOT / "captures" / name)) as reader:
        return whole(reader)


def frames_in(path: Path) -> list[bytes]:
    """Of a file, by another reader than ours."""
    with RawPcapReader(str(path)) as reader:  # of pcapng too
        return whole(reader)


def whole(reader: RawPcapReader) -> list[bytes]:
    """Its packets, those over 65,535 bytes too, at which it stops unless it is told otherwise."""
    found = []
    with suppress(EOFError):
        while True:
            found.append(reader._read_packet(1 << 20)[0])
    return found


class Child:
    """The capturing process, of root, as far as the test is that."""

    def __init__(self, asked: CaptureRequest, *source: str) -> None:
        command = [sys.executable, "-P", "-m", "analyzer.live.sniffer", asked.to_json(), *source]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**environment, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        self._begun = b""
        self.heard: list[ChannelMessage] = []

    def say(self, line: ChannelMessage | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line if isinstance(line, bytes) else encode_message(line).encode())

    def hear(self, kind: type[L]) -> L:
        """The next line of a kind; what comes before it is passed over."""
        assert self.process.stdout is not None
        end = time.monotonic() + PATIENCE
        while True:
            while b"\n" in self._begun:
                line, _, self._begun = self._begun.partition(b"\n")
                text = decode_message(line.decode())
                assert text is not None, line
                self.heard.append(text)
                if isinstance(text, kind):
                    return text
                assert not isinstance(text, FailureMessage), text
            assert select.select([self.process.stdout], [], [], end - time.monotonic())[0], f"no {kind} came"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, f"it ended without {kind}"
            self._begun += data

    def begin(self, path: Path, spool: bool = False) -> None:
        """Once this returns, every packet is captured."""
        self.hear(ReadyMessage)
        self.start(path, spool)

    def start(self, path: Path, spool: bool = False) -> None:
        self.say(StartCommand(str(path), spool))
        self.hear(FileBegunMessage)

    def stop(self) -> RunEndMessage:
        self.say(StopCommand())
        return self.hear(RunEndMessage)

    def end(self, number: int | None = None) -> int:
        """By a signal, or because nobody holds it any more; returns its status."""
        assert self.process.stdin is not None
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()


def asked(*interfaces: str, **named: object) -> CaptureRequest:
    """Of root: the interpreter may stand where nobody else may read."""
    return CaptureRequest(interfaces, user="root", buffer=8 << 20, **named)  # type: ignore[arg-type]
