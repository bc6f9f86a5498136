"""What is in texts and bodies, as nodes: it tiles, it changes no value, and what is broken stays what it was."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.field import Field, Tree
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from dissectors.rocketmq.nested import MOST
from dissectors.rocketmq.nested.handles import spell_json, spell_utf8
from tests.dissectors.rocketmq.frames import binary, command, pair, stored
from tests.dissectors.trees import assert_tiles, every, node

ROCKETMQ = RocketMQ()
PULLED, POPPED = Context(Role.RESPONSE, 11), Context(Role.RESPONSE, 200050)
SENT, ACKED = Context(Role.REQUEST, 310), Context(Role.REQUEST, 200051)


def tree(message: bytes, context: Context) -> Tree:
    """A tree that tiles, and has the values that the fast way gives."""
    found = ROCKETMQ.tree(message, context)
    assert_tiles(found)
    assert fold_tree(found, context).values == ROCKETMQ.values(message, context).values
    return found


def ext(found: Tree, name: str) -> Field:
    return node(found, "header", "extFields", name)


def parts(field: Field) -> list[tuple[str, Any, str | None]]:
    """Names, values and texts of what a node was taken apart into, without what stands before the value."""
    inner = field.children[-1] if field.children and field.children[-1].children else field
    return [(each.spec.name, each.value, each.text) for each in inner.children if each.bits is None][inner is field :]


# ---- texts in headers

TEXT = "KEYS\x01k\x02DELAY\x013\x02caf\u00e9\x01\U0001f680\x02"
PROPERTIES = [
    ("KEYS", "k", "what it can be found by"),
    ("DELAY", "3", "delay level: 10 s by default"),
    ("caf\u00e9", "\U0001f680", None),
]


@pytest.mark.parametrize("text", [TEXT, TEXT[:-1]])
def test_properties_of_a_header(text: str) -> None:
    in_json = ext(tree(command(310, i=text), SENT), "i")
    in_binary = ext(tree(binary(310, pair(b"i", text.encode())), SENT), "i")
    assert parts(in_json) == parts(in_binary) == PROPERTIES
    assert in_binary.value == text
    assert [(each.spec.name, each.offset) for each in in_binary.children] == [
        ("name", in_binary.offset),
        ("properties", in_binary.offset + in_binary.children[0].length),
    ]
    assert in_binary.children[1].value == text
    assert all(each.bits is None for each in in_binary.children)


def test_places_of_properties() -> None:
    message = binary(310, pair(b"i", TEXT.encode()))
    for each in ext(tree(message, SENT), "i").children[1].children:
        raw = message[each.offset : each.offset + each.length]
        assert raw[: each.head] == f"{each.spec.name}\x01".encode()
        assert raw[each.head :].decode().rstrip("\x02") == each.value
    message = command(310, i="a\x01b\x02c\x01d")
    a, c = ext(tree(message, SENT), "i").children[1].children
    assert message[a.offset : a.offset + a.length] == rb'"a\u0001b\u0002'
    assert message[c.offset : c.offset + c.length] == rb'c\u0001d"'


def test_a_class_that_does_not_rename() -> None:
    found = tree(command(10, topic="t", properties="a\x01b"), Context(Role.REQUEST, 10))
    assert parts(ext(found, "properties")) == [("a", "b", None)]


@pytest.mark.parametrize("text", ["", "no properties", "a\x01b\x02" * 1001, "a\x01" + "b" * MOST])
def test_what_stays_a_text(text: str) -> None:
    assert parts(ext(tree(command(310, i=text), SENT), "i")) == []


HANDLE = "5 1795270002799 12000 999 1 broker-a 2 15"


@pytest.mark.parametrize("text", [HANDLE, HANDLE.rpartition(" ")[0]])
def test_a_receipt_handle(text: str) -> None:
    field = ext(tree(command(200051, extraInfo=text), ACKED), "extraInfo")
    assert field.value == text
    assert (
        parts(field)
        == [
            ("ckQueueOffset", 5, None),
            ("popTime", 1795270002799, "2026-11-21T14:06:42.799Z"),
            ("invisibleTime", 12000, "0:00:12"),
            ("reviveQid", 999, "consumed in order"),
            ("topicType", 1, "retry topic"),
            ("brokerName", "broker-a", None),
            ("queueId", 2, None),
            ("queueOffset", 15, None),
        ][: len(text.split(" "))]
    )


BROKEN_HANDLES = ["5", "a b c d e f g h", HANDLE + " 1", HANDLE.replace("2", "\u0662"), "5  1 1 1 1 b 1", " " * 70_000]


@pytest.mark.parametrize("text", BROKEN_HANDLES)
def test_a_broken_receipt_handle(text: str) -> None:
    assert parts(ext(tree(command(200051, extraInfo=text), ACKED), "extraInfo")) == []


LISTS = [
    ("startOffsetInfo", "0 1 7;1 0 4", [["topicType", "queueId", "startOffset"]] * 2),
    ("msgOffsetInfo", "2 0 4,5", [["topicType", "queueId", "queueOffsets"]]),
    ("orderCountInfo", "0 qo3%7 2", [["topicType", "queue", "consumed"]]),
    ("orderCountInfo", "0 1 2;", [["topicType", "queue", "consumed"]]),
    ("startOffsetInfo", "0 1 7;1 0", []),
    ("startOffsetInfo", "0 1 x", []),
    ("startOffsetInfo", ";", []),
    ("startOffsetInfo", "0 0 0;" * 1001, []),
]


@pytest.mark.parametrize(("name", "text", "expected"), LISTS)
def test_lists_of_offsets(name: str, text: str, expected: list[list[str]]) -> None:
    fields: dict[str, Any] = {name: text}
    for message in (command(0, flag=1, **fields), binary(0, pair(name.encode(), text.encode()), flag=1)):
        entries = [each for each in ext(tree(message, POPPED), name).children if each.spec.type == "struct"]
        assert [[part.spec.name for part in each.children] for each in entries] == expected


def test_a_recall_handle_is_a_source_of_its_own() -> None:
    handle = "djEgbGFiX3RpbWVyIGJyb2tlci1hIDE3OTUyNzIyNjcwMDEgTQ=="
    found = tree(command(370, recallHandle=handle), Context(Role.REQUEST, 370))
    field = ext(found, "recallHandle")
    assert [each.spec.name for each in field.children] == ["version", "topic", "brokerName", "timestamp", "messageId"]
    assert found.sources[1].data == b"v1 lab_timer broker-a 1795272267001 M"
    assert field.children[3].text == "2026-11-21T14:44:27.001Z"


def test_ids_and_topics_have_texts() -> None:
    found = tree(command(0, flag=1, msgId="7F00000100002A9F0000000000000007"), Context(Role.RESPONSE, 310))
    assert ext(found, "msgId").text == "stored at 127.0.0.1:10911, offset 7 of its commit log"
    found = tree(command(310, b="%DLQ%g"), SENT)
    assert ext(found, "b").children[0].text == "dead letters of group g"


# ---- bodies


def test_a_body_that_is_text() -> None:
    assert node(tree(command(310, b"hello"), SENT), "body").text == '"hello"'
    assert node(tree(command(310, b"\x00\xff"), SENT), "body").text is None


def test_a_body_that_is_json() -> None:
    data = b'{"a":[1,2]}'
    field = node(tree(command(310, data), SENT), "body")
    assert field.value == data
    assert [each.spec.name for each in field.children] == ["json"]
    message = tree(command(0, stored(data), flag=1), PULLED)
    field = node(message, "body", "messages", "[0]", "body")
    assert [each.spec.name for each in field.children] == ["length", "json"]


@pytest.mark.parametrize("data", [b"{", b"[1,]", b"{a:1}", b"[" * 100 + b"]" * 100, b'["' + b"x" * MOST + b'"]'])
def test_a_body_that_only_begins_as_json(data: bytes) -> None:
    assert node(tree(command(310, data), SENT), "body").children == []


PUB = "\x01".join(["Pub", "1795270002799", "r", "g", "orders", "7F00000167484E0E2F2A6A065ED00000", "t", "k",
                   "10.0.0.1:10911", "5", "12", "3"])  # fmt: skip
ENDS = {
    "of old clients": (["true"], ["isSuccess"]),
    "of clients since": (["7F00000100002A9F0000000000000007", "true"], ["offsetMsgId", "isSuccess"]),
    "with a host": (["7F00000100002A9F0000000000000007", "true", "h"], ["offsetMsgId", "isSuccess", "clientHost"]),
}


@pytest.mark.parametrize("name", ENDS)
def test_traces(name: str) -> None:
    more, names = ENDS[name]
    line = "\x01".join([PUB, *more])
    data = f"{line}\x02SubAfter\x01q\x01m\x0112\x01true\x01\x010\x02".encode()
    message = tree(command(310, data), SENT)
    published, consumed = node(message, "body").children
    assert [each.spec.name for each in published.children][12:] == ["msgType", *names][1:]
    texts = {each.spec.name: each.text for each in published.children if each.text is not None}
    assert texts.pop("msgId").startswith("made at 127.0.0.1")
    assert texts.pop("offsetMsgId", "stored at ").startswith("stored at ")
    assert texts == {"timestamp": "2026-11-21T14:06:42.799Z", "costTime": "12 ms", "msgType": "delayed"}
    assert [each.value for each in consumed.children] == ["SubAfter", "q", "m", "12", "true", "", "0"]


@pytest.mark.parametrize(
    "data", [b"Pub", b"Pub\x01\xff", b"Else\x01a\x02", b"Pub\x01a\x02Else\x01b\x02", b"Pub\x01" * 30]
)
def test_what_is_no_trace(data: bytes) -> None:
    assert node(tree(command(310, data), SENT), "body").children == []


def test_a_timers_checkpoint() -> None:
    context = Context(Role.RESPONSE, 60)
    data = pack(">7q", 1795270000000, 2028, 39, 39, 0, 1795270000001, 1119)
    field = node(tree(command(0, data, flag=1), context), "body")
    assert field.value == data
    assert [(each.spec.name, each.value) for each in field.children][3:5] == [
        ("masterTimerQueueOffset", 39),
        ("stateVersion", 0),
    ]
    assert field.children[5].text == "2026-11-21T14:06:40.001Z"
    assert node(tree(command(0, data[:-1], flag=1), context), "body").children == []


def test_stored_messages_of_the_systems_topics() -> None:
    waiting = stored(b"", topic=b"SCHEDULE_TOPIC_XXXX", properties=b"DELAY\x014")
    done = stored(b"12,13,", topic=b"RMQ_SYS_TRANS_OP_HALF_TOPIC")
    first, second = node(tree(command(0, waiting + done, flag=1), PULLED), "body", "messages").children
    texts = {each.spec.name: each.text for each in every(first.children)}
    assert texts["queueId"] == "delay level 4, 30 s by default"
    assert texts["topic"] == "messages that wait for their delay level"
    assert {each.spec.name: each.text for each in second.children}["body"] == "done with the half messages at 12, 13"


def test_numbers_and_bits_in_json() -> None:
    body = b'{"acks":[{"b":"DA==","so":40,"pt":1795270002799,"it":12000,"q":0}],"perm":6,"fooTimestamp":7,"time":"x"}'
    found = tree(command(200151, body), Context(Role.REQUEST, 200151))
    texts = {each.spec.name: each.text for each in every(node(found, "body").children) if each.text is not None}
    assert texts == {"b": "offsets 42-43", "pt": "2026-11-21T14:06:42.799Z", "it": "12 s", "perm": "read, write"}


@pytest.mark.parametrize("bits", ["", "AAAA", "!", "DA", "D" * 8000])
def test_bits_that_say_nothing(bits: str) -> None:
    found = tree(command(200151, b'{"b":"%s","so":1}' % bits.encode()), Context(Role.REQUEST, 200151))
    assert node(found, "body", "b").text is None


def test_only_so_much_of_a_message_is_taken_apart() -> None:
    message = stored(b'["' + b"x" * 60_000 + b'"]')
    fields = node(tree(command(0, message * 6, flag=1), PULLED), "body", "messages").children
    opened = [any(each.spec.name == "json" for each in node_of(field).children) for field in fields]
    assert opened == [True] * 4 + [False] * 2


def node_of(message: Field) -> Field:
    return next(each for each in message.children if each.spec.name == "body")


# ---- spelling


@given(st.text(), st.sampled_from(["", ",", " , "]))
def test_places_in_both_spellings(text: str, behind: str) -> None:
    raw = (
        '"' + "".join(f"\\u{ord(each):04x}" if ord(each) < 32 else "\\" * (each in '"\\') + each for each in text) + '"'
    )
    found = spell_json(raw.encode() + behind.encode(), text)
    assert found is not None
    assert [found.places(0), found.places(len(text))] == [0 if text else len(raw.encode() + behind.encode()),
                                                          len((raw + behind).encode())]  # fmt: skip
    for at in range(1, len(text)):
        assert raw.encode()[: found.places(at)].decode()
    straight = spell_utf8(text)
    assert [straight.places(at) for at in range(len(text) + 1)] == [
        len(text[:at].encode()) for at in range(len(text) + 1)
    ]


def test_what_cannot_be_written() -> None:
    assert spell_json(b'"ab"', "a") is None
    assert spell_json(b'"\xff"', "\xff") is None
    assert spell_json(b'"', "") is None
