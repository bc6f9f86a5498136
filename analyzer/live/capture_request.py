"""What a live capture is asked for. It travels to the capturing process as JSON, in its one argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CaptureBounds:
    """How much at most; 0 is no bound. size: bytes of capture file. files: how many of them, of a ring: that stay."""

    packets: int = 0
    seconds: float = 0.0
    size: int = 0
    files: int = 0

    def __bool__(self) -> bool:
        return any((self.packets, self.seconds, self.size, self.files))


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """interfaces: none is the first that is up. filter: a BPF expression. snaplen: 0 is all of a packet.

    until: when to stop. ring: when to begin another file, and how many of them stay; nothing: one file. buffer: bytes
    that the kernel may hold for us, for each interface. user: who the capturing process is to be once interfaces are
    open; empty: who started it (behind sudo, who called sudo).
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
        """For another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The other way round. Raises ValueError, KeyError or TypeError for what to_json did not write."""
        found: dict[str, Any] = json.loads(text)
        bounds = {name: CaptureBounds(**found.pop(name)) for name in ("until", "ring")}
        return cls(**{**found, **bounds, "interfaces": tuple(found["interfaces"])})
