"""Live messages in Python. Whoever captures gives up privileges for good, so that runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import wireanalyze as wa
from analyzer.live.interfaces import may_capture
from tests.documents import ROOT

SCRIPT = """
import os, socket, sys, threading
import wireanalyze as wa

server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]

def converse():
    client = socket.create_connection(("127.0.0.1", port))
    peer, _ = server.accept()
    with client, peer:
        for _ in range(2):
            client.sendall(bytes.fromhex("0000000e0012000000000001000461626364"))
            peer.recv(100)
            peer.sendall(bytes.fromhex("0000000a00000001000000000000"))
            client.recv(100)

sniffing = wa.sniff("lo", filter=f"tcp port {port}", where="kafka", timeout=20, user=sys.argv[1])
threading.Thread(target=converse, daemon=True).start()
found = []
for message in sniffing:
    found.append(message)
    if len(found) == 1:
        print(message.operation, message.role, message.values)
    if len(found) == 3:
        sniffing.stop()
print([(message.number, message.role) for message in found])
sniffing.close()
try:
    found[1].values
except wa.CaptureError as error:
    print(error)
"""


@pytest.mark.privileged
@pytest.mark.skipif(
    not (may_capture() and sys.platform.startswith("linux")), reason="needs the right to capture on loopback"
)
def test_messages_come_while_the_capture_runs() -> None:
    user = "root" if os.geteuid() == 0 else ""
    command = [sys.executable, "-c", SCRIPT, user]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == [
        "ApiVersions request {}",
        "[(1, 'request'), (2, 'response'), (3, 'request'), (4, 'response')]",
        "The capture is closed. Read the bodies of messages inside the `with` block.",
    ], done.stderr


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"where": "latency >"}, wa.FilterError, "Filter, character"),
        ({"decode_as": {1: "smtp"}}, wa.UsageError, "There is no protocol 'smtp'"),
        ({"user": "nobody-at-all"}, wa.CaptureError, "nobody-at-all"),
    ],
)
def test_mistakes(options: dict[str, object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        next(iter(wa.sniff("lo", **options)))  # type: ignore[arg-type]
