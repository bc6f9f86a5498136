"""A recorded conversation said again between two sockets of this machine: run as a program, in a namespace."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from analyzer.decode.content import read_cell, read_message

sys.path.insert(0, str(Path(__file__).parents[3]))

from analyzer.session import Session


def replay(capture: str, stream: int, port: int) -> int:
    """Says the messages of one stream over the loopback interface, each when the one before has arrived."""
    with Session([capture]).load() as session:
        rows = [row for row in range(len(session.rows)) if read_cell(session, "stream", row) == stream]
        messages = [(read_cell(session, "side", row), read_message(session, row)) for row in rows]
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(("127.0.0.1", port)) as client:
        accepted, _ = server.accept()
        with accepted:
            for side, message in messages:
                sender, receiver = (client, accepted) if side == 0 else (accepted, client)
                sender.sendall(message)
                left = len(message)
                while left:
                    left -= len(receiver.recv(left))
    return len(messages)


if __name__ == "__main__":
    print(replay(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
