"""A wire of one's own: two network namespaces with a pair of interfaces between them, and packets sent at a rate.

Theory. "Nothing was lost" can be said only where it is known what came. So nothing but the sender speaks on this wire:
IPv6 and ARP are off, no interface has an address, segments are neither joined nor cut, and both ends count. What was
sent, what the receiving end counted, what the kernel says it dropped and what lies in the file are four figures that
have to agree. The namespaces are held by two processes that end with their standard input, so nothing of them is left
however we end; and no setting of the machine itself is touched.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from benchmarks.measure import ROOT, Failed

NEAR, FAR = "wire0", "wire1"
"""The interface that is sniffed, and the one that packets are sent on."""

OFFLOADS = ("gro", "gso", "tso", "rx", "tx")
PATIENCE = 10.0

_ACTUAL = re.compile(r"Actual: (\d+) packets \((\d+) bytes\) sent in ([\d.]+) seconds")


class Counted(NamedTuple):
    """What an interface has counted: packets and bytes that came, packets that it dropped."""

    packets: int
    size: int
    dropped: int


class Sent(NamedTuple):
    """What was sent, in how many seconds."""

    packets: int
    size: int
    seconds: float

    @property
    def rate(self) -> float:
        """Packets a second."""
        return self.packets / max(self.seconds, 1e-9)


def why_not() -> str | None:
    """Why there can be no such wire, as a sentence; None where there can."""
    if not sys.platform.startswith("linux") or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return "this needs Linux with unshare, nsenter and ip"
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        return "this needs the right to make network namespaces: run it as root"
    return None


class Sending:
    """A sender at work: tcpreplay where it is installed, else our own."""

    def __init__(self, command: Sequence[str]) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 # lives as long as this
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT, cwd=ROOT
        )

    @property
    def running(self) -> bool:
        """Whether it still sends."""
        return self._process.poll() is None

    def wait(self) -> Sent:
        """What was sent in all. Raises Failed."""
        status = self._process.wait()
        with self._said as said:
            said.seek(0)
            text = said.read().decode(errors="replace")
        found = _ACTUAL.search(text)
        if status or found is None:
            raise Failed(f"the sender ended with {status}: {text[-500:]}")
        return Sent(int(found[1]), int(found[2]), float(found[3]))

    def end(self) -> None:
        """Ends it early."""
        self._process.kill()
        self._process.wait()
        self._said.close()


class Wire:
    """The two namespaces and what lies between them; a context manager. `pairs`: how many pairs of interfaces."""

    def __init__(self, pairs: int = 1) -> None:
        self._near, self._far = _Namespace(), _Namespace()
        self._sendings: list[Sending] = []
        try:
            for number in range(pairs):
                self._join(number)
        except BaseException:
            self.close()
            raise

    def near(self, number: int = 0) -> str:
        """The interface that is sniffed."""
        return NEAR if not number else f"{NEAR}-{number}"

    def far(self, number: int = 0) -> str:
        """The interface that packets are sent on."""
        return FAR if not number else f"{FAR}-{number}"

    def sniffing(self, *command: str) -> list[str]:
        """A command as it runs at the receiving end; its process is the command's own."""
        return self._near.inside(*command)

    def counted(self, number: int = 0) -> Counted:
        """What came in at the receiving end, since there is a wire."""
        lines = self._near.read("net/dev").splitlines()
        found = next(line for line in lines if line.strip().startswith(f"{self.near(number)}:"))
        words = found.partition(":")[2].split()
        return Counted(int(words[1]), int(words[0]), int(words[3]))

    def sockets(self) -> int:
        """Packet sockets that are bound at the receiving end."""
        return max(len(self._near.read("net/packet").splitlines()) - 1, 0)

    def ready(self, sockets: int = 1, patience: float = PATIENCE) -> None:
        """Waits until somebody listens. Raises Failed."""
        end = time.monotonic() + patience
        while self.sockets() < sockets:
            if time.monotonic() > end:
                raise Failed(f"nobody listened within {patience:.0f} s")
            time.sleep(0.02)

    def send(
        self, capture: Path, rate: float, packets: int, number: int = 0, *, own: bool = False, head: int = 0
    ) -> Sending:
        """Begins to send so many packets of a capture, over and over; returns at once. own: our sender in any case.

        rate: packets a second; head: packets that are sent at once before, by our sender. Each time hosts have other
        addresses, or it would all be retransmissions. tcpreplay reads the capture into memory before it begins.
        """
        far = self.far(number)
        if own or head or shutil.which("tcpreplay") is None:
            command = [sys.executable, "-m", "benchmarks.sender", far, str(capture), str(rate), str(packets)]
            command += [str(head)]
        else:
            command = ["tcpreplay", "-q", "-K", "-T", "nano", "--no-flow-stats", "-i", far]
            command += ["-p", f"{rate:g}", "-l", "0", "--unique-ip", "-L", str(packets), str(capture)]
        self._sendings.append(Sending(self._far.inside(*command)))
        return self._sendings[-1]

    def set(self, state: str, number: int = 0) -> None:
        """Takes the receiving interface `down` or `up`."""
        _run(self._near.inside("ip", "link", "set", self.near(number), state))

    def remove(self, number: int = 0) -> None:
        """Takes the receiving interface away altogether."""
        _run(self._near.inside("ip", "link", "delete", self.near(number)))

    def close(self) -> None:
        """Ends all senders; the interfaces go with their namespaces."""
        for each in self._sendings:
            if each.running:
                each.end()
        self._near.close()
        self._far.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _join(self, number: int) -> None:
        near, far = self.near(number), self.far(number)
        peer = ["type", "veth", "peer", "name", far, "netns", str(self._far.pid)]
        _run(self._near.inside("ip", "link", "add", near, *peer))
        for side, name in ((self._near, near), (self._far, far)):
            if shutil.which("ethtool") is not None:
                switches = [word for offload in OFFLOADS for word in (offload, "off")]
                _run(side.inside("ethtool", "-K", name, *switches))
            _run(side.inside("ip", "link", "set", name, "arp", "off", "mtu", "65535", "up"))


class _Namespace:
    """A namespace without addresses, held by a process that ends with us."""

    def __init__(self) -> None:
        quiet = "cd /proc/sys/net/ipv6/conf && echo 1 >all/disable_ipv6 && echo 1 >default/disable_ipv6"
        script = f"({quiet}) 2>/dev/null; ip link set lo up && echo ready && exec cat >/dev/null"
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.pid = self._holder.pid
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"ready\n":
            self.close()
            raise Failed("no network namespace could be made")

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", *command]

    def read(self, name: str) -> str:
        return Path(f"/proc/{self.pid}/{name}").read_text()

    def close(self) -> None:
        for stream in (self._holder.stdin, self._holder.stdout):
            if stream is not None:
                stream.close()
        self._holder.wait()


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
