"""What is asked of a run besides its captures; it travels to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.render.jsonable import Limits


@dataclass(frozen=True, slots=True)
class Options:
    """`decode_as`: pairs of port and protocol. `limits`: of `fields`. `fields`: whether bodies become a column."""

    decode_as: tuple[tuple[int, str], ...] = ()
    limits: Limits = field(default_factory=Limits)
    fields: bool = True
