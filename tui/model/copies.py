"""The formats in which the selected message or field can be copied as text: a row of COPY_FORMATS each.

Theory. The clipboard and files are for programs and people alike, so a value is copied unchanged, with its control
characters; they act on nothing on the way, because the clipboard gets them in base64. Secrets are masked as on the
screen, unless secrets are shown: renderers mask their own output, and bytes are masked by analyzer.decode.masking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple

import numpy as np

from analyzer.columns.text import read_text
from analyzer.decode.content import find_dissector, read_header
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.masking import Span
from analyzer.decode.rows import RowReader
from analyzer.query.filter.alike import find_path, is_masked, make_filter
from analyzer.render.hexdump import WIDTH, format_hexdump_line
from analyzer.render.lines import strip_styles
from analyzer.render.printer import RowPrinter
from analyzer.render.shown import format_row
from analyzer.render.tree_json import make_node_object, mask_value
from analyzer.render.tree_text import format_tree
from analyzer.session import Session
from dissectors.api import Role
from dissectors.field import Field, Tree
from dissectors.wire.secret import Secret
from tui.model.detail import MessageDetail, join_path

MASK = 0x2A
"""The byte in place of a secret one where a message must keep its length."""

NO_LIMITS = Limits(bytes_limit=None, max_items=None)


@dataclass(frozen=True, slots=True)
class CopySubject:
    """The selection: a message, and in its tree a field behind those around it, if any."""

    session: Session
    limits: Limits
    detail: MessageDetail
    path: Sequence[Field] = ()

    @property
    def row(self) -> int:
        """The row of the message, from 0."""
        return self.detail.row

    @property
    def node(self) -> Field | None:
        """The selected field, if any."""
        return self.path[-1] if self.path else None

    @property
    def hides(self) -> bool:
        """Whether the field's value is secret and must be masked."""
        return not self.limits.show_secrets and bool(self.path) and is_masked(self.path)


class CopyFormat(NamedTuple):
    """A format to copy in.

    about: its description. make: makes the text, None if there is nothing to copy. accepts: the fields that it is for;
    None: any message. whole: it covers the whole message.
    """

    about: str
    make: Callable[[CopySubject], str | None]
    accepts: Callable[[Field], bool] | None = None
    whole: bool = False


def _is_any(node: Field) -> bool:
    return True


def _is_plain(node: Field) -> bool:
    return not node.children or isinstance(node.value, str | bytes | int | float)


def _is_parent(node: Field) -> bool:
    return bool(node.children)


def _is_bytes(node: Field) -> bool:
    value = node.value.reveal() if isinstance(node.value, Secret) else node.value
    return isinstance(value, bytes)


def _copy_value(subject: CopySubject) -> str | None:
    node = subject.node
    if node is None or not _is_plain(node):
        return None
    value = mask_value(node) if subject.hides else node.value
    if isinstance(value, Secret):
        if not subject.limits.show_secrets:
            return f"redacted, {len(value)} long"
        value = value.reveal()
    if isinstance(value, bytes):
        return read_text(value) or value.hex()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _copy_name(subject: CopySubject) -> str | None:
    return None if subject.node is None or subject.hides else subject.node.text


def _copy_text(subject: CopySubject) -> str | None:
    """Copies bytes as text, if they are valid UTF-8."""
    node = subject.node
    value = None if node is None or subject.hides else node.value
    if isinstance(value, Secret):
        value = value.reveal()
    try:
        return value.decode() if isinstance(value, bytes) and value else None
    except UnicodeDecodeError:
        return None


class _BytePiece(NamedTuple):
    """Bytes of a source from `offset` on; `masks` are spans of the source."""

    data: bytes
    offset: int
    masks: Sequence[Span]


def _cut_piece(subject: CopySubject) -> _BytePiece:
    """Returns the bytes of the field, or of the message."""
    node, tree = subject.node, subject.detail.tree
    source = 0 if node is None else node.source
    masks: Sequence[Span] = () if subject.limits.show_secrets else subject.detail.masks.get(source, ())
    data = next(each.data for each in tree.sources if each.id == source)
    if node is None:
        return _BytePiece(data, 0, masks)
    if subject.hides:
        masks = ((node.offset, node.offset + node.length),)
    return _BytePiece(data[node.offset : node.offset + node.length], node.offset, masks)


def _copy_hex(subject: CopySubject) -> str | None:
    piece = _cut_piece(subject)
    pairs = [f"{byte:02x}" for byte in piece.data]
    for first, last in _clip_masks(piece):
        pairs[first:last] = ["**"] * (last - first)
    return "".join(pairs) or None


def _clip_masks(piece: _BytePiece) -> Iterator[Span]:
    """Yields the masks, relative to the begin of the piece."""
    for first, last in piece.masks:
        begin, end = max(first - piece.offset, 0), min(last - piece.offset, len(piece.data))
        if begin < end:
            yield begin, end


def _copy_dump(subject: CopySubject) -> str | None:
    piece = _cut_piece(subject)
    data, base = piece.data, piece.offset
    lines = (
        strip_styles(format_hexdump_line(base + at, data[at : at + WIDTH], piece.masks, None))
        for at in range(0, len(data), WIDTH)
    )
    return "\n".join(lines) or None


def _make_printer(form: str, *, with_fields: bool) -> Callable[[CopySubject], str]:
    def make(subject: CopySubject) -> str:
        session = subject.session
        out = BytesIO()
        printer = RowPrinter((), form, with_fields, subject.limits, out=out)
        reader = RowReader(session, streaming=not session.ended, hindsight=printer.for_people)
        printer.print_rows(reader, np.array([subject.row]))
        return out.getvalue().decode("utf-8", "replace").rstrip("\n")

    return make


def _copy_field_json(subject: CopySubject) -> str | None:
    if subject.node is None:
        return None
    found = make_node_object(subject.node, subject.hides)
    return (
        JsonWriter(NO_LIMITS._replace(show_secrets=subject.limits.show_secrets))
        .format_line(found)
        .decode()
        .rstrip("\n")
    )


def _copy_field_tree(subject: CopySubject) -> str | None:
    node = subject.node
    if node is None or not node.children or subject.hides:
        return None
    whole = NO_LIMITS._replace(show_secrets=subject.limits.show_secrets)
    return "\n".join(strip_styles(line) for line in format_tree(Tree([node], [], []), whole))


def _copy_tree(subject: CopySubject) -> str:
    return "\n".join(strip_styles(line) for line in format_row(subject.session, subject.row, subject.limits))


def _copy_path(subject: CopySubject) -> str | None:
    if not subject.path:
        return None
    return find_path(subject.session, subject.row, subject.path) or join_path([node.spec.name for node in subject.path])


def _copy_filter(subject: CopySubject) -> str | None:
    if not subject.path:
        return f"number == {subject.row + 1}"
    return make_filter(subject.session, subject.row, subject.detail.tree, subject.path)


def _copy_message(subject: CopySubject) -> str | None:
    """Copies the message in hex, with a `*` for each secret byte, so that fields keep their offsets."""
    tree = subject.detail.tree
    data = bytearray(tree.sources[0].data)
    for first, last in () if subject.limits.show_secrets else subject.detail.masks.get(0, ()):
        data[first:last] = bytes([MASK]) * (min(last, len(data)) - first)
    return data.hex() or None


def _copy_command(subject: CopySubject) -> str | None:
    """Copies a call of `wireanalyze decode` with the protocol, and for a response with operation and version."""
    message, dissector = _copy_message(subject), find_dissector(subject.session, subject.row)
    header = read_header(subject.session, subject.row)
    if message is None or dissector is None:
        return None
    command = f"-p {dissector.name}"
    if header.role is Role.RESPONSE and header.code is not None:
        version = "" if header.version is None else f" --version {header.version}"
        command += f" --response --api {header.code}{version}"
    elif header.role is Role.REQUEST:
        command += " --request"
    return f"wireanalyze decode {command} {message}"


COPY_FORMATS: Mapping[str, CopyFormat] = {
    "value": CopyFormat("the value", _copy_value, _is_plain),
    "name": CopyFormat("the name of the value", _copy_name, lambda node: node.spec.label is not None),
    "text": CopyFormat("the bytes as text", _copy_text, _is_bytes),
    "hex": CopyFormat("the bytes, in hex", _copy_hex),
    "dump": CopyFormat("the bytes, as a dump", _copy_dump),
    "path": CopyFormat("the field's path", _copy_path, _is_any),
    "filter": CopyFormat("a filter that finds it", _copy_filter),
    "field": CopyFormat("the field and what is below it, as text", _copy_field_tree, _is_parent),
    "json": CopyFormat("the field, as JSON", _copy_field_json, _is_any),
    "row": CopyFormat("the row, as list prints it", _make_printer("table", with_fields=False), whole=True),
    "object": CopyFormat("the message, as JSON with its fields", _make_printer("ndjson", with_fields=True), whole=True),
    "tree": CopyFormat("the message, as show prints it", _copy_tree, whole=True),
    "message": CopyFormat("the message, in hex for decode", _copy_message, whole=True),
    "command": CopyFormat("the command that decodes the message", _copy_command, whole=True),
}


def list_copy_formats(subject: CopySubject) -> list[str]:
    """Returns the names of the formats for a subject."""
    node = subject.node
    return [
        name for name, kind in COPY_FORMATS.items() if kind.accepts is None or (node is not None and kind.accepts(node))
    ]
