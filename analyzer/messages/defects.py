"""Turns a defect of a dissector into a finding of its row, so that the other rows are not lost.

Hostile bytes never raise: a dissector turns them into findings itself. An exception here is a bug, in our code or in a
plug-in, and is reported as one. If WIREANALYZE_DEBUG is set, it is raised instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from analyzer.columns.text import escape_line_breaks
from dissectors.api import Body, Context, Dissector, Window
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity

if TYPE_CHECKING:
    from dissectors.api import Path, Pick, Values
    from dissectors.fragment import Other
    from dissectors.name_binding import BindingSource, BoundName, Exchange, NameBinding, Reference, SessionContents
    from dissectors.payload import Carriers, LoadRequest, Payload
    from dissectors.session_state import SessionKind

_T = TypeVar("_T")
_U = TypeVar("_U")

DEBUG = "WIREANALYZE_DEBUG"
UNREAD = FieldSpec("unread", "undecoded")
UNREAD_SECRET = FieldSpec("unread", "undecoded", secret=True)


def decode_values(dissector: Dissector, message: bytes | Window, context: Context) -> Body:
    """Returns Dissector.values, or an empty body with the defect.

    A paged message is streamed if the dissector supports it.
    """
    try:
        if not isinstance(message, bytes):
            streamed = None if dissector.streaming is None else dissector.streaming(message, context)
            if streamed is not None:
                return streamed
        return dissector.values(read_whole(message), context)
    except Exception as error:  # a defect must not end the listing
        return Body({}, None, (make_defect_finding(dissector, error),))


def read_whole(message: bytes | Window) -> bytes:
    """Returns all bytes of a message."""
    return message if isinstance(message, bytes) else message.read_bytes(0, len(message))


def decode_tree(dissector: Dissector, message: bytes, context: Context) -> Tree:
    """Returns Dissector.tree, or one leaf with the defect."""
    try:
        return dissector.tree(message, context)
    except Exception as error:  # a defect
        leaf = Field(UNREAD, message, 0, len(message))
        return Tree([leaf], [Source(0, "message", message)], [make_defect_finding(dissector, error)])


def decode_reassembled(dissector: Dissector, message: bytes, context: Context, others: Sequence[Other]) -> Tree:
    """Returns Fragments.tree; if it fails, the tree of this message alone and the defect."""
    try:
        fragments = dissector.fragments
        return dissector.tree(message, context) if fragments is None else fragments.tree(message, context, others)
    except Exception as error:  # a defect
        alone = decode_tree(dissector, message, context)
        alone.findings.append(make_defect_finding(dissector, error))
        return alone


def format_info(dissector: Dissector, body: Body, context: Context) -> str:
    """Returns Dissector.info as one line, or the sentence of the defect."""
    try:
        return escape_line_breaks(dissector.info(body, context))
    except Exception as error:  # a defect
        return make_defect_finding(dissector, error).text


def call_or_default(ask: Callable[[], _T], otherwise: _U) -> _T | _U:
    """Returns the result of a call into a dissector, or `otherwise` if it fails."""
    try:
        return ask()
    except Exception:  # a defect
        if os.environ.get(DEBUG):
            raise
        return otherwise


def collect_or_nothing(ask: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
    """Returns the results of a call into a dissector, or none if it fails."""
    return call_or_default(lambda: tuple(ask()), ())


def make_projection(dissector: Dissector, context: Context, paths: frozenset[Path]) -> Pick | None:
    """Returns Dissector.projection, or None if it fails; then everything is decoded."""
    return call_or_default(lambda: dissector.projection(context, paths) if dissector.projection else None, None)


def project_values(
    dissector: Dissector, pick: Pick | None, message: bytes | Window, context: Context
) -> dict[str, Any]:
    """Returns the projected values of a message.

    Returns all values if the projection is None, fails or returns None.
    """
    return project_body(dissector, pick, message, context).values


def project_body(dissector: Dissector, pick: Pick | None, message: bytes | Window, context: Context) -> Body:
    """Returns project_values() as a body."""
    try:
        found = None if pick is None else pick(read_whole(message))
    except Exception:  # a defect, which decode_values() reports
        found = None
    return decode_values(dissector, message, context) if found is None else Body(found, None)


def collect_findings(dissector: Dissector, ask: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Returns the findings of a call into a dissector, or the defect."""
    try:
        return list(ask())
    except Exception as error:  # a defect
        return [make_defect_finding(dissector, error)]


def find_session_state(dissector: Dissector, context: Context, exchanges: Iterable[Exchange]) -> SessionContents | None:
    """Returns the session state of an exchange, or None if the dissector fails."""
    return call_or_default(
        lambda: dissector.sessions.read_contents(context, exchanges) if dissector.sessions else None, None
    )


def find_carriers(dissector: Dissector) -> Carriers | None:
    """Returns Payloads.carriers, or None if it fails; then every message counts."""
    return call_or_default(lambda: dissector.payloads.carriers() if dissector.payloads else frozenset(), None)


def extract_payloads(dissector: Dissector, values: Values, request: LoadRequest) -> tuple[Payload, ...]:
    """Returns Payloads.extract, or none if it fails."""
    return collect_or_nothing(lambda: dissector.payloads.extract(values, request) if dissector.payloads else ())


def list_session_kinds(dissector: Dissector) -> tuple[SessionKind, ...]:
    """Returns Sessions.kinds, or none if it fails."""
    return collect_or_nothing(lambda: dissector.sessions.kinds if dissector.sessions else ())


def list_references(dissector: Dissector, context: Context) -> tuple[Reference, ...]:
    """Returns Names.references, or none if it fails."""
    return collect_or_nothing(lambda: dissector.names.references(context) if dissector.names else ())


def list_binding_sources(dissector: Dissector) -> tuple[BindingSource, ...]:
    """Returns Names.binding_sources, or none if it fails."""
    return collect_or_nothing(lambda: dissector.names.binding_sources() if dissector.names else ())


def list_name_bindings(dissector: Dissector, bound: BoundName) -> tuple[NameBinding, ...]:
    """Returns Names.name_bindings, or none if it fails."""
    return collect_or_nothing(lambda: dissector.names.name_bindings(bound) if dissector.names else ())


def list_constants(dissector: Dissector) -> tuple[NameBinding, ...]:
    """Returns Names.constants, or none if it fails."""
    return collect_or_nothing(lambda: dissector.names.constants() if dissector.names else ())


def list_request_fields(dissector: Dissector, context: Context) -> frozenset[Path]:
    """Returns Dissector.request_fields, or none if it fails."""
    return frozenset(collect_or_nothing(lambda: dissector.request_fields(context) if dissector.request_fields else ()))


class Label(NamedTuple):
    """The label of a value. `failed`: the dissector has a defect, and the label is a sentence about it."""

    text: str | None
    failed: bool = False


def format_label(node: Field) -> Label:
    """Returns the text of a field, or the sentence of the defect."""
    try:
        return Label(node.text)
    except Exception as error:  # a defect
        if os.environ.get(DEBUG):
            raise
        return Label(f"bug: its label failed with {type(error).__name__}", failed=True)


def make_defect_finding(dissector: Dissector, error: Exception) -> Finding:
    """Returns the finding for a defect; raises the error again if WIREANALYZE_DEBUG is set."""
    if os.environ.get(DEBUG):
        raise error
    import traceback  # lazy: only defects need it
    from pathlib import Path

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    # The text of the exception is left out, because it may quote a password.
    text = f"the dissector {dissector.name} failed at {place} with {type(error).__name__}; please report it"
    return Finding(Severity.ERROR, "bug", text)
