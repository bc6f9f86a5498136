"""Chunks: which frames have one, what is made of all of them together, and what is said where that can't be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.fragment import Fragment, Other
from dissectors.pulsar import Pulsar
from dissectors.wire import budget
from dissectors.wire.message import fold_tree
from tests.dissectors.pulsar.frames import METADATA, field, frame, payload_part, sized
from tests.dissectors.pulsar.test_frame import BATCH_OF_TWO, TEXT, TWO, lz4_block
from tests.dissectors.trees import assert_tiles, at_path, node
from tests.effort import within

PULSAR = Pulsar()
CONTEXT = Context(Role.ONEWAY, 6)
UUID = "standalone-0-17-0"
LZ4 = field(8, 1) + field(9, len(TEXT))
KEY = field(13, field(1, "k") + field(2, b"s"))


def chunk(number: int, total: int, payload: bytes, more: bytes = b"", size: int | None = None, id: int = 0) -> bytes:
    """A SEND with a chunk; size: what total_chunk_msg_size says."""
    text = b"" if size is None else field(28, size)
    metadata = METADATA + more + field(26, UUID) + field(27, total) + text + field(29, number)
    return frame(6, field(1, id), field(2, 3), rest=payload_part(metadata, payload))


def cut(data: bytes, total: int, more: bytes = b"") -> list[bytes]:
    """The messages of a payload in chunks of one length, the last one shorter."""
    step = -(-len(data) // total)
    return [chunk(each, total, data[each * step : (each + 1) * step], more, len(data)) for each in range(total)]


def others(messages: Sequence[bytes], numbers: Sequence[int] | None = None) -> list[Other]:
    """As the analyzer gives them: numbers as the messages have them, rows from 10 on."""
    found = range(len(messages)) if numbers is None else numbers
    return [Other(10 + index, number, messages[index]) for index, number in enumerate(found)]


def joined(message: bytes, around: Sequence[Other]) -> Tree:
    """The tree of a chunk among others, which has all that it has alone."""
    with within(10):
        tree, alone = PULSAR.fragments.tree(message, CONTEXT, around), PULSAR.tree(message, CONTEXT)
        whole = PULSAR.fragments.values(message, CONTEXT, around)
    assert_tiles(tree)
    assert fold_tree(tree).values == fold_tree(alone).values
    assert tree.findings[: len(alone.findings)] == alone.findings
    if whole is not None:
        assert "chunk" not in whole.values
    return tree


# ---- which frames have one


def test_what_a_chunk_says_of_itself() -> None:
    found = [PULSAR.fragments.read_fragment(each) for each in cut(TEXT, 3)]
    assert found == [Fragment((0, UUID), number, 3) for number in range(3)]
    assert [each.completes for each in found if each] == [False, False, True]


CHUNK = field(26, UUID) + field(27, 3) + field(29, 1)
BEGUN = METADATA + CHUNK
PREFIXES: dict[str, tuple[bytes, Fragment | None]] = {
    "no checksum": (
        frame(6, field(1, 4), field(2, 3), rest=payload_part(BEGUN, b"x", checksum=0)),
        Fragment((4, UUID), 1, 3),
    ),
    "metadata of the broker": (
        frame(9, field(1, 4), field(2, field(1, 1) + field(2, 2)), rest=payload_part(BEGUN, b"x", broker=field(1, 5))),
        Fragment((4, UUID), 1, 3),
    ),
    "the number in a longer way": (
        frame(6, field(1, 4), field(2, 3), rest=payload_part(METADATA + field(26, UUID) + b"\xe8\x81\x00\x01", b"x")),
        Fragment((4, UUID), 1, 0),
    ),
    "no number of chunks": (
        frame(6, field(1, 4), field(2, 3), rest=payload_part(METADATA + field(26, UUID) + field(29, 1), b"x")),
        Fragment((4, UUID), 1, 0),
    ),
    "no chunk": (frame(6, field(1, 4), field(2, 3), rest=payload_part(METADATA, b"\xe8\x01\x01")), None),
    "no uuid": (frame(6, field(1, 4), field(2, 3), rest=payload_part(METADATA + field(29, 1), b"x")), None),
    "a number below zero": (
        frame(6, field(1, 4), field(2, 3), rest=payload_part(METADATA + field(26, UUID) + field(29, -1), b"x")),
        None,
    ),
    "no producer": (frame(6, field(2, 3), rest=payload_part(BEGUN, b"x")), None),
    "another command": (frame(18, rest=payload_part(BEGUN, b"x")), None),
    "metadata that breaks": (frame(6, field(1, 4), field(2, 3), rest=payload_part(BEGUN + b"\x0a\xff", b"x")), None),
    "no metadata": (frame(6, field(1, 4), field(2, 3)), None),
}


@pytest.mark.parametrize("case", PREFIXES)
def test_what_a_frame_says_of_its_chunk(case: str) -> None:
    message, found = PREFIXES[case]
    assert PULSAR.fragments.read_fragment(message) == found


def test_a_chunk_that_is_cut_anywhere() -> None:
    """Told by as much as its metadata takes, and by less not at all."""
    message = cut(TEXT, 3)[1]
    reported = [PULSAR.fragments.read_fragment(message[:size]) for size in range(len(message) + 1)]
    first = next(size for size, found in enumerate(reported) if found)
    assert reported == [None] * first + [Fragment((0, UUID), 1, 3)] * (len(reported) - first)
    assert message[first:] == TEXT[70:140], "it is not told before the metadata's end"


@given(st.sampled_from([message for message, _ in PREFIXES.values()]), st.data())
def test_no_bytes_make_it_raise(message: bytes, data: st.DataObject) -> None:
    content = bytearray(message)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    PULSAR.fragments.read_fragment(bytes(content))


# ---- the whole


@pytest.mark.parametrize("total", [1, 2, 3, 7])
def test_a_plain_one(total: int) -> None:
    *before, last = cut(TEXT, total)
    tree = joined(last, others(before))
    chunks = "1 chunk" if total == 1 else f"{total} chunks"
    assert [(source.name, source.data) for source in tree.sources[1:]] == [(f"payload, {chunks} joined", TEXT)]
    assert node(tree, "payload", "whole", "payload").value == TEXT
    assert at_path(tree, tree.sources[1].parent or ()).spec.name == "payload"
    assert not tree.findings
    whole = PULSAR.fragments.values(last, CONTEXT, others(before))
    assert whole is not None
    assert whole.values["payload"] == TEXT


def test_a_compressed_one() -> None:
    data = lz4_block(TEXT)
    *before, last = cut(data, 3, LZ4)
    tree = joined(last, others(before))
    names = ["message", "payload, 3 chunks joined", "payload, LZ4"]
    assert [source.name for source in tree.sources] == names
    assert [source.data for source in tree.sources[1:]] == [data, TEXT]
    assert at_path(tree, tree.sources[2].parent or ()) is node(tree, "payload", "whole", "payload")
    assert node(tree, "payload", "whole", "payload", "content").value == TEXT
    assert not tree.findings


def test_one_that_is_a_batch() -> None:
    """No client sends this; if one does, it is read as any batch is."""
    *before, last = cut(BATCH_OF_TWO, 2, field(11, 2))
    assert node(joined(last, others(before)), "payload", "whole", "payload", "messages").children
    whole = PULSAR.fragments.values(last, CONTEXT, others(before))
    assert whole is not None
    assert whole.values["payload"] == TWO


def test_the_rows_are_named() -> None:
    messages = cut(TEXT * 2, 24)

    def said(message: bytes, around: Sequence[Other]) -> str | None:
        return node(joined(message, around), "payload", "chunk").text

    assert said(messages[0], [Other(55, 23, None)]) == "message 55 has the whole"
    assert said(messages[0], []) is None
    assert said(cut(TEXT, 1)[0], []) == "alone"
    assert said(cut(TEXT, 2)[1], others(cut(TEXT, 2)[:1])) == "with message 10"
    assert said(cut(TEXT, 3)[2], others(cut(TEXT, 3)[:2])) == "with messages 10 and 11"
    long = said(messages[-1], others(messages[:-1]))
    assert long is not None
    assert long.endswith("28, 29 and 3 more")


def test_encrypted_ones_stay_closed() -> None:
    *before, last = cut(TEXT, 2, KEY)
    tree = joined(last, others(before))
    assert (len(tree.sources), tree.findings) == (1, [])
    assert node(tree, "payload", "chunk").text == (
        "with message 10; each is encrypted by itself, so they can't be joined"
    )
    assert PULSAR.fragments.values(last, CONTEXT, others(before)) is None


# ---- what is wrong


@dataclass(frozen=True)
class Case:
    """A last chunk among others, the code that is found, a part of its text, and whether there is a joined source."""

    name: str
    last: bytes
    around: Sequence[Other]
    code: str
    text: str
    joins: bool = False

    def __str__(self) -> str:
        return self.name


THREE = cut(TEXT, 3)
SEVEN = cut(TEXT, 7)
CASES = [
    Case("all are missing", THREE[2], [], "missing-chunks", "of 3 chunks those of number 0 to 1 are not"),
    Case("the first is missing", THREE[2], others(THREE[1:2], [1]), "missing-chunks", "number 0 are"),
    Case("some are missing", SEVEN[6], others([SEVEN[0], SEVEN[3]], [0, 3]), "missing-chunks", "1 to 2, 4 to 5"),
    Case("two thousand millions are missing", chunk(2**31 - 2, 2**31 - 1, b"x"), [], "missing-chunks",
         "number 0 to 2147483645 are"),
    Case("many runs are missing", chunk(80, 81, b"x"), others([b""] * 40, range(1, 80, 2)), "missing-chunks",
         "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38 and more are"),
    Case("one is cut", THREE[2], others([THREE[0], THREE[1][:-1]]), "missing-chunks", "chunk 1, in message 11, is not"),
    Case("one is nothing", THREE[2], others([THREE[0], b""]), "missing-chunks", "is not whole"),
    Case("it is cut itself", THREE[2][:-1], others(THREE[:2]), "missing-chunks", "chunk 2, in this message, is not"),
    Case("more than there are", chunk(7, 3, b"x"), others(THREE), "inconsistent-chunks",
         "chunk 7, counted from 0, is said to be of 3"),
    Case("of none", chunk(0, 0, b"x"), [], "inconsistent-chunks", "is said to be of 0"),
    Case("of less than none", chunk(0, -1, b"x"), [], "inconsistent-chunks", "is said to be of -1"),
    Case("out of order", THREE[2], [Other(10, 1, THREE[1]), Other(11, 0, THREE[0])], "inconsistent-chunks",
         "out of order: 1, 0 before the last, which is 2", joins=True),
    Case("too few bytes", chunk(1, 2, b"x", size=3), others([chunk(0, 2, b"x", size=3)]), "inconsistent-chunks",
         "the chunks have 2 bytes together, total_chunk_msg_size says 3", joins=True),
    Case("too many bytes", chunk(1, 2, b"xxx", size=3), others([chunk(0, 2, b"x", size=3)]), "inconsistent-chunks",
         "the chunks have 4 bytes together, total_chunk_msg_size says 3", joins=True),
    Case("another number of them", chunk(1, 2, b"x"), others([chunk(0, 3, b"x")]), "inconsistent-chunks",
         "num_chunks_from_msg is 3 in message 10, and 2 in the last", joins=True),
    Case("another compression", chunk(1, 2, b"x"), others([chunk(0, 2, b"x", LZ4)]), "inconsistent-chunks",
         "compression is LZ4 in message 10, and None in the last", joins=True),
    Case("too much", THREE[2], [Other(10, 0, None), Other(11, 1, None)], "limit-exceeded", "may be joined"),
    Case("no LZ4", chunk(1, 2, b"x", LZ4), others([chunk(0, 2, b"\xff", LZ4)]), "malformed-body", "is not lz4",
         joins=True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_wrong_is_reported_in_its_place(case: Case) -> None:
    tree = joined(case.last, case.around)
    found = next(each for each in tree.findings if each.code == case.code and case.text in each.text)
    assert (found.offset or 0) + (found.length or 0) <= tree.sources[found.source].length
    assert (len(tree.sources) > 1) is case.joins
    if not case.joins:
        assert PULSAR.fragments.values(case.last, CONTEXT, case.around) is None


def test_a_whole_under_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decompressed is bounded as in any message; what was joined is shown all the same."""
    monkeypatch.setattr(budget._Bound, "size", len(TEXT) - 1)
    *before, last = cut(lz4_block(TEXT), 2, LZ4)
    tree = joined(last, others(before))
    assert [finding.code for finding in tree.findings] == ["limit-exceeded"]
    assert [source.name for source in tree.sources] == ["message", "payload, 2 chunks joined"]
    assert PULSAR.fragments.values(last, CONTEXT, others(before)) is None


LISTS = [cut(TEXT, 3), cut(lz4_block(TEXT), 3, LZ4), cut(BATCH_OF_TWO, 3, field(11, 2)), cut(TEXT, 3, KEY)]


@given(st.sampled_from(LISTS), st.data())
def test_mutations_of_any_of_them(messages: list[bytes], data: st.DataObject) -> None:
    content = [bytearray(each) for each in messages]
    for _ in range(data.draw(st.integers(1, 4))):
        one = content[data.draw(st.integers(0, 2))]
        at = data.draw(st.integers(0, len(one)))
        one[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    *before, last = map(bytes, content)
    joined(last, others(before, data.draw(st.permutations([0, 1]))))


def test_frames_without_a_payload_are_left_alone() -> None:
    for message in (b"", THREE[0][:30], frame(18), sized(b""), frame(6, field(1, 0), field(2, 3))):
        tree = joined(message, others(THREE[:2]))
        assert len(tree.sources) == 1
        assert PULSAR.fragments.values(message, CONTEXT, others(THREE[:2])) is None
