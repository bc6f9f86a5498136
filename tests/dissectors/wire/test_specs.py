"""What of a tree is among the values."""

from dissectors.field import Field, FieldSpec
from dissectors.wire.specs import LayoutSpec, Many, Wrapping, element, fold


def test_what_is_around_the_values_is_none_of_a_lists_elements() -> None:
    parts = [
        Field(LayoutSpec("count", "int32"), 1, 0, 4),
        Field(Wrapping("attributes", "map"), None, 4, 1, children=[Field(FieldSpec("a", "int8"), 1, 4, 1)]),
        Field(element(0, "int8"), 7, 5, 1),
    ]
    assert fold(Field(Many("list", "array"), None, 0, 6, children=parts)) == [7]
