"""A value taken apart: parts with places, each of which is a secret or not.

Theory. Some fields hold a text or bytes with a form of their own: a SASL token, a line of configuration. What reads one
gives parts that tile it; a tree shows them as nodes (part_nodes.py), values as what these fold to.
"""

from __future__ import annotations

from dissectors.field import FieldSpec, Label
from dissectors.slotted import slotted
from dissectors.wire.secret import Secret
from dissectors.wire.specs import Layout, Parted


@slotted
class Part:
    """`stop - start` bytes of a value from `start` on, the first `head` of them before the value.

    inside: parts that tile it; the head is then theirs. decoded: what its text decodes to, a source of its own.
    """

    spec: FieldSpec
    value: object
    start: int
    stop: int
    head: int = 0
    inside: tuple[Part, ...] = ()
    decoded: Decoded | None = None


@slotted
class Decoded:
    """Bytes made out of a part, and the parts that tile them."""

    name: str
    data: bytes
    parts: tuple[Part, ...]


def text_of(data: bytes) -> str | bytes:
    """Text where it is UTF-8, else the bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def shown(name: str, value: object, start: int, stop: int, head: int = 0, kind: str = "text") -> Part:
    """A part that everybody may see."""
    return Part(FieldSpec(name, kind), value, start, stop, head)


def labelled(name: str, value: object, start: int, stop: int, kind: str, label: Label, head: int = 0) -> Part:
    """A part that everybody may see, with what people read beside it."""
    return Part(FieldSpec(name, kind, label), value, start, stop, head)


def hidden(name: str, data: bytes, start: int, stop: int, head: int = 0, kind: str = "text") -> Part:
    """A secret: `data` is the whole value."""
    value = data[start + head : stop]
    secret = Secret(value if kind == "bytes" else text_of(value))
    return Part(FieldSpec(name, kind, secret=True), secret, start, stop, head)


def sealed(name: str, data: bytes, inside: tuple[Part, ...], head: int = 0, kind: str = "text") -> Part:
    """A secret as a whole whose parts, which tile it, say for themselves whether they are one."""
    start, stop = inside[0].start, inside[-1].stop
    value = Secret(text_of(data[start + head : stop]))
    return Part(Parted(name, kind, secret=True), value, start, stop, inside=inside)


def struct(name: str, inside: tuple[Part, ...]) -> Part:
    """Parts that belong together."""
    return Part(FieldSpec(name, "struct"), None, inside[0].start, inside[-1].stop, inside=inside)


def mark(name: str, data: bytes, start: int, stop: int, kind: str = "text") -> Part:
    """Bytes that are there for the layout."""
    return Part(Layout(name, kind), text_of(data[start:stop]), start, stop)
