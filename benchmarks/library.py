"""The captures that are measured: made once, in a folder outside the repository, under names that tell their content.

A name ends in a digest of the modules that make captures and of the recordings, so captures of another generator are
never taken for those of this one.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from benchmarks import kafka, protocols
from benchmarks.captures import write
from benchmarks.recorded import GOLDEN

KINDS = {**kafka.KINDS, **protocols.KINDS}
GROWING = "small"
"""The kind whose sizes grow: small messages are the dearest by the byte."""

_MAKERS = ("captures", "packets", "recorded", "batches", "kafka", "kafka_log", "protocols", "pulsar")
_RECORDINGS = {"kafka": kafka.SMALL, "zookeeper": protocols.ZOOKEEPER, "pulsar": protocols.PULSAR} | {
    "rocketmq": protocols.ROCKETMQ
}


class Library:
    """Captures in one folder; each is made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def of_packets(self, kind: str, packets: int) -> Path:
        """A capture of this kind with so many packets and a few more."""
        path = self._path(f"{kind}-{packets}")
        if not path.exists():
            write(path, KINDS[kind], packets=packets)
        return path

    def of_size(self, mebibytes: int, kind: str = GROWING) -> Path:
        """A capture of this kind with so many MiB."""
        path = self._path(f"{kind}-{mebibytes}M")
        if not path.exists():
            write(path, KINDS[kind], size=mebibytes << 20)
        return path

    def of_one_fetch(self, mebibytes: int) -> Path:
        """A capture of one fetch with so many MiB of records."""
        path = self._path(f"fetch-{mebibytes}M")
        if not path.exists():
            write(path, kafka.one_fetch(mebibytes << 20))
        return path

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}-{digest()}.pcap"


@cache
def digest() -> str:
    """Eight digits of what the captures are made by and of."""
    found = hashlib.sha256()
    for name in _MAKERS:
        found.update((Path(__file__).parent / f"{name}.py").read_bytes())
    for protocol, names in _RECORDINGS.items():
        for name in names:
            found.update((GOLDEN / protocol / f"{name}.pcap.zst").read_bytes())
    return found.hexdigest()[:8]
