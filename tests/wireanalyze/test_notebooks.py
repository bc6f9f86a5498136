"""The notebooks of docs/: short, and every cell runs."""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.documents import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read_cells(path: Path) -> list[tuple[str, list[str]]]:
    """The source of each cell of code, and its tags."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in cells]


def run(cells: list[tuple[str, list[str]]]) -> list[Any]:
    """What the last line of each cell is; a cell with a plot runs where matplotlib is installed."""
    names: dict[str, Any] = {}
    shown = []
    for source, tags in cells:
        if "plot" in tags and find_spec("matplotlib") is None:
            continue
        body = ast.parse(source).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return shown


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pandas about matplotlib
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_shows_something(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="notebooks need the extra pandas")
    if path.stem == "tls":
        pytest.importorskip("cryptography", reason="decrypting needs the extra tls")
    cells = read_cells(path)
    assert sum(len(source.splitlines()) for source, _ in cells) < 30
    monkeypatch.chdir(FOLDER)
    shown = run(cells)
    assert shown
    assert all(len(each) for each in shown if hasattr(each, "__len__"))


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5
