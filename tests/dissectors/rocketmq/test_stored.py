"""Stored messages, batches, and what is in their bodies: by hand, in all forms, and broken."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from tests.dissectors.rocketmq.frames import command, item, sparing, stored
from tests.dissectors.trees import assert_tiles, at_path, node

ROCKETMQ = RocketMQ()
PULLED, SENT = Context(Role.RESPONSE, 11), Context(Role.REQUEST, 320)
V2 = 0xDAA320AB
AT = len(command(0, flag=1))
"""Where the bodies of these answers begin."""
SIX = bytes(15) + b"\1", bytes.fromhex("20010db8000000000000000000000002")


def decoded(data: bytes, context: Context) -> tuple[Body, Tree]:
    body, tree = ROCKETMQ.values(data, context), ROCKETMQ.tree(data, context)
    assert_tiles(tree)
    assert fold_tree(tree, context) == body
    return sparing(body), tree


def pulled(*messages: bytes) -> tuple[Body, Tree]:
    return decoded(command(0, b"".join(messages), flag=1), PULLED)


def first(body: Body) -> dict[str, Any]:
    found: dict[str, Any] = body.values["body"]["messages"][0]
    return found


def test_a_message() -> None:
    body, tree = pulled(stored(b"hello"), stored(b""))
    assert first(body) == {
        "topic": "orders", "queueId": 3, "queueOffset": 42, "commitLogOffset": 4242, "flag": 0,
        "bornTimestamp": 1_700_000_000_000, "bornHost": "127.0.0.1:40000",
        "storeTimestamp": 1_700_000_000_001, "storeHost": "10.0.0.2:10911",
        "sysFlag": 0, "bodyCRC": 0x3610A686, "crcValid": True,
        "reconsumeTimes": 1, "preparedTransactionOffset": 0,
        "properties": {"TAGS": "a", "KEYS": "k"}, "body": b"hello",
    }  # fmt: skip
    assert body.values["body"]["messages"][1]["body"] == b""
    assert body.findings == ()
    assert node(tree, "body", "messages", "[0]", "bornTimestamp").text == "2023-11-14T22:13:20.000Z"
    tags = node(tree, "body", "messages", "[0]", "properties", "TAGS")
    assert (tags.value, tags.head, tags.length) == ("a", 5, 7)
    assert ROCKETMQ.info(body, PULLED) == "2 messages of orders, 5 bytes"


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("born", [False, True])
@pytest.mark.parametrize("magic", [0xDAA320A7, V2])
def test_all_forms(magic: int, born: bool, store: bool) -> None:
    hosts = (SIX[0] if born else b"\x7f\0\0\x01", SIX[1] if store else b"\x0a\0\0\x02")
    topic = b"t" * 300 if magic == V2 else b"t" * 127
    body, _ = pulled(stored(b"x", magic=magic, sys_flag=born << 4 | store << 5, hosts=hosts, topic=topic))
    found = first(body)
    assert found["topic"] == topic.decode()
    assert found["bornHost"] == ("[::1]:40000" if born else "127.0.0.1:40000")
    assert found["storeHost"] == ("[2001:db8::2]:10911" if store else "10.0.0.2:10911")
    assert body.findings == ()


def compressed(codec: int, data: bytes) -> bytes:
    import lz4.frame
    import zstandard

    if codec in (0, 3):
        return zlib.compress(data)
    return bytes(lz4.frame.compress(data) if codec == 1 else zstandard.compress(data))


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_compressed(codec: int) -> None:
    content = b"content " * 100
    message = stored(compressed(codec, content), sys_flag=1 | codec << 8)
    body, tree = pulled(message, message)
    assert first(body)["bodyUncompressed"] == content
    assert first(body)["body"] == compressed(codec, content)
    assert [source.length for source in tree.sources[1:]] == [800, 800]
    for source in tree.sources[1:]:
        assert source.parent is not None
        assert at_path(tree, source.parent).spec.name == "body"


def test_a_codec_that_is_none_and_bytes_that_are_not_compressed() -> None:
    for flag, why in ((1 | 5 << 8, "has compression 5, which is none"), (1, "is not zlib")):
        body, _ = pulled(stored(b"plain", sys_flag=flag), stored(b"more"))
        assert "bodyUncompressed" not in first(body)
        assert [message["body"] for message in body.values["body"]["messages"]] == [b"plain", b"more"]
        (finding,) = body.findings
        assert why in finding.text


def test_a_bomb() -> None:
    """Two messages of sixty MiB each: the budget is the frame's."""
    message = stored(zlib.compress(bytes(60 << 20)), sys_flag=1)
    body, _ = pulled(message, message)
    assert ["bodyUncompressed" in each for each in body.values["body"]["messages"]] == [True, False]
    assert [finding.code for finding in body.findings] == ["limit-exceeded"]


INNER = item(b"one", b"n\x010") + item(b"two")
ITEMS = [
    {"queueOffset": 42, "flag": 5, "properties": {"n": "0"}, "body": b"one"},
    {"queueOffset": 43, "flag": 5, "properties": {}, "body": b"two"},
]


def test_an_inner_batch() -> None:
    body, tree = pulled(stored(INNER, sys_flag=192))
    assert first(body)["messages"] == ITEMS
    assert first(body)["body"] == INNER
    assert len(tree.sources) == 1
    body, tree = pulled(stored(zlib.compress(INNER), sys_flag=193))
    assert first(body)["messages"] == ITEMS
    assert first(body)["bodyUncompressed"] == INNER
    assert len(tree.sources) == 2


def test_a_broken_inner_batch() -> None:
    body, _ = pulled(stored(INNER[:-1], sys_flag=192), stored(b"next"))
    assert len(body.values["body"]["messages"]) == 2
    assert [each.get("body") for each in first(body)["messages"]] == [b"one", b"two"]
    assert [finding.code for finding in body.findings] == ["malformed-body"]


def test_a_wrong_checksum() -> None:
    body, tree = pulled(stored(b"hello", crc=1))
    assert (first(body)["bodyCRC"], first(body)["crcValid"]) == (1, False)
    (finding,) = body.findings
    assert (finding.code, finding.length) == ("crc-mismatch", 4)
    assert node(tree, "body", "messages", "[0]", "bodyCRC").children[0].bits == 0x7FFFFFFF


def test_what_is_no_message_stays_bytes() -> None:
    for junk in (b"junk", bytes(100), stored(b"x", magic=0xCBD43194), stored(b"x")[1:]):
        body, _ = pulled(junk)
        assert body.values["body"] == junk
        assert [finding.text for finding in body.findings] == [f"body at offset {AT} is no stored message"]


def test_messages_around_what_is_broken() -> None:
    body, tree = pulled(stored(b"good"), stored(b"bad", magic=1), stored(b"good again"))
    assert [each.get("body") for each in body.values["body"]["messages"]] == [b"good", None, b"good again"]
    assert "is 0x1, which is none" in body.findings[0].text
    assert node(tree, "body", "messages", "[1]").children[-1].spec.type == "undecoded"


def test_properties_that_are_odd() -> None:
    body, _ = pulled(stored(b"", properties=b"\x02\x02alone\x02empty\x01\x02a\x01b\x01c"))
    assert first(body)["properties"] == {"alone": "", "empty": "", "a": "b\x01c"}
    body, _ = pulled(stored(b"", properties=b"a\x01\xff"))
    assert first(body)["properties"] == b"a\x01\xff"


def test_a_batch() -> None:
    data = item(b"one", b"TAGS\x01a\x02") + item(b"")
    body, _ = decoded(command(320, data, m="true"), SENT)
    assert body.values["body"]["messages"] == [
        {"flag": 5, "properties": {"TAGS": "a"}, "body": b"one"},
        {"flag": 5, "properties": {}, "body": b""},
    ]
    assert body.findings == ()
    body, _ = decoded(command(320, b"not a batch"), SENT)
    assert body.values["body"] == b"not a batch"
    body, _ = decoded(command(320, data + bytes(30)), SENT)
    assert "has size 0, the least is 22" in body.findings[0].text
    assert len(body.values["body"]["messages"]) == 2


@pytest.mark.parametrize("code", [10, 310, 324])
def test_what_calls_itself_a_batch_is_one(code: int) -> None:
    """Brokers look at the header, not at the code."""
    context, name = Context(Role.REQUEST, code), "m" if code == 310 else "batch"
    data = item(b"one") + item(b"two")
    assert decoded(command(code, data, **{name: "false"}), context)[0].values["body"] == data
    body, _ = decoded(command(code, data, **{name: "true"}), context)
    assert [each["body"] for each in body.values["body"]["messages"]] == [b"one", b"two"]
    body, _ = decoded(command(code, b"no batch", **{name: "true"}), context)
    assert body.values["body"] == b"no batch"


def test_an_answer_that_ends_inside_a_message() -> None:
    """What was captured of it stays, and the messages before it."""
    whole, cut = stored(b"whole"), stored(b"cut off")
    for end in range(8, len(cut)):
        body, _ = pulled(whole, cut[:end])
        assert body.values["body"]["messages"][0]["body"] == b"whole"
        assert "malformed-body" in [finding.code for finding in body.findings]


@pytest.mark.parametrize("size", [-1, 0, 21, 91, 1 << 30])
def test_a_size_that_lies(size: int) -> None:
    message = stored(b"body")
    body, _ = pulled(stored(b"whole"), size.to_bytes(4, signed=True) + message[4:], stored(b"behind"))
    assert body.values["body"]["messages"][0]["body"] == b"whole"
    assert "malformed-body" in [finding.code for finding in body.findings]
