"""Decoded values as JSON, at orjson's speed.

Theory. orjson writes what it knows and asks a hook for the rest, so bytes and secrets cost one call each and all else
nothing. It refuses integers beyond 64 bits and lone surrogates; decoders mark floats that are no numbers (NonFinite), so
that it asks for them too. And it knows no limit for lists. So its output is looked at: a refusal, or enough bytes to hold
a list that is too long, send the value the careful way. Few values go it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import orjson

from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret

# A Secret is a dataclass, and orjson would write it by itself.
_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS
_BYTES_OF_A_LIST_ITEM = 2  # the least: a digit and a comma


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of long things is shown (None: all), and whether secrets are."""

    bytes_limit: int | None = 64
    max_items: int | None = 10_000
    show_secrets: bool = False


class JsonWriter:
    """Writes values as JSON: bytes as `{"hex", "length"}`, secrets masked, a long list cut by an item that says so."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        most = self.limits.max_items
        self._suspicious = math.inf if most is None else most * _BYTES_OF_A_LIST_ITEM

    def dumps(self, value: Any) -> bytes:
        """One value, without a line break."""
        return self.line(value)[:-1]

    def line(self, value: Any) -> bytes:
        """One value and a line break."""
        try:
            out = orjson.dumps(value, self._plain, _LINE)
        except TypeError:
            return self._slow_line(value)
        if len(out) <= self._suspicious or not self._has_long_list(value):
            return out
        return self._line_of_copy(value, self._copy(value))

    def _line_of_copy(self, value: Any, copy: Any) -> bytes:
        try:
            return orjson.dumps(copy, self._plain, _LINE)
        except TypeError:
            return self._slow_line(value)

    def _slow_line(self, value: Any) -> bytes:
        """Huge integers and lone surrogates; the latter stay the escapes that JSON has for them."""
        text = json.dumps(self._copy(value), ensure_ascii=False, separators=(",", ":"), default=self._plain)
        return text.encode("utf-8", "backslashreplace") + b"\n"

    def _plain(self, value: Any) -> Any:
        if isinstance(value, bytes | bytearray | memoryview):
            return {"hex": value[: self.limits.bytes_limit].hex(), "length": len(value)}
        if isinstance(value, Secret):
            return value.reveal() if self.limits.show_secrets else {"redacted": True, "length": len(value)}
        if isinstance(value, NonFinite):
            return str(value)
        raise TypeError(f"{type(value).__name__} has no JSON form")

    def _copy(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._copy(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            most = self.limits.max_items
            if most is None or len(value) <= most:
                return [self._copy(item) for item in value]
            return [*(self._copy(item) for item in value[:most]), {"truncated": True, "length": len(value)}]
        return str(value) if isinstance(value, NonFinite) else value

    def _has_long_list(self, value: Any) -> bool:
        most = self.limits.max_items or 0
        seen = [value]
        for item in seen:  # grows while it is walked: no recursion, no call for each value
            if type(item) is dict:
                seen.extend(item.values())
            elif type(item) is list:
                if len(item) > most:
                    return True
                seen.extend(item)
        return False

