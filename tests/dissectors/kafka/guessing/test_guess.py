"""Answers whose requests nobody saw: which of them are read, as what, and what is said of the others."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from analyzer.decode.content import read_header, read_message
from analyzer.hexinput.pasted import cut_messages, decode_by_looks
from analyzer.session import Session
from dissectors.api import Context, Role, State
from dissectors.kafka import Kafka
from dissectors.kafka.guessing.guess import KafkaGuessFinding, candidates, guess, layout
from dissectors.kafka.labels import error_name
from dissectors.wire import Secret
from dissectors.wire.message import fold_tree
from tests.dissectors.kafka.nested.structured import both, framed
from tests.dissectors.kafka.truth import GOLDEN, frames
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()
ORPHAN = Context(Role.RESPONSE)
CAPTURES = ("k4_java_classic", "k4_java_admin", "k28_sweep", "k4_py_aio", "k11_sweep")


def answer(body: bytes) -> bytes:
    return framed(struct.pack(">i", 7) + body)


def compact(content: bytes) -> bytes:
    return bytes([len(content) + 1]) + content


def text(content: bytes) -> bytes:
    return struct.pack(">h", len(content)) + content


METADATA = struct.pack(">ii", 1, 5) + text(b"broker-1.example") + struct.pack(">i", 9092) + struct.pack(">i", 1) \
    + struct.pack(">h", 0) + text(b"orders") + struct.pack(">i", 0)  # fmt: skip
COORDINATOR = struct.pack(">hi", 0, 3) + text(b"kafka.example.org") + struct.pack(">i", 9092)
FETCHED = b"\0" + struct.pack(">ihi", 0, 0, 0x0C71FCF5) + b"\1\0"
TOKEN = struct.pack(">hh", 0, -1) + struct.pack(">i", 30) + b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="
PRODUCER = struct.pack(">ihqh", 0, 0, 4123, 2)


@pytest.mark.parametrize(
    ("body", "name", "values"),
    [
        (METADATA, "Metadata v0", {"brokers": [{"nodeId": 5, "host": "broker-1.example", "port": 9092}],
            "topics": [{"errorCode": 0, "name": "orders", "partitions": []}]}),
        (COORDINATOR, "FindCoordinator v0", {"errorCode": 0, "nodeId": 3, "host": "kafka.example.org", "port": 9092}),
        (TOKEN, "SaslAuthenticate v0", {"errorCode": 0, "errorMessage": None, "authBytes": Secret(TOKEN[8:])}),
        (PRODUCER, "InitProducerId v1", {"throttleTimeMs": 0, "errorCode": 0, "producerId": 4123, "producerEpoch": 2}),
    ],
    ids=["brokers", "a coordinator", "a token", "a producer"],
)  # fmt: skip
def test_recognition_by_bytes(body: bytes, name: str, values: dict[str, object]) -> None:
    found, tree = both(answer(body), ORPHAN)
    assert found.values == values
    (finding,) = found.findings
    assert (finding.code, finding.text.partition(";")[0]) == ("guessed-layout", f"read as {name}")
    assert KAFKA.info(found, ORPHAN).startswith(f"perhaps {name}")
    assert tree.findings == [finding]
    assert KAFKA.header(answer(body), False).operation is None
    assert KAFKA.header(answer(body), False).state is State.GUESSED


def test_a_session_that_has_nothing_new_is_a_fetch() -> None:
    body, _ = both(answer(FETCHED), ORPHAN)
    assert body.values["sessionId"] == 0x0C71FCF5
    assert KAFKA.info(body, ORPHAN).startswith("perhaps Fetch v")


@pytest.mark.parametrize(
    ("body", "begin"),
    [
        (b"", None),
        (b"\0\0", "too little to tell what it answers: "),
        (b"\0\x1b", "too little to tell what it answers: "),
        (struct.pack(">ih", 0, 0), "too little to tell what it answers: "),
        (b"\0" + struct.pack(">ih", 0, 0) + b"\0", "too little to tell what it answers: "),
        (Random(1).randbytes(60), None),
        (b"HTTP/1.1 200 OK\r\n\r\n", None),
    ],
    ids=["empty", "no error", "an error", "a throttle and an error", "the same, flexible", "noise", "text"],
)
def test_what_is_unknown_is_not_guessed(body: bytes, begin: str | None) -> None:
    found, _ = both(answer(body), ORPHAN)
    payload = body if begin else Secret(body)
    assert found.values == ({"payload": payload} if body else {})
    assert [finding.text.startswith(begin or "-") for finding in found.findings] == [True] * (begin is not None)
    assert not any(isinstance(finding, KafkaGuessFinding) for finding in found.findings)


def test_what_may_be_a_secret_is_not_shown() -> None:
    """Where the bytes may as well be a token, they are one: here both are as likely as not."""
    token = struct.pack(">hh", 0, -1) + struct.pack(">i", 5) + b"v=abc"
    shown = both(answer(token), ORPHAN)[0].values
    assert b"abc" not in repr(shown).encode()
    assert any(isinstance(value, Secret) for value in shown.values())


def test_a_cut_answer_is_not_guessed() -> None:
    frame = answer(METADATA)
    for end in range(len(frame)):
        assert guess(frame[:end]) is None


def test_the_runner_up_is_named() -> None:
    found = guess(answer(PRODUCER))
    assert found is not None
    assert found.finding.text == "read as InitProducerId v1; InitProducerId v0 would fit too"
    assert [each.name for each in candidates(answer(PRODUCER))][:2] == ["InitProducerId v1", "InitProducerId v0"]


def judged(message: bytes, key: int, version: int) -> str:
    found = guess(message)
    if found is None:
        return "nothing fits"
    if found.key is None or found.version is None:
        assert key in {each.key for each in candidates(message)}, "what is not decided has the right one among it"
        return "undecided"
    same = found.key == key or layout(found.key, found.version) == layout(key, version)
    return "right" if same else "wrong"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CAPTURES)
def test_real_answers_without_their_requests(name: str) -> None:
    path = Path(__file__).parents[3] / "golden" / "kafka" / f"{name}.pcap.zst"
    counts: Counter[str] = Counter()
    with Session([path]) as session:
        session.load()
        for row in range(len(session.rows)):
            header = read_header(session, row)
            if header.role is Role.RESPONSE and header.code is not None and header.version is not None:
                message = read_message(session, row)
                counts[judged(message, header.code, header.version)] += 1
                body, tree = KAFKA.values(message, ORPHAN), KAFKA.tree(message, ORPHAN)
                assert_tiles(tree)
                assert fold_tree(tree, error_name) == body
    assert counts["right"] > 0.6 * counts.total() > 20
    assert counts["wrong"] <= 0.03 * counts.total()
    assert counts["nothing fits"] == 0


def test_answers_of_random_values() -> None:
    """Of all layouts. Their values are those of nobody, so much is dear; still hardly one is taken for another."""
    truth = [frame for frame in frames(GOLDEN) if frame.context.role is Role.RESPONSE]
    counts = Counter(judged(each.data, each.context.code or 0, each.context.version or 0) for each in truth)
    assert counts.total() == 1104
    assert counts["right"] >= 550
    assert counts["wrong"] <= 15


@pytest.mark.parametrize(
    "body",
    [bytes(1 << 20), b"\1" * (1 << 20), b"\xff" * (1 << 20), bytes(4 << 20), struct.pack(">i", 250_000) + bytes(1 << 18)],  # noqa: E501
    ids=["zeros", "ones", "ff", "4 MiB", "a long list"],
)  # fmt: skip
def test_large_ones_end(body: bytes) -> None:
    assert guess(answer(body)) is None


@pytest.mark.parametrize("body", [METADATA, COORDINATOR, PRODUCER], ids=["no request", "like a request", "a producer"])
def test_decode_profits_from_it(body: bytes) -> None:
    """Also where the bytes begin as a request does: read as one they break, and as an answer they fit."""
    ((data, header, context),) = decode_by_looks(KAFKA, cut_messages(answer(body), KAFKA), None)
    assert (header.role, header.state) == (Role.RESPONSE, State.GUESSED)
    assert KAFKA.info(KAFKA.values(data, context), context).startswith("perhaps ")


def test_a_broken_request_is_no_answer() -> None:
    for frame in frames(GOLDEN):
        if frame.context.role is Role.REQUEST and frame.row["instance"] == 1:
            for data in (frame.data, frame.data[:-1], framed(frame.data[4:-1])):
                (found,) = decode_by_looks(KAFKA, cut_messages(data, KAFKA), None)
                assert found.header.role is not Role.RESPONSE, frame.name
