"""The one place where a dissector's own defect ends: it becomes a Finding of the row, and the other rows are not lost.

Hostile bytes never come here: a dissector turns them into Findings itself. What arrives is a bug, ours or a plug-
in's, and is called one. With WIREANALYZE_DEBUG set it is raised instead, for whoever looks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from analyzer.columns.text import one_line
from dissectors.api import Body, Context, Dissector, Window
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity

if TYPE_CHECKING:
    from dissectors.api import Path, Pick, Values
    from dissectors.lesson import Exchange, Lesson, Reference, Standing, Taught, Teacher
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.portion import Other
    from dissectors.session_state import SessionKind

_T = TypeVar("_T")
_U = TypeVar("_U")

DEBUG = "WIREANALYZE_DEBUG"
UNREAD = FieldSpec("unread", "undecoded")
UNREAD_SECRET = FieldSpec("unread", "undecoded", secret=True)


def values(dissector: Dissector, message: bytes | Window, context: Context) -> Body:
    """Dissector.values, or an empty body that says what went wrong. Through a window it reads as little as it can."""
    try:
        if not isinstance(message, bytes):
            streamed = None if dissector.streaming is None else dissector.streaming(message, context)
            if streamed is not None:
                return streamed
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


def joined(dissector: Dissector, message: bytes, context: Context, others: Sequence[Other]) -> Tree:
    """Fragments.tree; where it fails the message alone, and the finding."""
    try:
        fragments = dissector.fragments
        return dissector.tree(message, context) if fragments is None else fragments.tree(message, context, others)
    except Exception as error:  # the same
        alone = tree(dissector, message, context)
        alone.findings.append(defect(dissector, error))
        return alone


def info(dissector: Dissector, body: Body, context: Context) -> str:
    """Dissector.info as one line, or the defect's sentence."""
    try:
        return one_line(dissector.info(body, context))
    except Exception as error:  # the same
        return defect(dissector, error).text


def asked(ask: Callable[[], _T], otherwise: _U) -> _T | _U:
    """What a dissector answers beside decoding; `otherwise` where it fails."""
    try:
        return ask()
    except Exception:  # the same
        if os.environ.get(DEBUG):
            raise
        return otherwise


def told(ask: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
    """The same of several things; nothing where it fails: what it would have named stays an id."""
    return asked(lambda: tuple(ask()), ())


def picker(dissector: Dissector, context: Context, paths: frozenset[Path]) -> Pick | None:
    """Dissector.projection; None, so that all is decoded, where it fails."""
    return asked(lambda: dissector.projection(context, paths) if dissector.projection else None, None)


def picked(dissector: Dissector, pick: Pick | None, message: bytes | Window, context: Context) -> dict[str, Any]:
    """The values that a picker picks; where there is none, or it cannot tell or fails, all of the message's."""
    return picked_body(dissector, pick, message, context).values


def picked_body(dissector: Dissector, pick: Pick | None, message: bytes | Window, context: Context) -> Body:
    """The same as a body, of which a picker tells the values alone."""
    found = None
    if pick is not None:
        with suppress(Exception):  # a defect; what decodes all says so
            found = pick(whole(message))
    return values(dissector, message, context) if found is None else Body(found, None)


def findings(dissector: Dissector, ask: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a dissector finds beside decoding, or the defect."""
    try:
        return list(ask())
    except Exception as error:  # the same
        return [defect(dissector, error)]


def standing(dissector: Dissector, context: Context, exchanges: Iterable[Exchange]) -> Standing | None:
    """Sessions.standing; None where it fails."""
    return asked(lambda: dissector.sessions.standing(context, exchanges) if dissector.sessions else None, None)


def carriers(dissector: Dissector) -> Carriers | None:
    """Payloads.carriers; None, so that every message is asked, where it fails."""
    return asked(lambda: dissector.payloads.carriers() if dissector.payloads else frozenset(), None)


def payloads(dissector: Dissector, values: Values, request: Asked) -> tuple[Payload, ...]:
    """Payloads.extract; nothing where it fails."""
    return told(lambda: dissector.payloads.extract(values, request) if dissector.payloads else ())


def sessions(dissector: Dissector) -> tuple[SessionKind, ...]:
    """Sessions.kinds; none where it fails."""
    return told(lambda: dissector.sessions.kinds if dissector.sessions else ())


def references(dissector: Dissector, context: Context) -> tuple[Reference, ...]:
    """Names.references; nothing where it fails."""
    return told(lambda: dissector.names.references(context) if dissector.names else ())


def teachers(dissector: Dissector) -> tuple[Teacher, ...]:
    """Names.teachers; nothing where it fails."""
    return told(lambda: dissector.names.teachers() if dissector.names else ())


def lessons(dissector: Dissector, taught: Taught) -> tuple[Lesson, ...]:
    """Names.lessons; nothing where it fails."""
    return told(lambda: dissector.names.lessons(taught) if dissector.names else ())


def constants(dissector: Dissector) -> tuple[Lesson, ...]:
    """Names.constants; nothing where it fails."""
    return told(lambda: dissector.names.constants() if dissector.names else ())


def request_fields(dissector: Dissector, context: Context) -> frozenset[Path]:
    """Dissector.request_fields; none where it fails."""
    return frozenset(told(lambda: dissector.request_fields(context) if dissector.request_fields else ()))


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
