"""Sets of columns by name, for `--columns`: one for each protocol, and some for frequent questions.

The set of a protocol consists of its dissector's columns (Dissector.columns), between the columns for the endpoints and
those for error and info. A key is anything that `-e` accepts. The configuration file may add sets, and may replace one
by another of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissectors import registry

TABLE_KEYS: Sequence[str] = (
    *("number", "time", "stream", "source", "destination", "protocol", "role", "operation", "version", "length"),
    *("latency_ns", "state", "error", "info", "findings"),
)
"""The columns in the table of `list`; state, error, info and findings share its last column."""

_WHO = ("number", "time", "stream", "source", "destination")

_GENERAL: Mapping[str, Sequence[str]] = {
    "default": TABLE_KEYS,
    "wide": (
        *(*_WHO, "protocol", "role", "operation", "code", "version", "correlation", "client", "length"),
        *("first_packet", "last_packet", "partner", "latency", "state", "findings", "error", "info"),
    ),
    "latency": ("number", "time", "latency", "stream", "client", "operation", "version", "length", "error", "info"),
}
"""The keys of each set, in the order of the columns."""


@registry.cache_by_plugins
def load_presets() -> Mapping[str, Sequence[str]]:
    """Returns the keys of each set of columns that is built in or comes with a protocol."""
    own = {each.name: (*_WHO, *each.columns, "error", "info") for each in registry.dissectors() if each.columns}
    return {**_GENERAL, **own}
