"""What a projection picks of ZooKeeper's messages, and what it leaves to values()."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.labels import load_numbers
from tests.dissectors.picking import picked_alike
from tests.dissectors.zookeeper.messages import get_data, reply

ZOOKEEPER = ZooKeeper()

CASES = [
    ("a path", get_data(1, "/a/b"), Role.REQUEST, "getData", "path", True),
    ("a path, and nothing behind it", get_data(1, "/a/b")[:-1], Role.REQUEST, "getData", "path", True),
    ("half a path", get_data(1, "/a/b")[:-2], Role.REQUEST, "getData", "path", False),
    ("a header", reply(1, b"\xff\xff\xff\xff" + bytes(68)), Role.RESPONSE, "getData", "zxid", True),
    ("an error", reply(1, err=-101), Role.RESPONSE, "getData", "zxid", False),
    ("what follows a header", reply(1, bytes(68)), Role.RESPONSE, "exists", "stat.czxid", True),
    ("no such field", get_data(1), Role.REQUEST, "getData", "stat", True),
    ("a multi", bytes(40), Role.REQUEST, "multi", "operations.path", False),
    ("an event", bytes(40), Role.PUSH, "notification", "path", False),
    ("bytes behind", get_data(1), Role.REQUEST, "getData", "_rest", False),
]


@pytest.mark.parametrize(
    ("data", "role", "operation", "path", "is_picked"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_picked(data: bytes, role: Role, operation: str, path: str, is_picked: bool) -> None:
    context = Context(role, load_numbers("operation")[operation])
    assert picked_alike(ZOOKEEPER, data, context, frozenset({tuple(path.split("."))})) is is_picked
