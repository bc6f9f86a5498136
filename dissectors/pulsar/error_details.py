"""Authentication that a broker refused: the method that the client used, and what the broker says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.values import text


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Returns how a client tried to prove who it is, and what the broker says; None for other errors."""
    if error != "AuthenticationError":
        return None
    method = text(request, "auth_method_name")
    how = "The client gave no credentials" if method in (None, "none") else f"The client used the method {method}"
    reason = text(answer, "message")
    return f"{how}; the broker says: {reason[:200]}." if reason else f"{how}."
