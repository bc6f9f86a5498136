"""Trees as JSON, as text and as hex: the contract's keys, and no secret in any of them."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.hexdump import format_hexdump
from analyzer.render.lines import print_lines, strip_styles
from analyzer.render.tree_json import PrintedMessage, make_tree_object
from analyzer.render.tree_text import format_finding, format_title, format_tree
from dissectors.api import MessageHeader, Role
from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.secret import Secret
from dissectors.wire.specs import MORE, MORE_SECRET, Many, PartedSpec

DATA = b"\x00\x05\x00\x07hunter2a\x1b[31m"
SECRET = b"hunter2"


def leaf(name: str, kind: str, value: object, at: int, length: int, head: int = 0, **spec: object) -> Field:
    return Field(FieldSpec(name, kind, **spec), value, at, length, head=head)  # type: ignore[arg-type]


def tree() -> Tree:
    nodes = [
        leaf("code", "int16", 5, 0, 2, label=lambda value: f"CODE_{value}"),
        leaf("password", "string", Secret("hunter2"), 2, 9, head=2, secret=True, label=str),
        leaf("text", "string", "a\x1b[31m", 11, 6),
    ]
    finding = Finding(Severity.WARNING, "trailing-bytes", "6 bytes\x1b are left", 0, 11, 6)
    body = Field(FieldSpec("body", "struct"), None, 0, 17, children=nodes)
    return Tree([body], [Source(0, "message", DATA)], [finding])


HEADER = MessageHeader(Role.REQUEST, "Op\x1bname", 5, 2, 77, "client\u202e")
MESSAGE = PrintedMessage("kafka", HEADER, (3, "BROKEN"), "a line")


def everything(of: Tree, limits: Limits) -> str:
    lines = [format_title(MESSAGE, 17), *format_tree(of, limits), *map(format_finding, of.findings)]
    spans = {} if limits.show_secrets else find_secret_spans(of)
    for source in of.sources:
        lines += format_hexdump(source.data, spans.get(source.id, ()))
    return "\n".join(map(strip_styles, lines))


def test_json_has_the_keys_of_the_contract() -> None:
    shown = json.loads(JsonWriter().format_line(make_tree_object(MESSAGE, tree())))
    assert shown == {
        "protocol": "kafka",
        "role": "request",
        "operation": "Op\x1bname",
        "code": 5,
        "version": 2,
        "state": "complete",
        "correlation": 77,
        "error": {"code": 3, "name": "BROKEN"},
        "info": "a line",
        "findings": [
            {
                "severity": "warning",
                "code": "trailing-bytes",
                "text": "6 bytes\x1b are left",
                "source": 0,
                "offset": 11,
                "length": 6,
            }
        ],
        "sources": [{"id": 0, "name": "message", "length": 17, "parent": None}],
        "fields": [
            {
                "name": "body",
                "type": "struct",
                "value": None,
                "source": 0,
                "offset": 0,
                "length": 17,
                "children": [
                    {
                        "name": "code",
                        "type": "int16",
                        "value": 5,
                        "text": "CODE_5",
                        "source": 0,
                        "offset": 0,
                        "length": 2,
                    },
                    {
                        "name": "password",
                        "type": "string",
                        "value": {"redacted": True, "length": 7},
                        "source": 0,
                        "offset": 2,
                        "length": 9,
                        "head": 2,
                    },
                    {"name": "text", "type": "string", "value": "a\x1b[31m", "source": 0, "offset": 11, "length": 6},
                ],
            }
        ],
    }


def test_text_shows_everything_but_secrets_and_controls() -> None:
    shown = everything(tree(), Limits())
    assert "0+2" in shown
    assert "code: 5 (CODE_5)" in shown
    assert "password: redacted, 7 long" in shown
    assert "hunter2" not in shown
    assert SECRET.hex(" ") not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "hunter2" in everything(tree(), Limits(show_secrets=True))


def nested(*, compressed: bool) -> Tree:
    """A secret in a source that was made of the bytes of a node; below the secret one more source."""
    secret = Field(FieldSpec("token", "bytes", secret=True), SECRET, 1, 7, source=1)
    secret.children = [Field(FieldSpec("part", "string"), "hunter2", 0, 7, source=2)]
    outer = Field(FieldSpec("blob", "bytes"), b"xhunter2", 0, 8, children=[secret])
    return Tree(
        [outer],
        [
            Source(0, "message", b"xhunter2" if not compressed else b"Xhunter2"),
            Source(1, "decompressed", b"xhunter2", (0,)),
            Source(2, "decoded", SECRET, (0, 0)),
        ],
        [],
    )


@pytest.mark.parametrize("compressed", [False, True])
def test_a_secret_is_masked_wherever_its_bytes_show_again(compressed: bool) -> None:
    shown = everything(nested(compressed=compressed), Limits())
    shown += JsonWriter().format_line(make_tree_object(MESSAGE, nested(compressed=compressed))).decode()
    assert "hunter" not in shown
    assert SECRET.hex() not in shown
    assert SECRET.hex(" ") not in shown
    assert "** ** **" in shown


def parted() -> Tree:
    """A secret whose parts speak for themselves: a name, and a secret that was decoded to a name and a secret."""
    inner = [leaf("sub", "string", "tom", 0, 3), leaf("pin", "string", Secret("hunter2"), 3, 8, head=1, secret=True)]
    for node in inner:
        node.source = 1
    claims = Field(PartedSpec("claims", "base64", secret=True), Secret("HUNTER"), 4, 7, head=1, children=inner)
    token = Field(PartedSpec("token", "bytes", secret=True), Secret(b"bobx"), 0, 11)
    token.children = [leaf("user", "string", "bobx", 0, 4), claims]
    return Tree([token], [Source(0, "message", b"bobx=HUNTER"), Source(1, "claims", b"tom=hunter2", (0, 1))], [])


def test_parts_of_a_secret_say_what_is_secret() -> None:
    shown = everything(parted(), Limits())
    printed = json.loads(JsonWriter().format_line(make_tree_object(MESSAGE, parted())))
    assert "hunter" not in (shown + str(printed)).lower()
    assert 'user: "bobx"' in shown
    assert 'sub: "tom"' in shown
    assert "|bobx=******|" in shown
    assert "|tom=*******|" in shown
    token = printed["fields"][0]
    assert token["value"] == {"redacted": True, "length": 4}
    assert token["children"][0]["value"] == "bobx"
    assert [child["value"] for child in token["children"][1]["children"]] == ["tom", {"redacted": True, "length": 7}]
    assert "HUNTER" in everything(parted(), Limits(show_secrets=True))


def test_long_lists_of_nodes_are_counted() -> None:
    many = Tree([leaf(f"[{n}]", "int8", n, n, 1) for n in range(50)], [Source(0, "message", bytes(50))], [])
    lines = [strip_styles(line) for line in format_tree(many, Limits(max_items=3))]
    assert len(lines) == 4
    assert "and 47 more of 50" in lines[-1]


def test_items_without_nodes_are_counted_where_children_are_cut() -> None:
    nodes = [*(leaf(f"[{at}]", "int8", at, at, 1) for at in range(5)), Field(MORE, 4000, 5, 12)]
    of = Tree([Field(Many("nodes", "array"), None, 0, 17, children=nodes)], [Source(0, "message", DATA)], [])
    assert "and 4,002 more of 4,005" in strip_styles(list(format_tree(of, Limits(max_items=3)))[-1])
    assert "more: 4000 (4,000 more, not shown)" in strip_styles(list(format_tree(of, Limits()))[-1])


def test_items_without_nodes_are_masked_where_they_may_hide_a_secret() -> None:
    of = Tree([Field(MORE_SECRET, 4000, 0, 17)], [Source(0, "message", DATA)], [])
    assert "hunter2" not in everything(of, Limits())
    assert find_secret_spans(of) == {0: [(0, 17)]}


def test_hexdump_is_that_of_hexdump() -> None:
    assert [strip_styles(line) for line in format_hexdump(b"0123456789abcdef\x00\xff")] == [
        "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|",
        "00000010  00 ff                                             |..|",
    ]
    assert strip_styles(list(format_hexdump(bytes(100), limit=20))[-1]) == "and 80 more bytes of 100"


@given(st.binary(max_size=70), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=4))
def test_masked_bytes_never_show(data: bytes, spans: list[tuple[int, int]]) -> None:
    lines = [strip_styles(line) for line in format_hexdump(data, spans, (3, 20))]
    cells = [cell for line in lines for cell in line[10:59].split()]
    hidden = {index for start, end in spans for index in range(start, end)}
    assert cells == ["**" if index in hidden else f"{byte:02x}" for index, byte in enumerate(data)]
    assert all(line.isprintable() for line in lines)


def test_colour_adds_only_colour() -> None:
    lines = [(("name", "[/red]"), ("value", ": [bold]x")), (("", "y" * 300),)]
    file = io.StringIO()
    print_lines(lines, file, color=True)
    assert "\x1b[36m[/red]\x1b[0m: [bold]x\n" in file.getvalue()
    assert "y" * 300 in file.getvalue()
