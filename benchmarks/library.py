"""The captures that are measured: made once, in a folder outside the repository, under names that tell their content.

A name ends in a digest of the modules that make captures and of the recordings, so captures of another generator are
never taken for those of this one.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path

from benchmarks import kafka, protocols, quorum
from benchmarks.captures import fill, write
from benchmarks.recorded import GOLDEN
from benchmarks.ring import Ring
from benchmarks.snapshots import one_snapshot

KINDS = {**kafka.KINDS, **protocols.KINDS}
GROWING = "small"
"""The kind whose sizes grow: small messages are the dearest by the byte."""

_MAKERS = (
    *("captures", "packets", "recorded", "batches", "kafka", "kafka_log", "protocols", "pulsar", "pulsar_payload"),
    *("quorum", "snapshots", "traffic"),
)
_RECORDINGS = {
    "kafka": (*kafka.SMALL, *kafka.TODAY),
    "zookeeper": (*protocols.ZOOKEEPER, *quorum.RECORDED),
    "pulsar": protocols.PULSAR,
    "rocketmq": protocols.ROCKETMQ,
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

    def of_one_snapshot(self, mebibytes: int, segment: int) -> Path:
        """A capture of one snapshot of ZooKeeper of so many MiB, in segments of so many bytes."""
        path = self._path(f"snapshot-{mebibytes}M-{segment}")
        if not path.exists():
            write(path, one_snapshot(mebibytes << 20, segment))
        return path

    def of_one_connection(self, mebibytes: int, messages: str) -> Path:
        """A capture of one connection with so many MiB; messages: a key of kafka.ONE_CONNECTION."""
        path = self._path(f"one-{messages}-{mebibytes}M")
        if not path.exists():
            write(path, kafka.ONE_CONNECTION[messages], size=mebibytes << 20)
        return path

    def ring(self, kilobytes: int, each: int, kind: str = GROWING) -> Path:
        """A folder of files of `each` kB that are one capture of so many kB, as a ring of files has it."""
        folder = self._folder / f"{kind}-{kilobytes}k-by-{each}k-{digest()}"
        if not folder.exists():
            draft = folder.with_suffix(".part")
            shutil.rmtree(draft, ignore_errors=True)
            with Ring(draft, each * 1000) as ring:
                fill(ring, KINDS[kind], size=kilobytes * 1000)
            draft.rename(folder)
        return folder

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
