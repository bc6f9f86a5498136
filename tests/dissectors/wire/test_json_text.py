"""JSON token by token: what it means, where it lies, where it breaks."""

from __future__ import annotations

import pytest

from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.json_text import DEPTH, read_json
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import members
from tests.dissectors.trees import assert_tiles, leaves
from tests.effort import within


def read(data: bytes, secrets: frozenset[str] = frozenset()) -> tuple[object, Tree]:
    reader = Reader.start(data, Budget())
    reader.guard(lambda inside: read_json(inside, "body", secrets), len(data))
    assert_tiles(reader.tree)
    return members(reader.tree.fields).get("body"), reader.tree


STRICT = {
    "an object": (b'{"a":1,"b":[true,false,null]}', {"a": 1, "b": [True, False, None]}),
    "space everywhere": (b' { "a" : [ 1 , 2 ] , "b" : { } } \n', {"a": [1, 2], "b": {}}),
    "empty ones": (b'{"a":{},"b":[],"c":""}', {"a": {}, "b": [], "c": ""}),
    "integers of 64 bits": (b"[9223372036854775807,-9223372036854775808,18446744073709551615]",
                            [(1 << 63) - 1, -(1 << 63), (1 << 64) - 1]),
    "floats": (b"[0.0,-1.5,1e3,2.325]", [0.0, -1.5, 1000.0, 2.325]),
    "escapes": (rb'["\u00e9\n\\\"\/\ud83d\ude80"]', ["é\n\\\"/\U0001f680"]),
    "half a surrogate pair": (rb'["\ud83d"]', ["\ud83d"]),
    "controls as they are": (b'["a\x01b\x02"]', ["a\x01b\x02"]),
    "a key twice": (b'{"a":1,"a":2}', {"a": 2}),
    "a comma in a text": (b'{"a":",","b":"}"}', {"a": ",", "b": "}"}),
}  # fmt: skip
LENIENT = {
    "bare keys": (b"{0:1,a:2,-1:3}", {"0": 1, "a": 2, "-1": 3}),
    "an object as key": (b'{{"q":0,"t":"}"}:{"o":1},{"q":1}:2}', {'{"q":0,"t":"}"}': {"o": 1}, '{"q":1}': 2}),
    "an array as key": (b"{[1,2]:3}", {"[1,2]": 3}),
    "single quotes": (b"{'a':'it\\'s \"b\"'}", {"a": 'it\'s "b"'}),
    "old escapes": (rb'["\v\1\x41\q"]', ["\v\x01Aq"]),
    "a pair beside an old escape": (rb'["\ud83d\ude80\v"]', ["\U0001f680\v"]),
    "text that is not UTF-8": (b'{"a":"\xff\xfe"}', {"a": b"\xff\xfe"}),
    "a key that is not UTF-8": (b'{"\xff":1}', {"\\xff": 1}),
}
BROKEN = {
    "nothing": (b"", "needs 1 bytes"),
    "no value": (b"{", "needs 1 bytes"),
    "a text without end": (b'{"a":"b', "is a text that does not end"),
    "an escaped quote at the end": (b'{"a":"b\\"', "is a text that does not end"),
    "a key without value": (b'{"a"}', "is not followed by a colon"),
    "a value without comma": (b"[1 2]", "goes on without a comma"),
    "a comma too many": (b"[1,]", "is no JSON value"),
    "the wrong bracket": (b"[1}", "goes on without a comma"),
    "a cut number": (b"[12", "needs 3 bytes"),
    "no number": (b"[01]", "is no JSON value"),
    "no constant": (b"[nil]", "is no JSON value"),
    "more behind it": (b"{} {}", "is followed by 2 bytes more"),
    "a comma behind it": (b"{},", "is followed by 0 bytes more"),
    "a number beyond reason": (b"[" + b"9" * 5000 + b"]", "is a number of 5000 digits"),
    "a key without end": (b"{[[[", "does not end"),
}


@pytest.mark.parametrize("case", [*STRICT, *LENIENT])
def test_what_it_means(case: str) -> None:
    data, value = (STRICT | LENIENT)[case]
    found, tree = read(data)
    assert found == value
    assert tree.findings == []


@pytest.mark.parametrize("case", BROKEN)
def test_broken(case: str) -> None:
    data, why = BROKEN[case]
    _, tree = read(data)
    (finding,) = tree.findings
    assert finding.code == "malformed-body"
    assert why in finding.text


def test_what_was_read_before_it_broke_is_there() -> None:
    assert read(b'{"a":1,"b":{"c":[2,3,x')[0] == {"a": 1, "b": {"c": [2, 3]}}


def test_numbers_that_are_none() -> None:
    found, _ = read(b"[1e999,-Infinity,NaN]")
    assert isinstance(found, list)
    assert all(type(each) is NonFinite for each in found)


def test_leaves_are_tokens_up_to_the_next() -> None:
    data = b'{"a": 1, "b":["x"]}'
    _, tree = read(data)
    spans = [data[leaf.offset : leaf.offset + leaf.length] for leaf in leaves(tree.fields)]
    assert spans == [b"{", b'"a": 1, ', b'"b":[', b'"x"', b"]", b"}"]
    assert [leaf.head for leaf in leaves(tree.fields)] == [0, 5, 0, 0, 0, 0]


@pytest.mark.parametrize("opener", [b"[", b'{"a":', b"{a:", b"{[1]:"])
@pytest.mark.parametrize(
    ("depth", "codes"), [(DEPTH, []), (DEPTH + 1, ["limit-exceeded"]), (50_000, ["limit-exceeded"])]
)
def test_depth_is_bounded(opener: bytes, depth: int, codes: list[str]) -> None:
    closer = b"]" if opener == b"[" else b"}"
    _, tree = read(opener * depth + (b"" if opener == b"[" else b"1") + closer * depth)
    assert [finding.code for finding in tree.findings] == codes


HOSTILE = {
    "escapes without end": b'{"' + b'\\"' * 100_000,
    "keys of keys": b"{" * 63 + b"a:1" + b"}:1" * 60 + b"," * 100_000,
    "brackets in a key": b"{" + b"[" * 100_000,
    "spaces": b"[" + b"1 ," * 30_000 + b" " * 400_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_comes_to_an_end(case: str) -> None:
    with within(20):  # 0.2 s at most; what goes back for each character is at billions
        read(HOSTILE[case])


@pytest.mark.parametrize("raw", [b'"hunter2"', b"12", b'{"a":"b"}', b"null"])
def test_members_that_are_secrets(raw: bytes) -> None:
    found, tree = read(b'{"user":{"password":' + raw + b',"name":"n"}}', frozenset({"password"}))
    assert isinstance(found, dict)
    hidden = found["user"]["password"]
    assert hidden is None if raw == b"null" else isinstance(hidden, Secret) and hidden.reveal() in (raw, "hunter2")
    assert found["user"]["name"] == "n"
    assert tree.findings == []
    assert "Secret" not in repr(read(b'{"password":' + raw + b"}")[0])
