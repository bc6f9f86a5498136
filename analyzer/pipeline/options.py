"""What is asked of a run besides its captures; it travels to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.decode_as import Told
from analyzer.render.jsonable import Limits
from dissectors.wire.budget import allowed


@dataclass(frozen=True, slots=True)
class Options:
    """`decode_as`: who speaks which protocol; single connections by their id alone, for a partition has no numbers.

    `limits`: of `fields`. `fields`: whether bodies become a column.
    decompressed: bytes that a message may be decompressed to; by default what this process was told (wire.budget).
    """

    decode_as: Told = ()
    limits: Limits = field(default_factory=Limits)
    fields: bool = True
    decompressed: int = field(default_factory=allowed)
