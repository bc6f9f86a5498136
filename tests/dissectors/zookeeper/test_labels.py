"""What people read beside numbers."""

from __future__ import annotations

import pytest

from dissectors.zookeeper.labels import labels

CONTAINER, TTL = -1 << 63, -1 << 56
CASES = [
    ("perms", 31, "cdrwa"),
    ("perms", 1, "r"),
    ("perms", 6, "cw"),
    ("perms", 0, "none"),
    ("perms", 33, "r and 0x20"),
    ("perms", -32, "0xffffffe0"),
    ("zxid", 0x1_0000_0005, "0x100000005: epoch 1, counter 5"),
    ("zxid", 5, None),
    ("zxid", -1, None),
    ("owner", 0, None),
    ("owner", 0x1000_0000_0000_0000, "session 0x1000000000000000"),
    ("owner", CONTAINER, "container"),
    ("owner", TTL + 600, "time to live 600 ms"),
    ("owner", TTL + (1 << 40) - 1, "time to live 1099511627775 ms"),
    ("owner", CONTAINER + 600, "time to live 600 ms"),
    ("owner", CONTAINER + (1 << 40), "session 0x8000010000000000"),
    ("owner", TTL + (1 << 40), "session 0xff00010000000000"),
    ("createMode", 3, "EPHEMERAL_SEQUENTIAL"),
    ("createMode", 99, None),
    ("addWatchMode", 1, "PERSISTENT_RECURSIVE"),
    ("watcherType", 5, "PersistentRecursive"),
    ("error", -77, "UNKNOWN_-77"),
]


@pytest.mark.parametrize(("enum", "value", "text"), CASES)
def test_a_label(enum: str, value: int, text: str | None) -> None:
    label = labels(enum)
    assert label is not None
    assert label(value) == text
