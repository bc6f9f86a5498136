"""Votes, who connects, and what people read of it."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.zookeeper.election import ZooKeeperElection
from tests.dissectors.trees import assert_tiles, node
from tests.dissectors.zookeeper.messages import initial, notification, sasl

ELECTION, CONTEXT = ZooKeeperElection(), Context(Role.ONEWAY)
VOTE = {"state": 0, "leader": 3, "zxid": 7, "electionEpoch": 1}
CASES: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "3.3": (notification(28), VOTE, "LOOKING, votes for 3, zxid 0x7, round 1"),
    "3.4.5": (notification(36), VOTE | {"peerEpoch": 2}, "LOOKING, votes for 3, zxid 0x7, epoch 2, round 1"),
    "3.4.14": (notification(40, state=1), VOTE | {"state": 1, "peerEpoch": 2, "version": 2},
               "FOLLOWING, leader 3, zxid 0x7, epoch 2, round 1"),
    "3.5": (notification(config="server.1=a", state=9),
            VOTE | {"state": 9, "peerEpoch": 2, "version": 2, "config": "server.1=a"},
            "state 9, leader 3, zxid 0x7, epoch 2, round 1"),
    "who connects": (initial(2, "a:1|b:1", -65535), {"protocolVersion": -65535, "sid": 2, "addr": "a:1|b:1"},
                     "server 2 at a:1, b:1"),
    "who connected before 3.5": ((4).to_bytes(8), {"sid": 4}, "server 4"),
    "SASL": (sasl(b"abc", 1), {"magic": 6855662812065295820, "status": 1, "token": Secret(b"abc")},
             "SUCCESS, token, 3 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values_and_tree(case: str) -> None:
    data, values, info = CASES[case]
    body, tree = ELECTION.values(data, CONTEXT), ELECTION.tree(data, CONTEXT)
    assert_tiles(tree)
    assert (body.values, body.error, body.findings) == (values, None, ())
    assert fold_tree(tree) == body
    assert ELECTION.info(body, CONTEXT) == info


def test_a_config_that_does_not_fit() -> None:
    data = notification(config="server.1=a")[:-3]
    assert [finding.code for finding in ELECTION.values(data, CONTEXT).findings] == ["malformed-body"]


def test_a_later_release_may_say_more() -> None:
    data = notification(config="x") + b"more"
    data = (len(data) - 4).to_bytes(4) + data[4:]
    body = ELECTION.values(data, CONTEXT)
    assert (body.values["config"], body.values["_rest"]) == ("x", b"more")
    assert [finding.code for finding in body.findings] == ["trailing-bytes"]


def test_labels() -> None:
    assert node(ELECTION.tree(notification(state=2), CONTEXT), "state").text == "LEADING"
    assert node(ELECTION.tree(initial(), CONTEXT), "protocolVersion").text == "V1"
