"""The kinds of nodes, of watches and of their listeners in the words of people."""

from __future__ import annotations

from typing import Any

from dissectors.zookeeper.phrases import ALONE, NOTHING, named

MODE = named(
    "createMode",
    "mode",
    {
        "PERSISTENT": "",
        "EPHEMERAL": "ephemeral",
        "PERSISTENT_SEQUENTIAL": "seq",
        "EPHEMERAL_SEQUENTIAL": "ephemeral seq",
        "CONTAINER": "container",
        "PERSISTENT_WITH_TTL": "",
        "PERSISTENT_SEQUENTIAL_WITH_TTL": "seq",
    },
)
WATCHERS = named(
    "watcherType",
    "watches of type",
    {
        "Children": "child watches",
        "Data": "data watches",
        "Any": "all watches",
        "Persistent": "persistent watches",
        "PersistentRecursive": "recursive watches",
    },
)
WATCH = named("addWatchMode", "mode", {"PERSISTENT": "persistent", "PERSISTENT_RECURSIVE": "recursive"})


def mode(flags: Any) -> str:
    """How a node is created, in few words; empty for a plain one."""
    return next(iter(MODE(flags, NOTHING, ALONE)), "")
