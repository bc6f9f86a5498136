"""The walk along a layout finds each value where the field decoder finds it: random layouts and messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.sources import gather_rows
from analyzer.columns.cells import Cells
from analyzer.query.projection import walk_layout
from dissectors.field import Field
from dissectors.wire import resolve
from dissectors.wire.budget import Budget
from dissectors.wire.fast_path import HeaderLayout
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Leaf, Plan
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec
from tests.dissectors.wire.oracle import encode, schemas, values

Place = tuple[str, int]
"""The name of a field, and where its content begins."""


class Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data + bytes(64)

    def gather(self, locations: Any, width: int) -> Cells:
        return gather_rows(self.data, np.minimum(locations, len(self.data) - width), width)


class Places:
    """An Eye for everything."""

    def __init__(self, count: int) -> None:
        self.found: list[set[Place]] = [set() for _ in range(count)]

    def is_wanted(self, leaf: Leaf) -> bool:
        return True

    def visit_leaf(self, leaf: Leaf, rows: Any, at: Any, size: Any) -> None:
        for row, place, length in zip(
            rows.tolist(), at.tolist(), [0] * len(rows) if size is None else size, strict=True
        ):
            if length >= 0:
                self.found[row].add((leaf.spec.name, place))


def places(nodes: list[Field], around: str = "") -> Iterator[Place]:
    """The values of a tree, without what is there for the layout alone; elements have the name of their array."""
    for node in nodes:
        name = around if node.spec.name.startswith("[") else node.spec.name
        if node.children and node.children[0].bits is None:
            yield from places(node.children, name)
        elif not isinstance(node.spec, LayoutSpec) and node.value not in (None, [], {}):
            yield name, node.offset + node.head


def tree_of(plan: Plan, data: bytes) -> list[Field]:
    reader = Reader.start(data, Budget())
    read_members(reader, plan.steps)
    return reader.tree.fields


@given(st.data())
def test_each_value_is_found_where_it_is(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    flexible = 0 in schema.flexible
    drawn = data.draw(st.lists(values(schema.fields, flexible), min_size=1, max_size=12))
    messages = [encode(schema.fields, each, flexible) for each in drawn]
    sizes = np.array([len(each) for each in messages], np.int64)
    begins, plan, eye = np.cumsum(sizes) - sizes, resolve(schema, 0), Places(len(messages))
    good = walk_layout(HeaderLayout(None, 0, (), plan.steps), Bytes(b"".join(messages)), begins, sizes, eye)
    for row, (begin, message) in enumerate(zip(begins.tolist(), messages, strict=True)):
        if good[row]:
            expected = {place for place in places(tree_of(plan, message)) if not place[0].startswith("_tag")}
            assert expected <= {(name, place - begin) for name, place in eye.found[row]}


@given(st.data())
def test_what_is_cut_is_left_to_the_decoder(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    flexible = 0 in schema.flexible
    message = encode(schema.fields, data.draw(values(schema.fields, flexible)), flexible)
    if message:
        end = data.draw(st.integers(0, len(message) - 1))
        at, size = np.zeros(1, np.int64), np.array([end], np.int64)
        assert not walk_layout(
            HeaderLayout(None, 0, (), resolve(schema, 0).steps), Bytes(message[:end]), at, size, Places(1)
        )[0]
