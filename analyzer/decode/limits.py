"""Limits for showing long values."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Holds how much of long values is shown (None: all), and whether secrets are shown."""

    bytes_limit: int | None = 64
    max_items: int | None = 10_000
    show_secrets: bool = False
