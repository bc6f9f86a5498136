"""The formats for the time of a row, by name; analyzer.render.clock writes them.

They have a module of their own, because a configuration is also checked when nothing is printed.
"""

from __future__ import annotations

from typing import Literal

TimeFormat = Literal["iso", "relative", "delta", "epoch"]

TIME_FORMATS: tuple[TimeFormat, ...] = ("iso", "relative", "delta", "epoch")
"""iso: UTC; relative: since the first packet of the input; delta: since the previous printed row; epoch: since 1970."""
