"""The one place where a dissector's own defect ends: it becomes a Finding of the row, and the other rows are not lost.

Hostile bytes never come here: a dissector turns them into Findings itself. What arrives is a bug, ours or a plug-
in's, and is called one. With WIREANALYZE_DEBUG set it is raised instead, for whoever looks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from analyzer.text import one_line
from dissectors.api import Body, Context, Dissector, Window
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity

if TYPE_CHECKING:
    from dissectors.lesson import Exchange, Standing
    from dissectors.payload import Carriers

_T = TypeVar("_T")

DEBUG = "WIREANALYZE_DEBUG"
UNREAD = FieldSpec("unread", "undecoded")
UNREAD_SECRET = FieldSpec("unread", "undecoded", secret=True)


def values(dissector: Dissector, message: bytes | Window, context: Context) -> Body:
    """Dissector.values, or an empty body that says what went wrong. Through a window it reads as little as it can."""
    try:
        if not isinstance(message, bytes):
            skimmed = dissector.skim(message, context)
            if skimmed is not None:
                return skimmed
        return dissector.values(whole(message), context)
    except Exception as error:  # a defect must cost its row, not the listing
        return Body({}, None, (defect(dissector, error),))


def whole(message: bytes | Window) -> bytes:
    """All bytes of a message, for those who cannot do with less."""
    return message if isinstance(message, bytes) else message.read(0, len(message))


def tree(dissector: Dissector, message: bytes, context: Context) -> Tree:
    """Dissector.tree, or one leaf with the finding."""
    try:
        return dissector.tree(message, context)
    except Exception as error:  # the same
        leaf = Field(UNREAD, message, 0, len(message))
        return Tree([leaf], [Source(0, "message", message)], [defect(dissector, error)])


def info(dissector: Dissector, body: Body, context: Context) -> str:
    """Dissector.info as one line, or the defect's sentence."""
    try:
        return one_line(dissector.info(body, context))
    except Exception as error:  # the same
        return defect(dissector, error).text


def told(ask: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
    """What a dissector says beside decoding; nothing where it fails: what it would have named stays an id."""
    try:
        return tuple(ask())
    except Exception:  # the same
        if os.environ.get(DEBUG):
            raise
        return ()


def findings(dissector: Dissector, ask: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a dissector finds beside decoding, or the defect."""
    try:
        return list(ask())
    except Exception as error:  # the same
        return [defect(dissector, error)]


def standing(dissector: Dissector, context: Context, exchanges: Iterable[Exchange]) -> Standing | None:
    """Dissector.standing; None where it fails."""
    try:
        return dissector.standing(context, exchanges)
    except Exception:  # the same
        if os.environ.get(DEBUG):
            raise
        return None


def carriers(dissector: Dissector) -> Carriers | None:
    """Dissector.carriers; None, so that every message is asked, where it fails."""
    try:
        return dissector.carriers()
    except Exception:  # the same
        if os.environ.get(DEBUG):
            raise
        return None


class Label(NamedTuple):
    """What people read beside a value; `failed`: the sentence of a defect stands in its place."""

    text: str | None
    failed: bool = False


def label(node: Field) -> Label:
    """Field.text, or the defect's sentence."""
    try:
        return Label(node.text)
    except Exception as error:  # the same
        if os.environ.get(DEBUG):
            raise
        return Label(f"bug: its label failed with {type(error).__name__}", failed=True)


def defect(dissector: Dissector, error: Exception) -> Finding:
    """The finding for a defect; raises it again where somebody looks for it."""
    if os.environ.get(DEBUG):
        raise error
    import traceback  # as late as the defect
    from pathlib import Path

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    # Not what the exception says: that may quote a value, and a value may be a password.
    text = f"the dissector {dissector.name} failed at {place} with {type(error).__name__}; please report it"
    return Finding(Severity.ERROR, "bug", text)
