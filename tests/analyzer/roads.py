"""Rows printed on two roads: one by one, which is the definition, and many alike ones together.

What is made here are Kafka conversations of many messages that differ in little, so that they meet each other's shapes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from crc32c import crc32c

import analyzer.decode.template_decoder
from analyzer.decode.limits import Limits
from analyzer.decode.rows import BODY_KEYS, ROW_KEYS, RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES, TemplateDecoder, TemplateGroup
from analyzer.render.delimited import DelimitedForm
from analyzer.render.forms import RowForm, RowWriter
from analyzer.render.ndjson import NdjsonForm
from analyzer.render.table import TABLE_KEYS, TableForm
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, Cut, Talk, capture, segments

INDEX_KEYS = [key for key in ROW_KEYS if key not in BODY_KEYS]
FIELDS = (*ROW_KEYS, "fields")

FORMS: Mapping[str, Callable[[], RowForm]] = {
    "rows": lambda: NdjsonForm(ROW_KEYS, Limits()),
    "fields": lambda: NdjsonForm(FIELDS, Limits()),
    "no bytes": lambda: NdjsonForm(FIELDS, Limits(0)),
    "five bytes": lambda: NdjsonForm(FIELDS, Limits(5)),
    "everything": lambda: NdjsonForm(FIELDS, Limits(None, None, show_secrets=True)),
    "two items": lambda: NdjsonForm(FIELDS, Limits(64, 2)),
    "table": lambda: TableForm(TABLE_KEYS, Limits()),
    "tsv": lambda: DelimitedForm(INDEX_KEYS, INDEX_KEYS, "\t", Limits()),
    "csv": lambda: DelimitedForm(INDEX_KEYS, INDEX_KEYS, ",", Limits()),
}
WITH_BODIES = [name for name in FORMS if name not in ("tsv", "csv")]


class Taken:
    """How many rows were printed together."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        groups = TemplateDecoder.find_groups

        def counted(
            templates: TemplateDecoder, rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
        ) -> list[TemplateGroup]:
            found = groups(templates, rows)
            self.rows += sum(len(group.places) for group in found)
            return found

        patch.setattr(TemplateDecoder, "find_groups", counted)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Taken:
    """Even two rows are printed together, and looking for more never ends."""
    monkeypatch.setattr(analyzer.decode.template_decoder, "WORTH", 2)
    monkeypatch.setattr(analyzer.decode.template_decoder, "POOR_IN_A_ROW", 1 << 30)
    monkeypatch.setattr(analyzer.decode.template_decoder, "MOST_POOR", 1 << 30)
    return Taken(monkeypatch)


def one_by_one(session: Session, form: RowForm, *, streaming: bool = False) -> bytes:
    rows = np.arange(len(session.rows))
    return b"".join(form.format_rows(RowReader(session, streaming=streaming), rows))


def together(session: Session, form: RowForm, *, streaming: bool = False, most: int = TOGETHER) -> bytes:
    """`most` rows at a time."""
    lines = RowWriter(form, RowReader(session, streaming=streaming))
    parts = split_rows(session, range(len(session.rows)), most, TOGETHER_BYTES)
    return b"".join(piece for part in parts for piece in lines.write_rows(part))


def hold_equal(
    session: Session, names: Iterable[str] = FORMS, *, streaming: bool = False, most: int = TOGETHER
) -> None:
    for name in names:
        expected = one_by_one(session, FORMS[name](), streaming=streaming)
        found = together(session, FORMS[name](), streaming=streaming, most=most)
        if found != expected:
            pairs = zip(expected.splitlines(), found.splitlines(), strict=False)
            differing = next((pair for pair in pairs if pair[0] != pair[1]), (expected[-300:], found[-300:]))
            pytest.fail(f"{name}:\n{differing[0]!r}\n{differing[1]!r}")


# ---- Kafka messages


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def string(text: bytes | None) -> bytes:
    return b"\xff\xff" if text is None else len(text).to_bytes(2) + text


def request(key: int, version: int, body: bytes, client: bytes | None = b"me") -> bytes:
    return framed(struct.pack(">hhi", key, version, 0) + string(client) + body)


def answer(body: bytes) -> bytes:
    return framed(bytes(4) + body)


def numbered(message: bytes, number: int, side: int) -> bytes:
    """The same with another correlation id."""
    at = 4 if side == SERVER else 8
    return message[:at] + number.to_bytes(4) + message[at + 4 :]


def exchanges(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Requests and their answers, as writes."""
    for number, (requested, answered) in enumerate(pairs, 1000):
        yield CLIENT, numbered(requested, number, CLIENT)
        yield SERVER, numbered(answered, number, SERVER)


def in_large_parts(data: bytes) -> Iterable[bytes]:
    """As few segments as IPv4 allows."""
    return [data[at : at + 60_000] for at in range(0, len(data), 60_000)]


def opened(folder: Path, pairs: Iterable[tuple[bytes, bytes]], cut: Cut = in_large_parts) -> Session:
    talk = Talk(tuple(exchanges(pairs)))
    return Session([capture(folder / "a.pcap", segments(talk, cut), talk)]).load()


METADATA = request(3, 1, bytes(4))
NO_METADATA = answer(bytes(4) + b"\0\0\0\1" + bytes(4))


def list_offsets(name: bytes, partition: int, time: int, client: bytes | None = b"me") -> bytes:
    """ListOffsets 1."""
    body = struct.pack(">ii", -1, 1) + string(name) + struct.pack(">iiq", 1, partition, time)
    return request(2, 1, body, client)


def offsets_listed(name: bytes, partition: int, error: int, time: int, offset: int) -> bytes:
    """Its answer."""
    return answer(b"\0\0\0\1" + string(name) + struct.pack(">iihqq", 1, partition, error, time, offset))


def varint(number: int) -> bytes:
    """A signed one."""
    left = number << 1 ^ number >> 63
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def record(key: bytes | None, value: bytes | None, offset: int = 0, time: int = 0) -> bytes:
    parts = [varint(-1) if part is None else varint(len(part)) + part for part in (key, value)]
    body = b"".join([b"\0", varint(time), varint(offset), *parts, varint(0)])
    return varint(len(body)) + body


def batch(
    records: Sequence[bytes] | bytes,
    *,
    base: int = 0,
    attributes: int = 0,
    time: int = 1_700_000_000_000,
    last_time: int = 1_700_000_000_000,
    count: int | None = None,
    crc: int | None = None,
    length: int = 0,
) -> bytes:
    """`crc` None is the right one; `length` is added to the right one."""
    content = records if isinstance(records, bytes) else b"".join(records)
    text = count if count is not None else len(records)
    checked = struct.pack(">hiqqqhii", attributes, max(text - 1, 0), time, last_time, -1, -1, -1, text) + content
    checksum = crc32c(checked) if crc is None else crc
    return struct.pack(">qiibI", base, len(checked) + 9 + length, 0, 2, checksum) + checked


def produce(name: bytes, records: bytes | None) -> bytes:
    """Produce 3."""
    size = b"\xff\xff\xff\xff" if records is None else len(records).to_bytes(4) + records
    body = string(None) + struct.pack(">hii", -1, 1000, 1) + string(name) + struct.pack(">ii", 1, 0) + size
    return request(0, 3, body)


def produced(name: bytes, offset: int, error: int = 0) -> bytes:
    """Its answer."""
    body = struct.pack(">i", 1) + string(name) + struct.pack(">iihqq", 1, 0, error, offset, -1)
    return answer(body + bytes(4))


def fetch(number: int) -> bytes:
    """Fetch 4."""
    body = (
        struct.pack(">iiiibi", -1, 500, 1, 1 << 20, 0, 1) + string(b"t") + struct.pack(">iiqi", 1, 0, number, 1 << 20)
    )
    return request(1, 4, body)


def fetched(name: bytes, records: bytes | None) -> bytes:
    """Its answer."""
    size = b"\xff\xff\xff\xff" if records is None else len(records).to_bytes(4) + records
    head = struct.pack(">ii", 0, 1) + string(name)
    return answer(head + struct.pack(">iihqqi", 1, 0, 0, 9, 9, 0) + size)
