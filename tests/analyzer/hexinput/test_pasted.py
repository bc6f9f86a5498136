"""Bytes without a capture: cutting loses nothing, and recognition is by the surest dissector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.hexinput.pasted import FITS, cut_messages, decode_by_looks, pair_pasted, recognise_among, recognise_any
from dissectors.api import LengthPrefixed, Role, State
from dissectors.kafka import Kafka
from dissectors.registry import by_name
from tests.dissectors.zookeeper.messages import buffer, event, get_data, reply


class FieldAlias(Kafka):
    framing = LengthPrefixed(width=2, minimum=1, maximum=20)


SHORT = FieldAlias()


def pieces(data: bytes) -> list[bytes]:
    return [piece.data for piece in cut_messages(data, SHORT)]


@given(st.binary(max_size=200))
def test_the_pieces_are_the_bytes(data: bytes) -> None:
    assert b"".join(pieces(data)) == data


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=9), st.binary(max_size=1))
def test_messages_come_back_as_they_were_framed(bodies: list[bytes], rest: bytes) -> None:
    framed = [len(body).to_bytes(2) + body for body in bodies]
    assert pieces(b"".join(framed) + rest) == framed + ([rest] if rest else [])


def test_an_impossible_length_ends_the_cutting() -> None:
    assert pieces(b"\0\1a\0\0bcdef") == [b"\0\1a", b"\0\0bcdef"]
    assert pieces(b"\0\x15abc") == [b"\0\x15abc"]


@given(st.binary(max_size=80))
def test_anything_is_recognised_or_not(data: bytes) -> None:
    kafka = by_name("kafka")
    assert recognise_among(data, (kafka,)).dissector is kafka
    for piece in decode_by_looks(kafka, cut_messages(data, kafka), None):
        assert piece.context.role is piece.header.role
        assert isinstance(kafka.tree(piece.data, piece.context).sources[0].data, bytes)


METADATA = "0000003a 00000007 00000001 00000000 0004 686f7374 00002384"
LONE = f"{METADATA} 00000001 0000 0006 6f7264657273 00000001 0000 00000000 00000000 00000000 00000000"


@pytest.mark.parametrize(("data", "fits"), [
    (LONE, True),
    (LONE[:-2], False),
    ("0000000a 00000007 00000000 0000", False),
    ("00000008 00000007 48545450", False),
    ("", False),
], ids=["a Metadata answer", "cut", "too little to tell", "none", "nothing"])  # fmt: skip
def test_an_answer_alone_fits_where_one_layout_is_likely(data: str, fits: bool) -> None:
    assert recognise_any(bytes.fromhex(data)).fits is fits


def test_a_request_fits_and_a_cut_one_is_partial() -> None:
    kafka = by_name("kafka")
    data = bytes.fromhex("0000000e 0012 0000 00000001 0004 61626364")
    assert recognise_among(data, (kafka,)).confidence >= FITS
    (whole,) = decode_by_looks(kafka, cut_messages(data, kafka), None)
    assert (whole.header.role, whole.header.state) == (Role.REQUEST, State.COMPLETE)
    (part,) = decode_by_looks(kafka, cut_messages(data[:-1], kafka), True)
    assert part.header.state is State.PARTIAL


def test_of_responses_one_that_answers_none_of_them_is_one_still() -> None:
    """Alone, or where it cannot be a request; what can be one is one."""
    zookeeper = by_name("zookeeper")
    requested, answered = get_data(5), reply(5, buffer(b"x") + bytes(68))

    def roles(data: bytes) -> list[tuple[Role, State]]:
        return [(each.header.role, each.header.state) for each in pair_pasted(zookeeper, cut_messages(data, zookeeper))]

    assert roles(answered) == [(Role.RESPONSE, State.GUESSED)]
    assert roles(requested + answered) == [(Role.REQUEST, State.COMPLETE), (Role.RESPONSE, State.COMPLETE)]
    assert roles(event() + requested + answered)[0] == (Role.PUSH, State.COMPLETE)
