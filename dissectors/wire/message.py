"""A whole message, to a tree or to values: a length prefix, the protocol's content, and leftovers.

Theory. There are two ways to read a message. The annotated way reads node by node, stops where the bytes break and
reports the reason; `framed` does the part that all protocols share. Values can always be folded from such a tree
(`folded`), which is fast enough for many protocols. For layouts that are schemas, a plan's emitted decoder is ten times
faster (`values_by`). It gives up on anything unusual, and the message is then read again the annotated way. So there is
one source for the values of damaged messages and for the description of the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeAlias

from dissectors.api import Body, Context
from dissectors.errors import TruncatedField
from dissectors.field import Field, Tree
from dissectors.finding import Finding
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder
from dissectors.wire.emit import FAILURES, Decode
from dissectors.wire.expert_info import ExpertInfoTable
from dissectors.wire.first_error import First
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.reader import Read, Reader, trailing
from dissectors.wire.specs import REST, Wrapping, members

ErrorName: TypeAlias = Callable[[int], str | None]
"""The label function of a protocol's error codes; a field whose spec has it is one that reports an error."""


def read_framed(
    message: bytes, length: FixedWidth, read: Read, findings: Iterable[Finding] = (), budget: Budget | None = None
) -> Tree:
    """The tree of a message: its length prefix, what `read` reads behind it, and a node for the bytes that are left.

    `findings` are what is known before. Where the bytes break, the tree goes as far as they could be read. `budget` is
    given by who will add to the tree.
    """
    reader, whole = _read_message(message, partial(_read_behind_length, length=length, read=read), findings, budget)
    if whole:
        declared, there = reader.tree.fields[0].value, len(message) - length.size
        if declared > there and not any(finding.code == TruncatedField.code for finding in reader.tree.findings):
            reader.find(TruncatedField("message", length.size, declared, there))
    return reader.tree


def read_unframed(message: bytes, read: Read, findings: Iterable[Finding] = ()) -> Tree:
    """Makes the tree of a message without a length prefix."""
    return _read_message(message, read, findings)[0].tree


def _read_message(
    message: bytes, read: Read, findings: Iterable[Finding], budget: Budget | None = None
) -> tuple[Reader, bool]:
    reader, end = Reader.start(message, budget or Budget()), len(message)
    reader.tree.findings.extend(findings)
    whole = reader.guard(read, end)
    if whole:
        reader.rest("behind the body")
    return reader, whole


def _read_behind_length(reader: Reader, length: FixedWidth, read: Read) -> None:
    reader.take(_prefix(length.type), length)
    read(reader)


@lru_cache(maxsize=64)
def _prefix(kind: str) -> Wrapping:
    return Wrapping("length", kind)


def fold_tree(tree: Tree, error_name: ErrorName | None = None) -> Body:
    """Returns the Body of a tree: its values, the first error among them, and its findings."""
    code = next(_errors(tree.fields, error_name), 0) if error_name is not None else 0
    return Body(members(tree.fields), error_of(code, error_name), tuple(tree.findings))


def _errors(nodes: Iterable[Field], error_name: ErrorName) -> Iterator[int]:
    """What the message itself reports: not what a structure within its bytes does."""
    for node in nodes:
        if isinstance(node.spec, Wrapping):
            continue
        if node.spec.label == error_name and node.value:
            yield node.value
        if not isinstance(node.spec, Holder):
            yield from _errors(node.children, error_name)


def error_of(code: int, error_name: ErrorName | None) -> tuple[int, str] | None:
    """Returns an error code with its name; None for code 0."""
    if not code or error_name is None:
        return None
    return code, error_name(code) or f"UNKNOWN_{code}"


@make_slotted
class Recipe:
    """All that the fast way needs for messages of one kind, made once.

    length: of the prefix; None where there is none in front. start: where the body begins; may raise one of FAILURES.
    read: the plan's emitted decoder.
    first_error: the first error code in values, or 0, and error_name its name. tree: the annotated way. expert info:
    what values say of themselves beside; the tree finds the same.
    """

    length: FixedWidth | None
    start: Callable[[bytes], int]
    read: Decode
    first_error: First
    error_name: ErrorName
    tree: Callable[[bytes, Context], Tree]
    expert_info: ExpertInfoTable | None = None


def fits(recipe: Recipe, message: bytes) -> bool:
    """Returns whether a plan takes all bytes of a message; what it does not take whole has a finding by values_by."""
    return _read_by(recipe, message)[1] == len(message)


def _read_by(recipe: Recipe, message: bytes) -> tuple[dict[str, Any], int]:
    """Reads values, and the offset behind them; 0 where the bytes do not fit."""
    size = None if recipe.length is None else recipe.length.layout
    try:
        if size is not None and size.unpack_from(message)[0] + size.size != len(message):
            return {}, 0
        values, stop = recipe.read(message, recipe.start(message), Budget())
    except FAILURES:
        return {}, 0
    return values, stop if stop <= len(message) else 0


def values_by(recipe: Recipe, message: bytes, context: Context, findings: tuple[Finding, ...] = ()) -> Body:
    """Returns the values of a message by a plan, or by its tree where the bytes do not fit.

    `findings` are what is known before; the tree finds them by itself.
    """
    end = len(message)
    values, stop = _read_by(recipe, message)
    if not stop:  # not in the handler: an exception keeps what was decompressed when it was raised
        return fold_tree(recipe.tree(message, context), recipe.error_name)
    if stop < end:
        values[REST.name] = message[stop:]
        findings += (trailing(end - stop, "behind the body", 0, stop),)
    if recipe.expert_info is not None:
        findings += recipe.expert_info(values)
    code = recipe.first_error(values)
    return Body(values, error_of(code, recipe.error_name) if code else None, findings)
