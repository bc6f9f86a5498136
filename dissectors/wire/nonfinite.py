"""NaN and the infinities, which JSON has no number for.

Theory. JSON writers silently turn these floats into null. A subclass of float makes them call a hook, at no cost for
other floats. So decoders return floats that are not finite as NonFinite.
"""

from __future__ import annotations

import math


class NonFinite(float):
    """A float that is no number; equal to itself only where a float would be."""

    __slots__ = ()

    def __str__(self) -> str:
        """As JavaScript and Java write it."""
        return "NaN" if math.isnan(self) else "Infinity" if self > 0 else "-Infinity"


def float_value(value: float) -> float:
    """Returns the value, marked when it is not finite."""
    return value if math.isfinite(value) else NonFinite(value)
