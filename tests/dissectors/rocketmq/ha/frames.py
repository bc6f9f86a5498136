"""Both sides of HA connections, written by hand, and logs for them."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack

from tests.dissectors.rocketmq.frames import stored


def placed(base: int, *bodies: bytes, topic: bytes = b"orders") -> bytes:
    """Stored messages one behind the other; the first stands at `base` in the log."""
    log = b""
    for body in bodies:
        message = stored(body, topic=topic)
        log += message[:28] + pack(">q", base + len(log)) + message[36:]
    return log


def blank(size: int) -> bytes:
    """The end of a file; what fills it looks like anything."""
    return pack(">iI", size, 0xCBD43194) + b"\xda" * (size - 8)


def report(offset: int) -> bytes:
    return pack(">q", offset)


def transfer(offset: int, data: bytes = b"") -> bytes:
    """Without data a heartbeat."""
    return pack(">qi", offset, len(data)) + data


def pieces(base: int, log: bytes, size: int) -> bytes:
    """A log as a master sends it, at most `size` bytes at a time."""
    return b"".join(transfer(base + at, log[at : at + size]) for at in range(0, len(log), size))


def greeting(broker: int = 2, last_file: int = 0, learner: int = 0) -> bytes:
    return pack(">ihhq", 1, last_file, learner, broker)


def greeting_of_5_0(address: bytes = b"10.0.0.3:10912") -> bytes:
    return pack(">ihhi", 1, 0, 1, len(address)) + address


def answer(offset: int, epochs: Iterable[tuple[int, int]], *, of_5_0: bool = False) -> bytes:
    entries = [pack(">iq", *each) for each in epochs]
    return pack(">iiqi", 1, 12 * len(entries), offset, 3) + bytes(16 * of_5_0) + b"".join(entries)


def controlled_report(offset: int) -> bytes:
    return pack(">iq", 2, offset)


def controlled_transfer(offset: int, data: bytes = b"", confirmed: int = 0) -> bytes:
    return pack(">iiqiqq", 2, len(data), offset, 3, 0, confirmed) + data
