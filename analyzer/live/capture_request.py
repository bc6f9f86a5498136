"""The request for a live capture, which is passed to the capturing process as JSON, in its one argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CaptureBounds:
    """Holds upper bounds; 0 means no bound.

    size: bytes of capture file. files: number of files; in a ring, of those that stay.
    """

    packets: int = 0
    seconds: float = 0.0
    size: int = 0
    files: int = 0

    def __bool__(self) -> bool:
        return any((self.packets, self.seconds, self.size, self.files))


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Says what to capture, and how.

    interfaces: names; none means the first one that is up. filter: a BPF expression. snaplen: 0 keeps whole packets.
    until: when to stop. ring: when to begin another file, and how many stay; no bounds: one file. buffer: bytes that
    the kernel may hold for each interface. user: who the capturing process becomes once interfaces are open; empty: who
    started it (behind sudo, who called sudo).
    """

    interfaces: tuple[str, ...] = ()
    filter: str = ""
    snaplen: int = 0
    until: CaptureBounds = field(default_factory=CaptureBounds)
    ring: CaptureBounds = field(default_factory=CaptureBounds)
    promiscuous: bool = True
    buffer: int = 128 << 20
    user: str = ""

    def to_json(self) -> str:
        """Returns the request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what to_json() wrote. Raises ValueError, KeyError or TypeError for anything else."""
        found: dict[str, Any] = json.loads(text)
        bounds = {name: CaptureBounds(**found.pop(name)) for name in ("until", "ring")}
        return cls(**{**found, **bounds, "interfaces": tuple(found["interfaces"])})
