"""Names in product code: words that the project has left behind do not come back, and a function's name is a verb.

docs/glossary.md has the words that are used instead.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("analyzer", "dissectors", "tui", "wireanalyze")

MODULES = frozenset(
    (
        "arriving", "bulk", "carrier", "checkup", "common", "curtain", "delicate", "depot", "desk", "figures",
        "fits", "helpers", "holes", "homes", "kept", "lesson", "lesson_rows", "lessons", "lore", "luggage",
        "measure", "misc", "notice", "notices", "opened", "picks", "portion", "portions", "reach", "said",
        "sayings", "shorts", "sieve", "skim", "standing", "stencil", "suspended", "suspending", "surviving",
        "teacher", "told", "twin", "utils", "verbs", "words",
    )
)  # fmt: skip
"""Modules and folders that have another name now."""

CLASSES = frozenset(
    (
        "Desk", "Hole", "Lesson", "Lore", "Luggage", "Naming", "Said", "Shapeless", "Stencil", "Teacher",
        "Teaching", "Told", "Twin",
    )
)  # fmt: skip

BARE = frozenset(
    (
        "Column", "Form", "Kind", "Layout", "Line", "Part", "Place",
    )
)  # fmt: skip
"""Nouns that mean little alone: at most one class of the project may have one of them for its name."""

FUNCTIONS = frozenset(
    (
        "asked", "held", "kept", "of", "read", "said", "told",
    )
)  # fmt: skip
WORDS = frozenset(
    (
        "asked", "beside", "delicate", "desk", "figures", "gone", "heard", "held", "hole", "holes", "kept", "lesson",
        "lessons", "lore", "met", "notice", "notices", "picker", "portion", "portions", "recalls", "remark", "remarks",
        "said", "saying", "sayings", "shorts", "sieve", "spelt", "spoken", "standing", "stencil", "taught", "teacher",
        "told", "twin",
    )
)  # fmt: skip
"""Words that are in no name: of a module, class, function, parameter, attribute or variable."""

PUBLIC_NAMES = frozenset(
    (
        "acks_beside", "asked", "asked_again", "asked_ns", "held", "longest_held_ns", "told",
    )
)  # fmt: skip
"""Columns of reports, which programs read by these names."""

TERMS = frozenset(("PUNCH_HOLE", "_REMARK", "punch_hole", "remark"))
"""Names of others: fallocate(2), and a field of RocketMQ."""
PARTICIPLES = frozenset(
    (
        "asked", "begun", "built", "chosen", "cut", "drawn", "found", "given", "gone", "heard", "held", "kept",
        "known", "laid", "left", "lost", "made", "met", "said", "seen", "sent", "shown", "spelt", "spent",
        "spoken", "taken", "taught", "told", "understood", "written",
    )
)  # fmt: skip
VERBS_IN_ED = frozenset(("embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"))
BASE_FORMS = frozenset(("cut", "found", "left"))
ALLOWED = frozenset(("LengthPrefixed", "VarintPrefixed", "read"))
"""Two kinds of framing; and `read` of Spark's data sources."""
PROPERTIES = frozenset(("cached_property", "property", "setter"))


class Binding(NamedTuple):
    """A name that a module binds, with the kind of what it names: class, function, property or variable."""

    path: Path
    line: int
    name: str
    kind: str


@cache
def bindings() -> Sequence[Binding]:
    """The classes, functions, parameters, attributes and variables of the product."""
    return [
        Binding(path.relative_to(ROOT), *each)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for each in list_bindings(ast.parse(path.read_text()))
    ]


def list_bindings(module: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr, "variable"
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg, "variable"
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, "class"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, "property" if is_property(node) else "function"


def is_participle(word: str) -> bool:
    return (word.endswith("ed") and word not in VERBS_IN_ED and len(word) > 3) or (
        word in PARTICIPLES and word not in BASE_FORMS
    )


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(getattr(each, "attr", getattr(each, "id", "")) in PROPERTIES for each in decorators)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_that_were_renamed_do_not_come_back(package: str) -> None:
    parts = {part for path in (ROOT / package).rglob("*.py") for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not parts & MODULES


def test_functions_are_called_by_a_verb_and_classes_by_a_noun_of_the_field() -> None:
    def is_wrong(each: Binding) -> bool:
        if each.name in ALLOWED and each.path.name in ("data_source.py", "data_stream.py", "framing.py"):
            return False
        if each.kind == "class":
            return each.name in CLASSES or is_participle(each.name.lower())
        if each.kind != "function" or each.name.startswith("__"):
            return False
        name = each.name.strip("_")
        return name in FUNCTIONS or is_participle(name.split("_")[0])

    assert list(filter(is_wrong, bindings())) == []


def test_no_name_has_a_word_that_was_left_behind() -> None:
    def is_wrong(each: Binding) -> bool:
        is_column = each.name in PUBLIC_NAMES and ("reports" in each.path.parts or each.path.name == "delay_report.py")
        return not (WORDS.isdisjoint(each.name.lower().split("_")) or each.name in TERMS or is_column)

    assert list(filter(is_wrong, bindings())) == []


def test_a_bare_noun_is_one_class() -> None:
    found = Counter(each.name for each in bindings() if each.kind == "class" and each.name in BARE)
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize(
    ("word", "participle"),
    [("decode", False), ("decoded", True), ("made", True), ("make", False), ("feed", False), ("read", False)],
)
def test_what_is_a_participle(word: str, participle: bool) -> None:
    assert is_participle(word) is participle
