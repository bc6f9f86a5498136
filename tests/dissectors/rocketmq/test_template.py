"""RocketMQ's frames with holes: the same body, or none; printed together they are the same bytes as each alone."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.session import Session
from dissectors.api import Body, Context, Role
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.template import make_template
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import Bytes, Integer, NestedValue, Text
from dissectors.wire.secret import VeiledSecret
from tests.analyzer.roads import Taken, hold_equal, taken
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, in_parts, segments, whole
from tests.dissectors.rocketmq.frames import binary, command, frame, item, pair, stored
from tests.dissectors.rocketmq.truth import GOLDEN, SHARED, SYNTHETIC, captured, synthetic
from tests.dissectors.symbolic import filled, find_symbolic_values

pytestmark = pytest.mark.xdist_group("captured")

__all__ = ["taken"]

ROCKETMQ = RocketMQ()
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 10_911))
REQUEST, RESPONSE = Role.REQUEST, Role.RESPONSE
SEND_V2, PULL, HEARTBEAT, BATCH = 310, 11, 34, 320
PROPERTIES = "KEYS\1k 1\2UNIQ_KEY\0017F0000013\2WAIT\1true\2TAGS\1a"


def is_same(message: bytes, context: Context) -> bool:
    """Whether it has a shape; if so, its body is the decoder's."""
    made = make_template(message, context, None)
    if made is None:
        return False
    body = ROCKETMQ.values(message, context)
    assert repr(filled(made.body.values)) == repr(filled(body.values))
    assert (made.body.error, made.body.findings) == (body.error, body.findings)
    return True


def test_of_real_captures() -> None:
    """Only what there is a finding about stands for itself, and what is long. Neighbours are mostly alike."""
    frames = captured()[::2]
    alone = [each for each in frames if not is_same(each.data, each.context)]
    assert len(alone) < len(frames) // 4
    for each in alone:
        assert ROCKETMQ.values(each.data, each.context).findings or len(each.data) > 4096, each.name


@pytest.mark.parametrize("folder", [GOLDEN, SHARED], ids=["golden", "shared"])
def test_every_header_class(folder: Path) -> None:
    if not (folder / SYNTHETIC).exists():
        pytest.skip(f"{folder.name}/{SYNTHETIC} is not beside this checkout")
    assert sum(is_same(each.data, each.context) for each in synthetic(folder / SYNTHETIC)) > 100


V2: dict[str, Any] = {
    "a": "g",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "3",
    "f": "0",
    "g": "1795271015007",
    "h": "0",
}
V2 |= {"i": PROPERTIES, "j": "0", "k": "false", "m": "false"}
SIGNED: dict[str, Any] = {**V2, "Signature": "xJaSlJ1pGUZavck7XjWc+kceCHk=", "AccessKey": "me"}
ACCESS: dict[str, Any] = {"accessKey": "me", "secretKey": "12345678", "admin": "true"}
PULLED: dict[str, Any] = {"nextBeginOffset": "43", "minOffset": "0", "maxOffset": "43", "suggestWhichBrokerId": "0"}
CLIENTS = {"clientID": "1@2", "producerDataSet": [{"groupName": "g"}], "consumerDataSet": [], "heartbeatFingerprint": 0}


def ext(values: dict[str, Any]) -> bytes:
    return b"".join(pair(name.encode(), value.encode()) for name, value in values.items())


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


SHAPES: dict[str, tuple[bytes, int, Role]] = {
    "a send": (command(SEND_V2, b"hello", **V2), SEND_V2, REQUEST),
    "binary": (binary(SEND_V2, ext(V2), body=b"hello"), SEND_V2, REQUEST),
    "properties at the end": (binary(SEND_V2, ext({**V2, "k": "false", "i": PROPERTIES})), SEND_V2, REQUEST),
    "signed": (command(SEND_V2, b"hello", **SIGNED), SEND_V2, REQUEST),
    "signed, binary": (binary(SEND_V2, ext({**SIGNED, "z": "1"}), body=b"hello"), SEND_V2, REQUEST),
    "a secret of its header class": (command(50, **ACCESS), 50, REQUEST),
    "the same, binary": (binary(50, ext(ACCESS)), 50, REQUEST),
    "no body": (command(SEND_V2, **V2), SEND_V2, REQUEST),
    "compressed": (command(SEND_V2, zlib.compress(b"hello"), **{**V2, "f": "1"}), SEND_V2, REQUEST),
    "compressed to nothing": (command(SEND_V2, zlib.compress(b""), **{**V2, "f": "1"}), SEND_V2, REQUEST),
    "letters beyond ASCII": (command(SEND_V2, b"x", **{**V2, "i": "color\1蓝\2KEYS\1k\2"}), SEND_V2, REQUEST),
    "escapes": (command(SEND_V2, b"x", **{**V2, "a": 'a"b\\c/\n'}), SEND_V2, REQUEST),
    "a number written otherwise": (command(SEND_V2, b"x", **{**V2, "e": "+3"}), SEND_V2, REQUEST),
    "a negative one": (command(SEND_V2, b"x", **{**V2, "e": "-1"}), SEND_V2, REQUEST),
    "an answer": (command(0, flag=1, msgId="7F", queueId="3", queueOffset="42"), SEND_V2, RESPONSE),
    "messages": (command(0, stored(b"one") + stored(b"two"), flag=1, **PULLED), PULL, RESPONSE),
    "a batch": (command(BATCH, item(b"one") + item(b"two"), **V2), BATCH, REQUEST),
    "a heartbeat": (command(HEARTBEAT, dumped(CLIENTS)), HEARTBEAT, REQUEST),
    "its answer": (command(0, flag=1), HEARTBEAT, RESPONSE),
    "a body with bare names": (command(0, b'{"brokerDatas":[{"brokerAddrs":{0:"a"}}]}', flag=1), 105, RESPONSE),
}
ALONE: dict[str, tuple[bytes, int, Role]] = {
    "no number": (command(SEND_V2, **{**V2, "e": "three"}), SEND_V2, REQUEST),
    "too large a number": (command(SEND_V2, **{**V2, "e": str(1 << 31)}), SEND_V2, REQUEST),
    "an empty one": (command(SEND_V2, **{**V2, "e": ""}), SEND_V2, REQUEST),
    "a value that is no text": (command(SEND_V2, **{**V2, "zz": 5}), SEND_V2, REQUEST),
    "a field twice": (frame(b'{"code":34,"flag":0,"language":"JAVA","opaque":1,"opaque":2,"version":1}'), 34, REQUEST),
    "too large an opaque": (command(HEARTBEAT, opaque=1 << 31), HEARTBEAT, REQUEST),
    "bytes behind the header": (frame(b'{"code":34,"flag":0,"language":"JAVA","opaque":1,"version":1}x'), 34, REQUEST),
    "bare names": (frame(b'{code:34,"flag":0,"language":"JAVA","opaque":1,"version":1}'), 34, REQUEST),
    "broken compression": (command(SEND_V2, b"hello", **{**V2, "f": "1"}), SEND_V2, REQUEST),
    "a broken stored message": (command(0, stored(b"one", crc=5), flag=1, **PULLED), PULL, RESPONSE),
    "a broken batch": (command(BATCH, item(b"one")[:-1], **V2), BATCH, REQUEST),
    "a broken body": (command(HEARTBEAT, b'{"clientID":'), HEARTBEAT, REQUEST),
    "a long text": (binary(SEND_V2, ext(V2)[:-1]), SEND_V2, REQUEST),
    "another serialization": (frame(b"{}", kind=2), HEARTBEAT, REQUEST),
    "no length": (bytes(12), HEARTBEAT, REQUEST),
    "a header beyond the frame": (pack(">II", 6, 99) + b"{}", HEARTBEAT, REQUEST),
    "a signature with an escape": (command(SEND_V2, **{**SIGNED, "Signature": 'a"b'}), SEND_V2, REQUEST),
}


def made_of(case: tuple[bytes, int, Role]) -> Body | None:
    made = make_template(case[0], Context(case[2], case[1]), None)
    return None if made is None else made.body


@pytest.mark.parametrize("case", SHAPES)
def test_what_has_a_shape(case: str) -> None:
    message, code, role = SHAPES[case]
    assert is_same(message, Context(role, code))


@pytest.mark.parametrize("case", ALONE)
def test_what_stands_for_itself(case: str) -> None:
    message, code, role = ALONE[case]
    assert not is_same(message, Context(role, code))


@pytest.mark.parametrize("case", ["a send", "binary"])
def test_what_is_left_open(case: str) -> None:
    body = made_of(SHAPES[case])
    assert body is not None
    header, wire = body.values["header"], body.values["extFields"]
    assert [type(header[name]) for name in ("topic", "queueId", "bornTimestamp")] == [Text, Integer, Integer]
    assert [type(wire[name]) for name in ("b", "e", "g")] == [Text] * 3
    assert (type(header["sysFlag"]), header["batch"], type(header["properties"])) == (int, False, PiecewiseText)
    assert type(body.values["body"]) is Bytes
    assert (body.values["flag"], body.values["language"], body.values["version"]) == (0, "JAVA", 513)


def test_bodies_that_are_left_open() -> None:
    for case in ("messages", "a batch"):
        body = made_of(SHAPES[case])
        assert body is not None
        assert type(body.values["body"]["messages"]) is NestedValue
    body = made_of(SHAPES["a heartbeat"])
    assert body is not None
    assert find_symbolic_values(body.values["body"]) == 3
    body = made_of(SHAPES["a body with bare names"])
    assert body is not None
    assert find_symbolic_values(body.values["body"]) == 0


@pytest.mark.parametrize("case", ["signed", "signed, binary"])
def test_of_a_secret_only_the_length_is_known(case: str) -> None:
    body = made_of(SHAPES[case])
    assert body is not None
    secret = body.values["extFields"]["Signature"]
    assert (type(secret), len(secret), str(secret)) == (VeiledSecret, 28, "<secret, 28 long>")
    assert "Signature" not in body.values["header"]
    with pytest.raises(TypeError):
        secret.reveal()


@pytest.mark.parametrize("case", ["a send", "binary", "a heartbeat", "messages"])
def test_every_cut_stands_for_itself(case: str) -> None:
    message, code, role = SHAPES[case]
    for end in range(len(message)):
        assert make_template(message[:end], Context(role, code), None) is None


def test_an_answer_next_to_its_request() -> None:
    (answer, code, _), requested = SHAPES["an answer"], SHAPES["a send"][0]
    contexts = Context(RESPONSE, code), Context(REQUEST, code)
    made = make_template(answer, contexts[0], (requested, contexts[1]))
    assert made is not None
    assert made.builder.data == answer + requested
    assert filled(made.body.values) == filled(ROCKETMQ.values(answer, contexts[0]).values)
    assert filled(made.body.request) == filled(ROCKETMQ.values(requested, contexts[1]).values)
    assert make_template(answer, contexts[0], (requested[:-1], contexts[1])) is None


@given(st.sampled_from([*SHAPES.values()]), st.data())
def test_bytes_that_changed(case: tuple[bytes, int, Role], chosen: st.DataObject) -> None:
    message, code, role = case
    content = bytearray(message)
    for _ in range(chosen.draw(st.integers(1, 3))):
        content[chosen.draw(st.integers(4, len(content) - 1))] = chosen.draw(
            st.sampled_from(b'\0\1 "\\,:{}-0\x7f\x80\xff') | st.integers(0, 255)
        )
    is_same(bytes(content), Context(role, code))


# ---- printed together


@pytest.mark.parametrize(
    ("name", "form", "share"), [("m494_acl_signed", "everything", 0.3), ("m550_bin_compress_lab_base", "table", 0.5)]
)
def test_printed_together(name: str, form: str, share: float, taken: Taken) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        hold_equal(session, {form})
        assert taken.rows > len(session.rows) * share


TEXTS = ("orders", "o", "", "end ", "a b", 'a"b', "a\\b", "größe", "x" * 70, "y" * 520, "-1", "a\tb", "\1", "KEYS\1\2")
NUMBERS = ("0", "7", "-1", "1795271015007", "007", "+1", "-0", "", "1" * 20, "x", str((1 << 31) - 1), str(1 << 31))


def said(random: Random, number: int) -> Iterator[tuple[int, bytes]]:
    """A request and its answer as one client has them, some of them odd."""
    values = {**V2, "g": str(1795271015007 + number), "e": str(number % 9)}
    if random.random() < 0.5:
        values[random.choice(("a", "b", "n"))] = random.choice(TEXTS)
    if random.random() < 0.3:
        values[random.choice(("e", "g", "j"))] = random.choice(NUMBERS)
    if random.random() < 0.5:
        values["i"] = f"KEYS\1{random.choice(TEXTS)}\2UNIQ_KEY\1{number:X}" + random.choice(("", "\2", "\2TAGS\1a"))
    if random.random() < 0.2:
        values["Signature"] = random.choice(("xJaSlJ1p=", "yJaSlJ1p=", "longer one", 'a"b', ""))
    body = random.choice((b"", b"1", b"hello", random.randbytes(40)))
    if random.random() < 0.2:
        values["f"], body = "1", random.choice((zlib.compress(body), body))
    if random.random() < 0.5:
        request = command(SEND_V2, body, opaque=number, **values)
    else:
        request = binary(SEND_V2, ext(values), body=body)
        request = request[:13] + number.to_bytes(4) + request[17:]
    yield CLIENT, request
    answer: dict[str, Any] = {
        "msgId": f"7F{number:012X}",
        "queueId": random.choice(("3", "-1")),
        "queueOffset": str(number * 7),
    }
    yield SERVER, command(random.choice((0, 0, 0, 10, 2)), opaque=number, flag=1, **answer)
    if random.random() < 0.3:
        yield CLIENT, command(PULL, opaque=number + 5000, queueId="3", queueOffset=str(number), sysFlag="3", topic="t")
        messages = [stored(random.randbytes(9), crc=random.choice((None, None, None, 5))) for _ in range(number % 3)]
        yield SERVER, command(0, b"".join(messages), opaque=number + 5000, flag=1, **PULLED)


def opened(folder: Path, random: Random, count: int, changes: float = 0.0) -> Session:
    writes = []
    for number in range(1, count):
        for side, message in said(random, number * random.choice((1, 1, 300))):
            changed = bytearray(message)
            if random.random() < changes:
                changed[random.randrange(8, len(message))] = random.choice(b'\0\1 "\\,:{}-05\x7f\x80\xff')
            writes.append((side, bytes(changed)))
    talk = Talk(tuple(writes), ENDS)
    cut = whole if random.random() < 0.7 else in_parts(random, 300)
    return Session([capture(folder / "a.pcap", segments(talk, cut), talk)]).load()


@pytest.mark.parametrize("seed", range(2))
def test_many_that_are_alike_but_for_some(tmp_path: Path, seed: int, taken: Taken) -> None:
    """One conversation is whole, one has bytes changed. What the forms share is asked of one of them."""
    random = Random(seed)
    with opened(tmp_path, random, 30, 0.2 * seed) as session:
        assert len(session.rows) > 60
        hold_equal(session, ("everything", "fields")[seed : seed + 1])
        hold_equal(session, ("table",), streaming=True, most=41)
    assert taken.rows > 40


@pytest.mark.parametrize("number", ["007", "-0", "+1", "1.5", "1e3", "-", "1 ", "9" * 17, "9" * 18, "1" * 20])
def test_numbers_of_json_next_to_plain_ones(tmp_path: Path, number: str, taken: Taken) -> None:
    """Some of these are no JSON at all: where 5 stood, a number in the way of a number makes another body."""
    bodies = [b'{"clientID":"1@2","heartbeatFingerprint":%s}' % each.encode() for each in ("5", number, "-123", number)]
    writes = tuple((CLIENT, command(HEARTBEAT, body, opaque=at)) for at, body in enumerate(bodies, 1))
    talk = Talk(writes, ENDS)
    with Session([capture(tmp_path / "a.pcap", segments(talk, whole), talk)]).load() as session:
        hold_equal(session, ("fields",))
    assert taken.rows >= 2
