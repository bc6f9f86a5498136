"""Details of refused requests: what the broker says, and the method of a login that it refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.values import shorten, text

_TELLING = frozenset({"MetadataError", "NotAllowedError", "UnknownError", "InvalidTopicName", "TransactionConflict"})
"""Errors of which the message in the answer tells more than their names do."""

_REPHRASED = "Encryption is required", "Exceed maximum message size"
"""Beginnings of messages that a finding tells in other words."""


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Returns what the broker says, and of a login how the client tried to prove who it is; None for other errors."""
    reason = text(answer, "message") or ""
    statement = f"the broker says: {shorten(reason)}" if reason else ""
    if error == "AuthenticationError":
        method = text(request, "auth_method_name")
        how = "The client gave no credentials" if method in (None, "none") else f"The client used the method {method}"
        return f"{how}; {statement}" if statement else how
    return statement if reason and error in _TELLING and not reason.startswith(_REPHRASED) else None
