"""Names in product code: words that the project has left behind do not come back, and a function's name is a verb.

docs/glossary.md has the words that are used instead.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

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
"""Two kinds of framing; and `read` of a notebook, which is public as it is."""
PROPERTIES = frozenset(("cached_property", "property", "setter"))


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


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
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if getattr(node, "name", "") in ALLOWED and path.name in ("framing.py", "notebook.py"):
                continue
            if isinstance(node, ast.ClassDef) and (node.name in CLASSES or is_participle(node.name.lower())):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                name = node.name.strip("_")
                if not is_property(node) and (name in FUNCTIONS or is_participle(name.split("_")[0])):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not wrong, "\n".join(wrong)


def test_a_bare_noun_is_one_class() -> None:
    places = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name in BARE:
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize(
    ("word", "participle"),
    [("decode", False), ("decoded", True), ("made", True), ("make", False), ("feed", False), ("read", False)],
)
def test_what_is_a_participle(word: str, participle: bool) -> None:
    assert is_participle(word) is participle
