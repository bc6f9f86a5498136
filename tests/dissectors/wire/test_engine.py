"""One plan, two decoders: properties over random schemas and an independent encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dissectors.field import Tree
from dissectors.wire import Plan, Secret, resolve
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, projection, source, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.first_error import first_nonzero
from dissectors.wire.reader import Reader
from dissectors.wire.schema import FieldSchema, Schema, Versions
from dissectors.wire.specs import UNDECODED, members
from tests.dissectors.trees import assert_tiles
from tests.dissectors.wire.oracle import DIALECT, Message, messages


def read_tree(plan: Plan, data: bytes) -> tuple[Tree, int]:
    """The tree of a struct, and the offset behind it."""
    reader = Reader.start(data, Budget())
    reader.guard(lambda inside: read_members(inside, plan.steps), len(data))
    return reader.tree, reader.at


def fast(plan: Plan, data: bytes) -> dict[str, Any] | None:
    """The values, or None where the fast decoder gives up."""
    try:
        values, stop = values_decoder(plan)(data, 0, Budget())
    except FAILURES:
        return None
    return values if stop <= len(data) else None


@given(messages())
def test_both_decoders_give_what_was_encoded(message: Message) -> None:
    plan = resolve(message.schema, 0)
    assert values_decoder(plan)(message.data, 0, Budget()) == (message.values, len(message.data))
    framed = b"before" + message.data + b"behind"
    assert values_decoder(plan)(framed, 6, Budget()) == (message.values, 6 + len(message.data))
    tree, stop = read_tree(plan, message.data)
    assert (members(tree.fields), stop, tree.findings) == (message.values, len(message.data), [])
    assert_tiles(tree)


@given(messages(), st.data())
def test_a_cut_gives_the_tree_up_to_it_and_one_finding(message: Message, data: st.DataObject) -> None:
    plan = resolve(message.schema, 0)
    if not message.data:
        return
    cut = message.data[: data.draw(st.integers(0, len(message.data) - 1))]
    assert fast(plan, cut) is None
    tree, _ = read_tree(plan, cut)
    assert_tiles(tree)
    (finding,) = tree.findings
    assert finding.code == "malformed-body"
    whole, _ = read_tree(plan, message.data)
    assert_begins(tree, whole)


def assert_begins(cut: Tree, whole: Tree) -> None:
    """All leaves before the cut are those of the whole tree."""
    pairs = [(cut.fields, whole.fields)]
    while pairs:
        ours, theirs = pairs.pop()
        for mine, other in zip(ours, theirs, strict=False):
            if mine.spec is UNDECODED:
                continue
            assert (mine.spec, mine.offset) == (other.spec, other.offset)
            if mine.spec.type == "rest":  # as much of it as there is
                assert other.value.startswith(mine.value)
            elif not mine.children and mine.value not in ({}, []):
                assert (mine.value, mine.length, mine.head) == (other.value, other.length, other.head)
            pairs.append((mine.children, other.children))


@given(messages(), st.data())
def test_broken_bytes_give_the_same_both_ways(message: Message, data: st.DataObject) -> None:
    plan = resolve(message.schema, 0)
    broken = bytearray(message.data)
    for _ in range(data.draw(st.integers(1, 3))):
        if broken:
            broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    values = fast(plan, bytes(broken))
    tree, stop = read_tree(plan, bytes(broken))
    assert_tiles(Tree(tree.fields, tree.sources, [])) if stop == len(broken) else None
    if values is not None:
        assert (members(tree.fields), tree.findings) == (values, [])


@given(messages(), st.data())
def test_a_projection_gives_a_part_of_the_values(message: Message, data: st.DataObject) -> None:
    paths = sorted(all_paths(message.schema.fields))
    if not paths:
        return
    wanted = frozenset(data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3)))
    projected, stop = projection(resolve(message.schema, 0), wanted)(message.data, 0, Budget())
    assert stop == len(message.data)
    assert projected == picked(message.values, wanted)


def all_paths(fields: tuple[FieldSchema, ...]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = {(field.name,) for field in fields}
    for field in fields:
        found |= {(field.name, *path) for path in all_paths(field.fields or ())} | {(name,) for name, _ in field.bits}
    return found


def picked(value: Any, paths: frozenset[tuple[str, ...]]) -> Any:
    """The part of a value that the paths name; the empty path is all of it."""
    if () in paths or value is None:
        return value
    if isinstance(value, list):
        return [picked(item, paths) for item in value]
    below: dict[str, set[tuple[str, ...]]] = {}
    for path in paths:
        below.setdefault(path[0], set()).add(path[1:])
    return {name: picked(item, frozenset(below[name])) for name, item in value.items() if name in below}


@given(messages())
def test_the_first_error_is_the_first_in_the_order_of_the_schema(message: Message) -> None:
    assert first_nonzero(resolve(message.schema, 0), "error")(message.values) == next(
        errors(message.schema.fields, message.values), 0
    )


def errors(fields: tuple[FieldSchema, ...], values: dict[str, Any]) -> Any:
    ordered = [field for field in fields if field.tag is None] + [field for field in fields if field.tag is not None]
    for field in ordered:
        value = values.get(field.name)
        if field.enum == "error" and value:
            yield value
        elif field.fields is not None and value is not None:
            for item in value if field.array else [value]:
                yield from errors(field.fields, item)


def schema(*rows: dict[str, Any], flexible: str = "none") -> Schema:
    return Schema.parse("test", {"versions": "0-9", "flexible": flexible, "fields": list(rows)}, DIALECT)


def test_neighbours_of_fixed_width_are_read_as_one() -> None:
    text = source(resolve(schema({"name": "a", "type": "int32"}, {"name": "b", "type": "string"}), 0))
    assert text.splitlines()[2] == "    v1, n2, = s3(d, p); p += 6"


def test_a_count_is_checked_before_anything_is_made() -> None:
    huge = bytes.fromhex("7fffffff")
    for kind in ("int32", "string", "bool", "digest"):
        plan = resolve(schema({"name": "many", "type": f"[]{kind}"}), 0)
        assert fast(plan, huge) is None
        tree, _ = read_tree(plan, huge)
        assert tree.findings[0].text.startswith("many (2147483647 elements) needs ")


def test_elements_without_bytes_cannot_be_counted_beyond_what_is_left() -> None:
    plan = resolve(schema({"name": "many", "type": "[]Nothing", "fields": []}), 0)
    assert fast(plan, bytes.fromhex("7fffffff")) is None
    assert read_tree(plan, bytes.fromhex("7fffffff"))[0].findings


def test_an_error_says_what_was_needed_and_where() -> None:
    plan = resolve(schema({"name": "topics", "type": "[]Topic", "fields": [{"name": "name", "type": "string"}]}), 0)
    tree, _ = read_tree(plan, bytes.fromhex("0000000200016100286162"))
    assert [finding.text for finding in tree.findings] == ["topics[1].name needs 40 bytes at offset 9, 2 are left"]
    assert members(tree.fields) == {"topics": [{"name": "a"}, {}]}


def test_a_tagged_field_must_take_its_size() -> None:
    plan = resolve(schema({"name": "a", "type": "int16", "tag": 0}, flexible="0-9"), 0)
    assert fast(plan, bytes.fromhex("01000200ff")) == {"a": 255}
    for broken in ("01000300ff00", "01000100ff"):
        assert fast(plan, bytes.fromhex(broken)) is None
        assert len(read_tree(plan, bytes.fromhex(broken))[0].findings) == 1


def test_text_that_is_not_utf8_is_bytes_and_no_finding() -> None:
    plan = resolve(schema({"name": "a", "type": "string"}), 0)
    tree, _ = read_tree(plan, bytes.fromhex("0002ff41"))
    assert fast(plan, bytes.fromhex("0002ff41")) is None
    assert (members(tree.fields), tree.findings) == ({"a": b"\xff\x41"}, [])


def test_a_secret_is_never_shown_by_accident() -> None:
    plan = resolve(schema({"name": "password", "type": "string", "secret": True}), 0)
    values = fast(plan, bytes.fromhex("0003616263"))
    assert values is not None
    assert "abc" not in f"{values} {values!r}"
    assert values["password"].reveal() == "abc"
    tree, _ = read_tree(plan, bytes.fromhex("0003616263"))
    assert tree.fields[0].value == Secret("abc")


def test_a_value_may_be_secret_by_its_key() -> None:
    rows = [
        {"name": "key", "type": "string"},
        {"name": "value", "type": "string", "nullable": "0-9", "secretBy": "key"},
    ]
    dialect = replace(DIALECT, sensitive=lambda key: key == "pin")
    configs = {"versions": "0-9", "fields": [{"name": "configs", "type": "[]Config", "fields": rows}]}
    plan = resolve(Schema.parse("test", configs, dialect), 0)
    data = bytes.fromhex("000000030003 70696e 0001 610003 70696e ffff0003 706f74 0001 62")
    expected: list[dict[str, Any]] = [
        {"key": "pin", "value": Secret("a")},
        {"key": "pin", "value": None},
        {"key": "pot", "value": "b"},
    ]
    assert fast(plan, data) == {"configs": expected}
    tree, _ = read_tree(plan, data)
    assert members(tree.fields) == {"configs": expected}
    assert [pair.children[1].spec.secret for pair in tree.fields[0].children[1:]] == [True, True, False]
    values, _ = projection(plan, frozenset({("configs", "value")}))(data, 0, Budget())
    assert values == {"configs": [{"value": pair["value"]} for pair in expected]}


def test_a_field_is_there_in_its_versions_alone() -> None:
    rows = schema(
        {"name": "old", "type": "int8", "versions": "0-2"},
        {"name": "new", "type": "int8", "versions": "3+"},
        {"name": "box", "type": "Box", "versions": "5+", "nullable": "6+", "fields": [{"name": "a", "type": "int8"}]},
    )
    assert fast(resolve(rows, 2), b"\x07") == {"old": 7}
    assert fast(resolve(rows, 3), b"\x07") == {"new": 7}
    assert fast(resolve(rows, 5), b"\x07\x08") == {"new": 7, "box": {"a": 8}}
    assert fast(resolve(rows, 6), b"\x07\xff") == {"new": 7, "box": None}


def test_version_ranges() -> None:
    assert 3 in Versions.parse("3")
    assert 4 not in Versions.parse("3")
    assert 400 in Versions.parse("3+")
    assert 0 not in Versions.parse("none")


def test_the_caches_are_bounded() -> None:
    for cached in (resolve, values_decoder, projection):
        assert (cached.cache_info().maxsize or 1 << 30) <= 1024


def test_what_is_retained_for_counts_is_bounded() -> None:
    plan = resolve(schema({"name": "many", "type": "[]int32"}), 0)
    for count in range(300):
        assert fast(plan, count.to_bytes(4, "big") + bytes(4 * count)) == {"many": [0] * count}
    (table,) = [value for value in values_decoder(plan).__globals__.values() if type(value).__name__ == "Repeats"]
    assert len(table) <= 65
