"""Latencies as integer log buckets: eight to each doubling, counted exactly and added in any order.

Theory. Percentiles of parts do not add up to those of the whole, and what engines estimate changes with how rows were
dealt out. Counts of buckets do add up. A number below 8 is its own bucket; of a larger one the highest bit that is set
says which eight buckets, and the three bits behind it say which of these. So a bucket is at most an eighth as wide as
its numbers are large, and all of it are shifts:

    bucket(ns) = ns                                 if ns < 8
                 8 * (e - 2) + (ns >> e - 3) - 8    else, where 2**e <= ns < 2**(e + 1)

    least(b)   = b                                  if b < 8
                 b % 8 + 8 << b // 8 - 1            else
    most(b)    = least(b + 1) - 1
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints

_BITS = 3
_EACH = 1 << _BITS


def bucket_of(latency: Ints) -> Ints:
    """The buckets of latencies in ns (n); those below zero are in bucket 0."""
    latency = np.maximum(latency, 0)
    exponent = np.frexp(latency.astype(np.float64))[1].astype(np.int64) - 1
    # A float rounds large numbers up, maybe to the next power of two.
    exponent = np.maximum(exponent - (latency >> np.maximum(exponent, 0) == 0), _BITS)
    far = _EACH * (exponent - _BITS + 1) + (latency >> exponent - _BITS) - _EACH
    return np.where(latency < _EACH, latency, far)
