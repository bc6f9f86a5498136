"""Errors that a user can correct. They are printed without a traceback."""

from __future__ import annotations


class UserError(Exception):
    """Says in one or two short sentences what happened, where, and what to do."""

    exit_code = 2


class CaptureError(UserError):
    """Raised if a capture cannot be opened, or if packets cannot be captured. Damage inside a capture is a Finding."""
