"""Labels beside RocketMQ's values in a tree, and structures in its texts and bytes.

Theory. Header classes type numbers, and bodies have layouts; but many values are a text with a format of its own
(properties, receipt handles, ids) or self-describing bytes (JSON, traces). So a finished tree is walked once, and nodes
get texts (identifiers.py) and children. Values do not change, so a tree folds to the same as before. Parts that lie in
the bytes of a node tile it; the decoded content of a text is a source of its own. A node costs a hundred times its
text, so the number of nodes of one message is bounded. The other modules read handles and properties from texts alone.

Facts. A timer's checkpoint (TimerCheckpoint.encode) is seven int64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dissectors.errors import DecodeError
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.rocketmq.body import CHECKPOINT
from dissectors.rocketmq.nested.handles import (
    LISTS,
    SpelledText,
    read_handle,
    read_offsets,
    read_recall,
    spell_json,
    spell_utf8,
)
from dissectors.rocketmq.nested.identifiers import decode_recall_handle, format_text
from dissectors.rocketmq.nested.properties import KIND, format_property, is_trace, read_properties, read_trace
from dissectors.slotted import replace
from dissectors.wire.budget import Budget
from dissectors.wire.fields import read_leaves
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_json
from dissectors.wire.parts import ValuePart, add_parts
from dissectors.wire.plan import Leaf
from dissectors.wire.primitive import INT64
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, PartedSpec
from dissectors.wire.texts import with_text
from dissectors.wire.times import timestamp

_BODIES = ("body", "bodyUncompressed")


def open_tree(tree: Tree, kind: str | None = None) -> Tree:
    """Adds texts and contents to a tree, and returns it. kind: of its body, as in body.py."""
    _open_nodes(tree.fields, (), (), NestedContents(tree), kind)
    return tree


def _open_nodes(
    nodes: list[Field], above: tuple[Field, ...], path: tuple[int, ...], contents: NestedContents, kind: str | None
) -> None:
    for index, node in enumerate(nodes):
        if node.spec.secret:
            continue
        own = (*path, index)
        if node.children:
            _open_nodes(node.children, (*above, node), own, contents, kind)
        if isinstance(node.value, str) and node.bits is None:
            contents.open_text(node, _name_by_class(node), own)
        elif isinstance(node.value, bytes) and node.spec.name in _BODIES:
            _open_body(node, above, own, contents, kind)
        if node.spec.label is None:
            _add_text(node, nodes)


def _add_text(node: Field, nodes: list[Field]) -> None:
    """A text for a node among `nodes`; that of a property waits until somebody reads it, for there are many of them."""
    if node.spec.type == KIND:
        node.spec = replace(node.spec, label=partial(format_property, node.spec.name))
    elif (text := format_text(node, nodes)) is not None:
        node.spec = with_text(node.spec, text)


def _name_by_class(node: Field) -> str:
    """What a field's class calls it."""
    return next((part.spec.name for part in node.children if part.bits is not None), node.spec.name)


def _open_body(
    node: Field, above: tuple[Field, ...], path: tuple[int, ...], contents: NestedContents, kind: str | None
) -> None:
    if kind == CHECKPOINT:
        contents.open_checkpoint(node, above)
    elif not node.children:
        contents.open_body(node, above, path)


MOST = 256 * 1024
"""Bytes of one message that are taken apart."""

_JSON = "json_string"
_CHECKPOINT = tuple(
    Leaf(FieldSpec(name, INT64.type, timestamp if name in ("lastReadTimeMs", "timestamp") else None), INT64)
    for name in (
        *("lastReadTimeMs", "lastTimerLogFlushPos", "lastTimerQueueOffset", "masterTimerQueueOffset"),
        *("stateVersion", "timestamp", "counter"),
    )
)

PartReader = Callable[[SpelledText], "tuple[ValuePart, ...]"]

_TEXTS: Mapping[str, PartReader] = {
    "properties": read_properties,
    "extraInfo": read_handle,
    **{name: partial(read_offsets, name=name) for name in LISTS},
}
"""By the name that the header's class has for the field."""


class NestedContents:
    """Decodes the nested contents of one tree."""

    __slots__ = ("left", "tree")

    def __init__(self, tree: Tree) -> None:
        self.tree, self.left = tree, MOST

    def open_text(self, node: Field, name: str, path: tuple[int, ...]) -> None:
        """Gives the leaf of a text its parts; `name` is what its class calls it."""
        if name == "recallHandle":
            self._open_recall(node, path)
        elif name in _TEXTS and self._takes(node):
            spelling = self._spelling(node)
            parts = () if spelling is None else _TEXTS[name](spelling)
            if parts:
                self._take_apart(node, parts, path)

    def open_body(self, node: Field, above: tuple[Field, ...], path: tuple[int, ...]) -> None:
        """Gives the leaf of a body nodes for what is in it, if its bytes say what that is."""
        data = node.value
        if data.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
            if self._takes(node) and is_json(data):
                self._open_json(node, above)
            return
        if b"\x01" not in data[:16] or not self._takes(node):
            return
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        if is_trace(text) and (parts := read_trace(spell_utf8(text))):
            self._take_apart(node, parts, path)

    def open_checkpoint(self, node: Field, above: tuple[Field, ...]) -> None:
        """Adds the fields of a timer's checkpoint below its body."""
        if len(node.value) == len(_CHECKPOINT) * INT64.size:
            reader = self._read_content(node, above)
            self._cover_head(node)
            read_leaves(reader, _CHECKPOINT)

    def _takes(self, node: Field) -> bool:
        """Whether there is room for the parts of a leaf; whoever asks uses it."""
        if node.length > self.left or any(child.bits is None for child in node.children):
            return False
        self.left -= node.length
        return True

    def _spelling(self, node: Field) -> SpelledText | None:
        if node.spec.type != _JSON:
            return spell_utf8(node.value)
        data = self.tree.sources[node.source].data
        return spell_json(data[node.offset + node.head : node.offset + node.length], node.value)

    def _take_apart(self, node: Field, parts: tuple[ValuePart, ...], path: tuple[int, ...]) -> None:
        """What is before the value becomes a leaf, too; what a header class calls the text has the parts below it."""
        content, end = node.offset + node.head, node.offset + node.length
        typed = node.children.pop() if node.children else None
        self._cover_head(node)
        if typed is not None:
            spec = typed.spec
            inner = PartedSpec(spec.name, spec.type, spec.label, spec.secret)
            path = (*path, len(node.children))
            node.children.append(Field(inner, typed.value, content, end - content, node.source))
            node = node.children[-1]
        add_parts(self.tree, node, path, parts, node.source, content)

    def _cover_head(self, node: Field) -> None:
        spec = node.spec
        node.spec = PartedSpec(spec.name, spec.type, spec.label, spec.secret)
        if node.head:
            head = LayoutSpec("length", "int32") if isinstance(node.value, bytes) else LayoutSpec("name", spec.type)
            value = len(node.value) if isinstance(node.value, bytes) else spec.name
            node.children.append(Field(head, value, node.offset, node.head, node.source))
            node.head = 0

    def _read_content(self, node: Field, above: tuple[Field, ...]) -> Reader:
        """A reader of a leaf's content, into its children."""
        reader = Reader(self.tree, self.tree.sources[node.source], node.children, (*above, node), Budget())
        reader.at, reader.end = node.offset + node.head, node.offset + node.length
        return reader

    def _open_json(self, node: Field, above: tuple[Field, ...]) -> None:
        before, spec, head = list(node.children), node.spec, node.head
        reader = self._read_content(node, above)
        self._cover_head(node)
        try:
            read_json(reader, "json")
        except DecodeError:
            node.children[:], node.spec, node.head = before, spec, head

    def _open_recall(self, node: Field, path: tuple[int, ...]) -> None:
        words = decode_recall_handle(node.value) if self._takes(node) else None
        parts = read_recall(spell_utf8(words)) if words is not None else ()
        if words is None or not parts:
            return
        source = Source(len(self.tree.sources), f"{node.spec.name}, base64", words.encode(), path)
        self.tree.sources.append(source)
        spec = node.spec
        node.spec = PartedSpec(spec.name, spec.type, spec.label, spec.secret)
        add_parts(self.tree, node, path, parts, source.id, 0)
