"""Whatever real messages have can be asked for by name: every path in their values is in the catalog, and of its type.

And nothing but that: a catalog is finite, says each name once, and making one layout's members makes no other's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.decode.bodies import decode_body
from analyzer.decode.content import find_dissector, read_context, read_header
from analyzer.session import Session
from dissectors import registry
from dissectors.api import Context, Role
from dissectors.catalog import Catalog, Layout, ListedCatalog, Member
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.field_aliases import leads
from dissectors.wire.flat import RowTable
from dissectors.wire.secret import Secret

ROOT = Path(__file__).parents[2]
CAPTURES = [*sorted((ROOT / "captures").glob("*.pcap*")), *sorted((ROOT / "tests" / "golden").glob("*/*.pcap.zst"))]
TRUTH = ROOT.parent / "shared" / "truth"
PROTOCOLS = ("kafka", "zookeeper", "zookeeper-quorum", "zookeeper-election", "pulsar", "rocketmq", "rocketmq-ha")
MOST_ALIKE = 6
"""Messages of one operation and version that are looked at in a capture."""

TEXT = (str, bytes, Secret)
FITS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("bool", "boolean"), (bool,)),
    **dict.fromkeys(("string", "ustring", "uuid", "chars", "ipv4_port"), TEXT),
    **dict.fromkeys(("bytes", "buffer", "undecoded"), (bytes, Secret, EmbeddedValue)),
    "any": (object,),
    **dict.fromkeys(("float64", "double", "float"), (float, int, str)),
    **dict.fromkeys(("int", "long", "varint", "varlong", "uvarint"), (int,)),
}


def catalog_of(protocol: str) -> Catalog:
    catalog = registry.by_name(protocol).catalog
    assert catalog is not None
    return catalog


def layouts_of(catalog: Catalog, operation: str, role: Role) -> list[Layout]:
    """As CONTRACT.md's field paths mean it: what is no response has the body of a request."""
    wanted = Role.RESPONSE if role is Role.RESPONSE else Role.REQUEST
    return [each for each in catalog.layouts() if each.operation == operation and each.role in (None, wanted)]


def misfits(value: Any, members: list[Member], path: str) -> Iterator[str]:
    """What a struct has that no member of that name fits."""
    for name, inner in value.items():
        known = [each for each in members if each.name == name]
        if not known:
            yield f"{path}.{name} is in no layout"
        elif inner is not None:
            yield from min((list(misfit(inner, each, f"{path}.{name}")) for each in known), key=len)


def misfit(value: Any, member: Member, path: str) -> Iterator[str]:
    if isinstance(value, list | tuple | RowTable):
        if not member.repeated and not member.open:
            yield f"{path} has a list"
        for each in value:
            if each is not None:
                yield from misfit(each, member._replace(repeated=False), path)
    elif isinstance(value, EmbeddedValue):
        yield from misfit(value.data, member, path)
        inside = () if member.members is None else member.members()
        stored = next((each for each in inside if each.name == "value"), None)
        if stored is None:
            yield f"{path} holds {value.name}"
        elif value.value is not None and not stored.open:
            yield from misfit(value.value, stored, f"{path}.value")
    elif isinstance(value, dict):
        if member.members is not None:
            yield from () if member.open else misfits(value, list(member.members()), path)
        elif not member.open:
            yield f"{path} is a struct"
    elif not member.open and not isinstance(value, _fitting(member.type)):
        yield f"{path} is {type(value).__name__} where {member.type} is said"
    elif isinstance(value, bool) and not {bool, object} & {*_fitting(member.type)} and not member.open:
        yield f"{path} is a flag where {member.type} is said"


def _fitting(kind: str) -> tuple[type, ...]:
    if kind.removeprefix("u").removeprefix("s").startswith(("int", "fixed")):
        return (int,)
    return FITS.get(kind, ())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_what_messages_have_has_a_name(capture: Path) -> None:
    found: dict[str, None] = {}
    alike: Counter[tuple[Any, ...]] = Counter()
    with Session([capture]).load() as session:
        for row in range(len(session.rows)):
            header, dissector = read_header(session, row), find_dissector(session, row)
            if dissector is None or header.operation is None:
                continue
            kind = (dissector.name, header.operation, header.role, header.version)
            alike[kind] += 1
            if alike[kind] > MOST_ALIKE:
                continue
            layouts = layouts_of(catalog_of(dissector.name), header.operation, header.role)
            assert layouts, f"{dissector.name}.{header.operation} {header.role.name} has no layout"
            name = f"{dissector.name}.{header.operation}.{header.role.name.lower()}"
            if alike[kind] == 1 and header.code is not None:  # what has no code is one of several things
                found |= dict.fromkeys(nowhere(dissector.name, read_context(session, row), layouts))
            values = decode_body(session, row).values
            each = [list(misfits(values, list(layout.members()), name)) for layout in layouts]
            found |= dict.fromkeys(min(each, key=len))
    assert not found, list(found)[:20]


@pytest.mark.slow
@pytest.mark.skipif(not TRUTH.exists(), reason="the captures of the whole truth are not here")
def test_the_same_of_captures_that_are_not_ours() -> None:
    for capture in sorted(TRUTH.glob("*/*.pcap.zst"))[::12]:
        test_what_messages_have_has_a_name(capture)


def nowhere(protocol: str, context: Context, layouts: list[Layout]) -> Iterator[str]:
    """The places of field aliases and aliases that are in none of the layouts."""
    catalog = catalog_of(protocol)
    requested = [*catalog.field_aliases(), *(each for each in catalog.aliases().values() if each.paths is not None)]
    for each in requested:
        for path in each.paths(context) if each.paths is not None else ():
            if not any(leads(path, layout.members()) for layout in layouts):
                yield f"{protocol} {each.name} at {'.'.join(path)} is in no layout"


def walk(members: Callable[[], Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Member]]:
    assert len(path) < 24, f"{'.'.join(path)} has no end"
    names: set[str] = set()
    for member in members():
        assert member.name not in names, f"{'.'.join(path)} has {member.name} twice"
        names.add(member.name)
        yield (*path, member.name), member
        if member.members is not None:
            yield from walk(member.members, (*path, member.name))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_catalogs_are_finite_and_say_each_name_once(protocol: str) -> None:
    for layout in catalog_of(protocol).layouts():
        for path, member in walk(layout.members, (layout.operation,)):
            assert member.name.strip() == member.name != "", path
            known = member.type in FITS or _fitting(member.type) or member.open
            assert known or member.type in ("struct", "map"), (path, member.type)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_names_mean_one_thing(protocol: str) -> None:
    catalog = catalog_of(protocol)
    field_aliases = catalog.field_aliases()
    assert len({each.name for each in field_aliases}) == len(field_aliases)
    assert not {f"{protocol}.{each.name}" for each in field_aliases} & set(catalog.aliases())
    known = {each.operation for each in catalog.layouts()}
    assert not known & {each.name for each in field_aliases}, "an operation would hide it"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_aliases_are_nothing_for_what_is_unknown(protocol: str) -> None:
    for short in catalog_of(protocol).field_aliases():
        for code in (-7, 32_000):
            assert short.paths(Context(Role.REQUEST, code, 3)) == (), short.name


def test_a_listed_catalog_gives_all_operations_the_same_members() -> None:
    members = [Member("command", "string", about="what is done"), Member("keys", "string", repeated=True)]
    catalog = ListedCatalog(("GET", "SET"), members, {"key": "keys", "command": "command"})
    assert [(each.operation, each.role, each.members()) for each in catalog.layouts()] == [
        ("GET", None, members), ("SET", None, members),
    ]  # fmt: skip
    aliases = {each.name: each for each in catalog.field_aliases()}
    assert aliases["key"].paths(Context(Role.REQUEST)) == (("keys",),)
    assert aliases["command"].about == "what is done"
