"""No module imports itself by way of others, neither when it is loaded nor for its types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from analyzer.session import Analysis, Session

ROOT = Path(__file__).parents[1]
PACKAGES = ("analyzer", "dissectors", "tui", "wireanalyze")

MOST_MEMBERS = 15


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those of a module's level, also under `if TYPE_CHECKING` and `try`."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.If):
            yield from imports(statement.body)
            yield from imports(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from imports(statement.body)


def graph() -> dict[str, set[str]]:
    known = modules()
    edges: dict[str, set[str]] = {}
    for name, path in known.items():
        wanted = set[str]()
        for statement in imports(ast.parse(path.read_text()).body):
            if isinstance(statement, ast.Import):
                wanted.update(alias.name for alias in statement.names)
            else:
                inside = {f"{statement.module}.{alias.name}" for alias in statement.names}
                wanted.update(each if each in known else str(statement.module) for each in inside)
        edges[name] = wanted & known.keys()
    return edges


def reached(edges: dict[str, set[str]], start: str) -> set[str]:
    found, todo = set[str](), [start]
    while todo:
        new = edges[todo.pop()] - found
        found |= new
        todo += new
    return found


def circles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules of which each reaches all others."""
    found = set()
    edges = {name: set(wanted) for name, wanted in edges.items()}
    while True:
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            start = error.args[1][0]
            circle = frozenset(each for each in reached(edges, start) if start in reached(edges, each))
            found.add(circle)
            for each in circle:
                edges[each] -= circle
        else:
            return found


def test_there_are_no_circles() -> None:
    assert circles(graph()) == set()


def test_a_circle_is_found() -> None:
    edges: dict[str, set[str]] = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()}
    assert circles(edges) == {frozenset("abc")}


@pytest.mark.parametrize("kind", [Analysis, Session])
def test_a_session_offers_little(kind: type[Analysis]) -> None:
    """What can be read of a session is a function in the package that reads it."""
    with Session([ROOT / "captures" / "kafka.pcap"]) as session:
        of_instance = vars(session) if kind is Session else {}
        members = {name for name in {*dir(kind), *of_instance} if not name.startswith("_")}
    assert len(members) <= MOST_MEMBERS, sorted(members)
