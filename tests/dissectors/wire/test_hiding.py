"""What is hidden of messages that break, whoever wrote them."""

from __future__ import annotations

import pytest

from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.wire.hiding import HIDDEN, hide_broken
from dissectors.wire.secret import Secret
from dissectors.wire.specs import REST, UNDECODED
from tests.dissectors.trees import assert_tiles

LENGTH, BODY, NAME = FieldSpec("length", "int"), FieldSpec("body", "struct"), FieldSpec("name", "string")


def tree_of(message: bytes, *ends: Field) -> Tree:
    """A length, a body of one byte, and what follows it."""
    body = Field(BODY, None, 4, 1, children=[Field(NAME, "n", 4, 1)])
    return Tree([Field(LENGTH, int.from_bytes(message[:4]), 0, 4), body, *ends], [Source(0, "message", message)], [])


@pytest.mark.parametrize("end", [Field(UNDECODED, None, 5, 6), Field(REST, b"secret", 5, 6)])
def test_a_whole_message_that_breaks_is_one_secret(end: Field) -> None:
    message = b"\0\0\0\7nsecret"
    tree = tree_of(message, end)
    hide_broken(tree, tree.fields[1], message)
    assert_tiles(tree)
    assert [(node.spec, node.value) for node in tree.fields[1:]] == [(HIDDEN, Secret(b"nsecret"))]


def test_of_one_that_is_cut_only_the_rest_is() -> None:
    message = b"\0\0\0\x20nsecret"
    tree = tree_of(message, Field(UNDECODED, None, 5, 6))
    hide_broken(tree, tree.fields[1], message)
    assert_tiles(tree)
    assert [node.spec.name for node in tree.fields] == ["length", "body", "undecoded"]
    assert [node.spec.secret for node in tree.fields] == [False, False, True]


def test_what_is_lost_behind_the_last_byte_is_hidden_too() -> None:
    message = b"\0\0\0\x20n"
    tree = tree_of(message)
    hide_broken(tree, tree.fields[1], message)
    assert tree.fields[-1].spec.secret
    assert tree.fields[-1].length == 0
