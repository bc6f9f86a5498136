"""Limits for showing long values."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """How much of long things is shown (None: all), and whether secrets are."""

    bytes_limit: int | None = 64
    max_items: int | None = 10_000
    show_secrets: bool = False
