"""What holds of all trees: they tile, they fold into the values, and broken bytes cost no more than what they break."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Role
from dissectors.field import Tree
from dissectors.wire.message import fold_tree
from tests.dissectors.damage import damage
from tests.dissectors.trees import assert_tiles
from tests.dissectors.zookeeper.messages import Message, golden, kinds
from tests.effort import within

pytestmark = pytest.mark.xdist_group("captured")

EVERY_BYTE = 400
"""Messages up to here are cut everywhere, longer ones at so many places."""


def checked(each: Message, data: bytes) -> Tree:
    tree, values = each.dissector.tree(data, each.context), each.dissector.values(data, each.context)
    assert_tiles(tree)
    assert fold_tree(tree, each.error_name) == values
    assert "Secret" not in each.dissector.info(values, each.context)
    for from_client in (True, False):
        each.dissector.header(data[:512], from_client)
        assert 0 <= each.dissector.probe(data[:512], from_client) <= 100
        each.dissector.plausible(data[:512], from_client)
    return tree


def test_every_message_of_the_golden_captures() -> None:
    assert len(golden()) > 1000
    assert {each.dissector.name for each in golden()} == {"zookeeper", "zookeeper-quorum", "zookeeper-election"}
    found = Counter(finding.code for each in golden() for finding in checked(each, each.data).findings)
    assert found == {"malformed-body": 3, "unknown-operation": 3, "session-expired": 6, "guessed-layout": 2}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(16))
def test_a_cut_is_one_finding(part: int) -> None:
    for each in kinds()[part::16]:
        assert_cuts_are_one_finding(each)


def assert_cuts_are_one_finding(each: Message) -> None:
    step = max(len(each.data) // EVERY_BYTE, 1)
    is_text = each.dissector.name == "zookeeper" and each.context.code is None and each.context.role is Role.RESPONSE
    for end in range(0, len(each.data), step):
        codes = [finding.code for finding in checked(each, each.data[:end]).findings]
        codes = [code for code in codes if code != "unknown-operation"]
        assert codes == ["malformed-body"] or (codes == [] and is_text), (each.name, end)


@given(st.deferred(lambda: st.sampled_from(kinds(3))), st.data())
def test_a_mutation_never_raises_and_is_read_alike_both_ways(each: Message, data: st.DataObject) -> None:
    with within(10):  # far more than it takes: no loop without end
        checked(each, damage(each.data, data))
