"""Configurations as servers and clients write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.wire.parts import part_values
from dissectors.zookeeper.nested.configuration import LARGEST, configuration_parts
from tests.dissectors.parting import assert_parts_tile


def server(sid: int, *addresses: str, **more: str) -> dict[str, Any]:
    return {"sid": sid, "addresses": list(addresses), **more}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "a static one": ("server.1=a:2888:3888", {"servers": [server(1, "a:2888:3888")]}),
    "between servers": (
        "server.1=10.0.0.1:2888:3888:participant\nserver.2=b:2888:3888:observer;0.0.0.0:2181\nversion=100000003",
        {"servers": [server(1, "10.0.0.1:2888:3888", role="participant"),
                     server(2, "b:2888:3888", role="observer", client="0.0.0.0:2181")], "version": 0x1_0000_0003},
    ),
    "joining": ("server.4=d:1:2;2181,server.5=e:1:2:observer;[::1]:2181",
                {"servers": [server(4, "d:1:2", client="2181"),
                             server(5, "e:1:2", role="observer", client="[::1]:2181")]}),
    "several addresses": ("server.1=a:1:2|[fe80::1]:3:4:participant;c:5\r\nversion=0\n",
                          {"servers": [server(1, "a:1:2", "[fe80::1]:3:4", role="participant", client="c:5")],
                           "version": 0}),
    "weights and groups": ("server.1=a:1:2\ngroup.1=1:2:3\nweight.1=0\nserver.2=b:1:2\nversion=ffffffffffffffff",
                           {"servers": [server(1, "a:1:2"), server(2, "b:1:2")], "group.1": "1:2:3", "weight.1": "0",
                            "version": -1}),
    "a line that is none": ("?\nserver.1=a:1:2\nserver.x=y\n",
                            {"servers": [server(1, "a:1:2")], "server.x": "y"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "values"), CASES.values(), ids=CASES)
def test_a_configuration(text: str, values: dict[str, Any]) -> None:
    data = text.encode()
    parts = configuration_parts(data)
    assert parts is not None
    assert part_values(parts) == values
    assert_parts_tile(parts, 0, len(data))


@pytest.mark.parametrize("text", ["", "\n", "version=1", "hello", "server.1=a:2888", "server.=a:1:2", "1,2,3"])
def test_what_has_no_server(text: str) -> None:
    assert configuration_parts(text.encode()) is None


def test_what_is_too_long() -> None:
    assert configuration_parts(b"server.1=a:1:2\n" * (LARGEST // 15 + 1)) is None


@pytest.mark.parametrize(("text", "values"), CASES.values(), ids=CASES)
def test_every_cut(text: str, values: dict[str, Any]) -> None:
    data = text.encode()
    for size in range(len(data)):
        parts = configuration_parts(data[:size])
        if parts is not None:
            assert_parts_tile(parts, 0, size)


@given(st.lists(st.sampled_from([b"server.1=a:1:2", b"\n", b",", b"=", b":", b"|", b";", b"version=", b"f", b"\xff"])))
def test_any_bytes(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    parts = configuration_parts(data)
    if parts is not None:
        assert_parts_tile(parts, 0, len(data))
