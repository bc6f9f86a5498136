"""What holds of the parts of every value that was taken apart."""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.wire.parts import ValuePart, add_parts, part_values
from dissectors.wire.specs import members


def assert_parts_tile(parts: tuple[ValuePart, ...], start: int, stop: int) -> None:
    """Parts cover their bytes without gap or overlap, on every level, and fold to the same as their nodes."""
    _tile(parts, start, stop)
    tree = Tree([], [Source(0, "value", b"")], [])
    root = Field(FieldSpec("root", "struct"), None, 0, stop - start)
    add_parts(tree, root, (0,), parts, 0, 0)
    assert members(root.children) == part_values(parts)


def _tile(parts: tuple[ValuePart, ...], start: int, stop: int) -> None:
    at = start
    for part in parts:
        assert part.start == at
        assert part.start + part.head <= part.stop
        if part.inside:
            assert part.head == 0
            _tile(part.inside, part.start, part.stop)
        if part.decoded is not None:
            _tile(part.decoded.parts, 0, len(part.decoded.data))
        at = part.stop
    assert at == stop


def every_part(parts: tuple[ValuePart, ...]) -> Iterator[ValuePart]:
    """All parts, outer ones first."""
    for part in parts:
        yield part
        yield from every_part(part.inside)
