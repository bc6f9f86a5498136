"""Examples of the package's docstrings and of its pages print what is shown."""

from __future__ import annotations

import doctest
import re
from importlib import import_module

import pytest

from tests.documents import ROOT, read_blocks

MODULES = sorted(path.stem for path in (ROOT / "wireanalyze").glob("*.py") if ">>> " in path.read_text())
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS = {"pyarrow", "polars", "pandas", "duckdb"}


def run(test: doctest.DocTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for extra in NEEDS & set(re.findall(r"\w+", test.docstring or "")):
        pytest.importorskip(extra)
    out: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=out.append)
    assert not failed, "".join(out)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_print_what_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for test in doctest.DocTestFinder().find(import_module(f"wireanalyze.{name}")):
        if test.examples:
            run(test, monkeypatch)


def test_the_page_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "docs" / "how-to" / "python.md"
    text = "\n".join(read_blocks(path, "pycon"))
    run(doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0), monkeypatch)
