"""Finds the processes of this machine at the ends of live connections, in /proc.

Theory. /proc/net/tcp and tcp6 have a line for each socket, with both of its ends and its inode. A link in /proc/PID/fd
also contains the inode. So a process is found only by all four parts of a connection, never by a port alone. The cost
of a search is proportional to the sockets and descriptors of the machine. So a search runs only for new connections,
ends when the last one is found, and takes a limited share of the time. A connection that closes before the search has
no process. If the socket was not accepted yet, the search is repeated.
"""

from __future__ import annotations

import os
import sys
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from analyzer.capture.flows import FlowTable
from analyzer.messages.socket_owners import SocketOwner, SocketOwners
from analyzer.tcp.streams import StreamTable

PROC = Path("/proc")
MAPPED = "0000000000000000FFFF0000"
"""The prefix of an IPv4 address in tcp6."""

SHARE, BURST = 0.05, 0.5
"""The share of the time that searches may take, and the seconds that may be used at once."""

PAUSE = 0.2
"""Seconds until the search for missing connections is repeated, if no new ones come before."""

MOST_WANTED, MOST_KNOWN = 1_000, 100_000
"""Maximum number of connections that are searched for, and of those with a known process; the oldest are dropped."""

MOST_LOOKS = 4
"""Maximum number of searches for a connection."""

MOST_TABLE, MOST_LINKS = 16 << 20, 200_000
"""Maximum bytes of a table of sockets, and number of links of descriptors, that one search reads."""


class Ends(NamedTuple):
    """A connection in the system's notation: HEX:PORT of the end of the socket here, and of the other end."""

    here: str
    there: str


class LocalProcesses(SocketOwners):
    """Finds the processes of the streams of a session that follows a live capture."""

    def __init__(self, streams: StreamTable, flows: FlowTable) -> None:
        self._streams, self._flows = streams, flows
        self._seen, self._last, self._budget = 0, time.monotonic(), BURST
        self._wanted: OrderedDict[int, int] = OrderedDict()
        self._known: OrderedDict[tuple[int, int], SocketOwner] = OrderedDict()
        self._finder = OwnerFinder()

    def find(self, stream: int, side: int) -> SocketOwner | None:
        """Returns the process at one end of a connection, or None."""
        return self._known.get((stream, side))

    def look(self) -> None:
        """Searches for the processes of new connections, and again for those that were not found."""
        now, new = time.monotonic(), len(self._streams) > self._seen
        if not new and not self._wanted:
            return
        for stream in range(max(self._seen, len(self._streams) - MOST_WANTED), len(self._streams)):
            self._wanted[stream] = 0
        self._seen = len(self._streams)
        while len(self._wanted) > MOST_WANTED:
            self._wanted.popitem(last=False)
        budget = min(self._budget + SHARE * (now - self._last), BURST)
        if budget > 0 and (new or now - self._last >= PAUSE):
            began = time.thread_time()
            self._look_for(list(self._wanted))
            self._last, self._budget = now, budget - (time.thread_time() - began)

    def _look_for(self, streams: list[int]) -> None:
        ends = {self._write_ends(stream, side): (stream, side) for stream in streams for side in (0, 1)}
        for found, owner in self._finder.find_owners(ends).items():
            self._known[ends[found]] = owner
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        for stream in streams:
            self._wanted[stream] += 1
            if self._wanted[stream] >= MOST_LOOKS or all((stream, side) in self._known for side in (0, 1)):
                del self._wanted[stream]

    def _write_ends(self, stream: int, side: int) -> Ends:
        flow = self._streams.cell("flow", stream)
        return Ends(
            *(write_end(self._flows.address(flow, each), self._flows.port(flow, each)) for each in (side, 1 - side))
        )


class OwnerFinder:
    """Finds owners of sockets; searches first the processes that owned one before."""

    def __init__(self) -> None:
        self._recent: OrderedDict[int, None] = OrderedDict()

    def find_owners(self, wanted: Collection[Ends]) -> dict[Ends, SocketOwner]:
        """Returns the processes of those connections that have a socket here whose owner this user may see."""
        inodes = dict(_list_sockets(wanted))
        found: dict[Ends, SocketOwner] = {}
        for pid, inode in self._list_links(inodes):
            self._recent[pid] = None
            self._recent.move_to_end(pid)
            if (name := _read_name(pid)) is not None:
                found[inodes.pop(inode)] = SocketOwner(name, pid)
            if not inodes:
                break
        while len(self._recent) > MOST_WANTED:
            self._recent.popitem(last=False)
        return found

    def _list_links(self, inodes: Collection[str]) -> Iterator[tuple[int, str]]:
        """Yields process and inode of each link to a wanted socket."""
        rest = MOST_LINKS
        if not inodes:
            return
        recent = list(reversed(self._recent))
        others = (int(name) for name in os.listdir(PROC) if name.isdecimal() and int(name) not in self._recent)
        for pid in (*recent, *others):
            folder = f"{PROC}/{pid}/fd"
            with suppress(OSError):  # it has ended, or belongs to another user
                for descriptor in os.listdir(folder):
                    rest -= 1
                    link = os.readlink(f"{folder}/{descriptor}")
                    if link.startswith("socket:[") and link[8:-1] in inodes:
                        yield pid, link[8:-1]
            if rest < 0:
                return


def _list_sockets(wanted: Collection[Ends]) -> Iterator[tuple[str, Ends]]:
    """Yields inode and ends of each wanted socket whose process this user may see."""
    own = None if os.geteuid() == 0 else str(os.geteuid())
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(PROC / "self" / "net" / name) as table:
            for line in table.read(MOST_TABLE).splitlines()[1:]:
                cells = line.split()
                if len(cells) < 10:
                    continue
                ends = Ends(cells[1].removeprefix(MAPPED), cells[2].removeprefix(MAPPED))
                if ends in wanted and cells[9] != "0" and own in (None, cells[7]):
                    yield cells[9], ends


def _read_name(pid: int) -> str | None:
    try:
        return (PROC / str(pid) / "comm").read_bytes().rstrip(b"\n").decode(errors="replace")
    except OSError:
        return None


def write_end(address: bytes, port: int) -> str:
    """Formats an end as in /proc/net/tcp: words of four bytes in the byte order of this machine, then the port."""
    mapped = bytes.fromhex("00" * 10 + "ffff")
    words = address.removeprefix(mapped) if len(address) == 16 else address
    text = "".join(f"{int.from_bytes(words[at : at + 4], sys.byteorder):08X}" for at in range(0, len(words), 4))
    return f"{text}:{port:04X}"
