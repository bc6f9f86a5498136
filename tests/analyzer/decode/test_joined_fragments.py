"""What was sent in several messages, found and joined: in captures of real clients, and in what may come otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import analyzer.decode.fragments
from analyzer.decode import fragments
from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.decode.fragments import find_before
from analyzer.messages import defects
from analyzer.session import Session
from dissectors.field import Tree
from dissectors.pulsar import Pulsar
from dissectors.slotted import replace
from dissectors.wire import budget
from dissectors.wire.message import fold_tree
from tests.analyzer.wire import CLIENT, SERVER, Segment, Talk, capture, data_segments, opening, segments
from tests.dissectors.pulsar.frames import CONNECT, CONNECTED, METADATA, field, frame, payload_part
from tests.dissectors.trees import assert_tiles, node
from tests.golden.truth import GOLDEN, SHARED

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6650))
BEGIN = [(CLIENT, CONNECT), (SERVER, CONNECTED)]
"""What every connection begins with: messages 1 and 2."""

Writes = Sequence[tuple[int, bytes]]


def chunk(number: int, total: int = 3, *, uuid: str = "p-0", consumer: int = 0, data: bytes | None = None) -> bytes:
    """A MESSAGE with a chunk, whose payload says which."""
    metadata = METADATA + field(26, uuid) + field(27, total) + field(29, number)
    payload = f"{uuid}:{number}/".encode() if data is None else data
    place = field(2, field(1, 7) + field(2, number))
    return frame(9, field(1, consumer), place, rest=payload_part(metadata, payload))


def plain(consumer: int = 0) -> bytes:
    place = field(2, field(1, 7) + field(2, 1))
    return frame(9, field(1, consumer), place, rest=payload_part(METADATA, b"plain"))


def pushed(messages: Iterable[bytes]) -> Writes:
    return [*BEGIN, *((SERVER, each) for each in messages)]


def opened(folder: Path, writes: Writes) -> Session:
    talk = Talk(tuple(writes), ENDS)
    return Session([capture(folder / "a.pcap", segments(talk), talk)]).load()


def tree_of(session: Session, row: int) -> Tree:
    tree, alone = fragments.decode_tree_with_message(session, row), decode_tree(session, row)
    assert_tiles(tree)
    assert fold_tree(tree).values == fold_tree(alone).values
    return tree


def text_of(tree: Tree) -> str | None:
    return node(tree, "payload", "chunk").text


def whole_of(tree: Tree) -> bytes | None:
    return tree.sources[1].data if len(tree.sources) > 1 else None


# ---- real clients


CHUNKED = {"go4_chunks": 2, "java4_chunks": 21, "mtu1500_java_chunks": 21}
"""How many messages in chunks were sent or delivered."""


@pytest.mark.parametrize("name", CHUNKED)
def test_messages_of_real_clients(name: str) -> None:
    paths = [folder / "pulsar" / f"{name}.pcap.zst" for folder in (GOLDEN, SHARED)]
    path = next(filter(Path.exists, paths), None)
    if path is None:
        pytest.skip(f"{name} is not beside the checkout")
    contents = []
    with Session([path]).load() as session:
        for row in range(len(session.rows)):
            found = fragments.find_fragment(session, row)
            metadata = decode_body(session, row).values.get("metadata")
            assert (found is not None) is (isinstance(metadata, dict) and "chunk_id" in metadata)
            if found is None or metadata is None:
                continue
            tree = tree_of(session, row)
            if not found.completes:
                assert str(text_of(tree)).endswith(" has the whole")
                continue
            whole = fragments.decode_reassembled(session, row, found, partial(find_before, session))
            assert whole is not None
            body, rows = whole
            parts = [decode_body(session, each).values["payload"] for each in rows]
            assert tree.sources[1].data == b"".join(parts)
            assert len(tree.sources[1].data) == metadata["total_chunk_msg_size"]
            assert body.values["payload"] == tree.sources[-1].data
            assert len(tree.sources[-1].data) == metadata["uncompressed_size"]
            assert not tree.findings
            contents.append(tree.sources[-1].data)
    assert len(contents) == CHUNKED[name]
    assert len(set(contents)) <= 2, "what one producer sent in several ways, and each consumer got"
    if "java" in name:
        assert any(each.startswith(b"long text") for each in contents)


def test_encrypted_messages_of_a_real_client() -> None:
    with Session([GOLDEN / "pulsar" / "java4_encryption.pcap.zst"]).load() as session:
        found = [(row, fragments.find_fragment(session, row)) for row in range(len(session.rows))]
        last = [(row, part) for row, part in found if part is not None and part.completes]
        assert len(last) == 3
        for row, part in last:
            tree = tree_of(session, row)
            assert "each is encrypted by itself" in str(text_of(tree))
            assert (
                whole_of(tree),
                fragments.decode_reassembled(session, row, part, partial(find_before, session)),
            ) == (None, None)


# ---- which messages belong together

ORDERS: dict[str, tuple[list[bytes], int, str, bytes | None]] = {
    "one after the other": ([chunk(0), chunk(1), chunk(2)], 4, "with messages 3 and 4", b"p-0:0/p-0:1/p-0:2/"),
    "others between": (
        [chunk(0), plain(), chunk(0, uuid="b"), chunk(1), plain(7), chunk(2)],
        7,
        "with messages 3 and 6",
        b"p-0:0/p-0:1/p-0:2/",
    ),
    "the same for two consumers": (
        [chunk(0), chunk(0, consumer=1, data=b"x"), chunk(1, consumer=1, data=b"y"), chunk(1), chunk(2)],
        6,
        "with messages 3 and 6",
        b"p-0:0/p-0:1/p-0:2/",
    ),
    "delivered again": (
        [chunk(0, data=b"x"), chunk(1, data=b"y"), chunk(2), chunk(0), chunk(1), chunk(2)],
        7,
        "with messages 6 and 7",
        b"p-0:0/p-0:1/p-0:2/",
    ),
    "delivered again from the middle": (
        [chunk(0), chunk(1, data=b"y"), chunk(1), chunk(2)],
        5,
        "with messages 3 and 5",
        b"p-0:0/p-0:1/p-0:2/",
    ),
    "delivered again, and one is missing": (
        [chunk(0), chunk(1), chunk(2), chunk(0), chunk(2)],
        6,
        "with message 6",
        None,
    ),
    "out of order": ([chunk(1), chunk(0), chunk(2)], 4, "with messages 3 and 4", b"p-0:0/p-0:1/p-0:2/"),
    "not the last": ([chunk(0), chunk(1), plain(), chunk(2)], 2, "message 6 has the whole", None),
    "not the last, and it begins again": ([chunk(0), chunk(1), chunk(0), chunk(1), chunk(2)], 3, "None", None),
    "not the last, and that is missing": ([chunk(0), chunk(1)], 2, "None", None),
}


@pytest.mark.parametrize("case", ORDERS)
def test_which_belong_together(case: str, tmp_path: Path) -> None:
    messages, row, text, whole = ORDERS[case]
    with opened(tmp_path, pushed(messages)) as session:
        tree = tree_of(session, row)
        assert (str(text_of(tree)), whole_of(tree)) == (text, whole)
        codes = {"delivered again, and one is missing": ["missing-chunks"], "out of order": ["inconsistent-chunks"]}
        assert [finding.code for finding in tree.findings] == codes.get(case, [])


def test_another_connection_and_the_other_direction_are_other_messages(tmp_path: Path) -> None:
    send = frame(
        6,
        field(1, 0),
        field(2, 3),
        rest=payload_part(METADATA + field(26, "p-0") + field(27, 2) + field(29, 0), b"sent"),
    )
    with opened(tmp_path, [*BEGIN, (CLIENT, send), (SERVER, chunk(1, 2))]) as session:
        tree = tree_of(session, 3)
    assert (text_of(tree), whole_of(tree)) == ("alone", None)
    assert [finding.code for finding in tree.findings] == ["missing-chunks"]


def test_a_capture_that_lost_bytes_of_one(tmp_path: Path) -> None:
    writes = pushed([chunk(0), chunk(1, data=b"y" * 200), chunk(2)])
    cut = [*opening(), *data_segments(writes, lambda data: [data[:90], data[90:190], data[190:]])]
    remaining = [each for each in cut if not (each.side == SERVER and each.payload == b"y" * 100)]
    late = [Segment(SERVER, 10_000_000, b"", 0)]
    talk = Talk(tuple(writes), ENDS)
    with Session([capture(tmp_path / "a.pcap", [*remaining, *late], talk)]).load() as session:
        rows = [row for row in range(len(session.rows)) if fragments.find_fragment(session, row) is not None]
        tree = tree_of(session, rows[-1])
        assert len(remaining) == len(cut) - 1
        assert "missing-chunks" in [finding.code for finding in tree.findings]
        assert whole_of(tree) is None
        assert fragments.decode_tree_with_message(session, rows[1]).findings


def test_rows_that_have_left(tmp_path: Path) -> None:
    before = [plain() for _ in range(40)]
    with opened(tmp_path, pushed([chunk(0), *before, chunk(1), chunk(2)])) as session:
        last = len(session.rows) - 1
        assert whole_of(tree_of(session, last)) is not None
        session.eviction.evict(last - 5)
        tree = tree_of(session, last)
    assert [finding.text for finding in tree.findings] == [
        "of 3 chunks those of number 0 are not in the messages before this one"
    ]


def test_while_packets_come_it_is_what_the_file_has(tmp_path: Path) -> None:
    """Only what comes later is told later: which message has the whole."""
    writes = pushed([chunk(0), plain(), chunk(1), chunk(2), chunk(0), chunk(1), chunk(2)])
    with opened(tmp_path, writes) as whole, Session([tmp_path / "a.pcap"], block=1) as session:
        seen = 0
        for closed in session.grow():
            for row in closed:
                found = fragments.find_fragment(session, row)
                tree = fragments.decode_tree_with_message(session, row)
                if found is not None and not found.completes:
                    assert text_of(tree) in (None, text_of(fragments.decode_tree_with_message(whole, row)))
                else:
                    assert [source.data for source in tree.sources] == [
                        source.data for source in fragments.decode_tree_with_message(whole, row).sources
                    ]
                    seen += found is not None
        assert seen == 2
        assert text_of(fragments.decode_tree_with_message(session, 2)) == "message 6 has the whole"


# ---- bounds


def test_so_many_messages_are_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(analyzer.decode.fragments, "MOST", 8)
    monkeypatch.setattr(analyzer.decode.fragments, "_STEP", 3)
    requested = count()
    reported = Pulsar().fragments.read_fragment

    def portion(prefix: bytes) -> object:
        next(requested)
        return reported(prefix)

    monkeypatch.setattr(Pulsar, "fragments", replace(Pulsar().fragments, read_fragment=portion))
    with opened(tmp_path, pushed([chunk(0), chunk(1), *[plain()] * 7, chunk(2), *[plain()] * 9, chunk(0)])) as session:
        assert text_of(fragments.decode_tree_with_message(session, 11)) == "with message 4"
        assert next(requested) == 1 + 8
        assert text_of(fragments.decode_tree_with_message(session, 2)) is None
        assert next(requested) == 1 + 8 + 1 + 1 + 8
        fragments.decode_tree_with_message(session, 5)
        assert next(requested) == 1 + 8 + 1 + 1 + 8 + 1 + 1, "what has no portion is asked once"
        fragments.decode_tree_with_message(session, 0)
        assert next(requested) == 1 + 8 + 1 + 1 + 8 + 1 + 1 + 1, "and what can have none, never"


def test_no_more_bytes_are_stored_than_may_be_decompressed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with opened(tmp_path, pushed([chunk(0), chunk(1), chunk(2)])) as session:
        size = sum(len(chunk(number)) for number in range(3))
        monkeypatch.setattr(budget._Bound, "size", size - 1)
        tree = tree_of(session, 4)
        assert [finding.code for finding in tree.findings] == ["limit-exceeded"]
        assert (text_of(tree), whole_of(tree)) == ("with messages 3 and 4", None)
        monkeypatch.setattr(budget._Bound, "size", size)
        assert whole_of(tree_of(session, 4)) is not None


# ---- defects


def test_a_defect_leaves_the_message_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)

    def fails(*_: object) -> object:
        raise ZeroDivisionError

    with opened(tmp_path, pushed([chunk(0), chunk(1), chunk(2)])) as session:
        found = fragments.find_fragment(session, 4)
        assert found is not None
        monkeypatch.setattr(Pulsar, "fragments", replace(Pulsar().fragments, tree=fails, values=fails))
        tree = tree_of(session, 4)
        assert [finding.code for finding in tree.findings] == ["bug"]
        assert fragments.decode_reassembled(session, 4, found, partial(find_before, session)) is None
        monkeypatch.setattr(Pulsar, "fragments", replace(Pulsar().fragments, read_fragment=fails))
        assert fragments.find_fragment(session, 4) is None
        assert not tree_of(session, 4).findings
