"""The error of a capture that cannot be opened at all."""

from __future__ import annotations


class CaptureError(Exception):
    """One sentence for people: what is wrong, where, and what to do. A damaged capture is a Finding instead."""
