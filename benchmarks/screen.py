"""What a terminal shows: characters and the background behind them, from the bytes that a program has written.

Theory. A figure is worth something only if what was waited for stood on the screen, so what was written is played
again after the clock has stopped. This knows the sequences that programs use to paint, and raises on one that it does
not know, for a sequence that is passed over would make a screen that nobody saw. tests/benchmarks/test_screen.py holds
it beside tmux.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

_TOKEN = re.compile(
    r"[^\x00-\x1f\x7f\x1b]+"
    r"|\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b[\]P_^](?:[^\x07\x1b])*(?:\x07|\x1b\\)"
    r"|\x1b[()][0-~]|\x1b[=>78MDEc]"
    r"|[\x00-\x1a\x1c-\x1f\x7f]"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]P_^][^\x07\x1b]*\x1b?|[()]?)\Z")
_SILENT = frozenset("hlqtnpcu")
"""Final characters of what paints nothing: modes, shapes, questions."""

Look = str
"""What is behind a character: the colour as it was asked for, empty by default; with `R` where it is reversed."""


class Unknown(Exception):
    """A sequence of which this terminal does not know what it paints."""


class Screen:
    """`columns` x `lines` cells. `text` and `looks`: what is in them; a wide character is followed by an empty cell."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.text = [[" "] * columns for _ in range(lines)]
        self.looks: list[list[Look]] = [[""] * columns for _ in range(lines)]
        self._x = self._y = 0
        self._colour, self._reversed, self._look = "", False, ""
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        """Plays what was written. Raises Unknown."""
        text = self._rest + self._bytes.decode(data)
        self._rest = ""
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                if _BEGUN.match(text, at):
                    self._rest = text[at:]
                    return
                raise Unknown(repr(text[at : at + 20]))
            at = found.end()
            token = found[0]
            if token[0] >= " ":
                self._write(token)
            elif found["final"]:
                self._control(found["final"], found["parameters"], found["between"])
            else:
                self._simple(token)

    def line(self, y: int, first: int = 0, end: int | None = None) -> str:
        """The text of a line, or of some of its columns."""
        return "".join(self.text[y][first:end])

    def shown(self) -> str:
        """All lines, without the spaces at their ends."""
        return "\n".join(self.line(y).rstrip() for y in range(self.lines))

    def _write(self, text: str) -> None:
        cells = list(text) if text.isascii() else self._cells(text)
        while cells:
            if self._x >= self.columns:
                self._x, self._y = 0, min(self._y + 1, self.lines - 1)
            part, cells = cells[: self.columns - self._x], cells[self.columns - self._x :]
            end = self._x + len(part)
            self.text[self._y][self._x : end] = part
            self.looks[self._y][self._x : end] = [self._look] * len(part)
            self._x = end

    def _cells(self, text: str) -> list[str]:
        """Characters by the cell: a wide one with an empty cell behind it, what has no width with what is before it."""
        cells: list[str] = []
        for each in text:
            if unicodedata.category(each) in ("Mn", "Me", "Cf"):
                if cells:
                    cells[-1] += each
                elif self._x:
                    self.text[self._y][self._x - 1] += each
                continue
            cells.append(each)
            if unicodedata.east_asian_width(each) in "WF":
                cells.append("")
        return cells

    def _simple(self, token: str) -> None:
        if token == "\r":
            self._x = 0
        elif token == "\n":
            if self._y + 1 == self.lines:
                self._scroll(0, self.lines, 1)
            self._y = min(self._y + 1, self.lines - 1)
        elif token == "\b":
            self._x = max(self._x - 1, 0)
        elif token == "\t":
            self._x = min(self._x // 8 * 8 + 8, self.columns - 1)
        elif token in ("\x1bM", "\x1bD", "\x1bE", "\x1bc"):
            raise Unknown(repr(token))

    def _control(self, final: str, parameters: str, between: str) -> None:
        if final == "m":
            if not parameters.startswith((">", "?")):
                self._style(parameters)
            return
        private = parameters[:1] in "<=>?" and bool(parameters)
        if final in _SILENT or private or between:
            if final == "h" and "1049" in parameters:
                self._erase(0, 0, self.lines * self.columns)
            return
        numbers = [int(each or 0) for each in parameters.split(";")] if parameters else []
        action = _ACTIONS.get(final)
        if action is None:
            raise Unknown(f"CSI {parameters} {final}")
        action(self, numbers)

    def _style(self, parameters: str) -> None:
        colour, reverse = _style(parameters)
        if colour is not None:
            self._colour = colour
        if reverse is not None:
            self._reversed = reverse
        self._look = self._colour + "R" * self._reversed

    def _to(self, numbers: list[int]) -> None:
        y, x, *_ = *numbers, 1, 1
        self._x, self._y = min(max(x, 1), self.columns) - 1, min(max(y, 1), self.lines) - 1

    def _to_column(self, numbers: list[int]) -> None:
        self._to([self._y + 1, *(numbers or [1])])

    def _to_line(self, numbers: list[int]) -> None:
        self._to([*(numbers or [1])[:1], self._x + 1])

    def _move(self, x: int, y: int, numbers: list[int]) -> None:
        by = max(*numbers[:1], 1) if numbers else 1
        self._to([self._y + 1 + y * by, min(self._x, self.columns - 1) + 1 + x * by])

    def _erase(self, y: int, x: int, cells: int) -> None:
        for at in range(y * self.columns + x, min(y * self.columns + x + cells, self.lines * self.columns)):
            self.text[at // self.columns][at % self.columns] = " "
            self.looks[at // self.columns][at % self.columns] = self._colour

    def _erase_line(self, numbers: list[int]) -> None:
        x, how = min(self._x, self.columns - 1), sum(numbers[:1])
        first, end = ((x, self.columns), (0, x + 1), (0, self.columns))[how]
        self._erase(self._y, first, end - first)

    def _erase_screen(self, numbers: list[int]) -> None:
        here, whole = self._y * self.columns + min(self._x, self.columns - 1), self.lines * self.columns
        first, end = ((here, whole), (0, here + 1), (0, whole), (0, 0))[sum(numbers[:1])]
        self._erase(0, first, end - first)

    def _erase_cells(self, numbers: list[int]) -> None:
        self._erase(self._y, self._x, min(max(*numbers[:1], 1) if numbers else 1, self.columns - self._x))

    def _scroll(self, first: int, end: int, by: int) -> None:
        for rows, blank in ((self.text, " "), (self.looks, self._colour)):
            rows[first:end] = [*rows[first + by : end], *([blank] * self.columns for _ in range(by))]


_ACTIONS: Mapping[str, Callable[[Screen, list[int]], None]] = {
    "H": Screen._to,
    "f": Screen._to,
    "G": Screen._to_column,
    "d": Screen._to_line,
    "A": lambda screen, numbers: screen._move(0, -1, numbers),
    "B": lambda screen, numbers: screen._move(0, 1, numbers),
    "C": lambda screen, numbers: screen._move(1, 0, numbers),
    "D": lambda screen, numbers: screen._move(-1, 0, numbers),
    "J": Screen._erase_screen,
    "K": Screen._erase_line,
    "X": Screen._erase_cells,
}


@cache
def _style(parameters: str) -> tuple[Look | None, bool | None]:
    """What a style changes: the background, and whether it is reversed; None where it does not."""
    codes = parameters.split(";")
    colour: Look | None = None
    reverse: bool | None = None
    while codes:
        code = int(codes.pop(0) or 0)
        if code == 0:
            colour, reverse = "", False
        elif code in (7, 27):
            reverse = code == 7
        elif code in (38, 48):
            taken, codes = (codes[:4], codes[4:]) if codes[:1] == ["2"] else (codes[:2], codes[2:])
            colour = ";".join(taken) if code == 48 else colour
        elif 40 <= code <= 47 or 100 <= code <= 107:
            colour = str(code)
        elif code == 49:
            colour = ""
    return colour, reverse
