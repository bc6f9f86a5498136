"""Reads fields of similar messages as columns, by walking their layout (analyzer.query.projection).

Theory. Numbers and texts are in a message as they are. Other values (records, structures in bytes, secrets) need
decoding. So a field is read this way only if its path leads to one primitive value in the plan. A message with anything
unusual on the way is left to the decoder; tests/analyzer/query/fields compares both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.query.fields.gathered import FieldValues, join_values, pick_values
from analyzer.query.projection import GatherSource, decode_number, is_integer, is_plain, walk_layout
from dissectors.api import Context, Dissector
from dissectors.message import Path
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.fast_path import HeaderLayout, load_fast_path
from dissectors.wire.plan import Leaf, follow_path
from dissectors.wire.primitive import FixedWidth


class Walkable(NamedTuple):
    """Holds a layout, and the leaves for the paths of each wanted field; none if the version lacks the field."""

    layout: HeaderLayout
    leaves: Sequence[Sequence[Leaf]]


def find_layout(dissector: Dissector, context: Context) -> HeaderLayout | None:
    """Returns the layout of messages of a context; None if it cannot be walked."""
    fast_path = load_fast_path(dissector)
    return None if fast_path is None else fast_path.layout(context)


def plan_walk(layout: HeaderLayout, paths: Sequence[Sequence[Path]]) -> Walkable | None:
    """Plans the walk for each field and its paths; None if it cannot read one of them."""
    found: list[list[Leaf]] = []
    for mine in paths:
        leaves: list[Leaf] = []
        for path in mine:
            for step, rest in follow_path(layout.steps, path):
                is_bits = step.spec.name != path[-1]
                if rest or is_bits or not isinstance(step, Leaf) or not is_plain(step):
                    return None
                leaves.append(step)
        found.append(leaves)
    return Walkable(layout, found)


def walk_fields(wanted: Walkable, source: Any, at: Ints, length: Ints) -> tuple[Bools, list[FieldValues]]:
    """Returns which of n messages fit the layout, and the values of each field in these."""
    notes = _Notes({id(leaf) for mine in wanted.leaves for leaf in mine})
    good = walk_layout(wanted.layout, source, at, length, notes)
    texts = {id(leaf): None for mine in wanted.leaves for leaf in mine if isinstance(leaf.primitive, SizedBytes)}
    read = {key: _read_texts(source, *notes.read_notes(key), good) for key in texts}
    found = [
        [read.get(id(leaf)) or _read_numbers(source, leaf, *notes.read_notes(id(leaf))) for leaf in mine]
        for mine in wanted.leaves
    ]
    # The values of several leaves are ordered by message and, within a message, by leaf.
    return good, [join_values([_keep_values(each, good) for each in mine]) for mine in found]


class _Notes:
    """Collects the positions of fields."""

    def __init__(self, wanted: set[int]) -> None:
        self._noted: dict[int, list[tuple[Ints, Ints, Ints | None]]] = {key: [] for key in wanted}

    def is_wanted(self, leaf: Leaf) -> bool:
        """Returns whether the positions of a field are needed."""
        return id(leaf) in self._noted

    def visit_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> None:
        """Adds the positions of a field in messages."""
        self._noted[id(leaf)].append((rows, at, size))

    def read_notes(self, key: int) -> tuple[Ints, Ints, Ints]:
        """Returns messages (ascending), positions in them, and sizes (0 if fixed) of a field, without nulls."""
        noted = self._noted[key]
        none = np.zeros(0, np.int64)
        rows = np.concatenate([none, *(rows for rows, _, _ in noted)])
        at = np.concatenate([none, *(at for _, at, _ in noted)])
        size = np.concatenate(
            [none, *(np.zeros(len(rows), np.int64) if size is None else size for rows, _, size in noted)]
        )
        if len(noted) > 1:
            order = np.argsort(rows, kind="stable")
            rows, at, size = rows[order], at[order], size[order]
        there = size >= 0
        return (rows, at, size) if there.all() else (rows[there], at[there], size[there])


def _read_texts(source: Any, rows: Ints, at: Ints, size: Ints, good: Bools) -> FieldValues:
    """Returns the texts of messages that are good. If a text is not UTF-8, its message is no longer good."""
    mine = good[rows]
    rows, at, size = rows[mine], at[mine], size[mine]
    known = _DecodedFields()
    texts = list(map(known.__getitem__, source.read_many(at, size)))
    if None not in known.values():
        return FieldValues(rows, texts)
    good[rows[[text is None for text in texts]]] = False
    still = good[rows]
    return FieldValues(rows[still], [text for text, is_good in zip(texts, still.tolist(), strict=True) if is_good])


class _DecodedFields(dict[bytes, Any]):
    """Holds texts by their bytes, None for bytes that are not UTF-8; decodes each once."""

    def __missing__(self, data: bytes) -> str | None:
        found: str | None
        try:
            found = data.decode()
        except UnicodeDecodeError:
            found = None
        self[data] = found
        return found


def _read_numbers(source: GatherSource, leaf: Leaf, rows: Ints, at: Ints, _: Ints) -> FieldValues:
    primitive = leaf.primitive
    assert isinstance(primitive, FixedWidth)
    there = source.gather(at, primitive.size)
    if is_integer(leaf):
        return FieldValues(rows, decode_number(there, primitive.code))
    return FieldValues(rows, [_unpack(primitive, row.tobytes()) for row in there])


@lru_cache(maxsize=8192)
def _unpack(primitive: FixedWidth, data: bytes) -> Any:
    (value,) = primitive.layout.unpack(data)
    return value if primitive.convert is None else primitive.convert(value)


def _keep_values(found: FieldValues, good: Bools) -> FieldValues:
    mine = good[found.rows]
    return found if mine.all() else pick_values(found, np.flatnonzero(mine))
