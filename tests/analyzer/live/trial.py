"""One live capture in a process of its own, for tests: it gives up its privileges for good. Prints JSON lines.

Its argument says, as JSON: asked (of Asked), via, path (of a run; null is a spool), runs, hold (once DATAGRAMS were
captured it says so, and waits for a line).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from analyzer.capture.packets import PacketReader
from analyzer.capture.succession import FileSuccession
from analyzer.errors import CaptureError
from analyzer.live.capture import LiveCapture
from analyzer.live.capture_request import CaptureRequest

DATAGRAMS = 20
PATIENCE = 60.0
TOLD = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")


def rights(pid: int) -> list[dict[str, str]]:
    """What each thread of a process may."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        lines = [line.partition(":") for line in (thread / "status").read_text().splitlines()]
        found.append({name: " ".join(value.split()) for name, _, value in lines if name in TOLD})
    return found


def below(pid: int) -> list[int]:
    """All processes that a process has started, and theirs."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            found += [child, *below(child)]
    return found


def until(holds: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)


def talk() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, receiver.dup() as sender:
        receiver.bind(("127.0.0.1", 0))
        for _ in range(DATAGRAMS):
            sender.sendto(b"x" * 100, receiver.getsockname())


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def main(asked: dict[str, Any], via: Any, path: str | None, runs: int = 1, hold: bool = False) -> None:
    with LiveCapture(CaptureRequest(**asked), via) as capture:
        child = next(pid for pid in reversed(below(os.getpid())) if "sniffer" in command_of(pid))
        say(
            interfaces=capture.interfaces, notes=capture.notes, mine=rights(os.getpid()), its=rights(child),
            pid=os.getpid(), child=child, home=os.environ.get("HOME"),
        )  # fmt: skip
        for run in range(runs):
            succession = FileSuccession()
            capture.begin(None if path is None else f"{path}{run}", succession)
            talk()
            until(lambda: capture.stopped or capture.health(0).captured >= DATAGRAMS)
            if hold:
                say(below=below(os.getpid()), folder=os.path.dirname(succession.parts[0].path))
                sys.stdin.readline()
            capture.stop()
            until(lambda: capture.stopped)
            with PacketReader(succession) as packets:
                for _ in packets.blocks():
                    pass
                read = packets.counts.packets
            health = capture.health(read)
            say(
                captured=health.captured, dropped=health.dropped, backlog=health.backlog, files=health.files, read=read,
                problem=capture.problem, summary=capture.summary(read),
            )  # fmt: skip


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


if __name__ == "__main__":
    try:
        main(**json.loads(sys.argv[1]))
    except CaptureError as error:
        say(error=str(error))
