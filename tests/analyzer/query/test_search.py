"""Finding: every row in turn, from any place, both ways round; and the place in the message that says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_message
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.filter.literals import quote
from analyzer.query.search import SearchTarget, find_places, find_row, parse_bytes, parse_filter, parse_text
from analyzer.session import Session

CAPTURE = Path(__file__).parents[3] / "captures" / "mixed.pcapng"


@pytest.fixture(scope="module")
def reader():
    with Session([CAPTURE]) as session:
        yield RowReader(session.load())


def all_found(sought: SearchTarget, reader: RowReader, start: int, forward: bool) -> list[int]:
    """What a person finds who presses the key again and again."""
    found: list[int] = []
    at = start
    while (row := find_row(sought, reader, at, forward=forward)) is not None and row not in found:
        found.append(row)
        at = row
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("start", [-1, 0, 17, 1139])
def test_a_search_meets_every_row_once_and_goes_round(reader: RowReader, start: int, forward: bool) -> None:
    sought = parse_filter("error")
    wanted = sought.filter.select_rows(reader, range(len(reader.session.rows))).tolist()
    assert len(wanted) == 30

    found = all_found(sought, reader, start, forward)

    after = [row for row in wanted if row > start]
    before = [row for row in wanted if row <= start]
    if not forward:
        after, before = [row for row in wanted if row < start][::-1], [row for row in wanted if row >= start][::-1]
    assert found == after + before


def test_text_is_found_in_either_case_and_in_the_field_that_says_it(reader: RowReader) -> None:
    session = reader.session
    client = next(text for text in session.engine.names.texts if text.startswith("Pulsar-Java"))
    sought = parse_text(client.upper())
    row = find_row(sought, reader, -1)
    assert row is not None

    tree = decode_tree(session, row)
    found = find_places(sought, tree)

    assert found
    for place in found:
        data = tree.sources[place.source].data[place.offset : place.offset + place.length]
        assert client.lower().encode() in data.lower()


def test_bytes_are_found_where_they_are(reader: RowReader) -> None:
    message = read_message(reader.session, 40)
    data = message[3:9]
    sought = parse_bytes(data.hex(":"))

    assert sought.data == data
    found = sought.filter.select_rows(reader, range(len(reader.session.rows))).tolist()
    assert found == [row for row in range(len(reader.session.rows)) if data in read_message(reader.session, row)]
    tree = decode_tree(reader.session, 40)
    assert any(place[1:] == (0, 3, 6) for place in find_places(sought, tree))


@pytest.mark.parametrize("written", ["00:0a:ff", "000aff", "0x000AFF", "00 0a ff", "'\x00\n\xff'"])
def test_bytes_can_be_written_in_several_ways(written: str) -> None:
    wanted = b"\x00\n\xc3\xbf" if written[0] == "'" else b"\x00\n\xff"
    assert parse_bytes(written).data == wanted


@pytest.mark.parametrize("make", [parse_text, parse_bytes, parse_filter])
def test_nothing_is_no_search(make) -> None:
    with pytest.raises(UserError):
        make("")


def test_a_text_is_quoted_so_that_the_filter_says_the_same(reader: RowReader) -> None:
    for text in ('a"b', "back\\slash", "\\x41", "new\nline", "$name", "{1..2}", "'"):
        sought = parse_filter(f"info contains {quote(text)}")
        assert sought.filter.select_rows(reader, range(0)).tolist() == []
        assert sought.filter._checked.wanted[0].text == text


def test_who_waits_can_stop(reader: RowReader) -> None:
    requested: list[int] = []

    def stop() -> bool:
        requested.append(1)
        return len(requested) > 1

    assert find_row(parse_text("nobody says this"), reader, -1, stop=stop) is None
    assert len(requested) == 2
