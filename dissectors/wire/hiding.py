"""Hides the bytes of a message that may hold a secret and cannot be read to its end.

Theory. In a message that fits its layout, each secret is known by its field. In damaged bytes a secret may be anywhere:
in the unread part, or in other fields, because a wrong length shifts everything behind it. So if a sensitive message is
damaged or has leftover bytes, its whole body is one secret. A message that was only cut short is correct up to the cut,
so only the unread part is hidden.
"""

from __future__ import annotations

from dissectors.field import Field, FieldSpec, Tree
from dissectors.wire.secret import Secret
from dissectors.wire.specs import REST, UNDECODED, LayoutSpec

HIDDEN = FieldSpec("payload", "undecoded", secret=True)
"""All of a body, or of a frame, that may hold a secret."""

_UNREAD = LayoutSpec(UNDECODED.name, UNDECODED.type, secret=True)
_REST = FieldSpec(REST.name, REST.type, secret=True)


def hide_node(node: Field, data: bytes) -> None:
    """Makes a leaf a secret; `data` is its source."""
    spec = node.spec
    node.spec = FieldSpec(spec.name, spec.type, None, True)
    node.value = Secret(data[node.offset + node.head : node.offset + node.length])


def hide_broken(tree: Tree, body: Field | None, message: bytes, *, newer: bool = False) -> None:
    """Hides what may be a secret in the tree of a delicate message, behind four bytes of length, not read to its end.

    newer: it was read by an older version, to which a later one may have added something behind.
    """
    whole = int.from_bytes(message[:4]) + 4 <= len(message)
    if whole and body is not None and any(_is_broken(node, newer) for node in tree.fields):
        hide_body(tree, body, message)
        return
    hide_unread(tree.fields)
    hide_rest(tree.fields)
    if not whole and tree.fields and not tree.fields[-1].spec.secret:
        # What was captured behind a gap is not ours to read, but the last leaf says whether it is to be shown.
        tree.fields.append(Field(_UNREAD, None, len(message), 0))


def hide_body(tree: Tree, body: Field, message: bytes) -> None:
    """Makes all of a message from its body on a secret."""
    at = next(index for index, node in enumerate(tree.fields) if node is body)
    tree.fields[at:] = [Field(HIDDEN, Secret(message[body.offset :]), body.offset, len(message) - body.offset)]
    del tree.sources[1:]


def _is_broken(node: Field, newer: bool) -> bool:
    """Whether a node says that its message is not what its layout says. Zeros behind a body are a client's habit."""
    return node.spec is UNDECODED or (node.spec is REST and not newer and any(node.value))


def hide_unread(nodes: list[Field]) -> None:
    """Hides what could not be read, here and below."""
    for node in nodes:
        if node.spec is UNDECODED:
            node.spec = _UNREAD
        elif node.spec.type == "partial":
            node.spec = FieldSpec(node.spec.name, node.spec.type, None, True)
        hide_unread(node.children)


def hide_rest(nodes: list[Field]) -> None:
    """Hides the bytes that these nodes end with, behind what their layout describes."""
    for node in nodes:
        if node.spec is REST:
            node.spec, node.value = _REST, Secret(node.value)
