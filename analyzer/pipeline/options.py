"""What is asked of a run besides its captures; it travels to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.render.jsonable import Limits
from dissectors.wire.budget import allowed


@dataclass(frozen=True, slots=True)
class Options:
    """`decode_as`: pairs of port and protocol. `limits`: of `fields`. `fields`: whether bodies become a column.

    decompressed: bytes that a message may be decompressed to; by default what this process was told (wire.budget).
    """

    decode_as: tuple[tuple[int, str], ...] = ()
    limits: Limits = field(default_factory=Limits)
    fields: bool = True
    decompressed: int = field(default_factory=allowed)
