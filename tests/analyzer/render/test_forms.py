"""Lines of rows, whichever road they go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.arrays import Ints
from analyzer.columns.values import CellStyle
from analyzer.decode.rows import RowReader
from analyzer.decode.template_decoder import BodyTexts
from analyzer.render.forms import BodySlot, LineFrame, RowWriter
from analyzer.session import Session
from dissectors.api import Body, Context, Dissector
from tests.analyzer.roads import FORMS, Taken, list_offsets, offsets_listed, one_by_one, opened, taken

__all__ = ["taken"]

STYLE = CellStyle("a test's", b"", str.encode)


class Counting:
    """A form that tells how many rows it wrote one by one, and how many bodies it was asked about."""

    edition = 0
    needs_requests = True

    def __init__(self, wide: bool = False) -> None:
        self.wide = wide
        self.lines = self.bodies = 0

    def format_head(self) -> bytes:
        return b""

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        for found in reader.read_objects(("number", "info"), rows):
            self.lines += 1
            yield f"{found['number']} {found['info']}\n".encode()

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame:
        return [reader.read_column("number", rows).cells(STYLE), b" ", BodySlot("info")]

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        self.bodies += 1
        return {"info": dissector.info(body, context)}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    pairs = [(list_offsets(b"t" * (each + 1), 0, 1), offsets_listed(b"t", each, 0, 1, 1)) for each in range(40)]
    pairs[5] = (list_offsets(b'"', 0, 1), offsets_listed(b"t", 0, 3, 1, 1))
    return opened(tmp_path, pairs)


def test_what_is_like_nothing_is_written_one_by_one(session: Session) -> None:
    """In between, and in order."""
    form = Counting()
    found = b"".join(RowWriter(form, RowReader(session)).write_rows(np.arange(80)))
    odd = 2
    assert (form.lines, form.bodies) == (odd, 2)
    expected = Counting()
    assert found == b"".join(expected.format_rows(RowReader(session), np.arange(80)))
    assert [int(line.split()[0]) for line in found.splitlines()] == list(range(1, 81))


@pytest.mark.parametrize("name", FORMS)
def test_rows_in_any_order_and_number(name: str, session: Session, taken: Taken) -> None:
    for rows in (np.array([7, 3, 3, 79, 0, 10, 11, 9]), np.arange(79, -1, -1), np.arange(1), np.arange(10, 12)):
        lines = RowWriter(FORMS[name](), RowReader(session))
        expected = b"".join(FORMS[name]().format_rows(RowReader(session), rows))
        assert b"".join(lines.write_rows(rows)) == expected
        assert b"".join(lines.write_rows(rows)) == expected  # with the shapes of before
        assert len(expected.splitlines()) == len(rows)


@pytest.mark.parametrize("name", FORMS)
def test_no_rows(name: str, session: Session) -> None:
    assert b"".join(RowWriter(FORMS[name](), RowReader(session)).write_rows(np.arange(0))) == b""


def test_a_text_that_is_too_wide_sends_all_rows_the_plain_way(tmp_path: Path, taken: Taken) -> None:
    """A client's name is longer than a cell; the next rows go together again."""
    pairs = [(list_offsets(b"t", 0, 1, b"c" * 450 + b'"' * 40), offsets_listed(b"t", 0, 0, 1, 1))]
    pairs += [(list_offsets(b"t", 0, 1), offsets_listed(b"t", 0, 0, 1, 1))] * 20
    with opened(tmp_path, pairs) as session:
        lines = RowWriter(FORMS["rows"](), RowReader(session))
        parts = [b"".join(lines.write_rows(np.arange(begin, begin + 14))) for begin in (0, 14, 28)]
        assert b"".join(parts) == one_by_one(session, FORMS["rows"]())
        assert 0 < taken.rows <= 28


def test_a_row_is_decoded_when_its_line_is_taken(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Counting()
    monkeypatch.setattr("analyzer.decode.template_decoder.WORTH", 1 << 30)
    monkeypatch.setattr("analyzer.render.forms._AT_ONCE", 4)
    pieces = RowWriter(form, RowReader(session)).write_rows(np.arange(80))
    next(pieces)
    assert form.lines == 4
