"""Sets of columns by name, for `--columns`: one for each protocol, and some for questions that people come with.

Those of a protocol are what its dissector says (Dissector.columns), between who speaks with whom and what was said.

A key is whatever `-e` takes. The configuration file may add some, and have its own of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissectors import registry

TABLE_KEYS: Sequence[str] = (
    *("number", "time", "stream", "source", "destination", "protocol", "role", "operation", "version", "length"),
    *("latency_ns", "state", "error", "info", "findings"),
)
"""What the table of `list` is made of; state, error, info and findings share its last column."""

_WHO = ("number", "time", "stream", "source", "destination")

_GENERAL: Mapping[str, Sequence[str]] = {
    "default": TABLE_KEYS,
    "wide": (
        *(*_WHO, "protocol", "role", "operation", "code", "version", "correlation", "client", "length"),
        *("first_packet", "last_packet", "partner", "latency", "state", "findings", "error", "info"),
    ),
    "latency": ("number", "time", "latency", "stream", "client", "operation", "version", "length", "error", "info"),
}
"""The keys of each, in the order of the columns."""


@registry.cache_by_plugins
def load_presets() -> Mapping[str, Sequence[str]]:
    """Returns the keys of each set of columns that is built in or comes with a protocol."""
    own = {each.name: (*_WHO, *each.columns, "error", "info") for each in registry.dissectors() if each.columns}
    return {**_GENERAL, **own}
