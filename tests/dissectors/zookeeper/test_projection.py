"""A pick reads what values() reads, of whole messages, cut ones, and broken ones; or it says that it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.message import Path
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.labels import load_numbers
from tests.dissectors.picking import paths_in, picked_alike
from tests.dissectors.zookeeper.messages import Message, get_data, kinds, reply

ZOOKEEPER = ZooKeeper()
MESSAGES = [each for each in kinds(3) if each.dissector.name == "zookeeper"]


def asked(each: Message, data: st.DataObject) -> frozenset[Path]:
    known = [*dict.fromkeys(paths_in(ZOOKEEPER.values(each.data, each.context).values)), ("nothing",), ("_rest",)]
    return frozenset(data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3)))


@settings(max_examples=settings.default.max_examples // 4)
@given(st.sampled_from(MESSAGES), st.data())
def test_any_paths_of_any_cut(each: Message, data: st.DataObject) -> None:
    stop = data.draw(st.integers(0, len(each.data)) | st.just(len(each.data)))
    picked_alike(ZOOKEEPER, each.data[:stop], each.context, asked(each, data))


@settings(max_examples=settings.default.max_examples // 4)
@given(st.sampled_from(MESSAGES), st.data())
def test_any_damage(each: Message, data: st.DataObject) -> None:
    content = bytearray(each.data)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    picked_alike(ZOOKEEPER, bytes(content), each.context, asked(each, data))


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
