"""What a user can mend: told in one sentence, never with a traceback."""

from __future__ import annotations


class UserError(Exception):
    """What is wrong, where, and what to do, in one sentence without a full stop."""

    exit_code = 2


class CaptureError(UserError):
    """A capture cannot be opened; the text says what is wrong, where, and what to do. Damage inside it is a Finding."""
