"""What parses to what: texts and their trees, written as lists with the operator in front; capture filters."""

from __future__ import annotations

import pytest

from analyzer.query.filter import compile_filter
from analyzer.query.filter.capture_filter import is_display_filter, translate_capture_filter
from analyzer.query.filter.nodes import (
    Call,
    Comparison,
    Junction,
    Literal,
    Name,
    NamedFilter,
    Node,
    Not,
    Range,
    Slice,
    Value,
)
from analyzer.query.filter.parse import parse

NAMED = {
    "slow": "latency > 50ms",
    "bad": "error or state == partial",
    "both": "$slow and ${bad}",
    "with.dot": "error",
    "with-dash": "error",
}

CASES = [
    # presence, comparisons, and the two ways to write each operator
    ("error", "error"),
    ("  error\t\n ", "error"),
    ("version == 3", "(eq version 3)"),
    ("version==3", "(eq version 3)"),
    ("version eq 3", "(eq version 3)"),
    ("version any_eq 3", "(any_eq version 3)"),
    ("version != 3", "(ne version 3)"),
    ("version ne 3", "(ne version 3)"),
    ("version all_ne 3", "(all_ne version 3)"),
    ("version === 3", "(all_eq version 3)"),
    ("version all_eq 3", "(all_eq version 3)"),
    ("version !== 3", "(any_ne version 3)"),
    ("version ~= 3", "(any_ne version 3)"),
    ("version any_ne 3", "(any_ne version 3)"),
    ("version<3", "(lt version 3)"),
    ("version lt 3", "(lt version 3)"),
    ("version <= -3", "(le version -3)"),
    ("version le 3", "(le version 3)"),
    ("version>0x10", "(gt version 0x10)"),
    ("version gt 3", "(gt version 3)"),
    ("version>=3", "(ge version 3)"),
    ("version ge 3", "(ge version 3)"),
    ("version & 3", "(bitwise_and version 3)"),
    ("version&3", "(bitwise_and version 3)"),
    ("info contains abc", "(contains info abc)"),
    ("info matches 'a.c'", "(matches info 'a.c')"),
    ("info ~ 'a.c'", "(matches info 'a.c')"),
    ("info~'a.c'", "(matches info 'a.c')"),
    # sets
    ("version in {1}", "(in version 1)"),
    ("version in {1, 2,3 4}", "(in version 1 2 3 4)"),
    ("version in{1..3,5 .. 7}", "(in version 1..3 5..7)"),
    ("version not in {1, 2}", "(not_in version 1 2)"),
    ("client in {'a b', c}", "(in client 'a b' c)"),
    (
        "time in {2026-11-21T10:00:00Z..2026-11-21T10:00:01.5Z}",
        "(in time 2026-11-21T10:00:00Z..2026-11-21T10:00:01.5Z)",
    ),
    ("ip in {10.0.0.0/8 ::1}", "(in ip 10.0.0.0/8 ::1)"),
    # how many values
    ("any port > 1024", "(any gt port 1024)"),
    ("all port in {1..2}", "(all in port 1..2)"),
    ("all port not in {1}", "(all not_in port 1)"),
    ("any len(info) == 3", "(any eq len(info) 3)"),
    # what binds how tightly: or, xor, and, not
    ("a or b or c", "(or a b c)"),
    ("a and b and c", "(and a b c)"),
    ("a or b and c", "(or a (and b c))"),
    ("a and b or c", "(or (and a b) c)"),
    ("a or b xor c", "(or a (xor b c))"),
    ("a xor b or c", "(or (xor a b) c)"),
    ("a xor b and c", "(xor a (and b c))"),
    ("a and b xor c", "(xor (and a b) c)"),
    ("(a or b) and c", "(and (or a b) c)"),
    ("not a and b", "(and (not a) b)"),
    ("not (a and b)", "(not (and a b))"),
    ("not not a", "(not (not a))"),
    ("!!a", "(not (not a))"),
    ("! a || b", "(or (not a) b)"),
    ("!a == 1", "(not (eq a 1))"),
    ("a && b || c ^^ d", "(or (and a b) (xor c d))"),
    ("a&&b", "(and a b)"),
    ("a||!b", "(or a (not b))"),
    ("a & 1 && b", "(and (bitwise_and a 1) b)"),
    ("a == 1 and(b)or(not(c))", "(or (and (eq a 1) b) (not c))"),
    # words that are operators elsewhere may begin names and be values
    ("order and not_a or android", "(or (and order not_a) android)"),
    ("client == and", "(eq client and)"),
    ("client == any and client == in", "(and (eq client any) (eq client in))"),
    # literals
    ('info == "a \\"b\\" \\\\ \\x41\\n"', "(eq info 'a \"b\" \\\\ A\\n')"),
    ("info == 'it is \"it\"'", "(eq info 'it is \"it\"')"),
    ('info == r"a\\n"', "(eq info 'a\\\\n')"),
    ('info == ""', "(eq info '')"),
    ("latency > 50ms", "(gt latency 50ms)"),
    ("latency > 50 ms and error", "(and (gt latency 50ms) error)"),
    ("latency in {1 s..2 s, 3s}", "(in latency 1s..2s 3s)"),
    ("length >= 1.5MiB", "(ge length 1.5MiB)"),
    ("client == a-b.c/d:e*", "(eq client a-b.c/d:e*)"),
    ("bytes contains 00:0a", "(contains bytes 00:0a)"),
    # slices and functions
    ("info[0] == a", "(eq info[0:1] a)"),
    ("info[1:2]==a", "(eq info[1:2] a)"),
    ("info[1-2] == a", "(eq info[1:2] a)"),
    ("info[:2] == a", "(eq info[0:2] a)"),
    ("info[2:] == a", "(eq info[2:] a)"),
    ("info[-2:] == a", "(eq info[-2:] a)"),
    ("info[-3:2] == a", "(eq info[-3:2] a)"),
    ("info[-3--2] == a", "(eq info[-3:2] a)"),
    ("info[ 0 , 2:3 ] == a", "(eq info[0:1,2:3] a)"),
    ("info [0] == a", "(eq info[0:1] a)"),
    ("len(info) > 3", "(gt len(info) 3)"),
    ("len( lower( info ) ) > 3", "(gt len(lower(info)) 3)"),
    ("len(info[2:]) > 3", "(gt len(info[2:]) 3)"),
    ("lower(info)[0] == a", "(eq lower(info)[0:1] a)"),
    ("count(findings)", "count(findings)"),
    # fields
    ("kafka.Fetch.request.topics.topic == a", "(eq kafka.Fetch.request.topics.topic a)"),
    ("zookeeper-quorum.PROPOSAL", "zookeeper-quorum.PROPOSAL"),
    ("_ws.col.info contains a", "(contains _ws.col.info a)"),
    # named filters
    ("$slow", "(gt latency 50ms)"),
    ("${slow}", "(gt latency 50ms)"),
    ("not $bad", "(not (or error (eq state partial)))"),
    ("$both or version", "(or (and (gt latency 50ms) (or error (eq state partial))) version)"),
    ("${with.dot} and $with-dash", "(and error error)"),
]


@pytest.mark.parametrize(("text", "tree"), CASES)
def test_a_text_has_a_tree(text: str, tree: str) -> None:
    assert shown(parse(text, NAMED)) == tree


def shown(node: Node) -> str:
    """A tree as a text."""
    if isinstance(node, NamedFilter):
        return shown(node.part)
    if isinstance(node, Not):
        return f"(not {shown(node.part)})"
    if isinstance(node, Junction):
        return f"({node.word} {' '.join(map(shown, node.parts))})"
    value = _value(node.value)
    if node.operator is None:
        return value
    every = "" if node.every is None else "all " if node.every else "any "
    return f"({every}{node.operator} {value} {' '.join(map(_operand, node.operands))})"


def _value(value: Value) -> str:
    if isinstance(value, Name):
        return value.name
    if isinstance(value, Call):
        return f"{value.function}({_value(value.value)})"
    cuts = (f"{cut.start}:{'' if cut.length is None else cut.length}" for cut in value.cuts)
    return f"{_value(value.value)}[{','.join(cuts)}]"


def _operand(operand: Literal | Range) -> str:
    if isinstance(operand, Range):
        return f"{_operand(operand.low)}..{_operand(operand.high)}"
    return repr(operand.text) if operand.quoted else operand.text


LITERALS = [
    # text, what it says, the same as bytes
    ('"\\x00\\xff"', "\x00\xff", b"\x00\xff"),
    ('"\\0\\12\\377"', "\0\n\xff", b"\0\n\xff"),
    ('"\\a\\b\\f\\n\\r\\t\\v"', "\a\b\f\n\r\t\v", b"\a\b\f\n\r\t\v"),
    ("'\\''", "'", b"'"),
    ('"ä\\xe4"', "ää", b"\xc3\xa4\xe4"),
    ('r"\\x00"', "\\x00", b"\\x00"),
    ('"\ud800"', "\ud800", b"\xed\xa0\x80"),
    ("ä", "ä", b"\xc3\xa4"),
]


@pytest.mark.parametrize(("text", "said", "data"), LITERALS, ids=[ascii(case[0]) for case in LITERALS])
def test_a_literal_is_a_text_and_bytes(text: str, said: str, data: bytes) -> None:
    comparison = parse(f"info == {text}")
    assert isinstance(comparison, Comparison)
    (literal,) = comparison.operands
    assert isinstance(literal, Literal)
    assert (literal.text, literal.data) == (said, data)


SPANS = [
    # where the parts of a comparison stand
    ("  «any info[2:] == 'a b'»  ", "  any «info[2:]» == 'a b'  ", "  any info[2:] == «'a b'»  "),
    ("error or «len( info ) > 5 ms» ", "error or «len( info )» > 5 ms ", "error or len( info ) > «5 ms» "),
]


@pytest.mark.parametrize(("whole", "value", "literal"), SPANS)
def test_parts_know_where_they_stand(whole: str, value: str, literal: str) -> None:
    text = whole.replace("«", "").replace("»", "")
    node = parse(text)
    comparison = node.parts[-1] if isinstance(node, Junction) else node
    assert isinstance(comparison, Comparison)
    operand = comparison.operands[0]
    assert isinstance(operand, Literal)
    assert isinstance(comparison.value, Slice | Call)
    for marked, span in ((whole, comparison.span), (value, comparison.value.span), (literal, operand.span)):
        assert text[: span.start] + "«" + text[span.start : span.stop] + "»" + text[span.stop :] == marked


# ---- capture filters and display filters are told apart, and a capture filter is translated


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("port 9092", "tcp.port == 9092"),
        ("tcp port 9092 or tcp port 2181", "tcp.port == 9092 or tcp.port == 2181"),
        ("ip6 host ::1 and not src port 22", "ip.addr == ::1 and not tcp.srcport == 22"),
        ("tcp and (dst host 10.0.0.1 or port 9092)", "(ip.dst == 10.0.0.1 or tcp.port == 9092)"),
    ],
)
def test_a_capture_filter_is_translated(text: str, meant: str) -> None:
    assert translate_capture_filter(text) == meant
    assert compile_filter(meant).fields


@pytest.mark.parametrize("text", ["port == 9092", "kafka.host contains x", "client == port", "port in {1 2}", "error"])
def test_a_display_filter_is_not_taken_for_one(text: str) -> None:
    assert translate_capture_filter(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kafka.topic == a", True),
        ("latency > 50ms", True),
        ("operation contains Fetch", True),
        ("operation in {Fetch Produce}", True),
        ("tcp port 9092", False),
        ("host broker-1.example.org and not port 22", False),
        ("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", False),
        ("ip[2:2] > 576", False),
        ("tcp[13] == 2", False),
        ("len > 100", False),
        ("greater 100", False),
        ("ether proto 0x0800 and ip[0] & 0xf != 5", False),
        ("", False),
    ],
)
def test_what_sniff_refuses_as_a_display_filter(text: str, expected: bool) -> None:
    assert is_display_filter(text) is expected
