"""One frame to values or to a tree.

Theory. The header is read by itself. The body needs the operation, which an answer does not contain, so it comes with
the Context. An answer's own code is its error, unless it means success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from dissectors.api import Body, Context, Pick, Role
from dissectors.errors import MalformedField
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.message import Path
from dissectors.report import REPORTED
from dissectors.rocketmq.body import decode_body, decode_rest, find_body_kind, read_body, resolve_body_kind
from dissectors.rocketmq.codes import find_header_class, find_response_name, operations
from dissectors.rocketmq.command import BINARY, CODE, EXT, HEAD, JSON, SERIALIZE, decode_command, find_header
from dissectors.rocketmq.expert_info import find_expert_info
from dissectors.rocketmq.header import report_oversized
from dissectors.rocketmq.secrets import hide_broken
from dissectors.slotted import replace
from dissectors.wire.emit import FAILURES
from dissectors.wire.expert_info import ExpertInfoTable
from dissectors.wire.frame import Frame
from dissectors.wire.map_header_fields import collect_typed, read_header
from dissectors.wire.message import read_framed
from dissectors.wire.primitive import INT32, UINT32
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Wrapping, members

HEADER = LayoutSpec("header", "struct")
_MARK = LayoutSpec("headerMark", "uint32")
_SERIALIZE = FieldSpec("serialize", "string")
_HEADER_LENGTH = Wrapping("headerLength", "uint24")
KEYS = ("flag", "language", "version", "serialize", "remark", EXT)


DecodeRest: TypeAlias = Callable[[Frame, int, str | None, Context], dict[str, Any]]
"""The values of a body of this kind from an offset on, where it is neither a list of messages nor an application's."""


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the values of a frame, its error, and its findings."""
    try:
        found = read_frame(Frame(message, 0, len(message)), context, decode_rest)
    except FAILURES:
        return fold_tree(decode_tree(message, context), context)
    large = report_oversized(len(message) - INT32.size)
    return found._replace(findings=(*large, *found.findings)) if large else found


def read_frame(frame: Frame, context: Context, rest: DecodeRest) -> Body:
    """Returns the values of a frame, plain or symbolic. Raises one of emit.FAILURES, or what the frame raises."""
    response = context.role is Role.RESPONSE
    found, kind, stop = decode_command(frame, find_header(context.code, response))
    command, header = found.members, found.typed
    if "sysFlag" in header:  # decides how the body is to be read
        header["sysFlag"] = frame.specialise(header["sysFlag"])
    values: dict[str, Any] = {
        "flag": command["flag"],
        "language": command["language"],
        "version": command["version"],
        "serialize": SERIALIZE[kind],
        "remark": command["remark"],
        EXT: found.pairs,
    }
    if find_header_class(context.code, response) is not None:
        values["header"] = header
    if stop == frame.end:
        values["body"] = None
    else:
        body = resolve_body_kind(find_body_kind(context.code, response), header, frame.data[stop : frame.end])
        parts = decode_body(frame, stop, body, header)
        values.update(rest(frame, stop, body, context) if parts is None else parts)
    error = find_error(command[CODE], command["version"], context)
    return Body(values, error, (*_find_doubts(context), *_find_table(error, context)(values)))


def find_error(code: int, version: int | None, context: Context) -> tuple[int, str] | None:
    """Returns the error that a command of this code reports, as Body.error."""
    if context.role is not Role.RESPONSE or code == 0:
        return None
    operation = operations().get(context.code) if context.code is not None else None
    if operation is not None and code == operation.success:
        return None
    return code, find_response_name(code, version) or f"UNKNOWN_{code}"


def _find_table(error: tuple[int, str] | None, context: Context) -> ExpertInfoTable:
    return find_expert_info(context.role, context.code, None if error is None else error[1])


def _find_doubts(context: Context) -> Iterator[Finding]:
    """What is to be said of a frame before it is read."""
    if context.code is not None and context.code not in operations():
        yield Finding(Severity.NOTE, "unknown-operation", f"request code {context.code} is not in the tables")


def decode_tree(message: bytes, context: Context) -> Tree:
    """Returns the annotated tree of a frame: `length`, `headerMark`, `header`, `body`."""
    known = (*report_oversized(int.from_bytes(message[: INT32.size])), *_find_doubts(context))
    tree = read_framed(message, INT32, partial(_read_content, context=context), known)
    return hide_broken(tree, message, context.code)


def _read_content(reader: Reader, context: Context) -> None:
    mark: int = reader.take(_MARK, UINT32)
    kind, size = mark >> 24, mark & 0xFF_FFFF
    reader.bits(_SERIALIZE, SERIALIZE[kind] if kind < len(SERIALIZE) else str(kind), 0xFF00_0000)
    reader.bits(_HEADER_LENGTH, size, 0x00FF_FFFF)
    if kind not in (JSON, BINARY):
        raise MalformedField("serialize", HEAD // 2, f"is {kind}, which is none")
    stop, end = HEAD + size, INT32.size + reader.tree.fields[0].value
    if stop > end:
        raise MalformedField("headerLength", HEAD // 2, f"is {stop - HEAD}, the frame has {end - HEAD} bytes more")
    response = context.role is Role.RESPONSE
    layout = find_header(context.code, response)
    reader.enter(HEADER)
    whole = reader.guard(partial(read_header, layout=layout, is_json=kind == JSON), min(stop, reader.end))
    reader.leave()
    node = reader.tree.fields[-1]
    header = collect_typed(node, layout)
    if whole:
        error, values = _summarise_header(node, kind, header, context)
        reader.tree.findings += _find_table(error, context)(values)
    if reader.at == stop and reader.at < reader.end:
        read_body(reader, find_body_kind(context.code, response), end, header)


def _summarise_header(
    node: Field, kind: int, header: dict[str, object], context: Context
) -> tuple[tuple[int, str] | None, dict[str, Any]]:
    """The error of a header's node, and what expert info are made of; null is as if it were not there."""
    values = members([node])
    ext = {name: value for name, value in (values.get(EXT) or {}).items() if value is not None}
    return _find_node_error(node, values, context), values | {EXT: ext, "serialize": SERIALIZE[kind], "header": header}


def _find_node_error(node: Field, values: Mapping[str, Any], context: Context) -> tuple[int, str] | None:
    """What a header's node reports; of several codes the last one counts."""
    code = next((child.value for child in reversed(node.children) if child.spec.name == CODE), None)
    version = values.get("version")
    return find_error(code, version if type(version) is int else None, context) if type(code) is int else None


def fold_tree(tree: Tree, context: Context) -> Body:
    """Returns the values of a tree, its error, and its findings."""
    values, findings = members(tree.fields), tuple(tree.findings)
    header = next((node for node in tree.fields if node.spec is HEADER), None)
    if header is None:
        return Body(values, None, findings)
    found: dict[str, Any] = {key: values.pop(key, None) for key in KEYS}
    found[EXT] = found[EXT] or {}
    response = context.role is Role.RESPONSE
    if find_header_class(context.code, response) is not None:
        found["header"] = collect_typed(header, find_header(context.code, response))
    found["body"] = values.pop("body", None)
    return Body(found | values, _find_node_error(header, found, context), findings)


_HEADER_VALUES = "header"
_FROM_HEADER = (_HEADER_VALUES, REPORTED[0])


def make_projection(context: Context, paths: frozenset[Path]) -> Pick | None:
    """Makes a decoder of the header alone; None where something else is asked for."""
    response = context.role is Role.RESPONSE
    names = {path[1] if len(path) > 1 else None for path in paths - {REPORTED}}
    untyped = find_header_class(context.code, response) is None
    if not all(path[0] in _FROM_HEADER for path in paths) or (names and untyped):
        return None
    layout = find_header(context.code, response)
    fields = {wire: field for wire, field in layout.fields.items() if field.name in names or None in names}
    wanted = replace(layout, fields=fields)
    reports = REPORTED in paths

    def project(message: bytes) -> dict[str, Any] | None:
        try:
            found, _, _ = decode_command(Frame(message, 0, len(message)), wanted)
        except FAILURES:
            return None
        if not reports:
            return {_HEADER_VALUES: found.typed}
        error = find_error(found.members[CODE], found.members["version"], context)
        return {_HEADER_VALUES: found.typed, REPORTED[0]: error}

    return project
