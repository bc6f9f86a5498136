"""The error of a capture that cannot be opened at all."""

from __future__ import annotations

from analyzer.errors import UserError


class CaptureError(UserError):
    """What is wrong with it, where, and what to do. A damaged capture is a Finding instead."""
