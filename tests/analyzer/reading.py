"""What is read of a row in many tests."""

from __future__ import annotations

import numpy as np

from analyzer.decode.rows import RowReader
from analyzer.session import Analysis


def info_of(session: Analysis, row: int) -> str:
    """The line about it."""
    (found,) = RowReader(session).read_columns(["info"], np.array([row]))
    return str(found[0])
