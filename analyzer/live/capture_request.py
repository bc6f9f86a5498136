"""The request for a live capture. The capturing process gets it as JSON, in its only argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

SSH = "ssh://"
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class CaptureBounds:
    """Holds upper bounds; 0 means no bound.

    size: bytes of capture file. files: number of files; for a ring, the number that it keeps.
    """

    packets: int = 0
    seconds: float = 0.0
    size: int = 0
    files: int = 0

    def __bool__(self) -> bool:
        return any((self.packets, self.seconds, self.size, self.files))


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Describes what to capture, and how.

    interfaces: names, or ssh://HOST/NAME; none means the first one that is up. filter: a BPF expression, or `auto`:
    those of the TCP `ports` that a process listens on. netns, containers: capture there, not here; see namespaces.py.
    snaplen: 0 keeps whole packets. until: when to stop. ring: when to begin another file, and how many to keep; no
    bounds: one file. buffer: bytes that the kernel may hold for each interface. user: the user that the capturing
    process becomes once interfaces are open; empty: the user who started it (behind sudo, the caller of sudo).
    """

    interfaces: tuple[str, ...] = ()
    filter: str = ""
    snaplen: int = 0
    until: CaptureBounds = field(default_factory=CaptureBounds)
    ring: CaptureBounds = field(default_factory=CaptureBounds)
    promiscuous: bool = True
    buffer: int = 128 << 20
    user: str = ""
    netns: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()

    @property
    def remote(self) -> tuple[str, ...]:
        """The interfaces of other machines."""
        return tuple(name for name in self.interfaces if name.startswith(SSH))

    @property
    def local(self) -> tuple[str, ...]:
        """The named interfaces of this machine."""
        return tuple(name for name in self.interfaces if not name.startswith(SSH))

    @property
    def is_remote(self) -> bool:
        """Whether the request names only interfaces of other machines."""
        return bool(self.remote) and not (self.local or self.netns or self.containers)

    def to_json(self) -> str:
        """Returns the request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what to_json() wrote. Raises ValueError, KeyError or TypeError for anything else."""
        found: dict[str, Any] = json.loads(text)
        bounds = {name: CaptureBounds(**found.pop(name)) for name in ("until", "ring")}
        lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        return cls(**{**found, **bounds, **lists})
