"""The page of figures: the tables of earlier runs, brought up to date by what was measured now.

A page has one table between two marks. Each of its rows ends with the run that it is of, a line above the table. What
was measured again replaces its row; the others stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import HEAD, Line, format_cells

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
FALL = 0.9
"""A goal that was reached may fall to this share before a run fails: that is what shared machines differ by."""

_RUN = re.compile(r"^- run (\d+): (.*)$", re.MULTILINE)
_CELLS = len(HEAD)


def update_page(page: Path, lines: Sequence[Line], run: str) -> list[str]:
    """Writes figures of a run into a page; returns a sentence for each goal that was reached before and is lost.

    Raises ValueError where the page has no marks.
    """
    text = page.read_text()
    before, mark, rest = text.partition(BEGIN)
    table, closing, after = rest.partition(END)
    if not mark or not closing:
        raise ValueError(f"{page} has no place for figures: it needs the lines {BEGIN} and {END}")
    rows = {(row[0], row[1], row[3]): row for row in map(_split, table.splitlines()) if len(row) == _CELLS + 1}
    rows.pop((HEAD[0], HEAD[1], HEAD[3]), None)
    rows = {key: row for key, row in rows.items() if set(row[0]) != {"-"}}
    runs = {int(number): said for number, said in _RUN.findall(table)}
    number = next((number for number, said in runs.items() if said == run), max(runs, default=0) + 1)
    lost = [sentence for line in lines if (sentence := _compare(rows.get(line.key), line))]
    rows.update({line.key: [*format_cells(line), str(number)] for line in lines})
    used = {int(row[-1]) for row in rows.values()}
    runs = {each: said for each, said in {**runs, number: run}.items() if each in used}
    page.write_text("".join([before, BEGIN, "\n", _format(runs, list(rows.values())), END, after]))
    return lost


def _compare(row: Sequence[str] | None, line: Line) -> str | None:
    """What is to be said of a goal that an earlier row had reached and the line falls short of by more than FALL."""
    now = line.share_of_goal()
    if row is None or now is None:
        return None
    before = line._replace(ratio=_number(row[5]), goal=row[6]).share_of_goal()
    if before is None or before < 1 or now >= FALL:
        return None
    return f"{line.work} ({line.capture}): {line.ratio:.2f} where {row[5]} was measured before; the goal is {line.goal}"


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _split(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split(" | ")] if row.startswith("|") else []


def _format(runs: dict[int, str], rows: Sequence[Sequence[str]]) -> str:
    head = [[*HEAD, "run"], ["---"] * (_CELLS + 1)]
    table = [f"| {' | '.join(row)} |" for row in (*head, *rows)]
    return "\n".join(["", *(f"- run {number}: {said}" for number, said in sorted(runs.items())), "", *table, "", ""])
