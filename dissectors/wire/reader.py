"""The cursor of the field decoder: it makes nodes as it goes and knows where it is.

Theory. A node is added to the tree before its content is read, so after damage everything that was read is in its
place. A DecodeError passes up to the nearest guard(), which closes the open nodes, adds the unread bytes as one
`undecoded` leaf, and adds the Finding. Nothing else catches it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dissectors.errors import DecodeError, MalformedField, TooLarge, TruncatedField
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.budget import Budget
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.wire.specs import REST, UNDECODED, LayoutSpec, Many

Read: TypeAlias = Callable[["Reader"], None]


def trailing(size: int, behind: str, source: int, at: int) -> Finding:
    """Makes the finding for bytes that no part of a layout takes."""
    return Finding(Severity.NOTE, "trailing-bytes", f"{size} bytes {behind}", source, at, size)


class Reader:
    """A place in one source of a tree. `at` is the next byte, `end` the first that may not be read."""

    __slots__ = ("above", "at", "budget", "data", "end", "into", "open", "source", "tree")

    def __init__(self, tree: Tree, source: Source, into: list[Field], above: tuple[Field, ...], budget: Budget) -> None:
        """Reads `source` into the list `into`, below the nodes `above` (those of other sources that hold it)."""
        self.tree = tree
        self.source = source.id
        self.data = source.data
        self.at = 0
        self.end = len(source.data)
        self.into = into
        self.open: list[Field] = []
        self.above = above
        self.budget = budget

    @classmethod
    def start(cls, data: bytes, budget: Budget) -> Reader:
        """Makes the reader of a message, with a new tree."""
        source = Source(0, "message", data)
        tree = Tree([], [source], [])
        return cls(tree, source, tree.fields, (), budget)

    def read_decoded(self, node: Field, name: str, data: bytes) -> Reader:
        """Adds `node` and returns a reader of bytes decoded from it, which are a source of their own."""
        path: list[int] = []
        siblings = self.tree.fields
        above = (*self.above, *self.open, node)
        for parent in above:
            path.append(next(at for at in range(len(siblings) - 1, -1, -1) if siblings[at] is parent))
            siblings = parent.children
        source = Source(len(self.tree.sources), name, data, tuple(path))
        self.tree.sources.append(source)
        return Reader(self.tree, source, node.children, above, self.budget)

    def read_inside(self, node: Field) -> Reader:
        """Adds a leaf and returns a reader of its bytes: what it reads becomes parts of the leaf."""
        above = (*self.above, *self.open, node)
        inner = Reader(self.tree, self.tree.sources[self.source], node.children, above, self.budget)
        inner.at, inner.end = node.offset, node.offset + node.length
        return inner

    def path(self, name: str = "") -> str:
        """Returns the current place for people, such as `topics[2].name`."""
        names = [node.spec.name for node in (*self.above, *self.open) if not isinstance(node.spec, LayoutSpec)]
        return ".".join([*names, name] if name else names).replace(".[", "[")

    def need(self, size: int, at: int, name: str) -> None:
        """Raises Truncated unless there are `size` bytes from `at` on."""
        if size > self.end - at:
            raise TruncatedField(self.path(name), at, size, max(self.end - at, 0))

    def require_nodes(self, count: int, name: str) -> None:
        """Raises TooLarge unless the tree may have `count` nodes more; to be asked before a run of leaves."""
        if count > self.budget.nodes:
            raise TooLarge(self.path(name), self.at, "and what follows would be more nodes than a tree may have")

    def leaf(self, spec: FieldSpec, value: Any, stop: int, head: int = 0) -> Field:
        """Adds a leaf from the cursor to `stop`, and goes there."""
        node = Field(spec, value, self.at, stop - self.at, self.source, head)
        self.into.append(node)
        self.at = stop
        self.budget.nodes -= 1
        return node

    def take(self, spec: FieldSpec, primitive: FixedWidth) -> Any:
        """Reads a value of fixed width; adds its leaf and returns it."""
        stop = self.at + primitive.layout.size
        if stop > self.end:
            self.need(primitive.layout.size, self.at, spec.name)
        value = primitive.layout.unpack_from(self.data, self.at)[0]
        if primitive.convert is not None:
            value = primitive.convert(value)
        self.leaf(spec, value, stop)
        return value

    def node(self, name: str) -> Field:
        """Returns the node of a member of the open container, which was read before."""
        return next(node for node in self.into if node.spec.name == name)

    def bits(self, spec: FieldSpec, value: object, mask: int) -> None:
        """Adds what some bits of the leaf added last mean."""
        node = self.into[-1]
        node.children.append(Field(spec, value, node.offset, node.length, node.source, bits=mask))

    def content(self, spec: FieldSpec, length: Length) -> bytes | None:
        """Reads a length and that many bytes as one leaf, and returns them; None for length -1."""
        size, at = self.number(length, self.at, spec.name)
        if size < 0:
            self.leaf(spec, None, at, at - self.at)
            return None
        self.need(size, at, spec.name)
        value = self.data[at : at + size]
        self.leaf(spec, value, at + size, at - self.at)
        return value

    def enter(self, spec: FieldSpec) -> None:
        """Opens a container at the cursor. Raises TooLarge when the tree has grown too large for more of them."""
        self.require_nodes(1, spec.name)
        self.budget.nodes -= 1
        node = Field(spec, None, self.at, 0, self.source)
        self.into.append(node)
        self.open.append(node)
        self.into = node.children

    def leave(self) -> None:
        """Closes the container opened last. One without children is a leaf with an empty value."""
        node = self.open.pop()
        node.length = self.at - node.offset
        if not node.children:
            node.value = [] if isinstance(node.spec, Many) else {}
        above = self.open or self.above
        self.into = above[-1].children if above else self.tree.fields

    def guard(self, read: Read, stop: int) -> bool:
        """Reads as far as `stop`; what cannot be read becomes an `undecoded` leaf and a Finding. True if all could."""
        depth = len(self.open)
        before, self.end = self.end, stop
        try:
            read(self)
        except DecodeError as error:
            while len(self.open) > depth:
                self.leave()
            self.find(error)
            if self.at < stop:
                self.leaf(UNDECODED, None, stop)
            return False
        finally:
            self.end = before
        return True

    def find(self, error: DecodeError) -> None:
        """Makes an error a Finding at its place."""
        severity = Severity.WARNING if isinstance(error, TooLarge) else Severity.ERROR
        self.tree.findings.append(Finding(severity, error.code, error.text, self.source, error.offset))

    def warn(self, code: str, text: str, at: int, stop: int) -> None:
        """Adds a Finding of what the bytes from `at` to `stop` say."""
        self.tree.findings.append(Finding(Severity.WARNING, code, text, self.source, at, stop - at))

    def rest(self, behind: str) -> None:
        """Adds a leaf and a Finding for the bytes up to the end, if any are left; `behind` says behind what."""
        size = self.end - self.at
        if size > 0:
            self.tree.findings.append(trailing(size, behind, self.source, self.at))
            self.leaf(REST, self.data[self.at : self.end], self.end)

    def number(self, length: Length, at: int, name: str) -> tuple[int, int]:
        """Reads a length, count or presence mark at an offset; returns it and the offset after it."""
        if length.code is None:
            value, stop = self.uvarint(at, name)
        else:
            stop = at + length.layout.size
            if stop > self.end:
                self.need(stop - at, at, name)
            value = length.layout.unpack_from(self.data, at)[0]
        number = value - length.bias
        if number < -1:
            raise MalformedField(self.path(name), at, f"has length {number}")
        return number, stop

    def uvarint(self, at: int, name: str) -> tuple[int, int]:
        """Reads an unsigned varint of 32 bits at an offset; returns it and the offset after it."""
        value, stop = self._varint(at, name, 5)
        return value & 0xFFFF_FFFF, stop

    def uvarlong(self, at: int, name: str) -> tuple[int, int]:
        """Reads an unsigned varint of 64 bits at an offset; returns it and the offset after it."""
        value, stop = self._varint(at, name, 10)
        return value & 0xFFFF_FFFF_FFFF_FFFF, stop

    def _varint(self, at: int, name: str, most: int) -> tuple[int, int]:
        value = 0
        for size in range(most):
            self.need(size + 1, at, name)
            byte = self.data[at + size]
            value |= (byte & 0x7F) << (7 * size)
            if byte < 0x80:
                return value, at + size + 1
        raise MalformedField(self.path(name), at, f"is a varint of more than {most} bytes")
