"""Headers that no honest peer writes: what is taken from them, what is said, and that both ways of reading agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import pack
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.finding import Severity
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret
from tests.dissectors.rocketmq.frames import binary, command, frame, pair, sparing
from tests.dissectors.trees import assert_tiles, node
from tests.effort import within

ROCKETMQ = RocketMQ()
ASKED = Context(Role.REQUEST, 10)
WARNING, ERROR = Severity.WARNING, Severity.ERROR
MEMBERS = '"code":10,"flag":0,"language":"JAVA","opaque":7,"version":513'
TWICE = "stands there twice, with different values; the last one counts"


def written(members: str, body: bytes = b"") -> bytes:
    return frame(("{" + members + "}").encode(), body)


def with_ext(ext: str) -> bytes:
    return written(f'{MEMBERS},"extFields":{ext}')


def number(flag: str) -> bytes:
    return written(f'"code":10,"flag":{flag},"language":"JAVA","opaque":7,"version":513')


def fixed(remark: int, ext: int, content: bytes = b"") -> bytes:
    """A binary header that says what it likes of its lengths; `content` is behind them."""
    return frame(pack(">hbhiiii", 10, 0, 513, 7, 0, remark, ext) + content, b"body", 1)


@dataclass(frozen=True)
class Case:
    """A frame; what there is in extFields and some of the values; severity and text of what is said; the opaque."""

    name: str
    data: bytes
    ext: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[tuple[Severity, str], ...] = ()
    opaque: int | None = 7

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("a member twice", written(f'{MEMBERS},"opaque":8'), said=((WARNING, f"opaque {TWICE}"),), opaque=8),
    Case("a field twice", with_ext('{"topic":"a","topic":"b"}'), {"topic": "b"}, {"header": {"topic": "b"}},
         ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("a field twice, once with an escape", with_ext(r'{"topic":"a","t\u006fpic":"b"}'), {"topic": "b"},
         {"header": {"topic": "b"}}, ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("a field twice beside colons and spaces", with_ext('{"bname":"a:b:c", "topic" :"a", "topic":"b"}'),
         {"bname": "a:b:c", "topic": "b"}, {}, ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("a field twice, the last one null", with_ext('{"topic":"a","topic":null}'), {"topic": None}, {},
         ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("a field and a member twice, as before",
         written(f'{MEMBERS},"opaque":7 ,"extFields":{{"topic":"a", "topic" : "a"}}'),
         {"topic": "a"}, {"header": {"topic": "a"}}),
    Case("fields twice, as before", written(f'"extFields":{{"topic":"a"}},{MEMBERS},"extFields":{{"topic":"a"}}\n'),
         {"topic": "a"}),
    Case("a field thrice, once otherwise", with_ext('{"topic":"a","topic":"b","topic":"a"}'), {"topic": "a"}, {},
         ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("fields twice", written(f'"extFields":{{"topic":"a"}},{MEMBERS},"extFields":{{"queueId":"1"}}'),
         {"queueId": "1"}, {"header": {"queueId": 1}}, ((WARNING, f"extFields {TWICE}"),)),
    Case("colons in texts are no keys", with_ext('{"topic":"a:b","bname":"::"}'), {"topic": "a:b", "bname": "::"}),
    Case("bare keys and single quotes", written("code:10,flag:0,language:'JAVA',opaque:7,version:513,"
                                                "extFields:{topic:'it\\'s'}"), {"topic": "it's"}),
    Case("escapes", with_ext(r'{"topic":"\u0041\x42\n\/"}'), {"topic": "AB\n/"}),
    Case("surrogates", with_ext(r'{"topic":"\ud83d\ude80","x":"\ud83d"}'), {"topic": "\U0001f680", "x": "\ud83d"}),
    Case("text that is not UTF-8", frame(b"{" + MEMBERS.encode() + b',"extFields":{"topic":"\xff"},"remark":"\xfe"}'),
         {"topic": b"\xff"}, {"remark": b"\xfe"}),
    Case("a byte order mark", frame(b"\xef\xbb\xbf{" + MEMBERS.encode() + b"}"), {}, {"flag": None},
         ((ERROR, "is no JSON object"),), None),
    Case("NaN", number("NaN"), {}, {"flag": NonFinite("nan")}, ((WARNING, "flag is no int"),)),
    Case("beyond all floats", number("1e400"), {}, {"flag": NonFinite("inf")}, ((WARNING, "flag is no int"),)),
    Case("400 zeros", number("1" + "0" * 400), {}, {"flag": 10**400}, ((WARNING, "flag is no int"),)),
    Case("5,000 digits", number("1" * 5000), {}, {"flag": None}, ((ERROR, "is a number of 5000 digits"),), None),
    Case("one more than an int", number("2147483648"), {}, {"flag": 1 << 31}, ((WARNING, "flag is no int"),)),
    Case("the least int", number("-2147483648"), {}, {"flag": -(1 << 31)}),
    Case("a number as text", number('"0"'), {}, {"flag": "0"}, ((WARNING, "flag is no int"),)),
    Case("null for a number", number("null"), {}, {"flag": None}, ((WARNING, "flag is no int"),)),
    Case("true for a number", number("true"), {}, {"flag": True}, ((WARNING, "flag is no int"),)),
    Case("a fraction", number("0.5"), {}, {"flag": 0.5}, ((WARNING, "flag is no int"),)),
    Case("an opaque of 65 bits", written(MEMBERS.replace('"opaque":7', '"opaque":36893488147419103232')), {}, {},
         ((WARNING, "opaque is no int"),), None),
    Case("fields beyond their types", with_ext('{"bornTimestamp":"9223372036854775808","queueId":"2147483648"}'),
         {"bornTimestamp": "9223372036854775808", "queueId": "2147483648"},
         {"header": {"bornTimestamp": "9223372036854775808", "queueId": "2147483648"}},
         ((WARNING, "extFields.bornTimestamp is no long"), (WARNING, "extFields.queueId is no int"))),
    Case("100,000 deep", written(f'{MEMBERS},"x":{"[" * 100_000}{"]" * 100_000}')),
    Case("more behind the object", frame(("{" + MEMBERS + "}xyz").encode(), b"b"), {}, {"body": b"b"},
         ((ERROR, "is 3 bytes longer than what is in it"),)),
    Case("space behind the object", frame(("{" + MEMBERS + "} \n").encode(), b"b"), {}, {"body": b"b"}),
    Case("no header at all", frame(b"", b"body"), {}, {"flag": None, "body": b"body"},
         ((ERROR, "header needs 1 bytes"),), None),
    Case("nothing in the header", frame(b"{}"), {}, {"flag": None, "language": None}, (), None),
    Case("an array", frame(b"[1]"), {}, {}, ((ERROR, "is no JSON object"),), None),
    Case("fields are null", with_ext("null")),
    Case("fields are an array", with_ext('["a"]'), {}, {}, ((ERROR, "extFields at offset 83 is no JSON object"),)),
    Case("fields are a number", with_ext("5"), {}, {}, ((ERROR, "extFields at offset 83 is no JSON object"),)),
    Case("values that are no texts", with_ext('{"topic":{"a":[1]},"queueId":3,"k":null,"b":true}'),
         {"topic": '{"a":[1]}', "queueId": "3", "k": None, "b": "true"},
         {"header": {"topic": '{"a":[1]}', "queueId": 3}}),
    Case("a header larger than its frame", pack(">II", 20, 30) + b'{"code":34,"opaque":1,"flag":0}', {}, {},
         ((ERROR, "headerLength at offset 4 is 30, the frame has 16 bytes more"),), 1),
    Case("neither JSON nor binary", frame(b"{}", kind=2), {}, {}, ((ERROR, "serialize at offset 4 is 2"),), None),
    Case("a member of no meaning", written(MEMBERS + ',"x":1,"X":{"a":[]}')),
    Case("a member of no meaning that holds a secret", written(MEMBERS + ',"ExtFields":{"Signature":"s"}')),
    Case("binary, no header", frame(b"", b"b", 1), {}, {"body": b"b"}, ((ERROR, "code needs 2 bytes"),), None),
    Case("binary, a remark of -1 bytes", fixed(-1, 0), {}, {}, ((ERROR, "remark at offset 21 has length -1"),)),
    Case("binary, fields of -5 bytes", fixed(0, -5), {}, {}, ((ERROR, "extFields at offset 25 has length -5"),)),
    Case("binary, a name of -2 bytes", binary(10, pack(">h", -2) + b"ab" + pack(">i", 0)), {}, {},
         ((ERROR, "extFields.key at offset 29 has length -2"),)),
    Case("binary, a value of -1 bytes", binary(10, pack(">h", 1) + b"a" + pack(">i", -1)), {}, {},
         ((ERROR, "extFields.a at offset 32 has length -1"),)),
    Case("binary, a name of no bytes", binary(10, pair(b"", b"x")), {"": "x"}),
    Case("binary, a value of no bytes", binary(10, pair(b"topic", b"")), {"topic": ""}, {"header": {"topic": ""}}),
    Case("binary, a field twice", binary(10, pair(b"topic", b"a") + pair(b"topic", b"b")), {"topic": "b"},
         {"header": {"topic": "b"}}, ((WARNING, f"extFields.topic {TWICE}"),)),
    Case("binary, all fields twice, as Java signs them",
         binary(10, (pair(b"topic", b"a") + pair(b"Signature", b"s")) * 2), {"topic": "a", "Signature": Secret("s")},
         {"header": {"topic": "a"}}),
    Case("binary, a signature twice", binary(10, pair(b"Signature", b"s") + pair(b"Signature", b"t")),
         {"Signature": Secret("t")}, {}, ((WARNING, f"extFields.Signature {TWICE}"),)),
    Case("binary, fields longer than the header", fixed(0, 100, pair(b"a", b"b")), {}, {"body": b"body"},
         ((ERROR, "extFields needs 100 bytes"),)),
    Case("binary, fields shorter than they are", fixed(0, 4, pair(b"a", b"b")), {}, {"body": b"body"},
         ((ERROR, "extFields.a at offset 36 runs over the end of extFields"),)),
    Case("binary, bytes behind the fields", fixed(0, 8, pair(b"a", b"b") + b"xyz"), {"a": "b"}, {"body": b"body"},
         ((ERROR, "is 3 bytes longer than what is in it"),)),
    Case("binary, texts that are not UTF-8", binary(10, pair(b"\xff", b"x") + pair(b"topic", b"\xfe"), b"\xfd"),
         {"\\xff": "x", "topic": b"\xfe"}, {"remark": b"\xfd"}),
    Case("binary, a language of no table", binary(10, language=99), {}, {"language": 99}),
    Case("binary, flags of no meaning", binary(10, flag=0x7FFF_FFF4), {}, {"flag": 0x7FFF_FFF4}),
    Case("binary, a version below 0", frame(pack(">hbhiiii", 10, 0, -1, 7, 0, 0, 0), b"", 1), {}, {"version": -1}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hostile_headers(case: Case) -> None:
    body, tree = ROCKETMQ.values(case.data, ASKED), ROCKETMQ.tree(case.data, ASKED)
    assert_tiles(tree)
    assert fold_tree(tree, ASKED) == body or "nan" in case.name.lower(), "NaN is not even equal to itself"
    found = sparing(body).findings
    assert [each.severity for each in found] == [severity for severity, _ in case.said]
    for each, (_, text) in zip(found, case.said, strict=True):
        assert text in each.text
    assert (body.values.get("extFields") or {}) == case.ext
    for name, value in case.values.items():
        assert repr(body.values[name]) == repr(value)
    assert ROCKETMQ.header(case.data, True).correlation == case.opaque
    assert isinstance(ROCKETMQ.info(body, ASKED), str)


def test_spans_of_keys_and_values() -> None:
    """A member's node begins with its key, and takes its comma; its head ends where the value begins."""
    data = frame(b'{"code":10, "extFields":{ "topic" : "a\\u0062" ,queueId:\'3\'},"opaque":7}')
    tree = ROCKETMQ.tree(data, ASKED)
    spans = {}
    for path in (("code",), ("extFields", "topic"), ("extFields", "queueId"), ("opaque",)):
        found = node(tree, "header", *path)
        whole = data[found.offset : found.offset + found.length]
        spans[path[-1]] = (whole[: found.head], whole[found.head :])
    assert spans == {
        "code": (b'"code":', b"10, "),
        "topic": (b'"topic" : ', b'"a\\u0062" ,'),
        "queueId": (b"queueId:", b"'3'"),
        "opaque": (b'"opaque":', b"7"),
    }
    assert node(tree, "header", "extFields", "topic").value == "ab"


def test_both_of_a_name_have_their_place() -> None:
    data = with_ext('{"topic":"a","topic":"b"}')
    pairs = [
        each for each in node(ROCKETMQ.tree(data, ASKED), "header", "extFields").children if each.spec.name == "topic"
    ]
    assert [each.value for each in pairs] == ["a", "b"]
    (found,) = sparing(ROCKETMQ.values(data, ASKED)).findings
    assert found.offset is not None
    assert found.length is not None
    assert data[found.offset : found.offset + found.length] == b'"extFields":{"topic":"a","topic":"b"}'


@pytest.mark.parametrize("make", [
    lambda: command(10, topic="t" * (1 << 20)),
    lambda: with_ext("{" + ",".join(f'"k{at}":"v"' for at in range(15_000)) + "}"),
    lambda: with_ext("{" + ",".join('"k":"v"' for _ in range(15_000)) + "}"),
    lambda: binary(10, pair(b"k", b"v") * 15_000),
    lambda: with_ext('{"topic":' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}"),
    lambda: with_ext('{"topic":"' + "\\u0041" * 100_000 + '"}'),
    lambda: written(MEMBERS + ',"code":10' * 15_000),
])  # fmt: skip
def test_a_large_header_comes_to_an_end(make: Any) -> None:
    data = make()
    with within(10):  # 0.5 s at most; what compares each with each would take minutes
        tree, body = ROCKETMQ.tree(data, ASKED), ROCKETMQ.values(data, ASKED)
    assert_tiles(tree)
    assert len(body.findings) <= 3
