"""The dialog for the columns of the list: show, hide and move columns, or take a set of them.

Theory. Typing narrows keys, sets and all fields, thousands of them, which another thread lists when the dialog opens;
only the first ones that match are listed. Enter shows or hides the selected column, and the list behind the dialog
changes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from analyzer.errors import UserError
from analyzer.render.lines import strip_styles
from tui.model.list_columns import AUTOMATIC, collect_sets, insert_column, list_set_keys
from tui.screens.chooser import MOST_CHOICES, Choice, Chooser

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

COLUMNS_HINT = "columns: Enter shows or hides, Ctrl+Up and Ctrl+Down move, Esc ends"
SHOWN, HIDDEN, SET, FITTING = "[x] ", "[ ] ", "set ", "what fits"

LISTED = 200
"""The number of fields that are listed at most."""

ABOUT_WIDTH = 30
"""The characters of the text beside a name."""


class ColumnSetChoice(NamedTuple):
    """A choice that replaces all columns; no names: those that fit."""

    names: Sequence[str]


class ColumnToggle(NamedTuple):
    """A choice that shows or hides a column."""

    name: str


class ColumnsScreen(Chooser[ColumnSetChoice | ColumnToggle]):
    """Changes the columns of the list as the user chooses them; its result is of no interest.

    get_columns: returns the columns by name, None while the list chooses those that fit. set_columns: shows others;
    raises UserError for a name that means nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+up,shift+up", "shift(-1)", show=False, priority=True),
        Binding("ctrl+down,shift+down", "shift(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        main: MainScreen,
        get_columns: Callable[[], list[str] | None],
        set_columns: Callable[[Sequence[str]], object],
    ) -> None:
        super().__init__(main.palette, COLUMNS_HINT, ())
        self._main, self._get_columns, self._set_columns = main, get_columns, set_columns
        self._fields: Mapping[str, str] = {}
        self._words: list[str] = []
        self.pane.styles.height = MOST_CHOICES

    def on_mount(self) -> None:
        """Shows the columns and sets at once, and lists all fields in the worker thread."""
        self._update_list(None)
        super().on_mount()
        self._main.background.submit("fields", _list_fields, self._take_fields)

    def _take_fields(self, fields: Mapping[str, str]) -> None:
        self._fields = fields
        if self.is_attached:
            self._update_list(None)

    @on(Input.Changed)
    def _narrow_list(self, message: Input.Changed) -> None:
        message.prevent_default()
        self._words = message.value.lower().split()
        self.pane.cursor = 0
        self._update_list(None)

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        message.prevent_default()
        self.choose()

    def choose(self) -> None:
        """Shows or hides the selected column, or takes the set; the dialog stays open."""
        if not self._left:
            return
        value = self._left[self.pane.cursor].value
        if isinstance(value, ColumnSetChoice):
            self._show_columns(value.names, self._left[self.pane.cursor])
            return
        shown = self._get_columns()
        now = list(AUTOMATIC) if shown is None else shown
        names = (
            [name for name in now if name != value.name]
            if value.name in (shown or ())
            else insert_column(now, value.name)
        )
        self._show_columns(names, self._left[self.pane.cursor])

    def _action_shift(self, by: int) -> None:
        shown = self._get_columns()
        choice = self._left[self.pane.cursor] if self._left else None
        if (
            shown is None
            or choice is None
            or not isinstance(choice.value, ColumnToggle)
            or choice.value.name not in shown
        ):
            return
        place = shown.index(choice.value.name)
        to = place + by
        if 0 <= to < len(shown):
            shown[place], shown[to] = shown[to], shown[place]
            self._show_columns(shown, choice)

    def _show_columns(self, names: Sequence[str], at: Choice[ColumnSetChoice | ColumnToggle]) -> None:
        try:
            self._set_columns(names)
        except UserError as error:
            self._show_error(error)
        else:
            self._update_list(at)

    def _show_error(self, error: UserError) -> None:
        self._main.show_message(str(error), "bar-warning")
        self.dismiss(None)

    def _update_list(self, at: Choice[ColumnSetChoice | ColumnToggle] | None) -> None:
        """Lists the choices; `at` stays selected if it is still there, else the same line."""
        before = self.pane.cursor
        self._left = list(self._list_matching())
        names = [choice.line[1] for choice in self._left]
        self._show(names.index(at.line[1]) if at is not None and at.line[1] in names else before)

    def _list_matching(self) -> Iterator[Choice[ColumnSetChoice | ColumnToggle]]:
        shown = self._get_columns()
        for choice in self._list_fixed(shown):
            text = f"{strip_styles(choice.line)} {choice.key}".lower()
            if all(word in text for word in self._words):
                yield choice
        there = frozenset(shown or ())
        names = (name for name in self._fields if name not in there)
        fitting = (name for name in names if all(word in name.lower() for word in self._words))
        for name in islice(fitting, LISTED):
            yield _make_toggle(HIDDEN, name, self._fields[name])

    def _list_fixed(self, shown: Sequence[str] | None) -> Iterator[Choice[ColumnSetChoice | ColumnToggle]]:
        """Yields what fits, the visible columns in order, and the sets."""
        mark = SHOWN if shown is None else HIDDEN
        yield Choice((("", mark), ("name", FITTING)), ColumnSetChoice(()), "the list's own choice")
        for name in shown or ():
            yield _make_toggle(SHOWN, name, self._fields.get(name, ""))
        for name, keys in collect_sets(self._main.config.columns).items():
            yield Choice(
                (("dim", SET), ("name", name)), ColumnSetChoice(list_set_keys(keys)), ", ".join(keys)[:ABOUT_WIDTH]
            )


def _make_toggle(mark: str, name: str, about: str) -> Choice[ColumnSetChoice | ColumnToggle]:
    return Choice((("", mark), ("name", name)), ColumnToggle(name), about[:ABOUT_WIDTH])


def _list_fields() -> Mapping[str, str]:
    """Returns all fields that can be a column, with the kind of their values."""
    from analyzer.query.fields import FieldKind, list_fields

    return {field.name: field.kind.value for field in list_fields() if field.kind is not FieldKind.PRESENCE}
