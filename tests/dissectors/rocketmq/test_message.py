"""Whole commands: extFields and what their class makes of them, errors, bodies of all kinds, secrets, the line."""

from __future__ import annotations

import zlib
from struct import pack
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.codes import find_header_class, find_response_name, find_version_name, operations
from dissectors.rocketmq.message import fold_tree
from dissectors.wire.secret import Secret
from tests.dissectors.rocketmq.frames import binary, command, frame, pair, sparing
from tests.dissectors.trees import assert_tiles, every, node

ROCKETMQ = RocketMQ()


def decoded(data: bytes, role: Role = Role.REQUEST, code: int | None = 10) -> tuple[Body, Tree]:
    context = Context(role, code)
    body, tree = ROCKETMQ.values(data, context), ROCKETMQ.tree(data, context)
    assert_tiles(tree)
    assert fold_tree(tree, context) == body
    return sparing(body), tree


def read(data: bytes, role: Role = Role.REQUEST, code: int | None = 10) -> dict[str, Any]:
    return decoded(data, role, code)[0].values


def test_an_answer_whose_operation_declares_no_body() -> None:
    """JSON is told by itself; what only begins like it stays bytes."""
    for error in (0, 1):
        refused = command(error, b'{"brokerName":"b","queues":[1]}', flag=1)
        assert read(refused, Role.RESPONSE, 42)["body"] == {"brokerName": "b", "queues": [1]}
        assert read(command(error, b"{no", flag=1), Role.RESPONSE, 42)["body"] == b"{no"
        assert read(command(error, b"12", flag=1), Role.RESPONSE, 42)["body"] == b"12"
    assert read(command(1, b"{}", flag=1), Role.RESPONSE, None)["body"] == b"{}"


# ---- headers

SEND = {"a": "g", "b": "t", "d": "4", "g": "1700000000000", "k": "TRUE", "m": "maybe", "lo": "false", "MSG_REGION": "r"}
TYPED = {
    "producerGroup": "g", "topic": "t", "defaultTopicQueueNums": 4, "bornTimestamp": 1_700_000_000_000,
    "unitMode": True, "batch": False, "lo": False,
}  # fmt: skip


def test_a_json_header() -> None:
    values = read(command(310, b"hello", **SEND), code=310)
    assert list(values) == ["flag", "language", "version", "serialize", "remark", "extFields", "header", "body"]
    assert values == {
        "flag": 0, "language": "JAVA", "version": 513, "serialize": "JSON", "remark": None,
        "extFields": SEND, "header": TYPED, "body": b"hello",
    }  # fmt: skip


def test_a_binary_header() -> None:
    ext = b"".join(pair(name.encode(), text.encode()) for name, text in SEND.items())
    values = read(binary(310, ext, b"why"), code=310)
    assert values == {
        "flag": 0, "language": "JAVA", "version": 513, "serialize": "ROCKETMQ", "remark": "why",
        "extFields": SEND, "header": TYPED, "body": None,
    }  # fmt: skip
    assert read(binary(310, pair(b"n", b"")), code=310)["extFields"] == {"n": ""}


def test_the_tree_of_a_header() -> None:
    _, tree = decoded(command(310, b"", **SEND), code=310)
    assert (node(tree, "header", "code").text, node(tree, "header", "version").text) == ("SEND_MESSAGE_V2", "V5_5_0")
    letter = node(tree, "header", "extFields", "g")
    (meant,) = letter.children
    assert (letter.value, letter.spec.type) == ("1700000000000", "json_string")
    assert (meant.spec.name, meant.spec.type, meant.value) == ("bornTimestamp", "long", 1_700_000_000_000)
    assert meant.text == "2023-11-14T22:13:20.000Z"
    assert (meant.offset, meant.length, meant.bits) == (letter.offset, letter.length, -1)
    assert [part.value for part in node(tree, "headerMark").children] == ["JSON", len(command(310, b"", **SEND)) - 8]
    _, tree = decoded(binary(3442, pair(b"topic", b"t")), code=200050)
    assert (node(tree, "header", "code").value, node(tree, "header", "code").text) == (200050, "POP_MESSAGE")
    topic = node(tree, "header", "extFields", "topic")
    assert (topic.value, topic.head, topic.length) == ("t", 11, 12)


def test_ext_fields_are_text_whatever_they_were() -> None:
    ext = b'{"queueId":3,"batch":true,"topic":null,"flag":1.50,"x":{"a":[1]},"sysFlag":"0"}'
    values = read(frame(b'{"code":10,"extFields":%b,"flag":0,"language":"CPP","opaque":1,"version":1}' % ext))
    assert values["extFields"] == {
        "queueId": "3", "batch": "true", "topic": None, "flag": "1.50", "x": '{"a":[1]}', "sysFlag": "0",
    }  # fmt: skip
    assert values["header"]["queueId"] == 3
    assert values["header"]["batch"] is True
    assert "topic" not in values["header"]


@pytest.mark.parametrize("text", ["x", "", "1.5", "2147483648", "1_0", " 1", "٣", "9" * 50])
def test_what_is_no_number_stays_text(text: str) -> None:
    body, _ = decoded(command(10, queueId=text))
    assert body.values["header"] == {"queueId": text}
    assert [finding.text for finding in body.findings] == ["extFields.queueId is no int"]


@pytest.mark.parametrize(("text", "value"), [("007", 7), ("+5", 5), ("-2147483648", -(1 << 31))])
def test_numbers_as_java_reads_them(text: str, value: int) -> None:
    body, _ = decoded(command(10, queueId=text))
    assert (body.values["header"], body.findings) == ({"queueId": value}, ())


def test_only_what_is_on_the_wire() -> None:
    assert read(command(10))["header"] == {}
    assert "header" not in read(command(13), code=13)
    assert "header" not in read(command(4711), code=4711)
    assert read(frame(b'{"code":10,"flag":0,"opaque":1}')) == {
        "flag": 0, "language": None, "version": None, "serialize": "JSON", "remark": None,
        "extFields": {}, "header": {}, "body": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (frame(b"", kind=7), "serialize at offset 4 is 7, which is none"),
        (pack(">II", 4, 9), "headerLength at offset 4 is 9, the frame has 0 bytes more"),
        (frame(b"[]"), "header at offset 8 is no JSON object"),
        (frame(b'{"code":10}x'), "header at offset 19 is 1 bytes longer than what is in it"),
        (frame(b'{"code":10,"extFields":3}'), "extFields at offset 31 is no JSON object"),
        (binary(10, pair(b"a", b"b")[:-1] + b"bc"), "extFields.key needs 2 bytes"),
        (binary(10)[:-4] + b"\xff\xff\xff\xfe", "has length -2"),
        (binary(10, b"\0\1a\0\0\0\2b"), "needs 2 bytes"),
        (binary(10, b"\0\1a\xff\xff\xff\xff"), "has length -1"),
    ],
)
def test_a_broken_header(data: bytes, why: str) -> None:
    body, _ = decoded(data)
    assert body.findings[0].code == "malformed-body"
    assert why in body.findings[0].text


def test_a_body_behind_a_broken_header() -> None:
    body, _ = decoded(frame(b'{"code":10,"x"}', b"hello"))
    assert body.values["body"] == b"hello"
    assert len(body.findings) == 1


# ---- errors


@pytest.mark.parametrize(
    ("own", "code", "error"),
    [
        (0, 11, None),
        (19, 11, (19, "PULL_NOT_FOUND")),
        (4711, 11, (4711, "UNKNOWN_4711")),
        (200, 51001, None),
        (200, 39, (200, "TRANSACTION_SHOULD_COMMIT")),
        (1, None, (1, "SYSTEM_ERROR")),
    ],
)
def test_errors(own: int, code: int | None, error: tuple[int, str] | None) -> None:
    assert decoded(command(own, flag=1), Role.RESPONSE, code)[0].error == error
    assert decoded(command(own), Role.REQUEST, code)[0].error is None


def test_names_of_response_codes_changed() -> None:
    assert find_response_name(209, 513) == "POLLING_FULL"
    assert find_response_name(209, 401) == "UPDATE_AND_CREATE_ACL_CONFIG_FAILED"
    assert (find_version_name(513), find_version_name(0), find_version_name(30_000), find_version_name(-1)) == (
        "V5_5_0",
        "V3_0_0_SNAPSHOT",
        "HIGHER_VERSION",
        None,
    )


def test_an_unknown_operation_says_so() -> None:
    body, _ = decoded(command(4711, b"x"), code=4711)
    assert [finding.code for finding in body.findings] == ["unknown-operation"]
    assert body.values["body"] == b"x"


def test_tables() -> None:
    kinds = {None, "json", "messages", "batch", "payload", "text", "registration", "checkpoint"}
    assert len(operations()) > 190
    for code, operation in operations().items():
        assert operation.code == code
        assert {operation.request_body, operation.response_body} <= kinds
        for response, name in ((False, operation.request), (True, operation.response)):
            assert (find_header_class(code, response) is None) == (name is None)


# ---- bodies


def test_bodies_by_operation() -> None:
    heartbeat = b'{"clientID":"c","consumerDataSet":[]}'
    assert read(command(34, heartbeat), code=34)["body"] == {"clientID": "c", "consumerDataSet": []}
    assert read(command(25, b"a=b\nc=d"), code=25)["body"] == "a=b\nc=d"
    assert read(command(25, b"a=\xff"), code=25)["body"] == b"a=\xff"
    assert read(command(0, b"\0\1", flag=1), Role.RESPONSE, 60)["body"] == b"\0\1"
    assert read(command(0, heartbeat, flag=1), Role.RESPONSE, None)["body"] == heartbeat
    offsets = b'{"offsetTable":{{"queueId":0}:{"o":1}},"tps":1.5}'
    assert read(command(0, offsets, flag=1), Role.RESPONSE, 208)["body"] == {
        "offsetTable": {'{"queueId":0}': {"o": 1}},
        "tps": 1.5,
    }


@pytest.mark.parametrize("junk", [b"junk", b"\0", b'"text"', b"12"])
def test_a_body_that_is_no_json_stays_bytes(junk: bytes) -> None:
    body, _ = decoded(command(34, junk), code=34)
    assert body.values["body"] == junk
    assert [finding.code for finding in body.findings] == ["malformed-body"]


def test_a_compressed_body() -> None:
    data = zlib.compress(b"hello " * 50)
    body, tree = decoded(command(310, data, f="1"), code=310)
    assert (body.values["body"], body.values["bodyUncompressed"]) == (data, b"hello " * 50)
    assert tree.sources[1].name == "body, zlib"
    assert "bodyUncompressed" not in read(command(310, data, f="0"), code=310)
    body, _ = decoded(command(310, b"no zlib", f="769"), code=310)
    assert body.values["body"] == b"no zlib"
    assert len(body.findings) == 1


def sized(data: bytes) -> bytes:
    return pack(">i", len(data)) + data


TOPIC = {"topicName": "t", "readQueueNums": 8, "writeQueueNums": 4, "perm": 6, "topicFilterType": "SINGLE_TAG"}
PARTS = sized(b'{"counter":1}') + pack(">i", 2) + sized(b"t 8 4 6 SINGLE_TAG") + sized(b'u 8 4 6 SINGLE_TAG {"+a":"1"}')
FILTERS = sized(b"[]")


def test_a_compressed_registration() -> None:
    body, tree = decoded(command(103, zlib.compress(PARTS + FILTERS)), code=103)
    topics = {"t": TOPIC, "u": {**TOPIC, "topicName": "u", "attributes": {"+a": "1"}}}
    wrapper = {"dataVersion": {"counter": 1}, "topicConfigTable": topics}
    assert body.values["body"] == {"topicConfigSerializeWrapper": wrapper, "filterServerList": []}
    assert body.findings == ()
    perm = node(tree, "body", "topicConfigSerializeWrapper", "topicConfigTable", "t", "perm")
    assert (perm.value, perm.text, perm.source) == (6, "read, write", 1)
    mapped = PARTS + FILTERS + pack(">i", 1) + sized(b'{"t":1}')
    assert read(command(103, zlib.compress(mapped)), code=103)["body"]["topicQueueMappingInfos"] == [{"t": 1}]


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (PARTS[:-3], "needs 29 bytes"),
        (PARTS + b"\xff\xff\xff\xfe", "has length -2"),
        (sized(b"{}") + pack(">i", 1) + sized(b"t 8 x 6 S"), "is no topic"),
        (sized(b"{}") + pack(">i", 1 << 30), "(1073741824 elements) needs"),
        (PARTS + FILTERS + pack(">i", 0) + b"rest", "has 4 bytes more than its parts"),
    ],
)
def test_a_broken_registration(plain: bytes, why: str) -> None:
    body, _ = decoded(command(103, zlib.compress(plain)), code=103)
    (finding,) = body.findings
    assert why in finding.text
    body, _ = decoded(command(103, b"x no zlib"), code=103)
    assert body.values["body"] == b"x no zlib"


# ---- secrets


def revealed(value: object) -> object:
    assert isinstance(value, Secret)
    return value.reveal()


@pytest.mark.parametrize("make", [command, lambda code, **ext: binary(
    code, b"".join(pair(name.encode(), text.encode()) for name, text in ext.items()))])  # fmt: skip
def test_signatures_are_secrets(make: Any) -> None:
    body, tree = decoded(make(10, AccessKey="who", Signature="sig", SecurityToken="tok", topic="t"))
    ext = body.values["extFields"]
    assert (revealed(ext["Signature"]), revealed(ext["SecurityToken"])) == ("sig", "tok")
    assert (ext["AccessKey"], ext["topic"]) == ("who", "t")
    assert node(tree, "header", "extFields", "Signature").spec.secret
    assert revealed(read(make(50, secretKey="s"), code=50)["extFields"]["secretKey"]) == "s"


def test_passwords_in_bodies_are_secrets() -> None:
    user = b'{"username":"u","password":"p"}'
    assert revealed(read(command(3001, user), code=3001)["body"]["password"]) == "p"
    for setting in (b"initAuthenticationUser={}", b"tls.keyPassword=x", b"innerClientAuthenticationCredentials=y"):
        assert revealed(read(command(25, b"a=b\n" + setting), code=25)["body"]) == (b"a=b\n" + setting).decode()
    assert read(command(25, b"initAuthenticationUser=\nb=c"), code=25)["body"] == "initAuthenticationUser=\nb=c"


@pytest.mark.parametrize("value", ["x", "", "1e3", [1], {"a": 1}, True, None, 10**30, -1])
def test_labels_are_of_numbers_alone(value: object) -> None:
    """Whatever a peer sends in place of a number, its node has a text or none."""
    names = ("sysFlag", "bornTimestamp", "suspendTimeoutMillis", "commitOrRollback", "perm")
    for code, wire in (
        (310, {"f": value, "g": value}),
        (11, dict.fromkeys(names, value)),
        (37, dict.fromkeys(names, value)),
    ):
        _, tree = decoded(command(code, **wire), code=code)
        assert all(each.text is None or each.text.isprintable() for each in every(tree.fields))


@pytest.mark.parametrize("hidden", [b'{"username":"eve","password":"x1"}', b"ACL_PASSWD=x1"])
def test_a_body_that_nobody_can_read_is_a_secret_if_it_speaks_of_one(hidden: bytes) -> None:
    """The answer to a request that was not captured may hold a password, and nothing says where."""
    orphan = Context(Role.RESPONSE)
    data, plain = command(0, hidden, flag=1), command(0, b'{"username":"eve"}', flag=1)
    for tree in (ROCKETMQ.tree(data, orphan), ROCKETMQ.tree(plain, orphan)):
        assert_tiles(tree)
    assert ROCKETMQ.values(data, orphan).values["body"] == Secret(hidden)
    assert node(ROCKETMQ.tree(data, orphan), "body").value == Secret(hidden)
    assert ROCKETMQ.values(plain, orphan).values["body"] == b'{"username":"eve"}'
