"""Recording what passes over the loopback interface, by tcpdump or dumpcap.

Theory. A recorder is ready when it says that it listens, and it may be stopped when it has written what was sent: the
last packet is then one of ours, a datagram to a port of ours that its filter takes too, looked for in the file.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.brokers.lab.leash import leashed
from tests.brokers.lab.missing import Missing

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"
PATIENCE = 20.0


class RecordingError(Exception):
    """A recording that broke off; the text says what the recorder said last."""


@contextmanager
def recording(path: Path, ports: Sequence[int]) -> Iterator[None]:
    """Records TCP of these ports into `path` until it is left.

    Raises Missing where nobody may record, RecordingError where what was begun did not go on to the end.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bell:
        bell.bind(("127.0.0.1", 0))
        at = bell.getsockname()
        taken = " or ".join([*(f"tcp port {port}" for port in ports), f"udp port {at[1]}"])
        log = path.with_suffix(".log")
        with log.open("wb") as text:
            process = subprocess.Popen(_command(path, taken), stdin=subprocess.DEVNULL, stdout=text, stderr=text)
        try:
            with leashed(process):
                if (why := _heard(bell, process, path, log)) is not None:
                    raise Missing(why)
                yield
                if (why := _heard(bell, process, path, log)) is not None:
                    raise RecordingError(why)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(path: Path, taken: str) -> list[str]:
    if program := shutil.which("tcpdump"):
        return [program, "-i", LOOPBACK, "-s", "0", "-B", "65536", "-U", "--immediate-mode", "-w", str(path), taken]
    if program := shutil.which("dumpcap"):
        return [program, "-q", "-i", LOOPBACK, "-s", "0", "-B", "64", "-f", taken, "-w", str(path)]
    raise Missing("neither tcpdump nor dumpcap is installed")


def _heard(bell: socket.socket, process: subprocess.Popen[bytes], path: Path, log: Path) -> str | None:
    """Sends datagrams to ourselves until the recording has one of them: so it has all that came before, too.

    Gives None then, and where that does not come to be, why not.
    """
    mark = secrets.token_bytes(16)
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and mark in path.read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(errors="replace").splitlines() or ["it said nothing"]
            return f"nothing can be recorded on {LOOPBACK}: {lines[-1]}"
        bell.sendto(mark, bell.getsockname())
        time.sleep(0.1)
    return None
